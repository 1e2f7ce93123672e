package remoteworker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/exectools"
	"github.com/pronto-lab/openclawd/tools/filetools"
	"github.com/pronto-lab/openclawd/tools/webtools"
)

// Machine is what a worker has on its machine.
type Machine struct {
	Config   *config.Config
	StateDir string
	Getenv   func(string) string
	Now      func() time.Time
	Logger   *slog.Logger
	// Protected are further files that agents do not reach.
	Protected []string
}

// Equip completes the options of a worker with the models, files and tools of its machine. release ends their commands.
func (m *Machine) Equip(o *Options) (release func(), err error) {
	workspace := func(agentID string) string {
		return prompt.Directory(m.Config, m.StateDir, cmp.Or(m.Getenv("HOME"), m.StateDir), agentID)
	}
	transport := openai.NewTransport()
	o.Config, o.Logger = m.Config, m.Logger
	o.Models = catalogue.New(m.Config, catalogue.Options{Getenv: m.Getenv, Transport: transport})
	o.Prompt = prompt.New(prompt.Options{Now: m.Now, Logger: m.Logger, Workspace: workspace})
	commands := exectools.New(exectools.Options{Workspace: workspace, Protected: m.protected, StateDir: m.StateDir, Getenv: m.Getenv, Now: m.Now,
		Log: commandLog{m.Logger}})
	o.Tools, err = tools.New(tools.Options{Config: func() *config.Config { return m.Config }, Logger: m.Logger, Journal: Journal{}, Tools: slices.Concat(
		commands.Tools(), filetools.Tools(filetools.Options{Workspace: workspace, Protected: m.protected}), webtools.New(webtools.Options{}).Tools())})
	release = func() {
		commands.Close()
		transport.CloseIdleConnections()
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("register tools: %w", err)
	}
	return release, nil
}

func (m *Machine) protected() []string {
	list := slices.Concat([]string{m.StateDir}, m.Config.Files, m.Protected)
	return slices.DeleteFunc(list, func(path string) bool { return path == "" })
}

// commandLog writes what probes of sandboxes find, and that commands have written something, to the worker's own log.
type commandLog struct{ logger *slog.Logger }

func (l commandLog) Probed(_ context.Context, agentID string, p coordination.SandboxProbed) error {
	if p.Sandboxed {
		l.logger.Info("a sandbox of agents' commands holds", "agent", agentID, "kind", p.Kind)
	} else {
		l.logger.Warn("a sandbox of agents' commands does not hold", "agent", agentID, "kind", p.Kind, "err", p.Error)
	}
	return nil
}

func (l commandLog) Recorded(context.Context, string) (agentID string, list []coordination.ToolOutput, err error) {
	return "", nil, nil
}

func (l commandLog) Output(_ context.Context, agentID string, o coordination.ToolOutput) error {
	l.logger.Debug("a command has written", "agent", agentID, "process", o.ProcessID)
	return nil
}
