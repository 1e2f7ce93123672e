package server

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// story is a task of ruda's, which two sub-agents help with, and which waits for eden.
type story struct {
	*liveTeam
	money, roof, ladder gate // hold back what dajim finds out, and what seum does at first and then
	id, workSession     string
}

// newStory serves the agents of the story.
func newStory(t *testing.T, change ...func(*Options)) *story {
	t.Helper()
	s := &story{money: make(gate), roof: make(gate), ladder: make(gate)}
	spawn := func(agent, label, work string) a2atest.Call {
		return a2atest.Call{Name: "sessions_spawn", Args: map[string]any{"agentId": agent, "label": label, "task": work}}
	}
	call := func(name string, args map[string]any) a2atest.Call { return a2atest.Call{Name: name, Args: args} }
	late := func(g gate, then a2atest.Answer) []func(a2atest.Asked) a2atest.Answer {
		return []func(a2atest.Asked) a2atest.Answer{func(a a2atest.Asked) a2atest.Answer {
			g.pass(a.Context)
			return then
		}}
	}
	s.liveTeam = startTeam(t, []string{"ruda", "eden", "seum", "dajim"}, plays(t,
		does("ruda", "begin", "both are at it",
			call("task_start", map[string]any{"description": "repair the house", "context": "it rains in", "priority": "high",
				"steps": []map[string]string{{"content": "see what is broken"}, {"content": "repair it"}, {"content": "paint it"}}}),
			spawn("dajim", "money", "count the money"), spawn("seum", "roof", "look at the roof")),
		scene{"dajim", "count the money", late(s.money, a2atest.Say("there are 300 coins"))},
		scene{"seum", "use a ladder", late(s.ladder, a2atest.Say("seven tiles are broken"))},
		scene{"seum", "look at the roof", late(s.roof, a2atest.Fail(400))},
		does("ruda", "300 coins", "that is enough", call("task_verify", map[string]any{"action": "accept", "note": "good"})),
		does("ruda", "Status: failed", "once more then", call("task_verify", map[string]any{"action": "retry", "note": "use a ladder"})),
		does("ruda", "seven tiles", "I wait for the tiles", call("task_verify", map[string]any{}),
			call("task_update", map[string]any{"action": "complete_step", "step_id": "s1", "progress": "seven tiles, 300 coins"}),
			call("task_block", map[string]any{"reason": "no tiles", "unblock_by": []string{"eden"}, "unblock_action": "buy tiles"})),
		scene{"eden", "buy the tiles", []func(a2atest.Asked) a2atest.Answer{
			func(a2atest.Asked) a2atest.Answer {
				return a2atest.Use(call("task_list", map[string]any{"scope": "all", "status": "blocked"}))
			},
			func(a a2atest.Asked) a2atest.Answer {
				var list struct {
					Tasks []struct{ TaskID, AgentID string }
				}
				if err := json.Unmarshal([]byte(a.Last().Text), &list); err != nil || len(list.Tasks) != 1 || list.Tasks[0].AgentID != "ruda" {
					t.Errorf("eden is told %s", a.Last().Text)
					return a2atest.Say("no caller waits")
				}
				return a2atest.Use(call("task_resume", map[string]any{"task_id": list.Tasks[0].TaskID}))
			},
			func(a2atest.Asked) a2atest.Answer { return a2atest.Say("the tiles are there") },
		}},
		does("ruda", "go on", "the house is repaired", call("task_complete", map[string]any{"summary": "too early"}),
			call("task_update", map[string]any{"action": "complete_step", "step_id": "s2"}),
			call("task_update", map[string]any{"action": "skip_step", "step_id": "s3", "progress": "it looks well as it is"}),
			call("task_complete", map[string]any{"summary": "seven new tiles\n\n## paid with 200 coins\n---"})),
	), change...)
	return s
}

