package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/journal"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// lookEvery is after how many events of a story whole tables are compared.
var lookEvery = testscale.Of(7, 1)

const rules = coordination.RulesV2

// definitions are those of the program.
func definitions() []projections.Definition {
	return []projections.Definition{
		conversations.Routes(rules), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(), tasks.Definition(),
		continuations.Definition(), plans.Definition(), routing.Definition(), responses.Definition(),
		index.Definition(rules), conversations.Definition(rules),
	}
}

// folded is a file of tables that a fold steps through.
type folded struct {
	*sqlite.Scratch
	fold *projections.Fold
}

func openFolded(t *testing.T, log *file) *folded {
	t.Helper()
	scratch, err := sqlite.CreateScratch(t.Context(), sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "scratch.db"), Log: log.Path()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scratch.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &folded{scratch, projections.NewFold(scratch, definitions(), rules)}
}

func (f *folded) dump(t *testing.T) []string {
	t.Helper()
	return projectiontest.Dump(t, f, definitions()...)
}

// forward folds an event as a noted step, and tells what that changes.
func (f *folded) forward(t *testing.T, e *eventstore.Event) (told []compare.Change) {
	t.Helper()
	update(t, f, func(tx eventstore.Tx) (err error) {
		if err = journal.Begin(tx, e.Seq); err == nil {
			if err = f.fold.Step(tx, e); err == nil {
				told, err = journal.Changes(tx, e.Seq)
			}
		}
		return err
	})
	return told
}

// back takes the newest step back.
func (f *folded) back(t *testing.T, seq int64) {
	t.Helper()
	update(t, f, func(tx eventstore.Tx) error {
		if err := journal.Undo(tx, seq); err != nil {
			return err
		}
		return f.fold.Resume(tx)
	})
}

// Before the first noted step the tables may have come from a run of many events.
func TestStepsBeginAnywhere(t *testing.T) {
	t.Parallel()
	log := openFile(t)
	story := projectiontest.Tell(t, log, 1_790_000_000_000)
	story.Team()
	events, err := log.Read(t.Context(), 0, 1_000)
	if err != nil {
		t.Fatal(err)
	}
	middle := int64(len(events) / 2)
	watched, whole := openFolded(t, log), openFolded(t, log)
	for _, f := range []*folded{watched, whole} {
		if err := f.fold.Run(t.Context(), log, middle, nil); err != nil {
			t.Fatal(err)
		}
	}
	update(t, watched, func(tx eventstore.Tx) error { return journal.Install(tx, definitions()) })
	for i := middle; i < int64(len(events)); i++ {
		watched.forward(t, &events[i])
	}
	for i := int64(len(events)); i > middle; i-- {
		watched.back(t, i)
	}
	if diff := cmp.Diff(whole.dump(t), watched.dump(t)); diff != "" {
		t.Errorf("tables at event %d, after steps to the end and back (-before +after):\n%s", middle, diff)
	}
}

// restore puts an exported log into an empty one.
func restore(t *testing.T, log *file, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []eventstore.Event
	for line := range bytes.Lines(text) {
		parsed, rejection := ndjson.ParseLine(line)
		if rejection != nil || parsed.Exported == nil {
			t.Fatalf("%s: no exported event: %.200s", path, line)
		}
		events = append(events, *parsed.Exported)
	}
	if err := log.Restore(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkStep goes to and fro in a log that has told the same story many times.
func BenchmarkStep(b *testing.B) {
	log := openFile(b)
	story := projectiontest.Tell(b, log, 1_790_000_000_000)
	for range 20 {
		story.After(time.Hour.Milliseconds()).Team()
	}
	events, err := log.Read(b.Context(), 0, 10_000)
	if err != nil {
		b.Fatal(err)
	}
	scratch, err := sqlite.CreateScratch(b.Context(), sqlite.ScratchOptions{Path: filepath.Join(b.TempDir(), "scratch.db"), Log: log.Path()})
	if err != nil {
		b.Fatal(err)
	}
	defer scratch.Close()
	fold := projections.NewFold(scratch, definitions(), rules)
	last := &events[len(events)-1]
	if err := fold.Run(b.Context(), log, last.Seq-1, nil); err != nil {
		b.Fatal(err)
	}
	update(b, scratch, func(tx eventstore.Tx) error { return journal.Install(tx, definitions()) })
	for b.Loop() {
		update(b, scratch, func(tx eventstore.Tx) error {
			if err := journal.Begin(tx, last.Seq); err != nil {
				return err
			}
			return fold.Step(tx, last)
		})
		update(b, scratch, func(tx eventstore.Tx) error {
			if _, err := journal.Changes(tx, last.Seq); err != nil {
				return err
			}
			if err := journal.Undo(tx, last.Seq); err != nil {
				return err
			}
			return fold.Resume(tx)
		})
	}
}
