package tasktools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

// calls are of all tools, for a task of ruda, each by a permitted agent.
var calls = []struct{ tool, agent, args string }{
	{"task_start", "ruda", `{"description":"x"}`},
	{"task_update", "ruda", `{"task_id":%q,"progress":"x"}`},
	{"task_complete", "ruda", `{"task_id":%q}`},
	{"task_cancel", "ruda", `{"task_id":%q}`},
	{"task_approve", "eden", `{"task_id":%q}`},
	{"task_reject", "eden", `{"task_id":%q,"reason":"r"}`},
	{"task_block", "ruda", `{"task_id":%q,"reason":"r","unblock_by":["eden"]}`},
	{"task_resume", "ruda", `{"task_id":%q}`},
	{"task_backlog_add", "ruda", `{"description":"x"}`},
	{"task_pick_backlog", "ruda", `{"task_id":%q}`},
	{"task_verify", "ruda", `{"taskId":%q,"action":"reject"}`},
	{"task_verify", "ruda", `{"taskId":%q,"action":"retry"}`},
	{"task_status", "ruda", `{"task_id":%q}`},
	{"task_list", "ruda", `{}`},
}

// While the log accepts nothing, callers are told so, and nothing else happens.
func TestALogThatTakesNothing(t *testing.T) {
	t.Parallel()
	over, stop := context.WithCancel(context.Background())
	stop()
	for name, c := range map[string]struct {
		ctx    context.Context
		closed bool
		want   error
	}{
		"not needed any more": {ctx: over, want: context.Canceled},
		"closed":              {ctx: context.Background(), closed: true, want: eventstore.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setup(t, team)
			id := o.starts("ruda", "x")
			if c.closed {
				if err := o.db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for _, one := range calls {
				args := one.args
				if len(args) > 2 && one.tool != "task_start" && one.tool != "task_backlog_add" {
					args = fmt.Sprintf(args, id)
				}
				call := tools.Call{Caller: caller(one.agent), Session: coordination.MainKey(one.agent), Config: o.config, Args: json.RawMessage(args)}
				all := o.service.Tools()
				i := slices.IndexFunc(all, func(x tools.Tool) bool { return x.Spec.Name == one.tool })
				if out, err := all[i].Do(c.ctx, &call); !errors.Is(err, c.want) {
					t.Errorf("%s %s: %v, %v", one.tool, args, out, err)
				}
			}
		})
	}
}

// An expected version is not broken by the progress of a sub-agent.
func TestDelegationsAreNoConflict(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	a := o.does("ruda", "task_start", `{"description":"x"}`)
	id := a.text("taskId")
	moves := func(typ string) {
		o.appends(coordination.TaskStream(id), typ, "ruda", eventstore.ActorSystem, coordination.Delegation{
			Context:      coordination.Context{TaskID: id, WorkSessionID: a.text("workSessionId"), EventRole: coordination.RoleDelegation},
			DelegationID: "d1", JobID: "d1", FromAgent: "ruda", ToAgent: "eden"})
	}
	moves(coordination.TypeDelegationSpawned)
	if got := o.task("ruda", id); got.number("version") != 1 {
		t.Errorf("the version is %v", got["version"])
	}
	moves(coordination.TypeDelegationRunning)
	a = o.does("ruda", "task_update", `{"progress":"p","version":%d}`, a.number("version"))
	moves(coordination.TypeDelegationCompleted)
	o.refuses(task.CodeConflict, "ruda", "task_update", `{"progress":"p","version":1}`)
	a = o.does("ruda", "task_verify", `{"version":%d}`, a.number("version"))
	if a.text("delegationStatus") != "verified" {
		t.Errorf("verified: %v", a)
	}
	o.does("ruda", "task_complete", `{"version":%d}`, a.number("version"))
}
