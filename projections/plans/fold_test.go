package plans_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

const planA, planB, planC = "plan_a", "plan_b", "계획 / c"

// All fields of a plan are known, also after a restart and when the table is rebuilt.
func TestAPlanIsKnownAsItWasSubmittedAndDecided(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, submitted(1, planA, "Eden", "task_1"), submitted(2, planC, "seum", "task_2"), rejected(3, planC, "seum"), submitted(4, planB, "eden", "task_1"))
	moved := approved(5, planA, "eden")
	moved.Events[0].Data = json.RawMessage(`{"planId":"plan_a","workSessionId":"ws_later","taskId":"task_other","decidedBy":"ruda","steps":["another"]}`)
	l.append(t, moved)
	for _, when := range []string{"live", "opened again", "rebuilt"} {
		want(t, when, l.load(t, planA), &plan.Plan{ID: planA, Agent: "eden", Version: 2, Seq: 1, Last: 5, TaskID: "task_1", WorkSessionID: "ws_later",
			SessionKey: "agent:Eden:main", Title: "plan of plan_a", Steps: []string{"first", "둘째"}, StepsCount: 2, Tools: []string{"exec"},
			Status: plan.Approved, SubmittedAt: base + 1, DecidedAt: base + 5, DecidedBy: "ruda"})
		want(t, when, l.load(t, planC), &plan.Plan{ID: planC, Agent: "seum", Version: 2, Seq: 2, Last: 3, TaskID: "task_2", WorkSessionID: "ws_task_2",
			SessionKey: "agent:seum:main", Title: "plan of " + planC, Steps: []string{"first", "둘째"}, StepsCount: 2, Tools: []string{"exec"},
			Status: plan.Rejected, SubmittedAt: base + 2, DecidedAt: base + 3, DecidedBy: "영희", Reason: "너무 크다"})
		want(t, when+": all", l.list(t, plans.Query{}), []string{"plan_b pending", planC + " rejected", "plan_a approved"})
		want(t, when+": pending of eden", l.pending(t, "EDEN"), 1)
		want(t, when+": open", l.open(t, "eden", "task_1"), "exec")
		if when == "live" {
			l.reopen(t)
		} else {
			l.rebuild(t)
		}
	}
	if p := l.load(t, "plan_unheard_of"); p != nil {
		t.Errorf("it is known: %+v", p)
	}
}

// A gate opens with an approval, for its agent and its task alone, and only for what the plan asks for.
func TestOnlyAnApprovalOpens(t *testing.T) {
	t.Parallel()
	l := setup(t)
	expect := func(when, open string) {
		t.Helper()
		want(t, when, l.open(t, "eden", "task_1"), open)
		for _, of := range [][2]string{{"eden", "task_2"}, {"seum", "task_1"}, {"eden", ""}} {
			want(t, when+", to "+of[0]+" for "+of[1], l.open(t, of[0], of[1]), "")
		}
	}
	expect("without plans", "")
	l.append(t, submitted(1, planA, "eden", "task_1"), submitted(2, planB, "eden", ""))
	expect("submitted", "")
	l.append(t, rejected(3, planA, "eden"), approved(4, planB, "eden"))
	expect("rejected; and one for no task is approved", "")
	l.append(t, approved(5, planA, "eden"))
	expect("approved after it was rejected", "")
	l.append(t, submitted(6, planC, "eden", "task_1"), approved(7, planC, "eden"))
	expect("another one is approved", "exec")
	l.append(t, rejected(8, planC, "eden"))
	expect("rejected after it was approved", "exec")
	l.rebuild(t)
}

