package tasktools_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
)

// last is the last event of a task.
func (o *fixture) last(taskID string) eventstore.Event {
	o.t.Helper()
	all := o.events(taskID)
	return all[len(all)-1]
}

// What a person does to a task is a person's event with the name, is told to the owner once, and repeated it changes nothing.
func TestPeopleChangeTasks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does        func(o *fixture, id string) (*task.Operated, error)
		typ, status string
		says        []string // to the owner; none: nothing
	}{
		"cancel": {func(o *fixture, id string) (*task.Operated, error) {
			return o.service.Cancel(o.t.Context(), id, "지민", "중복이다")
		},
			coordination.TypeTaskCancelled, "cancelled", []string{"[Cancelled]", "Reason: 중복이다", "지민"}},
		"unblock": {func(o *fixture, id string) (*task.Operated, error) {
			return o.service.Unblock(o.t.Context(), id, "지민", "키를 넣었다")
		},
			coordination.TypeTaskResumed, "in_progress", []string{"[Resumed]", "What has changed: 키를 넣었다", "지민"}},
		"prioritise": {func(o *fixture, id string) (*task.Operated, error) {
			return o.service.Prioritise(o.t.Context(), id, "지민", "urgent")
		},
			coordination.TypeTaskUpdated, "blocked", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := telling(t, team)
			id := o.starts("eden", "집을 짓는다")
			o.does("eden", "task_block", `{"task_id":%q,"reason":"키 대기","unblock_by":["ruda"]}`, id)
			before := len(o.all())
			done, err := c.does(o, " "+id)
			if err != nil || !done.Changed || done.Status != c.status || done.ID != id {
				t.Fatalf("%+v, %v", done, err)
			}
			e := o.last(id)
			if e.Type != c.typ || e.Actor != eventstore.ActorHuman || e.AgentID != "eden" || !strings.Contains(string(e.Data), `"decidedBy":"지민"`) {
				t.Errorf("%s by %s: %s", e.Type, e.Actor, e.Data)
			}
			queued := o.queued()
			if len(queued) != min(1, len(c.says)) {
				t.Fatalf("%d runs", len(queued))
			}
			for _, text := range c.says {
				if !strings.Contains(queued[0].Message, text) {
					t.Errorf("%q is not in %q", text, queued[0].Message)
				}
			}
			after := len(o.all())
			if done, err = c.does(o, id); err != nil || done.Changed || len(o.all()) != after || after == before {
				t.Errorf("again: %+v, %v, %d events after %d", done, err, len(o.all()), after)
			}
			if _, err = c.does(o, "task_none"); code(err) != task.CodeUnknown {
				t.Errorf("an unknown task: %v", err)
			}
		})
	}
}

// A reassigned task ends and begins elsewhere in one transaction, unless others wait for it.
func TestPeopleReassignTasks(t *testing.T) {
	t.Parallel()
	o := telling(t, team)
	id := o.starts("eden", "집을 짓는다")
	known := []string{"eden", "ruda", "seum"}
	waits := o.does("ruda", "task_backlog_add", `{"description":"이사","depends_on":[%q]}`, id).text("taskId")
	if _, err := o.service.Reassign(t.Context(), id, "지민", "ruda", known); code(err) != task.CodeDependency || !strings.Contains(err.Error(), waits) {
		t.Fatalf("others wait for it: %v", err)
	}
	o.does("ruda", "task_cancel", `{"task_id":%q}`, waits)
	done, err := o.service.Reassign(t.Context(), id, "지민", " Ruda ", known)
	if err != nil || !done.Changed || done.Status != "cancelled" || done.Successor == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	if types := o.types(done.Successor); !slices.Equal(types, []string{coordination.TypeTaskBacklogAdded}) {
		t.Errorf("the new task begins with %q", types)
	}
	if e := o.last(done.Successor); e.Actor != eventstore.ActorHuman || !strings.Contains(string(e.Data), `"createdBy":"지민"`) {
		t.Errorf("made by %s: %s", e.Actor, e.Data)
	}
	if of := o.task("ruda", done.Successor); of.text("status") != "backlog" {
		t.Errorf("ruda has %v", of)
	}
	if queued := o.queued(); len(queued) != 1 || !strings.Contains(queued[0].Message, "[Cancelled]") {
		t.Errorf("told: %+v", queued)
	}
	if _, err := o.service.Reassign(t.Context(), id, "지민", "seum", known); code(err) != task.CodeState {
		t.Errorf("again: %v", err)
	}
}
