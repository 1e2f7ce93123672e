//go:build !race

// With the race detector everything takes many times longer, so these measurements would be meaningless.

package console_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// The time limit ends a statement at any point: while it computes its first row, and after rows were returned.
//
// Promise: sql-reads
func TestStatementsEndInTime(t *testing.T) {
	t.Parallel()
	const limit, allowed = 300 * time.Millisecond, 100 * time.Millisecond
	b := setup(t, console.Limits{Time: limit})
	endless := "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
	for _, statement := range []string{
		endless + "SELECT count(*) FROM n", endless + "SELECT 1 UNION ALL SELECT count(*) FROM n", endless + "SELECT x FROM n WHERE x < 0",
		endless + "SELECT x FROM n ORDER BY -x", "SELECT 1 UNION ALL SELECT count(*) FROM sqlite_schema a, sqlite_schema b, sqlite_schema c, sqlite_schema d",
	} {
		best := time.Hour
		for first := time.Now(); best > allowed && time.Since(first) < testscale.Patience; { // the machine may be busy with something else
			start := time.Now()
			_, _, err := b.ask(t, statement)
			best = min(best, time.Since(start)-limit)
			var late *console.LimitError
			if !errors.As(err, &late) || !late.Late {
				t.Fatalf("%s: %v, want that its time is up", statement, err)
			}
		}
		if best > allowed {
			t.Errorf("%s ended %s too late, %s are allowed", statement, best, allowed)
		}
	}
}

// What one row takes within functions ends in time as well.
func TestWorkWithinARowEndsInTime(t *testing.T) {
	t.Parallel()
	const limit, allowed = 300 * time.Millisecond, 2 * time.Second
	b := setup(t, console.Limits{Time: limit})
	made := "WITH a AS MATERIALIZED (SELECT hex(zeroblob(1000000)) x) SELECT "
	for _, expression := range []string{"x LIKE '%_" + strings.Repeat("0", 400) + "1%'", "x GLOB '*?" + strings.Repeat("[0]", 300) + "1*'", "instr(x, x || '1')", "replace(x, '0', '1')", "length(trim(x, '0'))"} {
		best := time.Hour
		for first := time.Now(); best > allowed && time.Since(first) < testscale.Patience; {
			start := time.Now()
			_, _, err := b.ask(t, made+strings.Repeat(expression+", ", 60)+"1 FROM a")
			if code := codeOf(err); code != "sql_timeout" && code != "ok" && code != "sql_too_large" {
				t.Fatalf("%s: %s", expression, code)
			}
			best = min(best, time.Since(start)-limit)
		}
		if best > allowed { // SQLite's own LIKE would take half a minute
			t.Errorf("%.60s ended %s too late", expression, best)
		}
	}
}
