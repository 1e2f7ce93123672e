package console_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

// LIKE and GLOB return the same as SQLite's, for any pattern.
func TestPatternsMatchAsSQLitesOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: b.path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	quoted := func(chars string, most int) *rapid.Generator[string] {
		return rapid.Map(rapid.StringOfN(rapid.SampledFrom([]rune(chars)), 0, most, -1), func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" })
	}
	texts, likes, globs := quoted("abABzé가나-]^[%_*?'", 8), quoted("aAbé가%%_\\[", 6), quoted("aAb가**??[[]]^-", 7)
	rapid.Check(t, func(t *rapid.T) {
		const together = 40
		var list []string
		for range together {
			text := texts.Draw(t, "text")
			list = append(list, fmt.Sprintf("%s LIKE %s", text, likes.Draw(t, "like")), fmt.Sprintf("%s GLOB %s", text, globs.Draw(t, "glob")),
				fmt.Sprintf(`%s LIKE %s ESCAPE '\'`, text, likes.Draw(t, "escaped")), fmt.Sprintf(`%s LIKE %s ESCAPE '%%'`, text, likes.Draw(t, "escaped")))
		}
		statement := "SELECT " + strings.Join(list, ", ")
		want, into := make([]int64, len(list)), make([]any, len(list))
		for i := range want {
			into[i] = &want[i]
		}
		err := db.View(context.Background(), func(tx *sql.Tx) error { return tx.QueryRow(statement).Scan(into...) })
		if err != nil {
			t.Fatal(err)
		}
		a := &answers{}
		if _, err := b.console.Query(context.Background(), console.Question{SQL: statement}, a); err != nil {
			t.Fatal(err)
		}
		for i, expression := range list {
			if a.rows[0][i] != want[i] {
				t.Fatalf("%s: %v, want %v", expression, a.rows[0][i], want[i])
			}
		}
	})
	for _, c := range []struct{ expression, want string }{
		{"NULL LIKE 'a'", "<nil>"}, {"'a' LIKE NULL", "<nil>"}, {"'a' LIKE 'a' ESCAPE NULL", "<nil>"}, {"x'61' LIKE 'a'", "0"}, {"12 LIKE '1_'", "1"},
		{"'a' || char(0) || 'b' LIKE 'a'", "1"}, {"'İ' LIKE 'i'", "0"}, {"'É' LIKE 'é'", "0"}, {"'" + strings.Repeat("ab", 5_000) + "c' LIKE '%b%c'", "1"},
	} {
		a, _, err := b.ask(t, "SELECT "+c.expression)
		if err != nil || fmt.Sprint(a.rows[0][0]) != c.want {
			t.Errorf("%s: %v, %v, want %s", c.expression, a.rows, err, c.want)
		}
	}
}

// BenchmarkLike compares LIKE over a log with what SQLite's own takes.
func BenchmarkLike(b *testing.B) {
	bundle := setup(b, console.Limits{Time: time.Minute})
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: bundle.path, ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const statement = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200000) SELECT count(*) FROM n, events WHERE seq = 1 + x % 40 AND data || data || data || data LIKE '%deploy%'"
	b.Run("console", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := bundle.ask(b, statement); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("SQLite", func(b *testing.B) {
		for b.Loop() {
			err := db.View(context.Background(), func(tx *sql.Tx) error { var n int64; return tx.QueryRow(statement).Scan(&n) })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
