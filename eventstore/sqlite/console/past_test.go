package console_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/pages"
)

// stateAt returns the state of the bundle's log as of an event, as layers of pages, as a server keeps it.
func (b *testBundle) stateAt(t *testing.T, seq int64) *sqlite.Scratch {
	t.Helper()
	dir := pages.DirAt(t.TempDir())
	state, err := sqlite.CreateScratch(t.Context(), sqlite.ScratchOptions{Pages: dir, Log: b.path, Until: seq})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := state.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	return state
}

// isOfToday reports whether a table is not part of a state: it is about the file itself.
func isOfToday(table string) bool { return strings.HasPrefix(table, "goose_") }

// Questions about the past and the present share their turns.
func TestThePastHasNoTurnsOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{Once: 1})
	past := b.console.Past(b.stateAt(t, 10))
	within := &asking{b: b}
	if _, err := past.Query(context.Background(), console.Question{SQL: "SELECT 1"}, within); err != nil {
		t.Fatal(err)
	}
	if got := codeOf(within.err); got != "sql_busy" {
		t.Errorf("about the present, while one about the past is answered: %s, want sql_busy", got)
	}
}

// However a statement names the file of the whole log, it learns nothing of later events, not even how many there are. The tricks are
// those that deceive an authorizer: it is told the name of the innermost view, CTE or subquery, and of a table without any column only
// what the statement calls it.
func TestThePastDoesNotReachLaterEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	past := b.console.Past(b.stateAt(t, 30))
	upper := strings.ToUpper(sqlite.ScratchLog)
	for _, name := range []string{sqlite.ScratchLog, upper, `"` + sqlite.ScratchLog + `"`, "[" + upper + "]", "`" + sqlite.ScratchLog + "`", "'" + sqlite.ScratchLog + "'"} {
		for _, trick := range []string{
			"WITH events AS (SELECT * FROM WHOLE.events) SELECT max(seq) FROM events",
			"WITH events AS MATERIALIZED (SELECT seq FROM WHOLE.events) SELECT max(a.seq) FROM events a, events b",
			"WITH RECURSIVE events(seq) AS (SELECT 1 UNION SELECT e.seq FROM WHOLE.events e, events) SELECT max(seq) FROM events",
			"SELECT max(seq) FROM (SELECT * FROM WHOLE.events) AS events",
			"SELECT (SELECT events.seq FROM WHOLE.events AS events ORDER BY seq DESC LIMIT 1)",
			"SELECT count(*) FROM WHOLE.events",
			"SELECT count(*) FROM WHOLE . events",
			"SELECT count(*) FROM WHOLE/* a comment */./* another */events",
			"SELECT count(*) FROM WHOLE.streams, events",
			"SELECT EXISTS (SELECT 1 FROM WHOLE.events WHERE rowid = 31)",
			"SELECT 1 WHERE EXISTS (SELECT * FROM WHOLE.events LIMIT 1 OFFSET 30)",
			"SELECT 1 FROM WHOLE.events LIMIT 1 OFFSET 30",
			"SELECT 31 IN (SELECT rowid FROM WHOLE.events)",
			"SELECT 31 IN WHOLE.events",
			"SELECT v.n FROM (SELECT count(*) n FROM (SELECT 1 FROM WHOLE.events)) v",
			"SELECT count(*) FROM v_events JOIN WHOLE.events USING (seq)",
			"SELECT count(*) FROM WHOLE.v_events",
			"SELECT max(seq) FROM WHOLE.v_events",
			"SELECT count(*) FROM WHOLE.sqlite_schema",
			"SELECT name FROM WHOLE.sqlite_schema",
			"SELECT count(*) FROM WHOLE.sqlite_master",
			"SELECT value FROM json_each((SELECT json_group_array(seq) FROM WHOLE.events))",
			"EXPLAIN QUERY PLAN SELECT count(*) FROM WHOLE.events",
			"VALUES ((SELECT count(*) FROM WHOLE.events))",
		} {
			statement := strings.ReplaceAll(trick, "WHOLE", name)
			a := &answers{}
			if _, err := past.Query(t.Context(), console.Question{SQL: statement, Rows: 100}, a); codeOf(err) != "sql_refused" || len(a.rows) > 0 {
				t.Errorf("%s: %s (%v), %v, want sql_refused", statement, codeOf(err), err, a.rows)
			}
		}
	}
}

// No name without a schema leads into the file of the whole log, where it has a table that the state does not have.
func TestNamesOfThePastStayThere(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	log, err := sqlite.OpenPlain(b.path, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = log.ExecContext(t.Context(), "CREATE TABLE newer AS SELECT seq FROM events")
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	past := b.console.Past(b.stateAt(t, 30))
	for _, statement := range []string{"SELECT count(*) FROM newer", "SELECT max(seq) FROM newer", "SELECT EXISTS (SELECT 1 FROM NEWER WHERE rowid = 31)",
		"SELECT seq FROM (SELECT * FROM newer)", "WITH events AS (SELECT * FROM newer) SELECT count(*) FROM events"} {
		if _, err := past.Query(t.Context(), console.Question{SQL: statement}, &answers{}); codeOf(err) != "sql_refused" {
			t.Errorf("%s: %v, want sql_refused", statement, err)
		}
	}
}