// begins has ruda begin.
func (s *story) begins(t *testing.T) {
	t.Helper()
	s.says(t, "ruda", "begin", "both are at it")
	rows := taskRows(t, s.Program)
	if len(rows) != 1 {
		t.Fatalf("tasks: %+v", rows)
	}
	s.id, s.workSession = rows[0].ID, rows[0].WorkSessionID
	s.shows(t, "when ruda has started", "ruda", s.id, boardOf{status: "in_progress", session: "ACTIVE", steps: "0/1/2/0", last: "Task started",
		lines: 1, delegations: "running running"})
}

// says has a person tell an agent something, and checks the answer.
func (s *story) says(t *testing.T, agent, text, want string) {
	t.Helper()
	if said := s.tell(t, agent, text, text); said != want {
		t.Fatalf("%s says %q", agent, said)
	}
}

// finds lets a sub-agent go on, and waits until ruda has read what came of it and done what follows. n says which attempt it is, from 1.
func (s *story) finds(t *testing.T, g gate, agent string, n int) {
	t.Helper()
	g.open()
	seen := 0
	spawned := s.awaits(t, "the spawn of "+agent, func(f *fact) bool {
		if f.Type == coordination.TypeA2AJobCreated && f.ToAgent == agent {
			seen++
		}
		return seen == n
	})
	s.awaitsRun(t, spawned.JobID+".p")
}

// moneyIsThere is the second act: dajim has counted.
func (s *story) moneyIsThere(t *testing.T) {
	t.Helper()
	s.finds(t, s.money, "dajim", 1)
	s.shows(t, "when the money is counted", "ruda", s.id, boardOf{status: "in_progress", session: "ACTIVE", steps: "0/1/2/0", last: "Task started",
		lines: 1, delegations: "verified running"})
}

// roofIsSeen is the third act: seum fails, tries again and has seen the roof, and ruda waits for eden. No agent works then: it is quiet.
func (s *story) roofIsSeen(t *testing.T) {
	t.Helper()
	s.finds(t, s.roof, "seum", 1)
	s.shows(t, "when seum has failed", "ruda", s.id, boardOf{status: "in_progress", session: "ACTIVE", steps: "0/1/2/0", last: "Task started",
		lines: 1, delegations: "verified running"})
	s.finds(t, s.ladder, "seum", 2)
	s.shows(t, "when ruda waits", "ruda", s.id, boardOf{status: "blocked", session: "QUIET", steps: "1/1/1/0", last: "[BLOCKED] no tiles", lines: 3,
		delegations: "verified verified"})
}

// goesOn is the fourth act: eden has it go on.
func (s *story) goesOn(t *testing.T) {
	t.Helper()
	s.says(t, "eden", "buy the tiles", "the tiles are there")
	s.shows(t, "when eden has resumed it", "ruda", s.id, boardOf{status: "in_progress", session: "ACTIVE", steps: "1/1/1/0", last: "Task resumed",
		lines: 4, delegations: "verified verified"})
}

// ends is the last act.
func (s *story) ends(t *testing.T) {
	t.Helper()
	s.says(t, "ruda", "go on", "the house is repaired")
	s.shows(t, "at the end", "ruda", s.id, boardOf{status: "completed", session: "QUIET", steps: "2/0/0/1", last: "Task completed", lines: 8,
		delegations: "verified verified"})
}

// ofTheStory is what stands in the log of the story's work session, in order.
var ofTheStory = slices.Concat(
	[]string{"task.started ruda: Task started"},
	started("dajim", "delegation.spawned ruda: ruda>dajim", "delegation.running dajim: ruda>dajim"),
	started("seum", "delegation.spawned ruda: ruda>seum", "delegation.running seum: ruda>seum"),
	over("dajim", "", "delegation.completed dajim: ruda>dajim"),
	[]string{"task.verified ruda", "delegation.verified ruda: ruda>dajim"},
	over("seum", " failed", "delegation.failed seum: ruda>seum"),
	started("seum", "task.retrying ruda", "delegation.retrying ruda: ruda>seum again=1",
		"delegation.spawned ruda: ruda>seum again=1", "delegation.running seum: ruda>seum"),
	over("seum", "", "delegation.completed seum: ruda>seum"),
	[]string{
		"task.verified ruda", "delegation.verified ruda: ruda>seum",
		"task.updated ruda: seven tiles, 300 coins",
		"task.blocked ruda: [BLOCKED] no tiles",
		"task.resumed ruda by eden: Task resumed",
		"task.stop_guard_blocked ruda: [STOP GUARD] Completion refused: 2 steps left",
		"task.updated ruda: [s2] Completed: repair it",
		"task.updated ruda: it looks well as it is",
		"task.completed ruda: Task completed",
	},
)

