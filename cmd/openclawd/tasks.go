package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/task"
)

// taskListing holds the flags of tasks.
type taskListing struct {
	stateDir, db string
	agents       []string
	statuses     []string
	workSession  string
	search       string
	all, asJSON  bool
	limit        int
}

const maxTasks = 1_000 // in one answer

func newTasks(p *process) *cobra.Command {
	var l taskListing
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "List the tasks of agents, the most urgent first",
		Long: `Lists the tasks of all agents that are not over, in the order in which agents get round to them: by priority, by due date, by start date,
the oldest first; with --all those that are over after them, the newest first. From the database; works beside a running server and without
one. What files of tasks said before there was a log, or say where another gateway keeps them, is in there.

An agent is at the task that has a star. Agents change their tasks with tools, and so can you: openclawd tools call`,
		Example: `  openclawd tasks
  openclawd tasks --agent eden --status blocked,in_progress
  openclawd tasks --all --work-session ws_1 --json
  openclawd tasks show task_aa11
  openclawd tasks rewrite`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.tasks(cmd.Context(), l) },

		SuggestionsMinimumDistance: nearEnough,
	}
	flags := cmd.Flags()
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	flags.StringSliceVar(&l.agents, "agent", nil, "`IDS` of the agents whose tasks they are")
	flags.StringSliceVar(&l.statuses, "status", nil, "only in these `STATES`, also those that are over: "+strings.Join(monitor.TaskStates, ", "))
	flags.StringVar(&l.workSession, "work-session", "", "`ID` of the work session")
	flags.StringVar(&l.search, "search", "", "`TEXT` in the description")
	flags.BoolVar(&l.all, "all", false, "also those that are over")
	flags.IntVar(&l.limit, "limit", 50, "at most `N`, 1 to 1000")
	flags.BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	p.completeFlag(cmd, "status", func(context.Context) []cobra.Completion { return monitor.TaskStates })
	cmd.AddCommand(newTasksShow(p), newTasksRewrite(p))
	return cmd
}

// filter reads what is asked for.
func (l *taskListing) filter() (f task.Filter, err error) {
	if err := checkLimit(l.limit, maxTasks); err != nil {
		return f, err
	}
	f = task.Filter{Statuses: l.statuses, WorkSession: strings.TrimPrefix(l.workSession, "ws:"), Text: l.search, Limit: l.limit}
	for _, status := range l.statuses {
		if !slices.Contains(monitor.TaskStates, status) {
			return f, &settings.Error{Setting: "--status", Value: status, Mend: "choose from " + strings.Join(monitor.TaskStates, ", ")}
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

// narrowed reports whether less is asked for than what is open.
func (l *taskListing) narrowed() bool {
	return len(l.agents)+len(l.statuses) > 0 || l.workSession+l.search != ""
}

// tasksAnswer is the answer of tasks.
type tasksAnswer struct {
	Tasks []monitor.TaskAnswer `json:"tasks"`
	Count int                  `json:"count"`
	More  bool                 `json:"more"` // than --limit lets through
}

func (p *process) tasks(ctx context.Context, l taskListing) error {
	f, err := l.filter()
	if err != nil {
		return err
	}
	var rows []task.Row
	more := false
	err = p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) error {
		list, next, err := task.List(ctx, tx, f)
		rows, more = list, next != ""
		return err
	})
	if err != nil {
		return err
	}
	if !l.asJSON {
		return p.writeTasks(rows, more, &l)
	}
	answer := tasksAnswer{Tasks: []monitor.TaskAnswer{}, Count: len(rows), More: more}
	for i := range rows {
		answer.Tasks = append(answer.Tasks, monitor.TaskAnswerOf(&rows[i]))
	}
	return output.JSON(p.stdout, answer)
}

func (p *process) writeTasks(list []task.Row, more bool, l *taskListing) error {
	if len(list) == 0 {
		text := "nothing is to be done: agents begin tasks with the tool task_start; openclawd tasks --all lists those that are over"
		switch {
		case l.narrowed():
			text = "no task is like that; openclawd tasks --all lists all"
		case l.all:
			text = "no tasks yet: agents begin them with the tool task_start, and so can you: openclawd tools call --help"
		}
		_, err := fmt.Fprintln(p.stdout, text)
		return err
	}
	now := p.now()
	rows := make([][]string, len(list))
	for i := range list {
		r := &list[i]
		rows[i] = []string{output.Printable(r.ID), output.Printable(r.AgentID), taskStanding(r), output.Printable(r.Priority), stepsDone(r),
			agoText(now, r.LastActivity), output.Cut(oneLine(r.Title()), previewCells)}
	}
	if err := output.Table(p.stdout, []string{"TASK", "AGENT", "STATUS", "PRIORITY", "STEPS", "ACTIVE", "WHAT"}, rows); err != nil {
		return err
	}
	if more {
		_, err := fmt.Fprintf(p.stdout, "the first %s; --limit %d lists more\n", output.Count(int64(len(list)), "task"), maxTasks)
		return err
	}
	_, err := fmt.Fprintln(p.stdout, output.Count(int64(len(list)), "task"))
	return err
}

// taskStanding is the state of a task, with a star if its agent is at it.
func taskStanding(r *task.Row) string {
	switch {
	case r.Focus:
		return r.Status + " *"
	case r.Gone:
		return r.Status + " (file gone)"
	}
	return r.Status
}

// stepsDone is how far the steps of a task are, as 2/5; those that are skipped do not count.
func stepsDone(r *task.Row) string {
	if s := r.StepsProgress; s != nil {
		return fmt.Sprintf("%d/%d", s.Done, s.Total-s.Skipped)
	}
	return ""
}

// agoText is how long a time is past that is written as a text; "" where that is none.
func agoText(now time.Time, text string) string {
	ms, ok := coordination.ParseTime(text)
	if !ok {
		return ""
	}
	return ago(now, time.UnixMilli(int64(ms)))
}
