//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package console_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// No query writes anything or reads another file, and each ends soon after its time limit.
//
// Promise: sql-reads
func TestAttacksChangeNothing(t *testing.T) {
	t.Parallel()
	limit, slack := testscale.Of(200*time.Millisecond, 700*time.Millisecond), testscale.Patience // a loaded machine; TestStatementsEndInTime measures
	b := setup(t, console.Limits{Time: limit})
	before := b.digest(t)
	tried := 0
	try := func(statement, want string) {
		tried++
		start := time.Now()
		a, err := b.askFor(t, statement, want)
		if got := codeOf(err); !slices.Contains(strings.Split(want, " or "), got) {
			t.Errorf("%.200s: %s (%v), want %s", statement, got, err, want)
		}
		if took := time.Since(start); took > limit+slack && strings.Contains(want, "sql_timeout") {
			t.Errorf("%.200s took %s, may take %s", statement, took, limit)
		}
		if shown := fmt.Sprint(a.rows, err); strings.Contains(shown, secret) {
			t.Errorf("%.200s shows the secret", statement)
		}
		if after := b.digest(t); after != before {
			t.Fatalf("%.200s changed the directory:\n%s\nwas:\n%s", statement, after, before)
		}
	}
	for _, c := range corpus(t, b.dir) {
		try(c.statement, c.want)
	}
	for _, made := range []struct{ statement, want string }{
		{"SELECT 1;\x00 DELETE FROM events", "sql_refused"},
		{"\x00DELETE FROM events", "sql_refused"},
		{"SELECT '\xff'", "sql_refused"},
		{"SELECT '" + strings.Repeat("x", console.MaxStatement) + "'", "sql_too_large"},
		{"SELECT " + strings.Repeat("(", 5_000) + "1" + strings.Repeat(")", 5_000), "sql_error"},
		{"SELECT " + strings.Repeat("1+", 5_000) + "1", "sql_error"},
		{"SELECT " + strings.Repeat("-", 1) + strings.Repeat("~", 20_000) + "1", "sql_error"},
		{"SELECT 1" + strings.Repeat(" UNION SELECT 1", 1_000), "sql_error"},
		{"SELECT " + strings.Repeat("1,", 5_000) + "1", "sql_error"},
		{"SELECT count(*) FROM events" + strings.Repeat(", events", 100), "sql_error"},
		{"SELECT " + strings.Repeat("(SELECT ", 500) + "1" + strings.Repeat(")", 500), "sql_error"},
		{"SELECT count(*) FROM events WHERE seq IN (" + strings.Repeat("1,", 30_000) + "1)", "ok"},
		{"SELECT count(*) FROM " + strings.Repeat("(SELECT * FROM ", 300) + "events" + strings.Repeat(")", 300), "ok"},
		{"VALUES (1)" + strings.Repeat(",(1)", 15_000), "ok"},
		{strings.Repeat("/*", 30_000), "sql_error"},
		{strings.Repeat(";", 60_000), "sql_error"},
		{strings.Repeat(";", 60_000) + "DROP TABLE events", "sql_refused"},
		{"EXPLAIN " + strings.Repeat("EXPLAIN ", 5_000) + "SELECT 1", "sql_error"},
		{"SELECT json_extract('" + strings.Repeat("[", 60_000) + "', '$')", "sql_error"},
		{"SELECT printf('" + strings.Repeat("%s", 30_000) + "')", "ok"},
		{"SELECT char(" + strings.Repeat("1114111,", 5_000) + "1)", "sql_error"},
	} {
		try(made.statement, made.want)
	}
	if tried < 60 {
		t.Errorf("%d attacks: fewer than there were", tried)
	}
}

// attack is a statement of the corpus with the codes that may answer it, separated by " or ".
type attack struct{ statement, want string }

// corpus reads testdata/attacks.txt for a bundle's directory.
func corpus(t *testing.T, dir string) (all []attack) {
	t.Helper()
	text, err := os.ReadFile("testdata/attacks.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimPrefix(string(text), "== "), "\n== ") {
		want, statement, _ := strings.Cut(block, "\n")
		all = append(all, attack{strings.ReplaceAll(strings.TrimSuffix(statement, "\n"), "$DIR", dir), want})
	}
	return all
}

// The same attacks fail on the tables as of an event, also with values for parameters.
//
// Promise: sql-reads
func TestAttacksOnThePastChangeNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	past := b.patient.Past(b.stateAt(t, 30))
	before := b.digest(t)
	for _, c := range corpus(t, b.dir) {
		if strings.Contains(c.want, "sql_timeout") { // shown by TestAttacksChangeNothing
			continue
		}
		a := &answers{}
		_, err := past.Query(t.Context(), console.Question{SQL: c.statement, Rows: 1_000}, a)
		want := strings.Split(c.want, " or ")
		if err != nil && strings.Contains(err.Error(), "because it is a view") { // events is one, which nothing can change
			want = append(want, "sql_error")
		}
		if got := codeOf(err); !slices.Contains(want, got) {
			t.Errorf("%.200s: %s (%v), want %s", c.statement, got, err, c.want)
		}
		if shown := fmt.Sprint(a.rows, err); strings.Contains(shown, secret) {
			t.Errorf("%.200s shows the secret", c.statement)
		}
		if after := b.digest(t); after != before {
			t.Fatalf("%.200s changed the directory:\n%s\nwas:\n%s", c.statement, after, before)
		}
	}
}
