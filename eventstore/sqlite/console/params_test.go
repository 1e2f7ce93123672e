package console_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

func TestParametersHaveValues(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{Value: 40_000})
	list := func(values ...any) console.Params { return console.Params{List: values} }
	named := func(values map[string]any) console.Params { return console.Params{Named: values} }
	for _, c := range []struct {
		statement string
		params    console.Params
		want      string
	}{
		{"SELECT ?, ?, ?, ?", list(int64(9007199254740993), 1.5, "이든", nil), "ok [[9007199254740993 1.5 이든 <nil>]]"},
		{"SELECT ?2 || ?1", list("a", "b"), "ok [[ba]]"},
		{"SELECT seq FROM events WHERE seq > ? LIMIT ?", list(int64(38), int64(1)), "ok [[39]]"},
		{"SELECT count(*) FROM events WHERE agent_id LIKE :who || '%'", named(map[string]any{"who": "이"}), "ok [[40]]"},
		{"SELECT :a, @a, $a", named(map[string]any{"a": "x"}), "ok [[x x x]]"},
		{"SELECT :a", list("x"), "ok [[x]]"},
		{"SELECT length(?)", list("a\x00b"), "ok [[1]]"},
		{"SELECT octet_length(?)", list("a\x00b"), "ok [[3]]"},
		{"SELECT ?", list("1; DELETE FROM events; --"), "ok [[1; DELETE FROM events; --]]"},
		{"SELECT count(*) FROM json_each(?)", list("[1,2]"), "ok [[2]]"},
		{"EXPLAIN SELECT ?", list("x"), "ok"},
		{"SELECT 1", list(), "ok [[1]]"},
		{"SELECT 1", named(map[string]any{}), "ok [[1]]"},
		{"SELECT ?", list(), "sql_error parameters of the statement: 1, values given: 0"},
		{"SELECT ?", list("a", "b"), "sql_error parameters of the statement: 1, values given: 2"},
		{"SELECT ?3", list("a"), "sql_error parameters of the statement: 3, values given: 1"},
		{"SELECT :a", named(map[string]any{"b": "x"}), "sql_error no value for :a"},
		{"SELECT :a", named(map[string]any{"a": "x", "b": "x"}), "sql_error the statement has no parameter b"},
		{"SELECT ?", named(map[string]any{"a": "x"}), "sql_error parameter 1 has no name"},
		{"SELECT ?101", list("a"), "sql_error line 1, column 8"},
		{"SELECT ?", list("\xff"), "sql_error a value is not UTF-8"},
		{"SELECT ?", list([]byte("x")), "sql_error a value has the type []uint8"},
		{"SELECT ?", list(strings.Repeat("x", 40_001)), "sql_too_large"},
		{"SELECT ?, ?", list(strings.Repeat("x", 39_000), strings.Repeat("x", 39_000)), "sql_too_large the values of parameters have 78000 bytes"},
		{"SELECT 1", list(make([]any, 101)...), "sql_too_large 101 values of parameters"},
		{"SELECT 1 LIKE ?", list(strings.Repeat("%a", 600)), "sql_error a pattern"},
		{"SELECT zeroblob(?)", list(int64(2_000_000_000)), "sql_too_large"},
		{"ATTACH ? AS x", list(b.dir + "/secret.token"), "sql_refused"},
		{"SELECT load_extension(?)", list("x"), "sql_refused"},
		{"DELETE FROM events WHERE seq = ?", list(int64(1)), "sql_refused"},
		{"SELECT * FROM pragma_table_info(?)", list("events"), "sql_refused"},
		{"SELECT * FROM ?", list("events"), "sql_error"},
	} {
		a := &answers{}
		_, err := b.patient.Query(context.Background(), console.Question{SQL: c.statement, Params: c.params}, a)
		got := fmt.Sprint(codeOf(err), " ", a.rows)
		if err != nil {
			got = codeOf(err) + " " + err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s with %.60v: %.200s, want %s", c.statement, c.params, got, c.want)
		}
	}
}
