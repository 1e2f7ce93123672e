package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/projections/movedin"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// recorded migrates, and returns what the log then says of migrations.
func (h *home) recorded(t *testing.T, change func(*migrate.Options)) ([]movedin.Migration, error) {
	t.Helper()
	o := h.options()
	o.Record = true
	if change != nil {
		change(&o)
	}
	_, err := migrate.Run(t.Context(), o)
	return projectiontest.Read(t, h.db, func(ctx context.Context, tx *sql.Tx) ([]movedin.Migration, error) {
		return movedin.Read(ctx, tx, "")
	}), err
}

// The log says what a migration has taken over and what it has left. One that adds nothing and finds the same adds no event.
func TestTheLogSaysWhatWasTakenOver(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1), `{"type":"message","id":"x","mess`)
	h.write("cron/jobs.json", `{"jobs":[`+fmt.Sprintf(ping, `,"trigger":{"script":"x"}`, 5)+"]}")
	list, err := h.recorded(t, nil)
	if err != nil || len(list) != 1 || list[0].State != movedin.Done || list[0].Began == 0 || list[0].Ended == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	r := list[0].Migrated
	if r.Complete || r.LeftTotal != 1 || len(r.Left) != 2 || r.Era != "files" || r.From != h.dir || r.Left[0].Note == r.Left[1].Note || r.Counts[0].New != 1 {
		t.Errorf("report %+v", r)
	}
	before := h.head()
	if _, err := h.recorded(t, nil); err != nil || h.head() != before {
		t.Errorf("the second run has added %d events, %v", h.head()-before, err)
	}
	list, err = h.recorded(t, func(o *migrate.Options) { o.Only = []string{migrate.Sessions} })
	if err != nil || len(list) != 1 || list[0].Began != 0 || !list[0].Migrated.Complete || len(list[0].Migrated.Only) != 1 || h.head() != before+1 {
		t.Errorf("%+v, %v, %d events", list, err, h.head()-before)
	}
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1), said("a2", "user", "second", 2))
	if list, err = h.recorded(t, nil); err != nil || len(list) != 1 || list[0].Began == 0 || len(list[0].Migrated.Left) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A migration that was interrupted is open until it is repeated.
func TestInterruptedMigrationsAreOpen(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for n := range 3 {
		lines := []string{header(fmt.Sprint("t", n))}
		for i := range 2_500 {
			lines = append(lines, said(fmt.Sprint("a", i), "user", "same words", i/60))
		}
		h.transcript(fmt.Sprintf("t%d.jsonl", n), lines...)
	}
	h.store(stored(mainKey, "t0", ""), stored("agent:eden:b", "t1", ""), stored("agent:eden:c", "t2", ""))
	ctx, cancel := context.WithCancel(t.Context())
	o := h.options()
	o.Record = true
	o.Progress = func(done, total int64) {
		if done > total*9/10 {
			cancel()
		}
	}
	if _, err := migrate.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	list := projectiontest.Read(t, h.db, func(ctx context.Context, tx *sql.Tx) ([]movedin.Migration, error) {
		return movedin.Read(ctx, tx, "")
	})
	if len(list) != 1 || list[0].State != movedin.Open || list[0].Migrated != nil {
		t.Fatalf("%+v", list)
	}
	if list, err := h.recorded(t, nil); err != nil || len(list) != 1 || list[0].State != movedin.Done || !list[0].Migrated.Complete {
		t.Errorf("%+v, %v", list, err)
	}
}
