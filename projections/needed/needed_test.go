package needed_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/needed"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const now = int64(1_771_000_000_000)

// setup opens a log of 50 events, each stored at a time of its own.
func setup(t *testing.T) *sqlite.DB {
	t.Helper()
	clock := now - 1000
	db, _ := projectiontest.New(t, sqlite.Options{Now: func() time.Time { return time.UnixMilli(clock) }}, sessions.Definition())
	story := projectiontest.Tell(t, db, now)
	for range 50 {
		clock++
		story.Say("", "agent.said", "eden", map[string]string{"text": "hello"})
	}
	clock++
	return db
}

// insert writes a row of a table, in which what is not given is 0 or "".
func insert(t *testing.T, db *sqlite.DB, table string, given map[string]any) {
	t.Helper()
	err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		var names, marks []string
		var args []any
		err := tx.Query("SELECT name, type FROM pragma_table_xinfo(?)", []any{table}, func(r eventstore.Row) error {
			value, ok := given[r.Text(0)]
			switch {
			case ok:
			case r.Text(1) == "INTEGER":
				value = 0
			default:
				value = ""
			}
			names, marks, args = append(names, r.Text(0)), append(marks, "?"), append(args, value)
			return nil
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(marks, ", ")), args...)
		return err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, db *sqlite.DB) []needed.Reason {
	t.Helper()
	return projectiontest.Read(t, db, func(ctx context.Context, tx *sql.Tx) ([]needed.Reason, error) { return needed.Find(ctx, tx, now) })
}

