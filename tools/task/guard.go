package task

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
)

// Guard is tools.Options.Guard: with tools.taskEnforcer.enabled, an agent may call the tools that are named there only while the session it
// works in has a task that is in progress or waits for approval. Sub-agents may, and agents that have no tasks.
func (d *Desk) Guard(ctx context.Context, call *tools.Call, spec *tool.Spec) error {
	enforcer := &call.Config.Tools.TaskEnforcer
	if !enforcer.Enabled || !slices.ContainsFunc(enforcer.Tools, func(name string) bool { return strings.EqualFold(name, spec.Name) }) {
		return nil
	}
	if call.Session.Kind == coordination.KeySubagent {
		return nil
	}
	if a := call.Config.AgentNamed(call.AgentID); a != nil && a.IsUtility() {
		return nil
	}
	open := false
	err := d.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		open, err = projection.HasOpen(projections.Reading(ctx, tx), call.AgentID, call.SessionKey)
		return err
	})
	if err != nil || open {
		return err
	}
	return &tool.Error{Code: tool.CodeTaskRequired,
		Text: fmt.Sprintf("%s needs a task: this session has none that is in progress or waits for approval", spec.Name),
		Mend: "begin one with task_start, or one of your backlog with task_pick_backlog, and call it again"}
}
