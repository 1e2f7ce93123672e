//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package journal_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/journal"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// Every event of every log is a step: it tells what differs between the tables before and after it, and taken back, in any number, the tables
// are what they were, from which the fold goes on.
func TestStepsThroughStoriesGoBothWays(t *testing.T) {
	t.Parallel()
	stories := map[string]func(t *testing.T, log *file){
		"team": func(t *testing.T, log *file) { projectiontest.Tell(t, log, 1_790_000_000_000).Team() },
	}
	golden, err := filepath.Glob(filepath.Join("..", "..", "testdata", "golden", "*.ndjson"))
	if err != nil || len(golden) == 0 {
		t.Fatalf("no golden logs, %v", err)
	}
	for _, path := range golden {
		stories[filepath.Base(path)] = func(t *testing.T, log *file) { restore(t, log, path) }
	}
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := openFile(t)
			tell(t, log)
			events, err := log.Read(t.Context(), 0, 1_000)
			if err != nil || len(events) == 0 {
				t.Fatalf("%d events, %v", len(events), err)
			}
			watched, late := openFolded(t, log), openFolded(t, log) // the second has no journal, and is a step behind
			update(t, watched, func(tx eventstore.Tx) error { return journal.Install(tx, definitions()) })
			update(t, late, func(tx eventstore.Tx) error { return late.fold.Resume(tx) })

			states := map[int][]string{0: watched.dump(t)} // by the number of events
			for i := range events {
				told := watched.forward(t, &events[i])
				if looked := i + 1; looked%lookEvery == 0 {
					if diff := cmp.Diff(differences(t, late, watched, definitions()), told); diff != "" {
						t.Fatalf("changes of event %d (-made +told):\n%s", looked, diff)
					}
					states[looked] = watched.dump(t)
				}
				update(t, late, func(tx eventstore.Tx) error { return late.fold.Step(tx, &events[i]) })
			}
			for i := len(events) - 1; i >= 0; i-- {
				watched.back(t, int64(i+1))
				if i%lookEvery != 0 {
					continue
				}
				if diff := cmp.Diff(states[i], watched.dump(t)); diff != "" {
					t.Fatalf("event %d taken back (-before it +now):\n%s", i+1, diff)
				}
				if i%4 == 0 { // there and back again: nothing is remembered of what has not happened
					watched.forward(t, &events[i])
					watched.back(t, int64(i+1))
				}
			}
		})
	}
}
