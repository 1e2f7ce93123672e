package tasktools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// outcome is what came of a call among others.
type outcome struct {
	said answer
	err  error
}

// count counts outcomes by their codes; "" is success.
func count(t *testing.T, all []outcome) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, o := range all {
		if o.err != nil {
			t.Fatal(o.err)
		}
		n[o.said.text("code")]++
	}
	return n
}

// expecting has so many calls at once change a task that is to be at a version.
func expecting(o *fixture, agent, id string, version, n int) []outcome {
	return together(n, func(i int) outcome {
		a, err := o.call(caller(agent), "task_update", fmt.Sprintf(`{"task_id":%q,"progress":"change %d","version":%d}`, id, i, version))
		return outcome{a, err}
	})
}

func TestInvariant01_OneOfTenThatExpectAVersionChangesIt(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	all := expecting(o, "ruda", id, 1, 10)
	if diff := cmp.Diff(map[string]int{"": 1, task.CodeConflict: 9}, count(t, all)); diff != "" {
		t.Errorf("outcomes (-want +got)\n%s", diff)
	}
	for _, one := range all {
		if one.said.number("version") != 2 {
			t.Errorf("the answer names version %v: %v", one.said["version"], one.said)
		}
	}
}

func TestInvariant02_AVersionCanBeExpectedAgain(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	expecting(o, "ruda", id, 1, 3)
	a := o.refuses(task.CodeConflict, "ruda", "task_update", `{"progress":"late","version":1}`)
	a = o.does("ruda", "task_update", `{"progress":"again","version":%d}`, a.number("version"))
	if a.number("version") != 3 {
		t.Errorf("version is %v", a["version"])
	}
	o.refuses(task.CodeConflict, "ruda", "task_complete", `{"version":2}`)
	o.refuses(task.CodeConflict, "ruda", "task_block", `{"version":2,"reason":"x","unblock_by":["eden"]}`)
	o.refuses(task.CodeConflict, "ruda", "task_cancel", `{"version":2,"task_id":%q}`, id)
	o.does("ruda", "task_complete", `{"version":3}`)
}

func TestInvariant03_NeverTwoAtOneVersion(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	const workers, rounds = 5, 4
	won := together(workers, func(worker int) (versions []int) {
		for range rounds {
			for version := 1; ; { // read, work, and try; start again after a conflict
				a, err := o.call(caller("ruda"), "task_update", fmt.Sprintf(`{"task_id":%q,"progress":"of %d","version":%d}`, id, worker, version))
				if err != nil {
					t.Error(err)
					return versions
				}
				found := version
				if version = a.number("version"); a["success"] == true {
					if version != found+1 {
						t.Errorf("the change of version %d made version %d", found, version)
					}
					versions = append(versions, version)
					break
				}
			}
		}
		return versions
	})
	all := slices.Concat(won...)
	slices.Sort(all)
	var want []int
	for v := range workers * rounds {
		want = append(want, v+2)
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("versions (-want +got)\n%s", diff)
	}
}

func TestInvariant04_NoUpdateIsLost(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	all := together(10, func(i int) outcome {
		a, err := o.call(caller("ruda"), "task_update", fmt.Sprintf(`{"progress":"update %d"}`, i))
		return outcome{a, err}
	})
	if diff := cmp.Diff(map[string]int{"": 10}, count(t, all)); diff != "" {
		t.Errorf("outcomes (-want +got)\n%s", diff)
	}
	shown := o.task("ruda", id)
	var lines []string
	for _, line := range shown.list("progress") {
		lines = append(lines, line.(string))
	}
	for i := range 10 {
		if n := len(lines) - len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l == fmt.Sprintf("update %d", i) })); n != 1 {
			t.Errorf("update %d is there %d times: %q", i, n, lines)
		}
	}
	if shown.number("version") != 11 || shown.number("progressCount") != 11 {
		t.Errorf("version %v, %v lines", shown["version"], shown["progressCount"])
	}
}

