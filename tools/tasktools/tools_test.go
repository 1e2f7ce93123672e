package tasktools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

func TestStart(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	a := o.does("ruda", "task_start", `{"description":"배포 준비\n둘째 줄","context":"금요일까지","priority":"HIGH","steps":[{"content":"빌드"},{"content":"검사"}]}`)
	want := answer{"success": true, "taskId": a["taskId"], "status": "in_progress", "workSessionId": a["workSessionId"], "version": 1.0, "requiresApproval": false,
		"started": a["createdAt"], "createdAt": a["createdAt"], "priority": "high", "totalActiveTasks": 1.0, "stepsCount": 2.0}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !strings.HasPrefix(a.text("workSessionId"), "ws_") || !strings.HasPrefix(a.text("taskId"), "task_") || a.text("createdAt") == "" {
		t.Errorf("ids are %v", a)
	}
	shown := o.task("ruda", a.text("taskId"))
	if shown.text("description") != "배포 준비\n둘째 줄" || shown.text("context") != "금요일까지" || shown.text("createdBySessionKey") != "agent:ruda:main" ||
		shown["inFocus"] != true || shown.number("version") != 1 {
		t.Errorf("the task is %v", shown)
	}
	if diff := cmp.Diff([]any{"Task started"}, shown.list("progress")); diff != "" {
		t.Errorf("progress (-want +got)\n%s", diff)
	}
	first, second := shown.list("steps")[0].(map[string]any), shown.list("steps")[1].(map[string]any)
	if first["id"] != "s1" || first["status"] != "in_progress" || second["id"] != "s2" || second["status"] != "pending" {
		t.Errorf("steps are %v", shown["steps"])
	}
	b := o.does("ruda", "task_start", `{"description":"another","simple":true,"priority":"at once","workSessionId":%q}`, a.text("workSessionId"))
	if b["workSessionId"] != a["workSessionId"] || b["priority"] != "medium" || b["simple"] != true || b.number("totalActiveTasks") != 2 || b["taskId"] == a["taskId"] {
		t.Errorf("second task: %v", b)
	}
	c := o.does("ruda", "task_start", `{"description":"risky","requires_approval":true,"steps":[{"content":"one"}]}`)
	if c["started"] != nil || c["status"] != "pending_approval" || c["requiresApproval"] != true || c["workSessionId"] == a["workSessionId"] {
		t.Errorf("third task: %v", c)
	}
	if step := o.task("ruda", c.text("taskId")).list("steps")[0].(map[string]any); step["status"] != "pending" {
		t.Errorf("a step has started without approval: %v", step)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	o.refuses(task.CodeNothing, "ruda", "task_update", `{"progress":"x"}`)
	id := o.does("ruda", "task_start", `{"description":"x","steps":[{"content":"a"},{"content":"b"},{"content":"c"}]}`).text("taskId")
	for i, c := range []struct {
		args    string
		current string
		count   answer
	}{
		{`{"progress":"반쯤 했다"}`, "s1", answer{"total": 3.0, "done": 0.0, "inProgress": 1.0, "pending": 2.0, "skipped": 0.0}},
		{`{"action":"complete_step","step_id":"s1","progress":"done"}`, "s2", answer{"total": 3.0, "done": 1.0, "inProgress": 1.0, "pending": 1.0, "skipped": 0.0}},
		{`{"action":"skip_step","step_id":"s2"}`, "s3", answer{"total": 3.0, "done": 1.0, "inProgress": 1.0, "pending": 0.0, "skipped": 1.0}},
		{`{"action":"add_step","step_content":"d"}`, "s3", answer{"total": 4.0, "done": 1.0, "inProgress": 1.0, "pending": 1.0, "skipped": 1.0}},
		{`{"action":"start_step","step_id":"s4"}`, "s4", answer{"total": 4.0, "done": 1.0, "inProgress": 1.0, "pending": 1.0, "skipped": 1.0}},
		{`{"action":"reorder_steps","steps_order":["s4","s3"]}`, "s4", answer{"total": 4.0, "done": 1.0, "inProgress": 1.0, "pending": 1.0, "skipped": 1.0}},
		{`{"action":"set_steps","steps":[{"content":"e"},{"content":"f"}]}`, "", answer{"total": 2.0, "done": 0.0, "inProgress": 1.0, "pending": 1.0, "skipped": 0.0}},
	} {
		a := o.does("ruda", "task_update", "%s", c.args)
		if diff := cmp.Diff(c.count, a.object("steps")); diff != "" || a.number("version") != i+2 || a.text("taskId") != id || a.text("updated") == "" {
			t.Errorf("%s: %v (-want +got)\n%s", c.args, a, diff)
		}
		if c.current != "" && a.text("currentStep") != c.current {
			t.Errorf("%s: current step is %v", c.args, a["currentStep"])
		}
	}
	for args, code := range map[string]string{
		`{}`:                                task.CodeInvalid,
		`{"action":"finish_step"}`:          task.CodeInvalid,
		`{"action":"add_step"}`:             task.CodeInvalid,
		`{"action":"set_steps","steps":[]}`: task.CodeInvalid,
		`{"action":"complete_step","step_id":"s99"}`:  task.CodeUnknownStep,
		`{"progress":"x","task_id":"task_none"}`:      task.CodeUnknown,
		`{"progress":"x","version":1}`:                task.CodeConflict,
		`{"progress":"x","task_id":"a","taskId":"b"}`: task.CodeInvalid,
	} {
		o.refuses(code, "ruda", "task_update", "%s", args)
	}
	if a := o.does("ruda", "task_update", `{"progress":"x","version":8,"taskId":%q,"task_id":%[1]q}`, id); a.number("version") != 9 {
		t.Errorf("version is %v", a["version"])
	}
}

// The task that an agent turned to last is its default.
func TestActiveTask(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	first, second := o.starts("ruda", "first"), o.starts("ruda", "second")
	update := func(args string) string { return o.does("ruda", "task_update", "%s", args).text("taskId") }
	if got := update(`{"progress":"1"}`); got != second {
		t.Errorf("the task started last is %s, got %s", second, got)
	}
	update(fmt.Sprintf(`{"progress":"2","task_id":%q}`, first))
	if got := update(`{"progress":"3"}`); got != first {
		t.Errorf("the task turned to last is %s, got %s", first, got)
	}
	if a := o.does("ruda", "task_complete", `{}`); a.text("taskId") != first || a.text("nextTaskId") != second || a.number("remainingTasks") != 1 {
		t.Errorf("completion: %v", a)
	}
	if got := update(`{"progress":"4"}`); got != second {
		t.Errorf("the task left is %s, got %s", second, got)
	}
	if a := o.does("ruda", "task_status", `{}`); a.text("currentFocus") != second || a.number("total") != 1 {
		t.Errorf("status: %v", a)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.does("ruda", "task_start", `{"description":"x","steps":[{"content":"가"},{"content":"나"}]}`).text("taskId")
	a := o.refuses(task.CodeStopGuard, "ruda", "task_complete", `{}`)
	if a.text("blocked_by") != "stop_guard" || len(a.list("remaining_steps")) != 2 || len(a.list("instructions")) != 3 || a.text("taskId") != id || a.number("version") != 2 {
		t.Errorf("stop guard: %v", a)
	}
	if diff := cmp.Diff(map[string]any{"id": "s1", "content": "가", "status": "in_progress"}, a.list("remaining_steps")[0]); diff != "" {
		t.Errorf("remaining step (-want +got)\n%s", diff)
	}
	o.does("ruda", "task_update", `{"action":"complete_step","step_id":"s1","version":2}`)
	done := o.does("ruda", "task_complete", `{"summary":"끝","force_complete":"true"}`)
	if done["forced"] != true || done.text("status") != "completed" || done["archived"] != true || done.number("remainingTasks") != 0 || done["nextTaskId"] != nil {
		t.Errorf("completion: %v", done)
	}
	if month := done.text("completedAt")[:7]; done.text("archivedTo") != "task-history/"+month+".md" {
		t.Errorf("archived to %v, completed at %v", done["archivedTo"], done["completedAt"])
	}
	if diff := cmp.Diff([]any{"s2"}, done.list("remainingSteps")); diff != "" {
		t.Errorf("remaining steps (-want +got)\n%s", diff)
	}
	want := []string{"task.started", "task.stop_guard_blocked", "task.updated", "task.force_completed", "task.completed"}
	if diff := cmp.Diff(want, o.types(id)); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	for _, name := range []string{"task_update", "task_complete", "task_cancel", "task_block", "task_resume", "task_pick_backlog"} {
		args := fmt.Sprintf(`{"task_id":%q`, id)
		switch name {
		case "task_update":
			args += `,"progress":"x"`
		case "task_block":
			args += `,"reason":"x","unblock_by":["eden"]`
		}
		o.refuses(task.CodeState, "ruda", name, "%s", args+"}")
	}
	if got := o.does("ruda", "task_list", `{"status":"completed"}`); !slices.Equal(ids(got), []string{id}) {
		t.Errorf("completed are %v", got)
	}
	if got := o.does("ruda", "task_list", `{}`); got.number("count") != 0 {
		t.Errorf("open are %v", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	o.refuses(task.CodeInvalid, "ruda", "task_cancel", `{"reason":"x"}`)
	o.refuses(task.CodeUnknown, "ruda", "task_cancel", `{"task_id":"task_none"}`)
	open := o.does("ruda", "task_start", `{"description":"x"}`).text("taskId")
	waiting := o.does("ruda", "task_start", `{"description":"y","requires_approval":true}`).text("taskId")
	later := o.does("ruda", "task_backlog_add", `{"description":"z"}`).text("taskId")
	for i, id := range []string{open, waiting, later} {
		a := o.does("ruda", "task_cancel", `{"taskId":%q,"reason":"필요 없음"}`, id)
		if a["cancelled"] != true || a.text("status") != "cancelled" || a.text("reason") != "필요 없음" || a.text("cancelledAt") == "" || a.number("remainingTasks") != 2-i {
			t.Errorf("cancel %d: %v", i, a)
		}
		o.refuses(task.CodeState, "ruda", "task_cancel", `{"task_id":%q}`, id)
	}
}

func TestApprove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ settings, may, code, mayNot string }{
		"without leads": {team, "eden", task.CodeNotAllowed, "ruda"},
		"with a lead": {`agents: {list: [{id: 'ruda', default: true}, {id: 'eden'}, {id: 'seum', role: 'lead'}, {id: 'dajim'}]}`,
			"seum", task.CodeNotAllowed, "eden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setup(t, c.settings)
			id := o.does("ruda", "task_start", `{"description":"risky","requires_approval":true,"steps":[{"content":"a"}]}`).text("taskId")
			o.refuses(c.code, c.mayNot, "task_approve", `{"task_id":%q}`, id)
			o.refuses(task.CodeState, "ruda", "task_update", `{"task_id":%q,"progress":"x"}`, id)
			o.refuses(task.CodeState, "ruda", "task_complete", `{"task_id":%q}`, id)
			a := o.does(c.may, "task_approve", `{"task_id":%q}`, id)
			if a["approved"] != true || a.text("approvedBy") != c.may || a.text("agentId") != "ruda" || a.text("status") != "in_progress" || a["previousWorkSessionId"] != nil {
				t.Errorf("approval: %v", a)
			}
			o.refuses(task.CodeState, c.may, "task_approve", `{"task_id":%q}`, id)
			o.refuses(task.CodeUnknown, c.may, "task_approve", `{"task_id":"task_none"}`)
			if focus := o.does("ruda", "task_update", `{"progress":"x"}`).text("taskId"); focus != id {
				t.Errorf("the approved task is not active: %s", focus)
			}
		})
	}
}

func TestReject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ settings, may, mayNot string }{
		"without leads": {team, "eden", "ruda"},
		"with a lead":   {`agents: {list: [{id: 'ruda', default: true}, {id: 'eden'}, {id: 'seum', role: 'lead'}, {id: 'dajim'}]}`, "seum", "eden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setup(t, c.settings)
			asked := o.does("ruda", "task_start", `{"description":"risky","requires_approval":true}`)
			id := asked.text("taskId")
			o.refuses(task.CodeNotAllowed, c.mayNot, "task_reject", `{"task_id":%q,"reason":"r"}`, id)
			o.refuses(task.CodeConflict, c.may, "task_reject", `{"task_id":%q,"reason":"r","version":0}`, id)
			o.refuses(task.CodeInvalid, c.may, "task_reject", `{"task_id":%q,"reason":"  "}`, id)
			o.refuses(task.CodeInvalid, c.may, "task_reject", `{"reason":"r"}`)
			o.refuses(task.CodeUnknown, c.may, "task_reject", `{"task_id":"task_none","reason":"r"}`)
			a := o.does(c.may, "task_reject", `{"task_id":%q,"reason":"너무 크다","version":1}`, id)
			want := answer{"success": true, "taskId": id, "status": "cancelled", "workSessionId": asked["workSessionId"], "version": 2.0, "agentId": "ruda",
				"rejected": true, "rejectedBy": c.may, "rejectedAt": a["rejectedAt"], "reason": "너무 크다"}
			if diff := cmp.Diff(want, a); diff != "" || a.text("rejectedAt") == "" {
				t.Errorf("rejection (-want +got)\n%s", diff)
			}
			for _, tool := range []string{"task_reject", "task_approve"} {
				args := map[string]string{"task_reject": `{"task_id":%q,"reason":"r"}`, "task_approve": `{"task_id":%q}`}[tool]
				o.refuses(task.CodeState, c.may, tool, args, id)
			}
			shown := o.task("ruda", id)
			if got := shown.object("outcome"); got.text("kind") != "cancelled" || got.text("reason") != "너무 크다" || got.text("by") != c.may {
				t.Errorf("the task is %v", shown)
			}
			if diff := cmp.Diff([]any{"Task created - awaiting approval", "Task rejected by " + c.may + ": 너무 크다"}, shown.list("progress")); diff != "" {
				t.Errorf("progress (-want +got)\n%s", diff)
			}
			began := o.starts("ruda", "started")
			o.refuses(task.CodeState, c.may, "task_reject", `{"task_id":%q,"reason":"r"}`, began)
		})
	}
}

