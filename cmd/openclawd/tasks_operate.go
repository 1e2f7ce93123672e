package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/internal/output"
)

// operation is a change of a task that a person makes, as the API names it.
type operation struct {
	name, short, long, example string
	flag, means                string // its own flag; it must be given if needed
	needed                     bool
}

const operatingCodes = `

Exit codes: 0 changed, or it was so already; 1 no such task, not possible in its state, or no server answers; 78 the server requires another
write token (TASK_MONITOR_WRITE_TOKEN), or a flag is invalid.`

func operations() []operation {
	return []operation{
		{"cancel", "Cancel a task", "Asks the running server to cancel a task. The owner of a task under way is told; a task that waits for approval is rejected, which needs\n--reason.",
			`  openclawd tasks cancel task_aa11 --reason "the customer withdrew"`, "reason", "`TEXT` that says why", false},
		{"unblock", "Resume a blocked or interrupted task", "Asks the running server to let the owner of a task go on.",
			`  openclawd tasks unblock task_aa11 --reason "the key is in the vault"`, "reason", "`TEXT` that says what has changed", false},
		{"reassign", "Give a task to another agent", "Asks the running server to cancel a task for its owner, and to add what is left of it to the backlog of another agent.",
			"  openclawd tasks reassign task_aa11 --to seum", "to", "`ID` of the other agent", true},
		{"priority", "Change the priority of a task", "Asks the running server to change the priority of a task.",
			"  openclawd tasks priority task_aa11 --priority urgent --json", "priority", "`LEVEL`: urgent, high, medium or low", true},
	}
}

// newOperations builds the commands with which people change tasks.
func newOperations(p *process) (list []*cobra.Command) {
	for _, o := range operations() {
		var a serverFlags
		var by, value string
		cmd := &cobra.Command{
			Use:     o.name + " TASK",
			Short:   o.short,
			Long:    o.long + " The change is on disk when the command ends." + operatingCodes,
			Example: o.example,
			Args:    positional(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return p.operate(cmd.Context(), a, &o, args[0], by, strings.TrimSpace(value))
			},
			ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeTasks(ctx, a.stateDir, a.db) }),
		}
		a.addFlags(cmd)
		cmd.Flags().StringVar(&by, "by", "", "`NAME` of the person who does it (default: your user name)")
		cmd.Flags().StringVar(&value, o.flag, "", o.means)
		list = append(list, cmd)
	}
	return list
}

func (p *process) operate(ctx context.Context, a serverFlags, o *operation, id, by, value string) error {
	if o.needed && value == "" {
		return &config.SettingError{Setting: "--" + o.flag, Value: value, HintText: "give the " + strings.ReplaceAll(o.means, "`", "")}
	}
	place, err := p.place(a)
	if err != nil {
		return err
	}
	by = strings.TrimSpace(by)
	done, err := place.OperateTask(ctx, id, o.name, map[string]string{"by": cmp.Or(by, p.person()), o.flag: value})
	if err != nil {
		err = decidingError(err, by)
		if refused, is := errors.AsType[*apiclient.RefusedError](err); is && refused.Why == "not_found" {
			refused.HintText = "openclawd tasks --all lists all tasks"
		}
		return err
	}
	if a.asJSON {
		return output.JSONLine(p.stdout, struct {
			OK bool `json:"ok"`
			approval.Operated
		}{true, done})
	}
	what := "is " + output.Printable(done.Status) + ", priority " + output.Printable(done.Priority)
	if !done.Changed {
		what += ": it was so already"
	}
	if done.NewTaskID != "" {
		what += "; it goes on as " + output.Printable(done.NewTaskID)
	}
	_, err = fmt.Fprintf(p.stdout, "%s of %s %s\n", output.Printable(done.ID), output.Printable(done.AgentID), what)
	return err
}
