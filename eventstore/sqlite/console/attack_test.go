package console_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const secret = "TOP-SECRET-CONTENT"

// answers keeps an answer.
type answers struct {
	columns []console.Column
	rows    [][]any
}

func (a *answers) Head(columns []console.Column) error { a.columns = columns; return nil }
func (a *answers) Row(values []any) error {
	a.rows = append(a.rows, append([]any(nil), values...))
	return nil
}

// testBundle is a console on the file of a closed log, beside a secret.
type testBundle struct {
	dir, path string
	console   *console.Console
	patient   *console.Console // gives even a slow machine the time to come to any answer but that the time is up
}

func setup(t testing.TB, limits console.Limits) *testBundle {
	t.Helper()
	b := &testBundle{dir: t.TempDir()}
	b.path = filepath.Join(b.dir, "log.db")
	b.fill(t, 40)
	if err := os.WriteFile(filepath.Join(b.dir, "secret.token"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if limits.Time == 0 {
		limits.Time = testscale.Patience
	}
	var err error
	if b.console, err = console.Open(context.Background(), b.path, limits); err != nil {
		t.Fatal(err)
	}
	limits.Time = testscale.Patience
	if b.patient, err = console.Open(context.Background(), b.path, limits); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *testBundle) fill(t testing.TB, n int) {
	t.Helper()
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: b.path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		_, err := db.Append(context.Background(), eventstore.StreamAppend{Stream: "task/task_1", Events: []eventstore.NewEvent{
			{Type: "task.note", AgentID: "이든", Data: fmt.Appendf(nil, `{"n":%d,"message":"리뷰를 끝냈습니다"}`, i)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func (b *testBundle) ask(t testing.TB, statement string) (*answers, console.Result, error) {
	t.Helper()
	a := &answers{}
	result, err := b.console.Query(context.Background(), console.Question{SQL: statement, Rows: 1_000}, a)
	return a, result, err
}

// askFor sends a query that must be answered by one of the codes, separated by " or ". It waits for the time limit
// only if that is among them.
func (b *testBundle) askFor(t testing.TB, statement, want string) (*answers, error) {
	t.Helper()
	c := b.patient
	if strings.Contains(want, "sql_timeout") {
		c = b.console
	}
	a := &answers{}
	_, err := c.Query(context.Background(), console.Question{SQL: statement, Rows: 1_000}, a)
	return a, err
}

// digest hashes all files in the bundle's directory, with their names. Files that SQLite creates for reading count by
// their content alone.
func (b *testBundle) digest(t testing.TB) string {
	t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(b.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasSuffix(e.Name(), "-shm"): // read marks of readers
		case strings.HasSuffix(e.Name(), "-wal") && len(text) == 0:
		default:
			fmt.Fprintf(&all, "%s %x\n", e.Name(), sha256.Sum256(text))
		}
	}
	return all.String()
}

func codeOf(err error) string {
	var coded eventstore.Coded
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &coded):
		return coded.Code()
	}
	return err.Error()
}

// Typical queries are answered.
func TestQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	for _, c := range []struct{ statement, want string }{
		{"SELECT count(*) FROM events", "[[40]]"},
		{"SELECT count(*) FROM events;", "[[40]]"},
		{" -- how many?\nSELECT count(*) /* all */ FROM events ; -- that is all\n", "[[40]]"},
		{"VALUES (1, 'a'), (2, NULL)", "[[1 a] [2 <nil>]]"},
		{"WITH few AS (SELECT seq FROM events LIMIT 3) SELECT sum(seq) FROM few", "[[6]]"},
		{"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100) SELECT sum(x), count(*) FROM n", "[[5050 100]]"},
		{"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9) SELECT count(*) FROM n", "[[9]]"},
		{"SELECT data ->> '$.n', json_extract(data, '$.message') FROM events WHERE seq = 3", "[[2 리뷰를 끝냈습니다]]"},
		{"SELECT key, value FROM json_each('{\"a\":1,\"b\":[2]}')", "[[a 1] [b [2]]]"},
		{"SELECT count(*) FROM json_tree('[1,[2,3]]')", "[[5]]"},
		{"SELECT json_group_array(seq) FROM (SELECT seq FROM events LIMIT 3)", "[[[1,2,3]]]"},
		{"SELECT seq, row_number() OVER w, lag(seq) OVER w FROM events WINDOW w AS (ORDER BY seq DESC) LIMIT 2", "[[40 1 <nil>] [39 2 40]]"},
		{"SELECT ntile(2) OVER (ORDER BY seq), sum(seq) OVER (ROWS 1 PRECEDING) FROM events LIMIT 1", "[[1 1]]"},
		{"SELECT type, count(*) FROM events GROUP BY type HAVING count(*) > 1 ORDER BY 1", "[[task.note 40]]"},
		{"SELECT agent_id FROM events WHERE agent_id LIKE '이%' AND data LIKE '%리뷰%' LIMIT 1", "[[이든]]"},
		{"SELECT s.name FROM events e JOIN streams s ON s.id = e.stream_id WHERE e.seq = 1", "[[task/task_1]]"},
		{"SELECT seq, type, message FROM v_events WHERE seq = 2", "[[2 task.note 리뷰를 끝냈습니다]]"},
		{"SELECT 9223372036854775807, -1.5, 1e300, x'00ff', ''", "[[9223372036854775807 -1.5 1e+300 [0 255] ]]"},
		{"SELECT name FROM sqlite_schema WHERE name = 'events'", "[[events]]"},
		{"SELECT count(*) > 0 FROM sqlite_master", "[[1]]"},
		{"SELECT strftime('%Y', 0, 'unixepoch'), typeof(random()), upper('ab'), round(1.25, 1), iif(1, 'a', 'b')", "[[1970 integer AB 1.3 a]]"},
		{"SELECT salt FROM events WHERE salt IS NOT NULL", "[]"}, // it reads as NULL
		{"SELECT max(salt), count(salt), hex(salt) FROM events", "[[<nil> 0 ]]"},
		{"SELECT count(*) FROM goose_db_version WHERE version_id = 1", "[[1]]"},
		{"SELECT 1 WHERE 'a;b' = 'a' || ';' || 'b'", "[[1]]"},
		{"SELECT 1 AS [a;b], 2 AS \"c\"\"d;\", 3 AS `e;`", "[[1 2 3]]"},
	} {
		a, result, err := b.ask(t, c.statement)
		if got := fmt.Sprint(a.rows); err != nil || got != c.want || result.Rows != len(a.rows) {
			t.Errorf("%s: %s, %v, want %s", c.statement, got, err, c.want)
		}
	}
	for _, c := range []string{"EXPLAIN SELECT * FROM events", "EXPLAIN QUERY PLAN SELECT * FROM v_work_sessions", "SELECT * FROM v_conversations"} {
		if a, _, err := b.ask(t, c); err != nil || len(a.columns) == 0 {
			t.Errorf("%s: %v", c, err)
		}
	}
	// Every view can be queried, so no view needs a forbidden function.
	tables, err := b.console.Schema(t.Context())
	if err != nil || len(tables) < 50 {
		t.Fatalf("%d tables: %v", len(tables), err)
	}
	for _, table := range tables {
		if _, _, err := b.ask(t, "SELECT * FROM "+table.Name+" LIMIT 5"); err != nil {
			t.Errorf("%s: %v", table.Name, err)
		}
	}
}

// A query can be cancelled, between rows and within one.
func TestQuestionsAreTakenBack(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{Time: time.Hour})
	ctx, stop := context.WithCancel(context.Background())
	_, err := b.console.Query(ctx, console.Question{SQL: "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 1 UNION ALL SELECT count(*) FROM n"},
		&stopping{stop: stop})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
	broken := errors.New("the pipe is broken")
	_, err = b.console.Query(t.Context(), console.Question{SQL: "SELECT 1"}, &stopping{stop: func() {}, err: broken})
	if !errors.Is(err, broken) {
		t.Errorf("%v, want the error of who reads", err)
	}
}

// stopping cancels the query at its first row.
type stopping struct {
	stop func()
	err  error
}

func (*stopping) Head([]console.Column) error { return nil }
func (s *stopping) Row([]any) error           { s.stop(); return s.err }

// Queries above the limit are refused at once.
func TestQuestionsHaveTurns(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{Once: 1})
	within := &asking{b: b}
	if _, err := b.console.Query(t.Context(), console.Question{SQL: "SELECT 1"}, within); err != nil {
		t.Fatal(err)
	}
	if got := codeOf(within.err); got != "sql_busy" {
		t.Errorf("a second one: %s, want sql_busy", got)
	}
	if _, _, err := b.ask(t, "SELECT 1"); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// asking sends another query while one is answered.
type asking struct {
	b   *testBundle
	err error
}

func (*asking) Head([]console.Column) error { return nil }
func (a *asking) Row([]any) error {
	_, a.err = a.b.console.Query(context.Background(), console.Question{SQL: "SELECT 1"}, &answers{})
	return nil
}

// Rows and bytes of an answer are bounded.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{Bytes: 1_000})
	for rows, truncated := range map[int]bool{1: true, 39: true, 40: false, 41: false, 0: false} {
		a := &answers{}
		result, err := b.console.Query(t.Context(), console.Question{SQL: "SELECT seq FROM events", Rows: rows}, a)
		if err != nil || result.Truncated != truncated || truncated && result.Rows != rows || len(a.rows) != result.Rows {
			t.Errorf("at most %d: %+v with %d rows, %v", rows, result, len(a.rows), err)
		}
	}
	a, _, err := b.ask(t, "SELECT data FROM events")
	if got := codeOf(err); got != "sql_too_large" || len(a.rows) == 0 || len(a.rows) == 40 {
		t.Errorf("%d rows, %s, want some and sql_too_large", len(a.rows), got)
	}
}

// Beside a writer, what was appended before the question is in the answer, and the writer goes on.
func TestLiveFileIsAsked(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: b.path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := 41; n < 50; n++ {
		if _, err := db.Append(t.Context(), eventstore.StreamAppend{Stream: "x", Events: []eventstore.NewEvent{{Type: "x.y", Data: []byte(`{}`)}}}); err != nil {
			t.Fatal(err)
		}
		if a, _, err := b.ask(t, "SELECT max(seq) FROM events"); err != nil || fmt.Sprint(a.rows) != fmt.Sprintf("[[%d]]", n) {
			t.Errorf("after event %d: %v, %v", n, a.rows, err)
		}
	}
}

// Only databases of openclawd are opened.
func TestOtherFilesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	for name, text := range map[string]string{"secret.token": secret, "big": strings.Repeat(secret, 1_000)} {
		path := filepath.Join(b.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := console.Open(t.Context(), path, console.Limits{}); codeOf(err) != "corrupt" {
			t.Errorf("%s: %v, want that it is no database", name, err)
		}
	}
	if _, err := console.Open(t.Context(), filepath.Join(b.dir, "none.db"), console.Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// An error says where it is: lines and characters count from 1.
func TestErrorsSayWhere(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	for statement, want := range map[string]string{
		"SELECT '가나다',\n  nowhere FROM events": "line 2, column 3: no such column: nowhere",
		"SELECT '가나다', nowhere FROM events":    "line 1, column 15: no such column: nowhere",
		"SELECT 1 FRM events x y":              `line 1, column 14: near "events": syntax error`,
	} {
		if _, _, err := b.ask(t, statement); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", statement, err, want)
		}
	}
}

// Functions of ours get arguments that SQLite makes room for when they are read.
func TestArgumentWithoutMemory(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{Heap: 1 << 20})
	for _, statement := range []string{"SELECT instr(zeroblob(1900000), x'01')", "SELECT replace(zeroblob(1900000), 'a', 'b')", "SELECT zeroblob(1900000) LIKE 'a'"} {
		if _, _, err := b.ask(t, statement); !errors.As(err, new(*console.LimitError)) {
			t.Errorf("%s: %v, want that it takes too much memory", statement, err)
		}
	}
}

// FuzzQuery: nothing that is asked changes the file or breaks the program.
func FuzzQuery(f *testing.F) {
	corpus, err := os.ReadFile("testdata/attacks.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(corpus), "\n== ") {
		_, statement, _ := strings.Cut(block, "\n")
		f.Add(statement)
	}
	b := setup(f, console.Limits{Time: 50 * time.Millisecond, Bytes: 1 << 20, Once: 16})
	before := b.digest(f)
	f.Fuzz(func(t *testing.T, statement string) {
		_, result, err := b.ask(t, statement)
		var coded eventstore.Coded
		if err != nil && !errors.As(err, &coded) {
			t.Errorf("%q: %v has no code", statement, err)
		}
		if result.Rows > 1_000 {
			t.Errorf("%q: %d rows", statement, result.Rows)
		}
		if after := b.digest(t); after != before {
			t.Errorf("%q changed the directory:\n%s", statement, after)
		}
	})
}
