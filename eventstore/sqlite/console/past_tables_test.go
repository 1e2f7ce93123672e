//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package console_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

func TestQuestionsAboutThePast(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	file, err := sqlite.CreateScratch(t.Context(), sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "past.db"), Log: b.path, Until: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for what, state := range map[string]*sqlite.Scratch{"layers": b.stateAt(t, 30), "a file": file} {
		past := b.console.Past(state)
		for _, c := range []struct{ statement, want string }{
			{"SELECT count(*), max(seq) FROM events", "ok [[30 30]]"},
			{"SELECT count(*) FROM v_events", "ok [[30]]"},
			{"SELECT e.seq FROM events e ORDER BY seq DESC LIMIT 1", "ok [[30]]"},
			{"SELECT s.name FROM events e JOIN streams s ON s.id = e.stream_id WHERE e.seq = 30", "ok [[task/task_1]]"},
			{"SELECT seq FROM events WHERE seq > 30", "ok []"},
			{"SELECT max(salt) FROM events", "ok [[<nil>]]"},
			{"SELECT count(*) FROM task_files", "ok [[0]]"},
			{"SELECT name FROM sqlite_schema WHERE name = 'task_files'", "ok [[task_files]]"},
			{"WITH x AS (SELECT seq FROM events) SELECT count(*) FROM x", "ok [[30]]"},
			{"SELECT log.seq FROM events log ORDER BY seq DESC LIMIT 1", "ok [[30]]"},
			{"SELECT seq FROM log.events", "sql_error []"},
			{"SELECT seq FROM WHOLE.events", "sql_refused []"},
			{"SELECT max(seq) FROM (SELECT * FROM WHOLE.events)", "sql_refused []"},
			{"SELECT salt FROM WHOLE.events", "sql_refused []"},
			{"SELECT sql FROM WHOLE.sqlite_schema", "sql_refused []"},
			{"SELECT count(*) FROM WHOLE.sqlite_schema", "sql_refused []"},
			{"SELECT count(*) FROM main.events", "sql_error []"},
			{"SELECT sql FROM sqlite_temp_schema", "sql_refused []"},
			{"SELECT * FROM pragma_database_list", "sql_refused []"},
			{"DELETE FROM task_files", "sql_refused []"},
			{"DETACH log", "sql_refused []"},
			{"SELECT nothing FROM events", "sql_error []"},
		} {
			a := &answers{}
			statement := strings.ReplaceAll(c.statement, "WHOLE", sqlite.ScratchLog)
			_, err := past.Query(t.Context(), console.Question{SQL: statement, Rows: 100}, a)
			if got := fmt.Sprint(codeOf(err), " ", a.rows); got != c.want {
				t.Errorf("%s: %s: %s (%v), want %s", what, c.statement, got, err, c.want)
			}
		}
		tables, err := past.Schema(t.Context())
		if err != nil || len(tables) < 50 {
			t.Errorf("%s: %d tables, %v", what, len(tables), err)
		}
		for _, table := range tables {
			a := &answers{}
			if _, err := past.Query(t.Context(), console.Question{SQL: "SELECT * FROM " + table.Name + " LIMIT 5", Rows: 5}, a); err != nil && !isOfToday(table.Name) {
				t.Errorf("%s: %s: %v", what, table.Name, err)
			}
		}
	}
}
