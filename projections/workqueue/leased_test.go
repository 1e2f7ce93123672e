package workqueue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// What waits, what is of another kind and what is done is not leased.
func TestLeasedOfAKind(t *testing.T) {
	t.Parallel()
	l := setup(t)
	leased := func() (ids []string) {
		for _, i := range decide(t, l, func(tx eventstore.Tx) ([]workqueue.Item, error) { return workqueue.LeasedOf(tx, "k") }) {
			ids = append(ids, i.EffectID)
		}
		return ids
	}
	for _, id := range []string{"a", "b", "c"} {
		l.append(t, ask(id, "key "+id, "eden", 0))
	}
	if got := leased(); got != nil {
		t.Errorf("%v are leased, want none", got)
	}
	for _, id := range []string{"c", "a"} {
		l.append(t, event(id, "work.leased", `"attempt":1,"leaseUntilMs":9000`))
	}
	if diff := cmp.Diff([]string{"a", "c"}, leased()); diff != "" {
		t.Errorf("leased are (-want +got):\n%s", diff)
	}
	l.append(t, event("a", "work.completed", `"attempt":1`))
	if diff := cmp.Diff([]string{"c"}, leased()); diff != "" {
		t.Errorf("leased are, after one was done (-want +got):\n%s", diff)
	}
	if other := decide(t, l, func(tx eventstore.Tx) ([]workqueue.Item, error) { return workqueue.LeasedOf(tx, "mail") }); other != nil {
		t.Errorf("%v of another kind are leased, want none", other)
	}
}

// Tried before is what waits for another attempt: not what was never tried, is leased or done, or of another kind.
func TestTriedOfAKind(t *testing.T) {
	t.Parallel()
	l := setup(t)
	tried := func(kind string) (ids []string) {
		for _, i := range decide(t, l, func(tx eventstore.Tx) ([]workqueue.Item, error) { return workqueue.TriedOf(tx, "p", kind) }) {
			ids = append(ids, i.EffectID)
		}
		return ids
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		l.append(t, ask(id, "key "+id, "eden", 0))
	}
	for _, id := range []string{"d", "c", "b"} {
		l.append(t, event(id, "work.leased", `"attempt":1,"leaseUntilMs":9000`))
	}
	l.append(t, event("d", "work.lease_expired", `"attempt":1,"reason":"restart"`))
	l.append(t, event("c", "work.completed", `"attempt":1`))
	l.append(t, event("b", "work.released", `"attempt":1,"dueAtMs":9000`))
	if diff := cmp.Diff([]string{"b", "d"}, tried("k")); diff != "" {
		t.Errorf("tried before are (-want +got):\n%s", diff)
	}
	if other := tried("mail"); other != nil {
		t.Errorf("%v of another kind are tried, want none", other)
	}
}
