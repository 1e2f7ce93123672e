package plantools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// submitsFor submits a plan of an agent for one of its tasks, and gives its id.
func (o *fixture) submitsFor(agent, taskID string) string {
	o.t.Helper()
	return o.does(agent, "plan_submit", `{"title":"t","steps":["a"],"tools_requested":["write"],"task_id":%q}`, taskID).text("planId")
}

// standing is the status of a plan, with the decider and the reason.
func (o *fixture) standing(id string) string {
	o.t.Helper()
	shown := o.does("ruda", "plan_status", `{"plan_id":%q}`, id).object("plan")
	return strings.TrimSpace(shown.text("status") + " " + shown.text("decidedBy") + " " + shown.text("rejectReason"))
}

// rebuild rebuilds the tables, and fails the test unless they are the same.
func (o *fixture) rebuild() {
	o.t.Helper()
	live := projectiontest.Dump(o.t, o.db, definitions()...)
	if err := o.engine.Rebuild(o.t.Context(), projections.RebuildOptions{}); err != nil {
		o.t.Fatal(err)
	}
	if diff := cmp.Diff(live, projectiontest.Dump(o.t, o.db, definitions()...)); diff != "" {
		o.t.Errorf("rebuilt (-live +rebuilt):\n%s", diff)
	}
}

// However a task ends, its pending plans are rejected in the same commit, and no others. The only run about it is the one that reports
// the task.
func TestPlansEndWithTheirTask(t *testing.T) {
	t.Parallel()
	simple, steps, asks := `{"description":"고친다","simple":true}`, `{"description":"고친다","steps":[{"content":"a"},{"content":"b"}]}`,
		`{"description":"고친다","simple":true,"requires_approval":true}`
	for name, c := range map[string]struct {
		start string
		end   func(o *fixture, taskID string)
		typ   string // of the event that ends it
		told  string // beginning of the run that reports the task; "" for none
	}{
		"completed": {simple, func(o *fixture, id string) { o.does("eden", "task_complete", `{"task_id":%q}`, id) }, coordination.TypeTaskCompleted, ""},
		"forced": {steps, func(o *fixture, id string) {
			o.does("eden", "task_complete", `{"task_id":%q,"force_complete":true}`, id)
		},
			coordination.TypeTaskForceCompleted, ""},
		"cancelled": {simple, func(o *fixture, id string) { o.does("eden", "task_cancel", `{"task_id":%q}`, id) }, coordination.TypeTaskCancelled, ""},
		"rejected": {asks, func(o *fixture, id string) { o.does("ruda", "task_reject", `{"task_id":%q,"reason":"r"}`, id) },
			coordination.TypeTaskCancelled, "task:"},
		"rejected by a person": {asks, func(o *fixture, id string) {
			if _, err := o.tasks.Reject(o.t.Context(), id, "지민", "r"); err != nil {
				o.t.Error(err)
			}
		}, coordination.TypeTaskCancelled, "task:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setup(t, setting{asleep: true})
			started := o.does("eden", "task_start", "%s", c.start)
			taskID := started.text("taskId")
			approved, rejected := o.submitsFor("eden", taskID), o.submitsFor("eden", taskID)
			o.does("ruda", "plan_approve", `{"plan_id":%q}`, approved)
			o.does("ruda", "plan_reject", `{"plan_id":%q,"reason":"r"}`, rejected)
			waiting := []string{o.submitsFor("eden", taskID), o.submitsFor("eden", taskID)}
			elsewhere, ofOther := o.submitsFor("eden", o.starts("eden")), o.submitsFor("seum", o.starts("seum"))
			before, told := len(o.events("")), len(o.queued())

			c.end(o, taskID)
			after := o.events("")[before:]
			ended := slices.IndexFunc(after, func(e eventstore.Event) bool { return e.Type == c.typ && e.Stream == coordination.TaskStream(taskID) })
			var lapsed []string
			for i, e := range after {
				if e.Type != coordination.TypePlanRejected {
					continue
				}
				var d coordination.Plan
				if err := json.Unmarshal(e.Data, &d); err != nil {
					t.Fatal(err)
				}
				lapsed = append(lapsed, d.PlanID)
				if e.Actor != eventstore.ActorSystem || e.AgentID != "eden" || e.Stream != coordination.PlanStream(d.PlanID) || d.DecidedBy != "openclawd" ||
					d.Reason != "its task is over" || d.TaskID != taskID || d.WorkSessionID != started.text("workSessionId") ||
					ended < 0 || i < ended || e.RecordedAt != after[ended].RecordedAt {
					t.Errorf("%d: %s of %s by %s in %s: %s", i, e.Type, e.AgentID, e.Actor, e.Stream, e.Data)
				}
			}
			slices.Sort(lapsed)
			slices.Sort(waiting)
			if diff := cmp.Diff(waiting, lapsed); diff != "" {
				t.Errorf("rejected are (-want +got):\n%s", diff)
			}
			runs := o.queued()[told:]
			if c.told == "" && len(runs) > 0 || c.told != "" && (len(runs) != 1 || !strings.HasPrefix(runs[0].RunID, c.told)) {
				t.Errorf("runs tell of it: %+v", runs)
			}
			expect := func(when string) {
				t.Helper()
				for id, want := range map[string]string{approved: "approved ruda", rejected: "rejected ruda r", elsewhere: "pending", ofOther: "pending",
					waiting[0]: "rejected openclawd its task is over", waiting[1]: "rejected openclawd its task is over"} {
					if got := o.standing(id); got != want {
						t.Errorf("%s: %s is %q, want %q", when, id, got, want)
					}
				}
				if n := len(o.does("ruda", "plan_status", `{"status":"pending"}`).list("plans")); n != 2 {
					t.Errorf("%s: %d plans wait, want 2", when, n)
				}
			}
			expect("live")
			o.refuses(plan.CodeState, "ruda", "plan_approve", `{"plan_id":%q}`, waiting[0])
			o.rebuild()
			expect("rebuilt")
			o = o.reopened()
			expect("opened again")
		})
	}
}

