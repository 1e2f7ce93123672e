package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/server"
)

func newTasksRewrite(p *process) *cobra.Command {
	var a serverFlags
	var classifier string
	cmd := &cobra.Command{
		Use:   "rewrite",
		Short: "Rewrite the files of all tasks",
		Long: `Asks the running server to rewrite tasks/<id>.md, CURRENT_TASK.md and task-history/<month>.md of every agent, including unchanged ones; without
a server it does so itself, with the database locked meanwhile. Files edited by hand are kept as <name>.conflict. A server that only follows
another gateway writes none.

Exit codes: 0 written; 1 failed; 75 another openclawd has locked the database; 78 the server requires another write token
(TASK_MONITOR_WRITE_TOKEN).`,
		Example: "  openclawd tasks rewrite\n  openclawd tasks rewrite --state-dir ~/.openclaw --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.rewriteTasks(cmd.Context(), a, classifier) },
	}
	a.addFlags(cmd)
	addClassifier(cmd, &classifier)
	return cmd
}

func (p *process) rewriteTasks(ctx context.Context, a serverFlags, classifier string) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	written, err := place.RewriteTasks(ctx)
	if _, alone := errors.AsType[*apiclient.NoServerError](err); alone && a.api == "" {
		written, err = p.rewriteTasksAlone(ctx, place, classifier)
	}
	if err != nil {
		return err
	}
	if a.asJSON {
		return output.JSONLine(p.stdout, map[string]any{"ok": true, "written": written})
	}
	_, err = fmt.Fprintln(p.stdout, "written: "+output.Count(int64(written), "file"))
	return err
}

// rewriteTasksAlone rewrites the files while no server has the database locked.
func (p *process) rewriteTasksAlone(ctx context.Context, place *apiclient.Place, classifier string) (written int, err error) {
	rules, err := parseClassifier(classifier)
	if err != nil {
		return 0, err
	}
	logger, err := server.NewLogger(p.stderr, "warn", "text")
	if err != nil {
		return 0, err
	}
	program := server.New(server.Options{StateDir: place.StateDir, DB: place.DB, Rules: rules, Now: p.now, Logger: logger, Getenv: p.getenv})
	defer func() { err = errors.Join(err, program.Close()) }()
	return program.RewriteTaskFiles(ctx)
}