func TestBlockAndResume(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	for by, code := range map[string]string{`[]`: "", `["stranger"]`: task.CodeUnknownAgent, `["ruda"]`: task.CodeInvalid, `["quick"]`: task.CodeUnknownAgent, `[" "]`: task.CodeInvalid} {
		if code == "" {
			if _, err := o.call(caller("ruda"), "task_block", `{"reason":"x","unblock_by":[]}`); err == nil {
				t.Error("there is no agent to unblock it, and it is blocked")
			}
			continue
		}
		o.refuses(code, "ruda", "task_block", `{"reason":"x","unblock_by":%s}`, by)
	}
	a := o.does("ruda", "task_block", `{"reason":"키가 없다","unblock_by":["EDEN","seum","eden"],"unblock_action":"키를 준다"}`)
	if diff := cmp.Diff([]any{"eden", "seum"}, a.list("unblockedBy")); diff != "" || a.text("status") != "blocked" || !strings.Contains(a.text("message"), "eden, seum.") {
		t.Errorf("%v (-want +got)\n%s", a, diff)
	}
	o.refuses(task.CodeNothing, "ruda", "task_update", `{"progress":"x"}`) // nothing is active
	o.does("ruda", "task_update", `{"task_id":%q,"progress":"while blocked"}`, id)
	o.refuses(task.CodeState, "ruda", "task_block", `{"task_id":%q,"reason":"x","unblock_by":["eden"]}`, id)
	o.refuses(task.CodeUnknown, "dajim", "task_resume", `{"task_id":%q}`, id)
	o.refuses(task.CodeNothing, "eden", "task_resume", `{}`)
	r := o.does("eden", "task_resume", `{"task_id":%q}`, id)
	if r["resumed"] != true || r.text("agentId") != "ruda" || r.text("status") != "in_progress" || r.text("resumedAt") == "" {
		t.Errorf("resumed: %v", r)
	}
	o.refuses(task.CodeUnknown, "eden", "task_resume", `{"task_id":%q}`, id) // it is nothing to eden any more
	o.refuses(task.CodeState, "ruda", "task_resume", `{"task_id":%q}`, id)
	o.does("ruda", "task_block", `{"reason":"x","unblock_by":["eden"]}`)
	if r := o.does("ruda", "task_resume", `{}`); r.text("taskId") != id {
		t.Errorf("resumed: %v", r)
	}
	last := o.events(id)
	if e := last[len(last)-3]; e.Type != coordination.TypeTaskResumed || e.AgentID != "ruda" || !strings.Contains(string(e.Data), `"decidedBy":"eden"`) {
		t.Errorf("%s of %s: %s", e.Type, e.AgentID, e.Data)
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	o.refuses(task.CodeNothing, "eden", "task_pick_backlog", `{}`)
	low := o.does("eden", "task_backlog_add", `{"description":"low","priority":"low"}`).text("taskId")
	a := o.does("ruda", "task_backlog_add", `{"description":"급한 일","priority":"urgent","assignee":"Eden","estimated_effort":"small","due_date":"2026-12-01",
		"start_date":"2020-01-01","milestone_id":"m1","milestone_item_id":"i1","context":"c"}`)
	if a.text("assignee") != "eden" || a["isCrossAgent"] != true || a.text("status") != "backlog" || a.text("priority") != "urgent" || a.number("totalActiveTasks") != 2 {
		t.Errorf("added: %v", a)
	}
	urgent := a.text("taskId")
	if got := o.task("eden", urgent); got.text("createdBy") != "ruda" || got.text("milestoneId") != "m1" || got.text("dueDate") != "2026-12-01" {
		t.Errorf("the task is %v", got)
	}
	waits := o.does("eden", "task_backlog_add", `{"description":"waits","priority":"urgent","due_date":"2026-11-01","depends_on":[%q]}`, urgent).text("taskId")
	future := o.does("eden", "task_backlog_add", `{"description":"future","start_date":"2999-01-01T00:00:00Z"}`).text("taskId")
	o.refuses(task.CodeDependency, "eden", "task_pick_backlog", `{"task_id":%q}`, waits)
	o.refuses(task.CodeNotYet, "eden", "task_backlog_pick", `{"task_id":%q}`, future)
	o.refuses(task.CodeUnknown, "ruda", "task_pick_backlog", `{"task_id":%q}`, urgent)
	p := o.does("eden", "task_pick_backlog", `{}`) // the first one by order waits
	if p.text("taskId") != urgent || p["picked"] != true || p.text("status") != "in_progress" || p.text("description") != "급한 일" || p.text("context") != "c" {
		t.Errorf("picked: %v", p)
	}
	o.refuses(task.CodeBusy, "eden", "task_pick_backlog", `{}`)
	o.does("eden", "task_complete", `{}`)
	if p := o.does("eden", "task_backlog_pick", `{}`); p.text("taskId") != waits {
		t.Errorf("picked: %v", p)
	}
	o.does("eden", "task_complete", `{}`)
	if p := o.does("eden", "task_backlog_pick", `{}`); p.text("taskId") != low {
		t.Errorf("picked: %v", p)
	}
	o.does("eden", "task_complete", `{}`)
	if a := o.refuses(task.CodeNotYet, "eden", "task_backlog_pick", `{}`); a.text("taskId") != future {
		t.Errorf("refused: %v", a)
	}
	for args, code := range map[string]string{
		`{"description":"x","assignee":"stranger"}`:               task.CodeUnknownAgent,
		`{"description":"x","assignee":"quick"}`:                  task.CodeUnknownAgent,
		`{"description":"x","start_date":"tomorrow"}`:             task.CodeInvalid,
		`{"description":"x","due_date":"2026-02-30"}`:             task.CodeInvalid,
		`{"description":"x","depends_on":["task_none"]}`:          task.CodeUnknown,
		`{"description":"x","estimated_effort":"huge"}`:           task.CodeInvalid,
		`{"description":" "}`:                                     task.CodeInvalid,
		`{"description":"x","workSessionId":"ws 1\u0000"}`:        task.CodeInvalid,
		`{"description":"x","workSessionId":"` + long(200) + `"}`: task.CodeInvalid,
	} {
		o.refuses(code, "ruda", "task_backlog_add", "%s", args)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestStatusAndList(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	if a := o.does("ruda", "task_status", `{"task_id":"task_none"}`); a["found"] != false || a["task"] != nil {
		t.Errorf("status of none: %v", a)
	}
	first := o.does("ruda", "task_start", `{"description":%q,"priority":"low"}`, strings.Repeat("가", 300)).text("taskId")
	second := o.does("ruda", "task_start", `{"description":"urgent","priority":"urgent"}`).text("taskId")
	approval := o.does("ruda", "task_start", `{"description":"approval","requires_approval":true}`).text("taskId")
	other := o.starts("eden", "of eden")
	o.does("ruda", "task_block", `{"reason":"x","unblock_by":["eden"],"task_id":%q}`, first)
	a := o.does("ruda", "task_status", `{}`)
	want := map[string]any{"in_progress": 1.0, "pending": 0.0, "pending_approval": 1.0, "blocked": 1.0}
	if diff := cmp.Diff(want, a["byStatus"]); diff != "" || a.text("currentFocus") != second || a.number("total") != 3 {
		t.Errorf("summary %v (-want +got)\n%s", a, diff)
	}
	for _, row := range a.list("tasks") {
		if d := answer(row.(map[string]any)).text("description"); len([]rune(d)) > 50 {
			t.Errorf("description has %d characters", len([]rune(d)))
		}
	}
	list := func(agent, args string) answer { return o.does(agent, "task_list", "%s", args) }
	if got := list("ruda", `{}`); got.number("count") != 3 || answer(got.list("tasks")[0].(map[string]any)).text("taskId") != second {
		t.Errorf("list: %v", got)
	}
	if got := ids(list("ruda", `{"status":"blocked"}`)); !slices.Equal(got, []string{first}) {
		t.Errorf("blocked are %v", got)
	}
	if got := ids(list("eden", `{"scope":"all","status":"all"}`)); len(got) != 4 || !slices.Contains(got, other) || !slices.Contains(got, approval) {
		t.Errorf("all are %v", got)
	}
	var pages []string
	for cursor := ""; ; {
		page := list("eden", fmt.Sprintf(`{"scope":"all","limit":1,"cursor":%q}`, cursor))
		pages = append(pages, ids(page)...)
		if cursor = page.text("nextCursor"); cursor == "" || len(pages) > 10 {
			break
		}
	}
	slices.Sort(pages)
	if all := ids(list("eden", `{"scope":"all"}`)); !slices.Equal(pages, all) {
		t.Errorf("by pages %v, at once %v", pages, all)
	}
}

// Sub-agents read their agent's tasks, and change none; utility agents have none.
func TestWhoHasTasks(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	offered := func(c tool.Caller) (names []string) {
		for _, s := range o.box.Offer(c) {
			if s.Group == tool.GroupTasks {
				names = append(names, s.Name)
			}
		}
		return names
	}
	child := caller("ruda")
	child.SessionKey = coordination.SubagentKey("ruda", "1").String()
	if got := offered(child); !slices.Equal(got, []string{"task_list", "task_status"}) {
		t.Errorf("a sub-agent has %v", got)
	}
	if got := offered(caller("quick")); got != nil {
		t.Errorf("a utility agent has %v", got)
	}
	want := []string{"task_approve", "task_backlog_add", "task_backlog_pick", "task_block", "task_cancel", "task_complete", "task_list", "task_pick_backlog",
		"task_reject", "task_resume", "task_start", "task_status", "task_update", "task_verify"}
	if diff := cmp.Diff(want, offered(caller("ruda"))); diff != "" {
		t.Errorf("tools (-want +got)\n%s", diff)
	}
	id := o.starts("ruda", "of the parent")
	if a := o.doesAs(child, "task_status", `{"task_id":%q}`, id); a["found"] != true {
		t.Errorf("status: %v", a)
	}
}

// A task that continues after a day begins a new work session, and knows the one before.
func TestArchivedWorkSessionsAreRenewed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin func(o *fixture) string
		goOn  func(o *fixture, id string) answer
	}{
		"resume": {func(o *fixture) string {
			id := o.starts("ruda", "x")
			o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`)
			return id
		}, func(o *fixture, id string) answer { return o.does("eden", "task_resume", `{"task_id":%q}`, id) }},
		"approve": {func(o *fixture) string {
			return o.does("ruda", "task_start", `{"description":"x","requires_approval":true}`).text("taskId")
		}, func(o *fixture, id string) answer { return o.does("eden", "task_approve", `{"task_id":%q}`, id) }},
		"pick": {func(o *fixture) string {
			return o.does("eden", "task_backlog_add", `{"description":"x","assignee":"ruda"}`).text("taskId")
		},
			func(o *fixture, id string) answer { return o.does("ruda", "task_pick_backlog", `{}`) }},
	} {
		for after, renewed := range map[time.Duration]bool{23 * time.Hour: false, 25 * time.Hour: true} {
			t.Run(fmt.Sprintf("%s after %s", name, after), func(t *testing.T) {
				t.Parallel()
				o := setup(t, team)
				id := c.begin(o)
				before := o.task("ruda", id).text("workSessionId")
				o.pass(after)
				a := c.goOn(o, id)
				if !renewed {
					if a.text("workSessionId") != before || a["previousWorkSessionId"] != nil {
						t.Errorf("work session %s becomes %v", before, a)
					}
					return
				}
				now := a.text("workSessionId")
				if now == before || !strings.HasPrefix(now, "ws_") || a.text("previousWorkSessionId") != before {
					t.Errorf("work session %s becomes %v", before, a)
				}
				all := o.events(id)
				data := string(all[len(all)-1].Data)
				if !strings.Contains(data, `"workSessionId":"`+now+`"`) || !strings.Contains(data, `"previousWorkSessionId":"`+before+`"`) {
					t.Errorf("the event says %s", data)
				}
				o.does("ruda", "task_update", `{"progress":"on"}`)
				if got := o.task("ruda", id); got.text("workSessionId") != now || got.text("previousWorkSessionId") != before {
					t.Errorf("the task is %v", got)
				}
			})
		}
	}
}
