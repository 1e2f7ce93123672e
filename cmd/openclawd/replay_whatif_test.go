package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// A server goes on while the log is folded: what is compared is one moment of its file, whatever came before and comes after it.
func TestWhatIfComparesOneMomentOfAFileInUse(t *testing.T) {
	t.Parallel()
	p := &process{stdout: t.Output(), stderr: t.Output(), now: time.Now}
	path := filepath.Join(t.TempDir(), database.Name)
	const rules = coordination.RulesV2
	live, _ := projectiontest.New(t, sqlite.Options{Path: path}, database.Projections(rules)...)
	story := projectiontest.Tell(t, live, 1_790_000_000_000)
	story.Team()

	log, err := p.openToReplay(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	state, err := p.stateAt(t.Context(), log, rules, "", "head")
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	first := state.Until()
	story.After(1_000).Team() // while the log was folded
	err = log.View(t.Context(), func(tx *sql.Tx) error {
		var moment int64
		if err := tx.QueryRow("SELECT max(seq) FROM events").Scan(&moment); err != nil {
			return err
		}
		story.After(1_000).Team() // while rows are compared
		if err := catchUp(t.Context(), log, tx, state); err != nil {
			return err
		}
		if state.Until() != moment || state.Fold.Seq() != moment || moment == first {
			t.Errorf("the tables go to event %d, the log to %d, the snapshot to %d, the first fold to %d", state.Fold.Seq(), state.Until(), moment, first)
		}
		counts, rows, err := (&shownChanges{limit: 3}).compare(context.Background(), snapshot{tx}, state, rules)
		if len(rows) > 0 || len(counts) < 40 {
			t.Errorf("%d tables, of which differs %v; want nothing to differ", len(counts), rows)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.openToReplay(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	counts, _, err := (&shownChanges{}).compare(t.Context(), state, after, rules)
	if err != nil {
		t.Fatal(err)
	}
	differs := 0
	for i := range counts {
		if counts[i].Differs() {
			differs++
		}
	}
	if differs == 0 {
		t.Error("the file has gone on, but no table differs from the moment before")
	}
}