func TestInvariant05_BlockAndResumeKeepTheTask(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.does("ruda", "task_start", `{"description":"설명","steps":[{"content":"a"},{"content":"b"}]}`).text("taskId")
	o.does("ruda", "task_update", `{"action":"complete_step","step_id":"s1"}`)
	before := o.task("ruda", id)
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"],"unblock_action":"a"}`)
	o.does("ruda", "task_resume", `{}`)
	after := o.task("ruda", id)
	if diff := cmp.Diff(before["steps"], after["steps"]); diff != "" || after["description"] != before["description"] {
		t.Errorf("steps (-before +after)\n%s", diff)
	}
	for _, field := range []string{"blockedReason", "unblockedBy", "unblockedAction", "escalationState"} {
		if after[field] != nil {
			t.Errorf("%s is %v", field, after[field])
		}
	}
	if before.number("progressCount")+2 != after.number("progressCount") {
		t.Errorf("%v lines become %v", before["progressCount"], after["progressCount"])
	}
}

func TestInvariant06_CyclesLoseNothing(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	for i := range 3 {
		o.does("ruda", "task_block", `{"reason":"reason %d","unblock_by":["eden"]}`, i)
		o.does("ruda", "task_resume", `{}`)
	}
	want := []any{"Task started", "[BLOCKED] reason 0", "Task resumed", "[BLOCKED] reason 1", "Task resumed", "[BLOCKED] reason 2", "Task resumed"}
	if diff := cmp.Diff(want, o.task("ruda", id).list("progress")); diff != "" {
		t.Errorf("progress (-want +got)\n%s", diff)
	}
}

func TestInvariant07_TheBlockedListIsRight(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	blocked := func() []string { return ids(o.does("ruda", "task_list", `{"status":"blocked"}`)) }
	if got := blocked(); got != nil {
		t.Errorf("before: %v", got)
	}
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`)
	if got := blocked(); !slices.Equal(got, []string{id}) {
		t.Errorf("blocked: %v", got)
	}
	o.does("ruda", "task_resume", `{}`)
	if got := blocked(); got != nil {
		t.Errorf("after: %v", got)
	}
}

func TestInvariant08_StepsThatRemainStandAgainstCompletion(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	o.does("ruda", "task_start", `{"description":"x","steps":[{"content":"a"},{"content":"b"},{"content":"c"},{"content":"d"},{"content":"e"}]}`)
	a := o.refuses(task.CodeStopGuard, "ruda", "task_complete", `{"force_complete":"false"}`)
	var remaining []string
	for _, step := range a.list("remaining_steps") {
		remaining = append(remaining, answer(step.(map[string]any)).text("id"))
	}
	if !slices.Equal(remaining, []string{"s1", "s2", "s3", "s4", "s5"}) || !strings.Contains(a.text("error"), "5") {
		t.Errorf("refused: %v", a)
	}
}

func TestInvariant09_NothingRemainsNothingStandsAgainst(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]string{
		"no steps":        ``,
		"done or skipped": `,"steps":[{"content":"a","status":"done"},{"content":"b","status":"skipped"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setup(t, team)
			o.does("ruda", "task_start", `{"description":"x"%s}`, steps)
			o.does("ruda", "task_complete", `{}`)
		})
	}
}