// Lists select by each member, and go on from where the one before has ended.
func TestLists(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, submitted(1, "p1", "eden", "task_1"), submitted(2, "p2", "seum", "task_2"), submitted(3, "p3", "eden", "task_1"), submitted(4, "p4", "eden", "task_2"),
		approved(5, "p1", "eden"), rejected(6, "p4", "eden"))
	for name, c := range map[string]struct {
		q    plans.Query
		want []string
	}{
		"all":                  {plans.Query{}, []string{"p4 rejected", "p3 pending", "p2 pending", "p1 approved"}},
		"the newest":           {plans.Query{Limit: 2}, []string{"p4 rejected", "p3 pending"}},
		"those before":         {plans.Query{Limit: 2, Before: 3}, []string{"p2 pending", "p1 approved"}},
		"of an agent":          {plans.Query{Agent: "EDEN"}, []string{"p4 rejected", "p3 pending", "p1 approved"}},
		"of a task":            {plans.Query{TaskID: "task_2"}, []string{"p4 rejected", "p2 pending"}},
		"of a task and agent":  {plans.Query{TaskID: "task_2", Agent: "seum"}, []string{"p2 pending"}},
		"of a work session":    {plans.Query{WorkSession: "ws_task_1", Limit: 1}, []string{"p3 pending"}},
		"of both":              {plans.Query{WorkSession: "ws_task_1", TaskID: "task_2"}, nil},
		"pending":              {plans.Query{Status: "pending"}, []string{"p3 pending", "p2 pending"}},
		"pending of an agent":  {plans.Query{Status: "pending", Agent: "eden"}, []string{"p3 pending"}},
		"of all and before it": {plans.Query{WorkSession: "ws_task_1", TaskID: "task_1", Agent: "eden", Status: "approved", Before: 2, Limit: 9}, []string{"p1 approved"}},
		"of an unknown agent":  {plans.Query{Agent: "stranger"}, nil},
		"the oldest":           {plans.Query{Limit: 2, Oldest: true}, []string{"p1 approved", "p2 pending"}},
		"the oldest pending":   {plans.Query{Status: "pending", Oldest: true}, []string{"p2 pending", "p3 pending"}},
		"the oldest of a task": {plans.Query{TaskID: "task_2", Oldest: true}, []string{"p2 pending", "p4 rejected"}},
	} {
		want(t, name, l.list(t, c.q), c.want)
		whole := c.q
		whole.Limit = 0
		want(t, "count of "+name, projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (int, error) { return plans.Count(ctx, tx, c.q) }), len(l.list(t, whole)))
	}
}

// What makes no sense changes nothing: imported events, those of other streams, what cannot be read, what follows on nothing.
func TestWhatMakesNoSenseChangesNothing(t *testing.T) {
	t.Parallel()
	l := setup(t)
	with := func(a eventstore.StreamAppend, change func(*eventstore.StreamAppend)) eventstore.StreamAppend {
		change(&a)
		return a
	}
	imported := func(a *eventstore.StreamAppend) { a.Events[0].Actor = eventstore.ActorImport }
	l.append(t, with(submitted(1, planA, "eden", "task_1"), imported), approved(2, planA, "eden"),
		with(submitted(3, planA, "eden", "task_1"), func(a *eventstore.StreamAppend) { a.Stream = "log" }),
		with(submitted(4, planB, "eden", "task_1"), func(a *eventstore.StreamAppend) { a.Stream = coordination.PlanStream(planA) }),
		with(submitted(5, planA, "eden", "task_1"), func(a *eventstore.StreamAppend) {
			a.Events[0].Data = json.RawMessage(`{"planId":"plan_a","steps":"first"}`)
		}),
		with(submitted(6, planA, "eden", "task_1"), func(a *eventstore.StreamAppend) { a.Events[0].Type = "plan.dreamt" }))
	want(t, "known", l.list(t, plans.Query{}), []string(nil))
	l.append(t, submitted(7, planA, "eden", "task_1"))
	before := l.load(t, planA)
	l.append(t, with(approved(8, planA, "eden"), imported), submitted(9, planA, "seum", "task_2"),
		with(approved(10, planA, "eden"), func(a *eventstore.StreamAppend) {
			a.Events[0].Data = json.RawMessage(`{"planId":"plan_a","decidedBy":7}`)
		}))
	want(t, "changed", l.load(t, planA), before)
	l.rebuild(t)
}

// A redaction removes the text and, after a rebuild, the request of a plan: nothing unreadable stays open.
func TestRedactionTakesTheWords(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, submitted(1, planA, "eden", "task_1"), approved(2, planA, "eden"), submitted(3, planC, "seum", "task_2"), rejected(4, planC, "seum"))
	want(t, "open", l.open(t, "eden", "task_1"), "exec")
	for seq := range int64(4) {
		if err := l.Redact(t.Context(), seq+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	want(t, "plan", l.load(t, planA), &plan.Plan{ID: planA, Agent: "eden", Version: 2, Seq: 1, Last: 2, Status: plan.Approved, SubmittedAt: base + 1,
		DecidedAt: base + 2})
	want(t, "open", l.open(t, "eden", "task_1"), "")
	hashed := strings.TrimPrefix(coordination.PlanStream(planC), "plan/")
	want(t, "all", l.list(t, plans.Query{}), []string{hashed + " rejected", "plan_a approved"})
}
