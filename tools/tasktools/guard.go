package tasktools

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

// Guard implements tools.Options.Guard: with tools.taskEnforcer.enabled, an agent may call the tools named there only while its session
// has a task in progress or waiting for approval. Sub-agents, and agents without tasks, always may.
func (s *Service) Guard(ctx context.Context, call *tools.Call, spec *tool.Spec) error {
	enforcer := &call.Config.Tools.TaskEnforcer
	if !enforcer.Enabled || !tool.Restricts(enforcer.Tools, spec, call.Args) {
		return nil
	}
	if call.Session.Kind == coordination.KeySubagent {
		return nil
	}
	if a := call.Config.AgentNamed(call.AgentID); a != nil && a.IsUtility() {
		return nil
	}
	open := false
	err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		open, err = tasks.HasOpen(projections.Reading(ctx, tx), call.AgentID, call.SessionKey)
		return err
	})
	if err != nil || open {
		return err
	}
	return &tool.Error{Code: tool.CodeTaskRequired,
		Text: fmt.Sprintf("%s needs a task: this session has none that is in progress or waits for approval", spec.Name),
		Hint: "begin one with task_start, or one of your backlog with task_pick_backlog, and call it again"}
}
