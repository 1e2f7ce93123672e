package storetest

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

func TestModelKeepsThePromises(t *testing.T) {
	t.Parallel()
	Run(t, func(_ testing.TB, now func() time.Time) Harness { return harnessOf(newTestModel(now)) })
}

func TestModelKeepsThePromisesWhenRestored(t *testing.T) {
	t.Parallel()
	Run(t, openSurviving)
}

func newTestModel(now func() time.Time) *Model {
	return NewModel(now, eventstore.NewIDs(now, rand.Reader), rand.Reader)
}

func harnessOf(m *Model) Harness {
	return Harness{Log: m, Restorer: m, Redact: m.Redact, Close: m.Close}
}

// openSurviving opens a model that is reopened by restoring its log into a new one.
func openSurviving(_ testing.TB, now func() time.Time) Harness { return surviving(newTestModel(now)) }

func surviving(m *Model) Harness {
	h := harnessOf(m)
	h.Reopen = func(t testing.TB) Harness {
		next := newTestModel(m.now)
		if err := next.Restore(t.Context(), m.log); err != nil {
			t.Fatal(err)
		}
		return surviving(next)
	}
	return h
}
