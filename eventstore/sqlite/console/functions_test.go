package console_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

// Our own functions return the same as SQLite's.
func TestFunctionsAnswerAsSQLitesOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: b.path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	values := []string{"NULL", "''", "'a'", "'aba'", "'가나다'", "'나'", "'a가a'", "x''", "x'61'", "x'ff61ff'", "x'ff'", "1", "-10", "0", "1.5", "1.0", "-0.0", "1e300", "100000000000000000000.0",
		"1e15", "1e16", "1e17", "-123456789012345678.0", "12345.678e9", "2.5e-7", "0.1", "1e-5", "0.0001", "0.30000000000000004", "123456789012345678", "3.14159265358979312", "9e999", "-9e999", "'  x '", "' '", "'1'", "'.'"}
	var calls []string
	for _, x := range values {
		for _, y := range values {
			calls = append(calls, fmt.Sprintf("instr(%s,%s)", x, y), fmt.Sprintf("trim(%s,%s)", x, y), fmt.Sprintf("ltrim(%s,%s)", x, y), fmt.Sprintf("rtrim(%s,%s)", x, y),
				fmt.Sprintf("replace(%s,%s,'가')", x, y), fmt.Sprintf("replace('aab',%s,%s)", x, y))
		}
	}
	const together = 150
	err = db.View(t.Context(), func(tx *sql.Tx) error {
		for some := range slices.Chunk(calls, together) {
			var list []string
			want := make([]string, len(some))
			into := make([]any, len(some))
			for i, call := range some {
				list = append(list, fmt.Sprintf("quote(%s) || ' ' || typeof(%s)", call, call))
				into[i] = &want[i]
			}
			statement := "SELECT " + strings.Join(list, ", ")
			if err := tx.QueryRowContext(t.Context(), statement).Scan(into...); err != nil {
				return err
			}
			a, _, err := b.ask(t, statement)
			if err != nil {
				return err
			}
			for i, call := range some {
				if got := a.rows[0][i]; got != want[i] {
					t.Errorf("%s: %v, want %v", call, got, want[i])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
