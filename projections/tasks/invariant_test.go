package tasks_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// Tasks, blocked ones and the active one of an agent never show up for another.
func TestInvariant12_TasksOfOneAgentDoNotShowUpForAnother(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, started(1, "task_a", "eden"), started(2, "task_b", "seum"), started(3, "task_c", "seum"), blocked(4, "task_c", "seum", "eden"),
		backlog(5, "task_d", "eden", "seum"), started(6, "task_e", "Eden"))
	eden, seum := tasks.Filter{Agents: []string{"eden"}}, tasks.Filter{Agents: []string{"Seum"}}
	want(t, "of eden", l.list(t, eden), []string{"task_a in_progress", "task_e in_progress!"})
	want(t, "of seum", l.list(t, seum), []string{"task_b in_progress!", "task_c blocked", "task_d backlog"})
	want(t, "focus of eden", l.focus(t, "eden"), "task_e")
	want(t, "focus of seum", l.focus(t, "seum"), "task_b")
	want(t, "focus of another", l.focus(t, "dajim"), "")
	l.deciding(t, func(tx eventstore.Tx) error {
		for _, c := range []struct {
			agent, status, first string
			open                 int
		}{{"eden", "blocked", "", 2}, {"seum", "blocked", "task_c", 3}, {"seum", "backlog", "task_d", 3}, {"dajim", "in_progress", "", 0}} {
			first, err := tasks.FirstOf(tx, c.agent, c.status)
			open, err2 := tasks.OpenOf(tx, c.agent)
			if first != c.first || open != c.open || err != nil || err2 != nil {
				t.Errorf("%s has %q, %v first that is %s, and %d, %v open", c.agent, first, err, c.status, open, err2)
			}
		}
		for key, want := range map[string]bool{"agent:eden:main": true, " Agent:Eden:Main ": true, "agent:eden:other": false, "agent:seum:main": false, "": false} {
			if has, err := tasks.HasOpen(tx, "eden", key); has != want || err != nil {
				t.Errorf("session %q has an open task of eden: %v, %v", key, has, err)
			}
		}
		return nil
	})
}

func planned(d *coordination.TaskStarted) {
	d.Description, d.Background = "여러 줄\n\n## 제목\n---\n  {\"a\":1} 🙂", "그리고\n문맥"
	d.Steps = []coordination.TaskStep{{ID: "s1", Content: "first", Status: "in_progress", Order: 1}, {ID: "s2", Content: "둘째", Status: "pending", Order: 2}}
}

// A task with steps and progress is the same after a restart.
func TestInvariant16_TaskIsTheSameAfterARestart(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, started(1, "task_a", "eden", planned))
	l.append(t, updated(2, "task_a", "eden", "[s1] done", coordination.TaskStep{ID: "s1", Content: "first", Status: "done", Order: 1}))
	l.append(t, updated(3, "task_a", "eden", "줄\n바꿈"))
	before, row := *l.load(t, "task_a"), l.byID(t, "task_a")
	want(t, "progress", row.Progress, []string{"Task started", "[s1] done", "줄\n바꿈"})
	want(t, "steps", before.Steps, []coordination.TaskStep{{ID: "s1", Content: "first", Status: "done", Order: 1}, {ID: "s2", Content: "둘째", Status: "pending", Order: 2}})
	if before.Version != 3 || before.Seq != 1 || before.Last != 3 || before.ActiveAt != base+3 || before.Description != "여러 줄\n\n## 제목\n---\n  {\"a\":1} 🙂" {
		t.Errorf("it is %+v", before)
	}
	l.reopen(t)
	want(t, "the task after a restart", *l.load(t, "task_a"), before)
	want(t, "its row", l.byID(t, "task_a"), row)
	l.append(t, updated(4, "task_a", "eden", "goes on"))
	want(t, "progress", l.byID(t, "task_a").Progress, []string{"Task started", "[s1] done", "줄\n바꿈", "goes on"})
	l.rebuild(t)
}

