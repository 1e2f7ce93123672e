package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/server"
)

func newTasksRewrite(p *process) *cobra.Command {
	var a asking
	var classifier string
	cmd := &cobra.Command{
		Use:   "rewrite",
		Short: "Write the files of all tasks anew",
		Long: `Has the running server write tasks/<id>.md, CURRENT_TASK.md and task-history/<month>.md of every agent anew, also those that are as they
should be; without a server it does so itself, and keeps others from the database meanwhile. What somebody has edited by hand is kept beside, as
<name>.conflict. A server that only follows another gateway writes none.

Exit codes: 0 they are written; 1 they cannot be; 75 another openclawd has the database; 78 the server wants another write token
(TASK_MONITOR_WRITE_TOKEN).`,
		Example: "  openclawd tasks rewrite\n  openclawd tasks rewrite --state-dir ~/.openclaw --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.rewriteTasks(cmd.Context(), a, classifier) },
	}
	a.addFlags(cmd)
	addClassifier(cmd, &classifier)
	return cmd
}

func (p *process) rewriteTasks(ctx context.Context, a asking, classifier string) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	written, err := place.RewriteTasks(ctx)
	if _, alone := errors.AsType[*client.NoServerError](err); alone && a.api == "" {
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

// rewriteTasksAlone does it while no server has the database.
func (p *process) rewriteTasksAlone(ctx context.Context, place *client.Place, classifier string) (written int, err error) {
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
