package server

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/exectools"
)

// openCommands opens what runs agents' commands.
func (p *Program) openCommands(a *agents) {
	a.commands = exectools.New(exectools.Options{Workspace: p.workspaceOf, Protected: p.protected, StateDir: cmp.Or(p.opts.StateDir, os.TempDir()),
		Getenv: p.opts.getenv, Now: p.opts.Now, Log: commandLog{p.log.Decided(), a.logger}})
}

// protected lists what agents reach neither with their file tools nor with commands.
func (p *Program) protected() []string {
	own := p.reserved()
	list := slices.Concat(own.Reserved, own.ReservedDirs)
	if dir := p.opts.StateDir; dir != "" {
		list = append(list, dir, settings.TokenFile(dir))
	}
	list = append(list, p.newConfiguration().InForce().Files...)
	return slices.DeleteFunc(list, func(path string) bool { return path == "" })
}

// commandLog writes to the log what commands write, and what probes of their sandboxes find.
type commandLog struct {
	decidedLog
	logger *slog.Logger
}

// decidedLog is the log with the tables in it from which things are decided.
type decidedLog interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
}

const selectOutputs = "SELECT e.agent_id, e.data FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? AND e.type = ? ORDER BY e.version"

func (l commandLog) Recorded(ctx context.Context, processID string) (agentID string, list []coordination.ToolOutput, err error) {
	args := []any{coordination.ToolOutputStream(processID), coordination.TypeToolOutput}
	err = l.View(ctx, func(tx *sql.Tx) error {
		return projections.EachRow(ctx, tx, "read the output of a command", selectOutputs, args, func(rows *sql.Rows) error {
			var data []byte
			var o coordination.ToolOutput
			if err := rows.Scan(&agentID, &data); err != nil {
				return err
			}
			if json.Unmarshal(data, &o) == nil { // otherwise it is redacted
				list = append(list, o)
			}
			return nil
		})
	})
	return agentID, list, err
}

func (l commandLog) Probed(ctx context.Context, agentID string, p coordination.SandboxProbed) error {
	if !p.Sandboxed {
		l.logger.Warn("a sandbox of agents' commands does not hold", "agent", agentID, "kind", p.Kind, "err", p.Error)
	}
	return l.append(ctx, coordination.SandboxStream(agentID), agentID, coordination.TypeSandboxProbed, p, p.ProbedAtMs)
}

func (l commandLog) Output(ctx context.Context, agentID string, o coordination.ToolOutput) error {
	err := l.append(ctx, coordination.ToolOutputStream(o.ProcessID), agentID, coordination.TypeToolOutput, o, o.AtMs)
	if err != nil {
		l.logger.Error("cannot record the output of a command", "process", o.ProcessID, "err", err)
	}
	return err
}

func (l commandLog) append(ctx context.Context, stream, agentID, typ string, data any, at int64) error {
	e := eventstore.NewEvent{Type: typ, AgentID: agentID, Actor: eventstore.ActorAgent}
	appends, err := eventstore.One(stream, e, data, at)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	_, err = l.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	return err
}
