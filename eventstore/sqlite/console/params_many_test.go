//go:build !race

// These tests compute or copy much in one goroutine, for which the race detector takes minutes and finds nothing.

package console_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

// Values are released with their statement, also if it fails.
func TestManyValuesAreReleased(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	values := make([]any, console.MaxParams)
	for i := range values {
		values[i] = strings.Repeat("x", 600)
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")
	for range 200 {
		for statement, want := range map[string]string{"SELECT max(" + marks + ")": "sql_error", "SELECT 1 IN (" + marks + ")": "ok"} {
			_, err := b.patient.Query(t.Context(), console.Question{SQL: statement, Params: console.Params{List: values}}, &answers{})
			if got := codeOf(err); got != want {
				t.Fatalf("%.40s: %s (%v), want %s", statement, got, err, want)
			}
		}
	}
}