func TestEachOpenThingHoldsArchivesBack(t *testing.T) {
	t.Parallel()
	type row = map[string]any
	const place = int64(1) << 24
	for _, c := range []struct {
		table string
		over  row // what is over holds nothing back
		open  row
		want  needed.Reason
	}{
		{"work", nil, row{"seq": 20, "stream": "work/x", "effect_id": "x", "state": "dead"}, needed.Reason{Seq: 20, What: "work x is dead"}},
		{"runs", row{"id": 3, "place": 3, "name": "r0", "over_seq": 4}, row{"id": 25, "place": 21, "name": "r1", "agent": "eden", "state": "queued"},
			needed.Reason{Seq: 21, What: "run r1 of eden is queued"}},
		{"a2a_jobs", row{"id": 3, "name": "j0", "over_seq": 9}, row{"id": 22, "name": "j1", "from_agent": "eden", "to_agent": "seum"},
			needed.Reason{Seq: 22, What: "flow j1 from eden to seum is open"}},
		{"tasks", row{"id": 3 * place, "name": "t0", "own": 1, "over": 5 * place}, row{"id": 23*place + 1, "name": "t1", "own": 1, "agent": "eden"},
			needed.Reason{Seq: 23, What: "task t1 of eden is open"}},
		{"tasks", nil, row{"id": 2 * place, "name": "t2", "agent": "eden"}, needed.Reason{}}, // its file alone is known, and stays
		{"plans", row{"id": 3, "name": "p0", "status": "approved"}, row{"id": 24, "name": "p1", "agent": "eden", "status": "pending"},
			needed.Reason{Seq: 24, What: "plan p1 of eden waits for a decision"}},
		{"collaborations", row{"id": 3, "name": "c0", "status": "responded", "delivery": "sent"},
			row{"id": 26, "name": "c1", "from_agent": "eden", "target_agent": "seum", "status": "escalated", "delivery": "sent"},
			needed.Reason{Seq: 26, What: "request c1 from eden to seum is escalated"}},
		{"collaborations", nil, row{"id": 27, "name": "c2", "from_agent": "eden", "target_agent": "seum", "delivery": "accepted"},
			needed.Reason{Seq: 27, What: "request c2 from eden to seum is not delivered yet"}},
		{"discord_observed", row{"place_id": "1", "agent": "eden", "slot": 1, "seq": 3, "at": now - 25*3_600_000},
			row{"place_id": "1", "agent": "eden", "slot": 2, "seq": 28, "at": now - 3_600_000},
			needed.Reason{Seq: 28, What: "eden remembers what it has observed"}},
	} {
		t.Run(c.table+" "+c.want.What, func(t *testing.T) {
			t.Parallel()
			db := setup(t)
			if c.over != nil {
				insert(t, db, c.table, c.over)
			}
			if got := find(t, db); len(got) != 0 {
				t.Errorf("nothing is open: %+v", got)
			}
			insert(t, db, c.table, c.open)
			want := []needed.Reason{c.want}
			if c.want.Seq == 0 {
				want = []needed.Reason{}
			}
			if diff := cmp.Diff(want, find(t, db)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenHandoffNeedsItsFlow(t *testing.T) {
	t.Parallel()
	db := setup(t)
	insert(t, db, "a2a_jobs", map[string]any{"id": 11, "name": "j1", "over_seq": 30})
	insert(t, db, "a2a_handoffs", map[string]any{"seq": 14, "job": "j1", "type": "question", "subject": "q1", "from_agent": "eden", "to_agent": "seum", "state": "open"})
	want := []needed.Reason{{Seq: 11, What: "question q1 from eden to seum is open"}}
	if diff := cmp.Diff(want, find(t, db)); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func TestSinkNeedsWhatItHasNotRead(t *testing.T) {
	t.Parallel()
	db := setup(t)
	story := projectiontest.Tell(t, db, now)
	story.Say(coordination.SinkStream("a"), coordination.TypeSinkAdvanced, "", coordination.SinkAdvanced{SinkID: "a", Seq: 30})
	story.Say(coordination.SinkStream("a"), coordination.TypeSinkAdvanced, "", coordination.SinkAdvanced{SinkID: "a", Seq: 40})
	story.Say(coordination.SinkStream("b"), coordination.TypeSinkAdvanced, "", coordination.SinkAdvanced{SinkID: "b", Seq: 10, Stopped: true})
	got := find(t, db)
	if len(got) != 1 || got[0].Seq != 41 || !strings.Contains(got[0].What, "sink/a") {
		t.Errorf("%+v, want what sink a has not read, from 41 on", got)
	}
}

// What is scheduled may name what was stored in the same transaction.
func TestWhatWasStoredTogetherIsNeededTogether(t *testing.T) {
	t.Parallel()
	db := setup(t)
	var events []eventstore.NewEvent
	for range 5 {
		events = append(events, eventstore.NewEvent{Type: "agent.said", AgentID: "eden", Data: []byte(`{}`)})
	}
	if _, err := db.Append(t.Context(), eventstore.StreamAppend{Stream: "agent/eden", Events: events}); err != nil {
		t.Fatal(err)
	}
	insert(t, db, "work", map[string]any{"seq": 54, "stream": "work/x", "effect_id": "x", "state": "waiting"})
	if got := find(t, db); len(got) != 1 || got[0].Seq != 51 {
		t.Errorf("%+v, want it from 51 on, the first of its append", got)
	}
}

func TestTablesThatAreBehindDoNotKnow(t *testing.T) {
	t.Parallel()
	db := setup(t)
	err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec("UPDATE projections SET seq = seq - 1")
		return err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(t.Context(), func(tx *sql.Tx) error {
		_, err := needed.Find(t.Context(), tx, now)
		return err
	})
	if stale, ok := errors.AsType[*needed.StaleError](err); !ok || stale.Lag != 1 || stale.Projection != "session" {
		t.Errorf("%v, want a *StaleError of projection session, 1 behind", err)
	}
}

func TestWhatStaysInTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ          string
		newest, want bool
	}{
		{coordination.TypeConfigApplied, false, true}, {coordination.TypeLogRedacted, false, true}, {coordination.TypeLogArchived, false, true},
		{coordination.TypeSinkAdvanced, true, true}, {coordination.TypeSinkAdvanced, false, false}, {coordination.TypeFileChanged, true, true},
		{coordination.TypeFileChanged, false, false}, {coordination.TypeSessionMessage, true, false}, {"logging.started", true, false},
	} {
		if got := needed.Kept(c.typ, c.newest); got != c.want {
			t.Errorf("%s, the newest %v: stays %v, want %v", c.typ, c.newest, got, c.want)
		}
	}
}
