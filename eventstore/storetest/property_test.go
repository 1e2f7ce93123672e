package storetest

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
)

func TestModelMatchesItself(t *testing.T) {
	t.Parallel()
	RunProperty(t, openSurviving)
}

// A property that no store can fail proves nothing: each of these stores breaks one promise, and must be found out.
func TestPropertyFindsBrokenStores(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(*Model) Harness{
		"forgets ids": func(m *Model) Harness {
			return appendingAs(m, func(appends []eventstore.StreamAppend) []eventstore.StreamAppend {
				for _, a := range appends {
					for i := range a.Events {
						a.Events[i].ID = eventstore.ID{}
					}
				}
				return appends
			})
		},
		"ignores expectations": func(m *Model) Harness {
			return appendingAs(m, func(appends []eventstore.StreamAppend) []eventstore.StreamAppend {
				for i := range appends {
					appends[i].Expect = eventstore.Any()
				}
				return appends
			})
		},
		"loses the last stream": func(m *Model) Harness {
			return appendingAs(m, func(appends []eventstore.StreamAppend) []eventstore.StreamAppend {
				return appends[:max(len(appends)-1, 0)]
			})
		},
		"forgets to redact": func(m *Model) Harness {
			h := harnessOf(m)
			h.Redact = func(ctx context.Context, seq int64) error {
				_, err := m.Event(ctx, seq)
				return err
			}
			return h
		},
		"forgets everything when closed": func(m *Model) Harness {
			h := harnessOf(m)
			h.Reopen = func(testing.TB) Harness { return harnessOf(newTestModel(m.now)) }
			return h
		},
		"stores its own time": func(m *Model) Harness {
			return appendingAs(m, func(appends []eventstore.StreamAppend) []eventstore.StreamAppend {
				for _, a := range appends {
					for i := range a.Events {
						a.Events[i] = a.Events[i].WithTS(m.now().UnixMilli())
					}
				}
				return appends
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			histories := rapid.SliceOfN(commands(), minCommands, maxCommands)
			for seed := range 200 {
				s := newSubject(t, func(_ testing.TB, now func() time.Time) Harness { return breakIt(newTestModel(now)) })
				if diverge(t, s, histories.Example(seed)) != "" {
					return
				}
			}
			t.Error("200 histories did not show it")
		})
	}
}

// appendingAs is a store that appends something else than it was asked to.
func appendingAs(m *Model, alter func([]eventstore.StreamAppend) []eventstore.StreamAppend) Harness {
	h := harnessOf(m)
	h.Log = altering{Model: m, alter: alter}
	return h
}

type altering struct {
	*Model
	alter func([]eventstore.StreamAppend) []eventstore.StreamAppend
}

func (s altering) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	changed := make([]eventstore.StreamAppend, len(appends))
	for i, a := range appends {
		a.Events = append([]eventstore.NewEvent(nil), a.Events...)
		changed[i] = a
	}
	return s.Model.Append(ctx, s.alter(changed)...)
}
