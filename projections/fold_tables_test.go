//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package projections_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// A file that is folded up to an event has the tables, the checkpoints and the rows of views that a log had that was stopped there.
func TestFoldGivesTheTablesOfALogThatWasStoppedThere(t *testing.T) {
	t.Parallel()
	foldAtPoints(t, testscale.Of(400, 2_000), testscale.Of(1, 3))
}

// However far each run goes, and whether the next event comes by a step: the tables are the same, and so are the indexes.
func TestFoldGoesOn(t *testing.T) {
	t.Parallel()
	events := testscale.Of[int64](320, 700)
	b := setup(t, definitions()...)
	if _, err := b.Append(t.Context(), story(t, int(events))...); err != nil {
		t.Fatal(err)
	}
	b.wantLive(t)
	want := b.dump(t)
	log, err := b.Read(t.Context(), 0, int(events))
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		name string
		runs []int64 // up to there; then steps up to the next
	}{
		{"in one run", []int64{events}},
		{"in runs", []int64{0, 0, 1, 1, 200, 201, events, events}},
		{"in steps", []int64{}},
		{"in a run, then steps", []int64{events - 50}},
	} {
		scratch := b.scratch(t, events)
		fold := projections.NewFold(scratch, b.defs, rules)
		fold.SetPace(30, 70)
		told := int64(0)
		for _, until := range way.runs {
			if err := fold.Run(t.Context(), b, until, func(done, total int64) {
				if total != until || done <= told || done > until {
					t.Errorf("%s: told %d of %d after %d on the way to %d", way.name, done, total, told, until)
				}
				told = done
			}); err != nil {
				t.Fatal(err)
			}
			if told != until {
				t.Errorf("%s: at %d it had told of %d", way.name, until, told)
			}
		}
		for fold.Seq() < events {
			step(t, scratch, fold, &log[fold.Seq()])
		}
		wantSame(t, "tables folded "+way.name, projectiontest.Dump(t, scratch, b.defs...), want)
		var indexes []string
		for _, name := range schemaOf(t, b, "index") {
			if name != "index events_by_id" && name != "index events_by_stream" && name != "index sqlite_autoindex_streams_1" {
				indexes = append(indexes, name)
			}
		}
		wantSame(t, "indexes folded "+way.name, schemaOf(t, scratch, "index"), indexes)
	}
}
