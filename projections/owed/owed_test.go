package owed_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/projections/owed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const now = 1_771_000_000_000

// Overdue items come first, then the oldest; the limit cuts the list and not the count.
func TestDecide(t *testing.T) {
	t.Parallel()
	grace := owed.DueGrace.Milliseconds()
	facts := []owed.Fact{
		{Kind: owed.Flow, Seq: 1, Since: 90, DueAt: now - grace},     // just not
		{Kind: owed.Flow, Seq: 2, Since: 80, DueAt: now - grace - 1}, // since a moment
		{Kind: owed.Handoff, Seq: 3, Since: 70},                      // nothing is planned
		{Kind: owed.Request, Seq: 4, Since: 60, Status: response.StatusPending},
		{Kind: owed.Request, Seq: 5, Since: 50, Status: response.StatusPending, Step: 1},
		{Kind: owed.Request, Seq: 6, Since: 95, Status: response.StatusEscalated, Step: 3},
		{Kind: owed.Request, Seq: 7, Since: 60}, // not sent
	}
	want := []owed.Place{{owed.Request, 5, true}, {owed.Flow, 2, true}, {owed.Request, 6, true}, {owed.Request, 4, false}, {owed.Request, 7, false},
		{owed.Handoff, 3, false}, {owed.Flow, 1, false}}
	for limit := range len(want) + 1 {
		list, overdue := owed.Decide(facts, now, limit)
		shown := want
		if limit > 0 {
			shown = want[:limit]
		}
		if diff := cmp.Diff(shown, list); diff != "" || overdue != 3 {
			t.Errorf("limit %d: %d overdue (-want +got)\n%s", limit, overdue, diff)
		}
	}
	if list, overdue := owed.Decide(nil, now, 5); len(list) > 0 || overdue > 0 {
		t.Errorf("of nothing: %v, %d", list, overdue)
	}
	if owed.FlowOverdue(0, now) || owed.FlowOverdue(now+time.Hour.Milliseconds(), now) {
		t.Error("a flow that is not due is overdue")
	}
}