// started is the start of a sub-agent, and what its task records of it.
func started(agent string, told ...string) []string {
	with := ": ruda>" + agent
	return append([]string{"a2a.job.created ruda" + with + " orchestration.task", "a2a.spawn ruda" + with + " delegation.subagent",
		"a2a.send ruda" + with + " delegation.subagent", "a2a.spawn_result ruda" + with + " delegation.subagent"}, told...)
}

// over is how a sub-agent ends, what its task is told, and how that ends the flow. outcome is "", or a space and a word.
func over(agent, outcome, told string) []string {
	with := ": ruda>" + agent
	job := "completed ruda" + with + " ok"
	if outcome != "" {
		job = "failed ruda" + with + outcome
	}
	return []string{"a2a.response " + agent + ": " + agent + ">ruda turn=1" + outcome + " delegation.subagent", told,
		"a2a.complete ruda" + with + outcome + " delegation.subagent", "a2a.job." + job + " orchestration.task"}
}

// ruda starts a task, has two sub-agents help, has one of them try again, judges both, waits for eden, who has it go on, and ends it.
// What the log, the files and the board say is right at every step, every follower is told each thing once, and it is one work session.
func TestATaskFromStartToEnd(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	told := s.hearsOfTasks(t)
	s.begins(t)
	s.moneyIsThere(t)
	s.roofIsSeen(t)
	s.goesOn(t)
	s.ends(t)
	s.checkLog(t)
	s.checkSession(t)
	s.checkHistory(t)

	marker := uses(t, s.client, "eden", "task_start", map[string]any{"description": "what comes after"})
	var want []string
	for _, e := range streamOf(t, s.Program, s.id) {
		word := map[string]string{coordination.TypeTaskStarted: "add", coordination.TypeTaskCompleted: "unlink"}[e.Type]
		want = append(want, "task_update ruda "+s.id+" "+cmp.Or(word, "change"))
		if word != "unlink" {
			want = append(want, "task_step_update ruda "+s.id+" "+cmp.Or(word, "change"))
		}
	}
	if diff := gocmp.Diff(want, told(marker.TaskID)); diff != "" {
		t.Errorf("who follows is told (-want +got):\n%s", diff)
	}
}

// checkLog checks what stands in the log of the story.
func (s *story) checkLog(t *testing.T) {
	t.Helper()
	var lines, delegations []string
	for _, f := range s.taskFacts(t) {
		if f.Type != coordination.TypeA2AJobResumed { // by a restart, which is no part of the story
			lines = append(lines, f.line())
		}
		if f.TaskID != s.id || f.WorkSessionID != s.workSession {
			t.Errorf("%s is of task %q in work session %q", f.line(), f.TaskID, f.WorkSessionID)
		}
		role := coordination.RoleDelegation
		if strings.HasPrefix(f.Type, "task.") || strings.HasPrefix(f.Type, "a2a.job.") {
			role = coordination.RoleOrchestration
		}
		if f.EventRole != string(role) {
			t.Errorf("%s is for %q", f.line(), f.EventRole)
		}
		if f.DelegationID != "" && !slices.Contains(delegations, f.DelegationID) {
			delegations = append(delegations, f.DelegationID)
		}
	}
	if diff := gocmp.Diff(ofTheStory, lines); diff != "" {
		t.Errorf("the log has (-want +got):\n%s", diff)
	}
	if len(delegations) != 2 { // what is tried again is the same
		t.Errorf("delegations: %q", delegations)
	}
	for _, f := range s.facts(t) {
		if f.EventRole == "" {
			t.Errorf("%s %d has no owner", f.Type, f.Seq)
		}
	}
	for i, e := range streamOf(t, s.Program, s.id) {
		if e.Version != int64(i)+1 {
			t.Errorf("event %d is %s with version %d", i+1, e.Type, e.Version)
		}
	}
}