// Delegations, what has happened to them and their summary survive a restart.
func TestInvariant17_DelegationsSurviveARestart(t *testing.T) {
	t.Parallel()
	l := setup(t)
	d := func(id string, change ...func(*coordination.Delegation)) coordination.Delegation {
		d := coordination.Delegation{DelegationID: id, FromAgent: "eden", ToAgent: "seum", JobID: id, RunID: "run-" + id, Work: "look", Label: "조사"}
		for _, c := range change {
			c(&d)
		}
		return d
	}
	l.append(t, started(1, "task_a", "eden"), started(2, "task_b", "eden"))
	for i, e := range []struct {
		typ string
		d   coordination.Delegation
	}{
		{"spawned", d("d1")}, {"spawned", d("d2")}, {"running", d("d1")}, {"running", d("d2")},
		{"completed", d("d1", func(d *coordination.Delegation) { d.Snapshot = "찾았다" })},
		{"verified", d("d1", func(d *coordination.Delegation) { d.Reason, d.DecidedBy = "good", "eden" })},
		{"failed", d("d2", func(d *coordination.Delegation) { d.Error = "429" })},
		{"retrying", d("d2", func(d *coordination.Delegation) { d.RetryCount = 1 })},
		{"spawned", d("d2", func(d *coordination.Delegation) { d.JobID, d.RetryCount = "d2-2", 1 })},
		{"completed", d("d3")}, // which was not requested
	} {
		l.append(t, delegated(int64(10+i), "delegation."+e.typ, "task_a", e.d))
	}
	l.append(t, delegated(30, "delegation.running", "task_b", d("d2"))) // of another task
	row := l.byID(t, "task_a")
	var all []task.Delegation
	look := func() (summary task.Summary) {
		l.deciding(t, func(tx eventstore.Tx) (err error) {
			all, err = tasks.DelegationsOf(tx, "task_a")
			one, found, err2 := tasks.LoadDelegation(tx, "d2")
			number, err3 := tasks.NumberOfDelegations(tx, "task_a")
			if len(all) != 2 || number != 2 || !found || err != nil || err2 != nil || err3 != nil {
				return fmt.Errorf("%d delegations, counted %d, %v, %v, %v, %w", len(all), number, found, err2, err3, err)
			}
			want(t, "d2", *one, all[1])
			return nil
		})
		return task.Summarize(all)
	}
	want(t, "summary", look(), task.Summary{Total: 2, Verified: 1, Running: 1})
	if x := all[0]; x.ID != "d1" || x.TaskID != "task_a" || x.Status != "verified" || x.Snapshot != "찾았다" || x.Note != "good" || x.DecidedBy != "eden" || x.Seq != 3 {
		t.Errorf("d1 is %+v", x)
	}
	if x := all[1]; x.JobID != "d2-2" || x.Status != "spawned" || x.Retries != 1 || x.Error != "" || x.CreatedAt != base+11 {
		t.Errorf("d2 is %+v", x)
	}
	if len(row.Delegations) == 0 || len(row.DelegationEvents) == 0 || row.Seq != 11 {
		t.Errorf("the task has %s, %s, by %d", row.Delegations, row.DelegationEvents, row.Seq)
	}
	if r := l.byID(t, "task_b"); r.Delegations != nil {
		t.Errorf("another task has %s", r.Delegations)
	}
	before := all
	l.reopen(t)
	look()
	want(t, "delegations after a restart", all, before)
	want(t, "the task after a restart", l.byID(t, "task_a"), row)
	l.rebuild(t)
}