// A plan that ends with its task no longer counts against the limit of waiting plans.
func TestEndedPlansMakeRoom(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	taskID := o.starts("eden")
	for range plan.MaxPending {
		o.submitsFor("eden", taskID)
	}
	next := o.starts("eden")
	o.refuses(plan.CodeFull, "eden", "plan_submit", `{"title":"t","steps":["a"],"task_id":%q}`, next)
	o.does("eden", "task_cancel", `{"task_id":%q}`, taskID)
	if n := len(o.events(coordination.TypePlanRejected)); n != plan.MaxPending {
		t.Errorf("%d plans are rejected, want %d", n, plan.MaxPending)
	}
	o.submitsFor("eden", next)
}

// A change that leaves a task open rejects nothing, and a repeated end rejects nothing again. The rejection belongs to the work session
// in which the task has ended.
func TestPlansEndOnce(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	taskID := o.starts("eden")
	id := o.submits("eden")
	o.does("eden", "task_update", `{"progress":"p"}`)
	o.does("eden", "task_block", `{"reason":"r","unblock_by":["seum"]}`)
	o.ahead.Add((72 * time.Hour).Milliseconds())
	resumed := o.does("eden", "task_resume", `{}`)
	if got := o.standing(id); got != "pending" {
		t.Errorf("the task goes on, and its plan is %s", got)
	}
	o.doesAs(asking("eden", "1"), "task_cancel", `{"task_id":%q}`, taskID)
	of := o.events("plan.")
	if last := of[len(of)-1]; resumed.text("previousWorkSessionId") == "" || !strings.Contains(string(last.Data), `"workSessionId":"`+resumed.text("workSessionId")+`"`) {
		t.Errorf("the task has ended in %q: %s", resumed.text("workSessionId"), last.Data)
	}
	before := len(o.events(""))
	if a := o.doesAs(asking("eden", "1"), "task_cancel", `{"task_id":%q}`, taskID); a["duplicate"] != true {
		t.Errorf("again: %v", a)
	}
	if after := len(o.events("")); after != before {
		t.Errorf("%d events were appended", after-before)
	}
	if diff := cmp.Diff([]string{"plan.submitted", "plan.rejected"}, o.types(id)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Where a task ends while leads decide its plans, each plan is decided once, by one of them, and the task ends either way.
func TestATaskEndsWhileItsPlansAreDecided(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	for round := range 10 {
		taskID := o.starts("eden")
		ids := []string{o.submitsFor("eden", taskID), o.submitsFor("eden", taskID), o.submitsFor("eden", taskID)}
		name := []string{"task_complete", "task_cancel"}[round%2]
		all := together(len(ids)+1, func(i int) answer {
			who, tool, args := "ruda", "plan_approve", ""
			if i == len(ids) {
				who, tool, args = "eden", name, fmt.Sprintf(`{"task_id":%q}`, taskID)
			} else {
				args = fmt.Sprintf(`{"plan_id":%q}`, ids[i])
			}
			a, err := o.call(caller(who), tool, args)
			if err != nil {
				t.Errorf("%s: %v", tool, err)
			}
			return a
		})
		if end := all[len(ids)]; end["success"] != true {
			t.Fatalf("%s: %v", name, end)
		}
		for i, id := range ids {
			want, typ := "approved ruda", "plan.approved"
			if all[i]["success"] != true {
				want, typ = "rejected openclawd its task is over", "plan.rejected"
				if all[i].text("code") != plan.CodeState {
					t.Errorf("who comes second is told %v", all[i])
				}
			}
			if got := o.standing(id); got != want {
				t.Errorf("%s is %q, want %q", id, got, want)
			}
			if diff := cmp.Diff([]string{"plan.submitted", typ}, o.types(id)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		}
	}
	o.rebuild()
}