func TestInvariant10_OneOfFiveCompletes(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	all := together(5, func(i int) outcome {
		a, err := o.call(caller("ruda"), "task_complete", fmt.Sprintf(`{"task_id":%q,"summary":"by %d"}`, id, i))
		return outcome{a, err}
	})
	if diff := cmp.Diff(map[string]int{"": 1, task.CodeState: 4}, count(t, all)); diff != "" {
		t.Errorf("outcomes (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"task.started", "task.completed"}, o.types(id)); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

func TestInvariant11_ForceIsRecorded(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.does("ruda", "task_start", `{"description":"x","steps":[{"content":"a"},{"content":"b"}]}`).text("taskId")
	if a := o.does("ruda", "task_complete", `{"force_complete":true}`); a["forced"] != true {
		t.Errorf("completion: %v", a)
	}
	for _, e := range o.events(id) {
		if e.Type == coordination.TypeTaskForceCompleted {
			var data coordination.TaskState
			if err := json.Unmarshal(e.Data, &data); err != nil || !slices.Equal(data.RemainingSteps, []string{"s1", "s2"}) {
				t.Errorf("%s, %v", e.Data, err)
			}
			return
		}
	}
	t.Errorf("events are %v", o.types(id))
}

func TestInvariant12_AgentsSeeTheirOwn(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["seum"]}`)
	for _, args := range []string{`{}`, `{"status":"blocked"}`} {
		if a := o.does("eden", "task_list", "%s", args); a.number("count") != 0 {
			t.Errorf("eden lists %v", a)
		}
	}
	if a := o.does("eden", "task_status", `{"task_id":%q}`, id); a["found"] != false {
		t.Errorf("eden sees %v", a)
	}
	if a := o.does("eden", "task_status", `{}`); a.number("total") != 0 || a["currentFocus"] != nil {
		t.Errorf("eden's are %v", a)
	}
}

func TestInvariant13_VersionsOfTwoAgentsAreIndependent(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	first, second := o.starts("ruda", "x"), o.starts("eden", "x")
	all := together(2, func(i int) []outcome {
		if i == 0 {
			return expecting(o, "ruda", first, 1, 10)
		}
		return expecting(o, "eden", second, 1, 10)
	})
	for i := range all {
		if diff := cmp.Diff(map[string]int{"": 1, task.CodeConflict: 9}, count(t, all[i])); diff != "" {
			t.Errorf("outcomes of agent %d (-want +got)\n%s", i, diff)
		}
	}
}

func TestInvariant14_TwoAgentsWriteAtOnce(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	agents := []string{"ruda", "eden"}
	all := together(20, func(i int) outcome {
		agent := agents[i%2]
		a, err := o.call(caller(agent), "task_start", fmt.Sprintf(`{"description":"of %s: %d"}`, agent, i))
		return outcome{a, err}
	})
	count(t, all)
	for _, agent := range agents {
		a := o.does(agent, "task_list", `{}`)
		if a.number("count") != 10 {
			t.Errorf("%s has %v", agent, a)
		}
		for _, row := range a.list("tasks") {
			if d := answer(row.(map[string]any)).text("description"); !strings.HasPrefix(d, "of "+agent+": ") {
				t.Errorf("%s has %q", agent, d)
			}
		}
	}
}

func TestInvariant15_OnlyTheBacklogIsReachedFromOutside(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	waiting := o.does("ruda", "task_backlog_add", `{"description":"y"}`).text("taskId")
	before := len(o.events(""))
	for name, args := range map[string]string{
		"task_update":   `{"task_id":%q,"progress":"x"}`,
		"task_complete": `{"task_id":%q}`,
		"task_cancel":   `{"task_id":%q}`,
		"task_block":    `{"task_id":%q,"reason":"x","unblock_by":["seum"]}`,
		"task_resume":   `{"task_id":%q}`,
		"task_verify":   `{"taskId":%q}`,
	} {
		foreign := o.refuses(task.CodeUnknown, "eden", name, args, id)
		none := o.refuses(task.CodeUnknown, "eden", name, args, "task_none")
		if strings.ReplaceAll(foreign.text("error"), id, "task_none") != none.text("error") || foreign["taskId"] != nil {
			t.Errorf("%s tells a foreign task from none: %v, %v", name, foreign, none)
		}
	}
	o.refuses(task.CodeUnknown, "eden", "task_pick_backlog", `{"task_id":%q}`, waiting)
	o.refuses(task.CodeUnknownAgent, "eden", "task_backlog_add", `{"description":"x","assignee":"ghost"}`)
	if after := len(o.events("")); after != before {
		t.Errorf("%d events were appended", after-before)
	}
	a := o.does("eden", "task_backlog_add", `{"description":"for ruda","assignee":"ruda"}`)
	if got := ids(o.does("ruda", "task_list", `{"status":"backlog"}`)); !slices.Contains(got, a.text("taskId")) {
		t.Errorf("backlog is %v", got)
	}
}

func TestInvariant16_TasksSurviveARestart(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.does("ruda", "task_start", `{"description":"x","context":"c","steps":[{"content":"a"},{"content":"b"}]}`).text("taskId")
	o.does("ruda", "task_update", `{"progress":"두 줄\n## 제목","action":"complete_step","step_id":"s1"}`)
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`)
	before := o.task("ruda", id)
	if diff := cmp.Diff(before, o.reopened().task("ruda", id)); diff != "" {
		t.Errorf("task (-before +after)\n%s", diff)
	}
}

func TestInvariant18_ListsSurviveARestart(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	blocked := o.starts("ruda", "blocked")
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`)
	o.starts("ruda", "done")
	o.does("ruda", "task_complete", `{}`)
	o.does("ruda", "task_start", `{"description":"approval","requires_approval":true}`)
	o.does("ruda", "task_backlog_add", `{"description":"later"}`)
	active := o.starts("ruda", "active")
	before := o.does("ruda", "task_list", `{}`)
	again := o.reopened()
	if diff := cmp.Diff(before, again.does("ruda", "task_list", `{}`)); diff != "" {
		t.Errorf("list (-before +after)\n%s", diff)
	}
	if a := again.does("ruda", "task_status", `{}`); a.text("currentFocus") != active || a.object("byStatus").number("blocked") != 1 || a.number("total") != 4 {
		t.Errorf("status: %v", a)
	}
	if a := again.does("ruda", "task_resume", `{}`); a.text("taskId") != blocked {
		t.Errorf("resumed: %v", a)
	}
}

func TestInvariant51_EveryEventOfATaskSaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	first := o.does("ruda", "task_start", `{"description":"x","requires_approval":true,"steps":[{"content":"a"}]}`).text("taskId")
	o.does("eden", "task_approve", `{"task_id":%q}`, first)
	o.does("ruda", "task_update", `{"progress":"p"}`)
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`)
	o.does("eden", "task_resume", `{"task_id":%q}`, first)
	o.refuses(task.CodeStopGuard, "ruda", "task_complete", `{}`)
	o.does("ruda", "task_complete", `{"force_complete":true}`)
	second := o.does("eden", "task_backlog_add", `{"description":"y","assignee":"ruda"}`).text("taskId")
	o.does("ruda", "task_pick_backlog", `{}`)
	o.does("ruda", "task_cancel", `{"task_id":%q,"reason":"r"}`, second)
	want := map[string]bool{"task.started": true, "task.approved": true, "task.updated": true, "task.blocked": true, "task.resumed": true,
		"task.stop_guard_blocked": true, "task.force_completed": true, "task.completed": true, "task.backlog_added": true, "task.backlog_picked": true,
		"task.cancelled": true}
	for _, e := range o.events("") {
		delete(want, e.Type)
		var c coordination.Context
		if err := json.Unmarshal(e.Data, &c); err != nil {
			t.Fatal(err)
		}
		if c.EventRole != coordination.RoleOrchestration || !strings.HasPrefix(c.WorkSessionID, "ws_") || e.Stream != coordination.TaskStream(c.TaskID) ||
			c.TaskID != first && c.TaskID != second {
			t.Errorf("%s: %s", e.Type, e.Data)
		}
		if owner := map[bool]string{true: "eden", false: "ruda"}[e.Type == "task.backlog_added"]; e.AgentID != owner || e.Actor != "agent" {
			t.Errorf("%s is of %s, by %s", e.Type, e.AgentID, e.Actor)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing are %v", want)
	}
}