// Five tasks with mixed states survive; the list, the active one and the blocked ones are right.
func TestInvariant18_TasksOfAllStatesSurviveARestart(t *testing.T) {
	t.Parallel()
	l := setup(t)
	waiting := func(d *coordination.TaskStarted) { d.RequiresApproval, d.Progress = true, "Task created" }
	l.append(t, started(1, "task_a", "eden"), started(2, "task_b", "eden"), blocked(3, "task_b", "eden", "seum"), started(4, "task_c", "eden", waiting),
		backlog(5, "task_d", "eden", "eden", func(d *coordination.TaskBacklogAdded) { d.Priority = "urgent" }), started(6, "task_e", "eden"),
		change(7, coordination.TypeTaskCompleted, "task_e", "eden", coordination.TaskState{Summary: "done", Progress: "Task completed"}))
	all := []string{"task_d backlog", "task_a in_progress!", "task_b blocked", "task_c pending_approval", "task_e completed"}
	check := func() {
		t.Helper()
		want(t, "all", l.list(t, tasks.Filter{}), all)
		for limit := 1; limit < 6; limit++ {
			want(t, fmt.Sprint("all, by ", limit), l.list(t, tasks.Filter{Limit: limit}), all)
		}
		want(t, "open", l.list(t, tasks.Filter{Open: new(true)}), all[:4])
		want(t, "over", l.list(t, tasks.Filter{Open: new(false)}), all[4:])
		want(t, "blocked", l.list(t, tasks.Filter{Statuses: []string{"blocked"}}), all[2:3])
		want(t, "backlog and completed", l.list(t, tasks.Filter{Statuses: []string{"backlog", "completed"}, Limit: 1}), []string{all[0], all[4]})
		want(t, "urgent", l.list(t, tasks.Filter{Priority: "urgent"}), all[:1])
		want(t, "of a work session", l.list(t, tasks.Filter{WorkSession: "ws_task_b"}), all[2:3])
		want(t, "of one that has ended", l.list(t, tasks.Filter{WorkSession: "ws_task_e", Agents: []string{"eden"}}), all[4:])
		want(t, "by text", l.list(t, tasks.Filter{Text: "TASK_C", Limit: 1}), all[3:4])
		want(t, "active", l.focus(t, "eden"), "task_a")
		boards := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]tasks.Board, error) { return tasks.Boards(ctx, tx) })
		if len(boards) != 1 || boards[0].Focus == nil || boards[0].Focus.ID != "task_a" || boards[0].LastMs != base+7 || boards[0].Seq != 7 {
			t.Fatalf("boards are %+v", boards)
		}
		want(t, "counts", boards[0].Counts, map[string]int{"backlog": 1, "in_progress": 1, "blocked": 1, "pending_approval": 1})
	}
	check()
	l.reopen(t)
	check()
	l.rebuild(t)
	check()
}

// How often a task went back to the backlog, and its milestone, survive every change of its state.
func TestInvariant20_ReassignCountAndMilestoneSurviveEveryStatus(t *testing.T) {
	t.Parallel()
	testReassigned(t)
}

// The reference kept the count of reassignments in the Backlog section alone, which a started task did not have: it restarted each time.
func TestBug21_ReassignCountIsNotForgotten(t *testing.T) {
	t.Parallel()
	testReassigned(t)
}

func testReassigned(t *testing.T) {
	l := setup(t)
	abandoned := func(action string) func(ms int64) eventstore.StreamAppend {
		return func(ms int64) eventstore.StreamAppend {
			return event(ms, coordination.TypeZombieAbandoned, "task_a", "eden", coordination.ZombieAbandoned{AgeHours: 30, Action: action})
		}
	}
	to := func(typ string) func(ms int64) eventstore.StreamAppend {
		return func(ms int64) eventstore.StreamAppend {
			return change(ms, typ, "task_a", "eden", coordination.TaskState{})
		}
	}
	l.append(t, backlog(1, "task_a", "seum", "eden", func(d *coordination.TaskBacklogAdded) {
		d.MilestoneID, d.MilestoneItemID, d.DependsOn, d.DueDate, d.EstimatedEffort = "m1", "i2", []string{"task_x"}, "2026-02-28", "large"
	}))
	for i, c := range []struct {
		event    func(ms int64) eventstore.StreamAppend
		status   string
		reassign int
	}{
		{to(coordination.TypeTaskBacklogPicked), "in_progress", 0},
		{abandoned(coordination.ZombieMovedToBacklog), "backlog", 1},
		{to(coordination.TypeBacklogAutoPicked), "in_progress", 1},
		{func(ms int64) eventstore.StreamAppend { return blocked(ms, "task_a", "eden", "seum") }, "blocked", 1},
		{to(coordination.TypeTaskResumed), "in_progress", 1},
		{abandoned(coordination.ZombieMovedToBacklog), "backlog", 2},
		{to(coordination.TypeTaskBacklogPicked), "in_progress", 2},
		{abandoned(coordination.ZombieEscalated), "interrupted", 3},
		{to(coordination.TypeTaskResumed), "in_progress", 3},
		{to(coordination.TypeTaskCompleted), "completed", 3},
	} {
		l.append(t, c.event(int64(i+2)))
		x := l.load(t, "task_a")
		b := task.Backlog{Assignee: "eden", DependsOn: []string{"task_x"}, Effort: "large", DueDate: "2026-02-28", MilestoneID: "m1", MilestoneItemID: "i2",
			Reassigned: c.reassign}
		want(t, fmt.Sprint("backlog after ", i), x.Backlog, b)
		want(t, fmt.Sprint("state after ", i), x.Status, c.status)
		if i%6 == 5 {
			l.reopen(t)
		}
	}
	l.rebuild(t)
}
