package shell_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/cmd/openclawd/shell"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/output"
)

// typed are lines that someone types. "^C" is one that is taken back.
type typed struct {
	lines, prompts, remembered []string
	before                     func(line string) // is told of a line before it is given
}

func (t *typed) Line(prompt string) (string, error) {
	t.prompts = append(t.prompts, prompt)
	if len(t.lines) == 0 {
		return "", io.EOF
	}
	line := t.lines[0]
	t.lines = t.lines[1:]
	if t.before != nil {
		t.before(line)
	}
	if line == "^C" {
		return "", shell.ErrAborted
	}
	return line, nil
}

func (t *typed) Remember(line string) { t.remembered = append(t.remembered, line) }

// open is a console on a log with three events.
func open(t *testing.T) *console.Console {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		_, err := db.Append(t.Context(), eventstore.StreamAppend{Stream: "x", Events: []eventstore.NewEvent{{Type: "note.made", AgentID: "이든", Data: fmt.Appendf(nil, `{"n":%d}`, i)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := console.Open(t.Context(), path, console.Limits{Time: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// talk types lines into a shell and returns what it says, without its greeting.
func talk(t *testing.T, lines *typed, change ...func(*shell.Options)) string {
	t.Helper()
	var out strings.Builder
	opts := shell.Options{Asker: open(t), Lines: lines, Out: &out, Mode: shell.Table, Now: func() time.Time { return time.Unix(0, 0) }}
	for _, c := range change {
		c(&opts)
	}
	if err := shell.New(opts).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, said, _ := strings.Cut(out.String(), "\n")
	return said
}

func TestShellAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"a question":         {[]string{"SELECT seq, agent_id FROM events WHERE seq < 3;"}, "seq  agent_id\n1    이든\n2    이든\n2 rows\n"},
		"over lines":         {[]string{"SELECT", "", "  count(*) AS n -- all;", "FROM events", ";"}, "n\n3\n1 row\n"},
		"two on a line":      {[]string{"SELECT 1 AS a; SELECT ';' AS b;"}, "a\n1\n1 row\nb\n;\n1 row\n"},
		"without semicolon":  {[]string{"SELECT NULL AS a, 'x\ny' AS b"}, "a     b\nNULL  x↵y\n1 row\n"},
		"taken back":         {[]string{"SELECT nonsense", "^C", "SELECT 1 AS a;"}, "a\n1\n1 row\n"},
		"an error":           {[]string{"SELECT nowhere;", "SELECT 1 AS a;"}, "error: line 1, column 8: no such column: nowhere\nhint: the tables and views are in docs/schema.md, in GET /api/sql/schema, and in openclawd sql under .schema\na\n1\n1 row\n"},
		"a write":            {[]string{"DELETE FROM events;"}, "error: refused: DELETE\nhint: use SELECT, WITH, VALUES or EXPLAIN: the console is read-only\n"},
		"modes":              {[]string{".mode csv", "SELECT 1 AS a, '가' AS b;", ".mode json", "SELECT 1 AS a, 2 AS a;", ".mode xml"}, "a,b\r\n1,가\r\n[\n{\"a\":1,\"a_2\":2}\n]\nerror: .mode is one of table, json, csv\n"},
		"tables":             {[]string{".tables stream"}, "NAME     KIND   WHAT\nstreams  table\n"},
		"no tables":          {[]string{".tables nothing"}, "no matching tables or views\n"},
		"schema":             {[]string{".schema STREAMS"}, "table streams\nCOLUMN  TYPE     WHAT\nid      INTEGER  seq of the stream's first event\nname    TEXT     e.g. task/task_ab12, conversation/<uuid>\n"},
		"no schema":          {[]string{".schema nothing"}, "no table or view of that name; try: .tables\n"},
		"timer":              {[]string{".timer on", "SELECT 1 AS a;", ".timer off", "SELECT 1 AS a;", ".timer"}, "a\n1\n1 row\n0s\na\n1\n1 row\nerror: .timer is on or off\n"},
		"quit":               {[]string{".quit", "SELECT 1;"}, ""},
		"unknown":            {[]string{".import x"}, "error: unknown command .import; try: .help\n"},
		"a point in a query": {[]string{"SELECT 1", ".5 AS a;"}, "error: line 2, column 1: near \".5\": syntax error\nhint: the tables and views are in docs/schema.md, in GET /api/sql/schema, and in openclawd sql under .schema\n"},
		"nothing":            {[]string{"", "  ", ";"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, talk(t, &typed{lines: c.lines})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What is typed comes up again; a statement that goes on has another prompt.
func TestShellPromptsAndRemembers(t *testing.T) {
	t.Parallel()
	lines := &typed{lines: []string{"SELECT", "1;", "", ".help"}}
	if said := talk(t, lines); !strings.Contains(said, ".schema [NAME]") {
		t.Errorf("help says %s", said)
	}
	if diff := cmp.Diff([]string{"openclawd> ", "      ...> ", "openclawd> ", "openclawd> ", "openclawd> "}, lines.prompts); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"SELECT", "1;", ".help"}, lines.remembered); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
}

// Ctrl-C ends the question that is being answered, and nothing else.
func TestShellIsInterrupted(t *testing.T) {
	t.Parallel()
	interrupts := make(chan os.Signal, 1)
	lines := &typed{lines: []string{"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 'started' AS a UNION ALL SELECT count(*) FROM n;", "SELECT 1 AS a;"}}
	lines.before = func(string) { interrupts <- os.Interrupt } // one that comes when nothing is asked ends nothing; the channel holds one
	var out strings.Builder
	asker := &interrupting{Asker: open(t), interrupts: interrupts}
	err := shell.New(shell.Options{Asker: asker, Lines: lines, Out: &out, Mode: shell.CSV, Now: time.Now, Interrupts: interrupts}).Run(t.Context())
	_, said, _ := strings.Cut(out.String(), "\n")
	if want := "interrupted\na\r\n1\r\n"; err != nil || said != want {
		t.Errorf("%q, %v, want %q", said, err, want)
	}
}

// interrupting interrupts the first question when it has its first row.
type interrupting struct {
	shell.Asker
	interrupts chan os.Signal
	asked      int
}

func (i *interrupting) Query(ctx context.Context, q console.Question, answer console.Answer) (console.Result, error) {
	if i.asked++; i.asked > 1 {
		return i.Asker.Query(ctx, q, answer)
	}
	return i.Asker.Query(ctx, q, &signalling{answer, i.interrupts})
}

type signalling struct {
	console.Answer
	interrupts chan os.Signal
}

func (s *signalling) Row(values []any) error {
	s.interrupts <- os.Interrupt
	return s.Answer.Row(values)
}

func TestWordsAreCompleted(t *testing.T) {
	t.Parallel()
	words := shell.Words([]console.Table{{Name: "v_events", Columns: []console.ColumnDoc{{Name: "seq"}, {Name: "work_session"}}}, {Name: "events", Columns: []console.ColumnDoc{{Name: "seq"}}}})
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Errorf("words are not in order, or not once: %q", words)
	}
	for _, c := range []struct {
		line       string
		pos        int
		head, tail string
		want       []string
	}{
		{"SELECT se", 9, "SELECT ", "", []string{"SELECT", "seq"}},
		{"SELECT '가' FROM v_e WHERE", 19, "SELECT '가' FROM ", " WHERE", []string{"v_events"}},
		{"wor", 3, "", "", []string{"work_session"}},
		{"e.w", 3, "e.", "", []string{"WHEN", "WHERE", "WITH", "work_session"}},
		{".sch", 4, "", "", []string{".schema"}},
		{"SELECT ", 7, "SELECT ", "", nil},
		{"zz", 9, "", "", nil},
	} {
		head, got, tail := shell.Complete(words, c.line, c.pos)
		if diff := cmp.Diff(c.want, got); diff != "" || head != c.head || tail != c.tail {
			t.Errorf("%q at %d: %q, %q; (-want +got):\n%s", c.line, c.pos, head, tail, diff)
		}
	}
}

// What is written can be read again, to the last digit.
func TestOutputRoundTrips(t *testing.T) {
	t.Parallel()
	c := open(t)
	const statement = "SELECT 9007199254740993 AS n, 'a,\"b\"\n가' AS t, x'00ff' AS b, NULL AS z, 1.0 AS r UNION ALL SELECT -1, '', x'', 'z', 0.1"
	write := func(mode shell.Mode) string {
		var out strings.Builder
		w := shell.NewWriter(mode, &out)
		result, err := c.Query(t.Context(), console.Question{SQL: statement}, w)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.End(result); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	var objects []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(write(shell.JSON)), &objects); err != nil || len(objects) != 2 || string(objects[0]["n"]) != "9007199254740993" ||
		string(objects[0]["b"]) != `"00ff"` || string(objects[0]["z"]) != "null" || string(objects[0]["r"]) != "1.0" {
		t.Errorf("%v, %v", objects, err)
	}
	records, err := csv.NewReader(strings.NewReader(write(shell.CSV))).ReadAll()
	want := [][]string{{"n", "t", "b", "z", "r"}, {"9007199254740993", "a,\"b\"\n가", "00ff", "", "1.0"}, {"-1", "", "", "z", "0.1"}}
	if diff := cmp.Diff(want, records); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	var empty strings.Builder
	w := shell.NewWriter(shell.JSON, &empty)
	if _, err := c.Query(t.Context(), console.Question{SQL: "SELECT 1 WHERE 0"}, w); err != nil || w.End(console.Result{}) != nil || empty.String() != "[]\n" {
		t.Errorf("no rows: %q, %v", empty.String(), err)
	}
	// A table has its columns under each other whatever the script, and nothing that steers a terminal.
	var table strings.Builder
	w = shell.NewWriter(shell.Table, &table)
	result, err := c.Query(t.Context(), console.Question{SQL: "VALUES ('가나', 'x'), ('a' || char(27) || '[31m', '" + strings.Repeat("긴", 200) + "')"}, w)
	if err != nil || w.End(result) != nil || strings.ContainsRune(table.String(), 27) {
		t.Errorf("%q, %v", table.String(), err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(table.String()), "\n") {
		if cells := output.Cells(line); cells > 120 {
			t.Errorf("a line of %d cells: %s", cells, line)
		}
	}
}
