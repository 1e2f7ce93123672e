package workqueue_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// An owner is busy while work of the kind waits or runs, and not once it is done or given up.
func TestBusy(t *testing.T) {
	t.Parallel()
	l := setup(t)
	busy := func(kind, owner string, wants bool) {
		t.Helper()
		if got := decide(t, l, func(tx eventstore.Tx) (bool, error) { return workqueue.Busy(tx, kind, owner) }); got != wants {
			t.Errorf("%s is busy with %s: %t, want %t", owner, kind, got, wants)
		}
	}
	busy("k", "eden", false)
	l.append(t, ask("a", "key", "eden", 0), ask("b", "other", "eden", base+1_000))
	busy("k", "eden", true)
	busy("k", "seum", false)
	busy("other", "eden", false)
	l.append(t, event("a", coordination.TypeWorkLeased, ""), event("b", coordination.TypeWorkCancelled, ""))
	busy("k", "eden", true)
	l.append(t, event("a", coordination.TypeWorkDead, `"error":"no"`))
	busy("k", "eden", false)
	l.append(t, event("a", coordination.TypeWorkResent, ""))
	busy("k", "eden", true)
	l.append(t, event("a", coordination.TypeWorkCompleted, ""))
	busy("k", "eden", false)
}