// checkSession checks the work session of the story as it is shown at the end.
func (s *story) checkSession(t *testing.T) {
	t.Helper()
	shown := s.session(t)
	resumed := len(s.facts(t, coordination.TypeA2AJobResumed))
	roles := map[string]int{"orchestration.task": 17 + resumed, "delegation.subagent": 27, "conversation.main": 0}
	delete(shown.RoleCounts, "system.observability")
	if shown.WorkSessionID != s.workSession || shown.Status != "QUIET" || shown.OpenFlows != 0 || shown.OpenRuns != 0 ||
		!maps.Equal(shown.RoleCounts, roles) {
		t.Errorf("the work session: %+v", shown)
	}
	if called := read[struct{ Sessions []struct{ Title string } }](t, s.reloading, "/api/work-sessions").Sessions[0].Title; called != "repair the house" {
		t.Errorf("it is called %q", called)
	}
	var outcomes []string
	for _, thread := range shown.Threads {
		outcome := "none"
		if thread.Outcome != nil {
			outcome = *thread.Outcome
		}
		outcomes = append(outcomes, thread.ToAgent+" "+outcome)
	}
	slices.Sort(outcomes) // the first attempt of seum, which failed, has no waiting caller
	if want := []string{"dajim done", "seum done", "seum done", "unknown none"}; !slices.Equal(outcomes, want) || shown.Outcome != "done" ||
		shown.BlockedReason != nil {
		t.Errorf("its outcome is %s, those of its threads are %q", shown.Outcome, outcomes)
	}
}

// checkHistory checks what the history of ruda has at the end.
func (s *story) checkHistory(t *testing.T) {
	t.Helper()
	rows := taskRows(t, s.Program)
	ended := time.UnixMilli(rows[0].EndedMs).UTC()
	began, ok := coordination.ParseTime(rows[0].Created)
	if !ok {
		t.Fatalf("it has started at %q", rows[0].Created)
	}
	files := taskFilesOf(t, s.Program, "ruda")
	month := "task-history/" + ended.Format("2006-01") + ".md"
	if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names, []string{"CURRENT_TASK.md", month}) {
		t.Errorf("files: %q", names)
	}
	want := []taskfile.Entry{{
		Description: "repair the house", Context: "it rains in", TaskID: s.id, Priority: "high",
		Started: rows[0].Created, Completed: ended.Format("2006-01-02T15:04:05.000Z"),
		Duration: taskfile.Duration(rows[0].EndedMs - int64(began)),
		Progress: []string{"Task started", "seven tiles, 300 coins", "[BLOCKED] no tiles", "Task resumed",
			"[STOP GUARD] Completion refused: 2 steps left", "[s2] Completed: repair it", "it looks well as it is", "Task completed"},
		Summary: "seven new tiles\n\n## paid with 200 coins\n---",
	}}
	if diff := gocmp.Diff(want, taskfile.ParseMonth(files[month]).Entries()); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	history := read[struct {
		HasHistory bool
		History    string
		Months     []string
	}](t, s.reloading, "/api/agents/ruda/history")
	if !history.HasHistory || history.History != files[month] || !slices.Equal(history.Months, []string{ended.Format("2006-01")}) {
		t.Errorf("the history is shown as %+v", history)
	}
	found := read[struct {
		Location string
		Task     struct{ Status string }
	}](t, s.reloading, "/api/agents/ruda/tasks/"+s.id)
	if found.Location != "history" || found.Task.Status != coordination.StateCompleted {
		t.Errorf("the task is found as %+v", found)
	}
}
