package debugger

import (
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// reads returns the whole log.
func reads(t testing.TB, log *sqlite.DB) []eventstore.Event {
	t.Helper()
	events, err := log.Read(t.Context(), 0, sqlite.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// Causes are followed up to the first one, each precedes its effect, and is shown with its effects.
func TestCausesAndEffects(t *testing.T) {
	t.Parallel()
	for _, log := range []*sqlite.DB{team(t), golden(t, "4-flows"), golden(t, "7-discord")} {
		related := relations{log}
		events := reads(t, log)
		for i := range events {
			e := &events[i]
			causes, err := related.causes(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			at := e.Seq
			for _, c := range causes {
				if c.Seq >= at {
					t.Errorf("event %d has the causes %+v: %d does not precede %d", e.Seq, causes, c.Seq, at)
				}
				at = c.Seq
			}
			if len(causes) == 0 || causes[0].How != ByCause {
				continue
			}
			effects, err := related.effects(t.Context(), &events[causes[0].Seq-1])
			if err != nil {
				t.Fatal(err)
			}
			if len(effects) < MaxEffects && !slices.ContainsFunc(effects, func(l Link) bool { return l.Seq == e.Seq && l.How == ByCause }) {
				t.Errorf("event %d led to %+v; want %d among them, which names it as its cause", causes[0].Seq, effects, e.Seq)
			}
		}
	}
}

// The cause of a failed message's retry is its run, whose cause is the flow, whose cause is the run of the sending
// agent.
func TestCausesOfAFlow(t *testing.T) {
	t.Parallel()
	log := team(t)
	events := reads(t, log)
	i := slices.IndexFunc(events, func(e eventstore.Event) bool { return e.Type == coordination.TypeRunFailed })
	causes, err := (relations{log}).causes(t.Context(), &events[i])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range causes {
		got = append(got, c.Type+" "+string(c.How))
	}
	want := []string{"run.queued stream", "a2a.job.created job", "run.queued run"}
	if !slices.Equal(got, want) {
		t.Errorf("causes of event %d: %v, want %v", events[i].Seq, got, want)
	}
}

// Find goes through the log page by page, both ways, and ends where nothing found.
func TestFind(t *testing.T) {
	t.Parallel()
	log := golden(t, "7-discord")
	events := reads(t, log)
	for _, match := range []func(*eventstore.Event) bool{IsTrouble, Says("A2A"), Says("\"nothing says this\"")} {
		var all []int64
		for i := range events {
			if match(&events[i]) {
				all = append(all, events[i].Seq)
			}
		}
		var later, earlier []int64
		for at := int64(0); ; {
			found, err := Find(t.Context(), log, at, Later, match, func(int64, int64) {})
			if err != nil {
				t.Fatal(err)
			}
			if found == 0 {
				break
			}
			later, at = append(later, found), found
		}
		for at := headOf(t, log) + 10; ; {
			found, err := Find(t.Context(), log, at, Earlier, match, nil)
			if err != nil {
				t.Fatal(err)
			}
			if found == 0 {
				break
			}
			earlier, at = append(earlier, found), found
		}
		slices.Reverse(earlier)
		if !slices.Equal(later, all) || !slices.Equal(earlier, all) {
			t.Errorf("found %v and %v, want %v", later, earlier, all)
		}
	}
}
