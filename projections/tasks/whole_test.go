package tasks_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// Tasks are the same whether they are read one by one or together, as a whole or in brief.
func TestTasksAreTheSameHoweverTheyAreRead(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for i, id := range []string{"task_a", "task_b", "task_c", "task_d"} {
		ms := int64(i * 1_000)
		l.append(t, started(ms, id, "eden", planned))
		for n := range i * 2 {
			l.append(t, updated(ms+int64(n), id, "eden", fmt.Sprint("line ", n)))
		}
		if i%2 == 1 {
			for _, d := range []string{"d1_", "d2_"} {
				l.append(t, delegated(ms+500, coordination.TypeDelegationSpawned, id, coordination.Delegation{DelegationID: d + id, ToAgent: "seum", Work: "help"}))
			}
		}
	}
	l.append(t, imported(9_000, atA, text("task_a", "in_progress", "not ours")), imported(9_001, "workspace-ruda/tasks/task_f.md", text("task_f", "blocked", "one", "two")),
		change(9_500, coordination.TypeTaskCompleted, "task_d", "eden", coordination.TaskState{Summary: "ok", Progress: "Task completed"}))
	list := func(f tasks.Filter) []tasks.Row {
		return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (rows []tasks.Row, err error) {
			rows, _, err = tasks.List(ctx, tx, f)
			return rows, err
		})
	}
	whole, brief := list(tasks.Filter{Whole: true}), list(tasks.Filter{})
	if len(whole) != 5 || len(brief) != 5 {
		t.Fatalf("%d and %d tasks", len(whole), len(brief))
	}
	for i := range whole {
		want(t, "one of a list of whole tasks", &whole[i], l.byID(t, whole[i].ID))
		want(t, "one of a list", &brief[i], projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (row *tasks.Row, err error) {
			row, _, err = tasks.Brief(ctx, tx, brief[i].ID)
			return row, err
		}))
		if len(whole[i].Progress) != whole[i].ProgressCount || len(brief[i].Progress) != 0 || brief[i].ProgressCount == 0 {
			t.Errorf("%+v, in brief %+v", whole[i], brief[i])
		}
	}
	known := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (known bool, err error) {
		_, known, err = tasks.Brief(ctx, tx, "task_nowhere")
		return known, err
	})
	want(t, "a task that is not there", known, false)
}
