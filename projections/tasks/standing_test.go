package tasks_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// What an agent has is told in two parts, each in the order of lists, and without what is over or another's.
func TestStandingAndBacklog(t *testing.T) {
	t.Parallel()
	l := setup(t)
	urgent := func(d *coordination.TaskStarted) { d.Priority = "urgent" }
	approval := func(d *coordination.TaskStarted) { d.RequiresApproval = true }
	l.append(t, started(1, "task_a", "eden", planned), started(2, "이름 b", "eden", urgent), started(3, "task_c", "eden", approval),
		started(4, "task_d", "eden"), blocked(5, "task_d", "eden", "seum"), started(6, "task_e", "eden"),
		change(7, coordination.TypeTaskCompleted, "task_e", "eden", coordination.TaskState{}), started(8, "task_f", "seum"),
		started(9, "task_g", "eden"), event(10, coordination.TypeZombieAbandoned, "task_g", "eden", coordination.ZombieAbandoned{Action: coordination.ZombieEscalated}),
		backlog(11, "task_h", "seum", "eden", func(d *coordination.TaskBacklogAdded) {
			d.DependsOn, d.StartDate = []string{"task_a", "task_e"}, "2027-01-01"
		}),
		backlog(12, "이름 i", "eden", "eden", func(d *coordination.TaskBacklogAdded) { d.Priority = "high" }), backlog(13, "task_j", "eden", "seum"),
		imported(14, "workspace-eden/tasks/task_k.md", text("task_k", "pending", "from a file")))
	var standing, waiting []task.Task
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		if standing, err = tasks.Standing(tx, "Eden"); err == nil {
			waiting, err = tasks.Backlog(tx, "Eden")
		}
		return err
	})
	var names []string
	for i := range standing {
		names = append(names, standing[i].ID+" "+standing[i].Status)
		want(t, standing[i].ID, &standing[i], l.load(t, standing[i].ID))
	}
	want(t, "standing", names, []string{"이름 b in_progress", "task_a in_progress", "task_c pending_approval", "task_d blocked", "task_g interrupted"})
	want(t, "backlog", waiting, []task.Task{
		{ID: "task_k", Agent: "eden", Status: coordination.StatePending, Priority: "high", Backlog: task.Backlog{Assignee: "eden"}},
		{ID: "이름 i", Agent: "eden", Status: coordination.StateBacklog, Priority: "high", Backlog: task.Backlog{Assignee: "eden"}},
		{ID: "task_h", Agent: "eden", Status: coordination.StateBacklog, Priority: "medium",
			Backlog: task.Backlog{Assignee: "eden", DependsOn: []string{"task_a", "task_e"}, StartDate: "2027-01-01"}},
	})
	l.deciding(t, func(tx eventstore.Tx) error {
		open, err := tasks.OpenOf(tx, "eden")
		want(t, "open", open, len(standing)+len(waiting))
		none, err2 := tasks.Standing(tx, "stranger")
		want(t, "of an unknown agent", len(none), 0)
		if err == nil {
			err = err2
		}
		return err
	})
}
