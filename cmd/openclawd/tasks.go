package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

type taskListFlags struct {
	listFlags
	agents      []string
	statuses    []string
	workSession string
	search      string
	all         bool
}

func newTasks(p *process) *cobra.Command {
	var l taskListFlags
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "List the tasks of agents, most urgent first",
		Long: `Lists the unfinished tasks of all agents in the order in which agents work on them: by priority, due date, start date, oldest first; with --all
followed by the finished ones, newest first. From the database; works with or without a running server. Tasks imported from task files, of before
the log or of another gateway, are included.

A star marks the task that its agent is working on. Agents change their tasks with tools, people with the commands below.`,
		Example: `  openclawd tasks
  openclawd tasks --agent eden --status blocked,in_progress
  openclawd tasks --all --work-session ws_1 --json
  openclawd tasks show task_aa11
  openclawd tasks unblock task_aa11
  openclawd tasks rewrite`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.tasks(cmd.Context(), l) },

		SuggestionsMinimumDistance: nearEnough,
	}
	flags := cmd.Flags()
	l.add(cmd)
	flags.StringSliceVar(&l.agents, "agent", nil, "filter by agent `IDS`")
	flags.StringSliceVar(&l.statuses, "status", nil, "filter by `STATES`, including finished ones: "+strings.Join(monitor.TaskStates, ", "))
	flags.StringVar(&l.workSession, "work-session", "", "filter by work session `ID`")
	flags.StringVar(&l.search, "search", "", "filter by `TEXT` in the description")
	flags.BoolVar(&l.all, "all", false, "include finished tasks")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	p.completeFlag(cmd, "status", func(context.Context) []cobra.Completion { return monitor.TaskStates })
	cmd.AddCommand(newTasksShow(p), newTasksRewrite(p))
	cmd.AddCommand(newOperations(p)...)
	return cmd
}

// filter builds the filter from the flags.
func (l *taskListFlags) filter() (f tasks.Filter, err error) {
	if err := l.check(); err != nil {
		return f, err
	}
	f = tasks.Filter{Statuses: l.statuses, WorkSession: strings.TrimPrefix(l.workSession, "ws:"), Text: l.search, Limit: l.limit}
	for _, status := range l.statuses {
		if !slices.Contains(monitor.TaskStates, status) {
			return f, &config.SettingError{Setting: "--status", Value: status, HintText: "choose from " + strings.Join(monitor.TaskStates, ", ")}
		}
	}
	for _, agent := range l.agents {
		f.Agents = append(f.Agents, strings.ToLower(agent))
	}
	if !l.all && len(l.statuses) == 0 {
		open := true
		f.Open = &open
	}
	return f, nil
}

// narrowed reports whether the flags select less than all open tasks.
func (l *taskListFlags) narrowed() bool {
	return len(l.agents)+len(l.statuses) > 0 || l.workSession+l.search != ""
}

func (p *process) tasks(ctx context.Context, l taskListFlags) error {
	f, err := l.filter()
	if err != nil {
		return err
	}
	none := "no open tasks: agents start them with the tool task_start; openclawd tasks --all includes finished ones"
	if l.all {
		none = "no tasks yet: agents start them with the tool task_start, and so can you; see openclawd tools call --help"
	}
	more := false
	taskList := list[tasks.Row, monitor.TaskAnswer]{
		read: func(ctx context.Context, tx *sql.Tx) ([]tasks.Row, error) {
			list, next, err := tasks.List(ctx, tx, f)
			more = next != ""
			return list, err
		},
		name:     "tasks",
		answer:   monitor.TaskAnswerOf,
		thing:    "task",
		more:     &more,
		none:     none,
		noMatch:  "no matching tasks; try: openclawd tasks --all",
		filtered: l.narrowed(),
		head:     []string{"TASK", "AGENT", "STATUS", "PRIORITY", "STEPS", "ACTIVE", "WHAT"},
		row: func(r *tasks.Row, now time.Time) []string {
			return []string{r.ID, r.AgentID, taskStanding(r), r.Priority, stepsDone(r), agoText(now, r.LastActivity), output.Cut(oneLine(r.Title()), previewCells)}
		},
	}
	return taskList.print(ctx, p, &l.listFlags)
}

// taskStanding is the state of a task, with a star if its agent is working on it.
func taskStanding(r *tasks.Row) string {
	switch {
	case r.Focus:
		return r.Status + " *"
	case r.Gone:
		return r.Status + " (file gone)"
	}
	return r.Status
}

// stepsDone is the progress of a task's steps, as 2/5, not counting skipped ones.
func stepsDone(r *tasks.Row) string {
	if s := r.StepsProgress; s != nil {
		return fmt.Sprintf("%d/%d", s.Done, s.Total-s.Skipped)
	}
	return ""
}

// agoText formats the time since a textual time; "" if that is invalid.
func agoText(now time.Time, text string) string {
	ms, ok := coordination.ParseTime(text)
	if !ok {
		return ""
	}
	return ago(now, time.UnixMilli(int64(ms)))
}
