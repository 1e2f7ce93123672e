package main

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/runs"
)

type runListFlags struct {
	listFlags
	session, agent string
	job            string
	states         []string
}

func newRuns(p *process) *cobra.Command {
	var l runListFlags
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs of agents, newest first",
		Long: `Lists the runs of agents, from the database; works with or without a running server. A run is a message to an agent and its processing: it is
queued, then running, then finished: ok, error, aborted or timed_out.`,
		Example: `  openclawd runs
  openclawd runs --agent eden --state queued,running
  openclawd runs --session agent:eden:main --limit 5 --json
  openclawd runs show 6bd56a9f-6a84-479f-8127-c4b06365f0b9
  openclawd runs stop --session agent:eden:main`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runs(cmd.Context(), l) },

		SuggestionsMinimumDistance: nearEnough,
	}
	flags := cmd.Flags()
	l.add(cmd)
	flags.StringVar(&l.session, "session", "", "session `KEY`, a bare name for one of the agent's, a label or an id")
	flags.StringVar(&l.agent, "agent", "", "`ID` of the agent")
	flags.StringVar(&l.job, "job", "", "filter by `ID` of the flow that waits for the run")
	flags.StringSliceVar(&l.states, "state", nil, "filter by `STATES`: queued, running, ok, error, aborted, timed_out")
	p.completeFlag(cmd, "state", func(context.Context) (words []cobra.Completion) {
		for _, state := range runStates {
			words = append(words, string(state))
		}
		return words
	})
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	p.completeFlag(cmd, "job", func(ctx context.Context) []cobra.Completion { return p.completeFlows(ctx, l.stateDir, l.db, false) })
	cmd.AddCommand(newRunsShow(p), newRunsStop(p))
	return cmd
}

// query builds the query from the flags.
func (l *runListFlags) query() (q runs.Query, err error) {
	if err := l.check(); err != nil {
		return q, err
	}
	q = runs.Query{Agent: strings.ToLower(l.agent), JobID: l.job, Limit: l.limit}
	for _, name := range l.states {
		state := run.State(name)
		if !slices.Contains(runStates, state) {
			return q, &config.SettingError{Setting: "--state", Value: name, HintText: "choose from queued, running, ok, error, aborted, timed_out"}
		}
		q.States = append(q.States, state)
	}
	return q, nil
}

var runStates = []run.State{run.Queued, run.Running, run.OK, run.Failed, run.Aborted, run.TimedOut}

// runAnswer is a run in JSON. Times are ms since 1970.
type runAnswer struct {
	RunID      string    `json:"runId"`
	SessionKey string    `json:"sessionKey"`
	SessionID  string    `json:"sessionId,omitempty"`
	AgentID    string    `json:"agentId"`
	Lane       string    `json:"lane"`
	Cause      string    `json:"cause,omitempty"`
	State      run.State `json:"state"`
	QueuedAt   int64     `json:"queuedAt"`
	StartedAt  int64     `json:"startedAt,omitempty"` // absent: it has not started, or never did
	EndedAt    int64     `json:"endedAt,omitempty"`
	RetryOf    string    `json:"retryOf,omitempty"` // the original request, if this run repeats it
	JobID      string    `json:"jobId,omitempty"`   // the flow that waits for it
	WorkID     string    `json:"workSessionId,omitempty"`
	TalkID     string    `json:"conversationId,omitempty"`
	ParentID   string    `json:"parentRunId,omitempty"` // the run that requested it
}

func runAnswerOf(r *run.Result) runAnswer {
	return runAnswer{RunID: r.RunID, SessionKey: r.SessionKey, SessionID: r.SessionID, AgentID: r.AgentID, Lane: r.Lane, Cause: r.Cause, State: r.State,
		QueuedAt: r.QueuedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, RetryOf: r.RetryOf, JobID: r.JobID, WorkID: r.WorkSessionID, TalkID: r.ConversationID,
		ParentID: r.ParentRunID}
}

func (p *process) runs(ctx context.Context, l runListFlags) error {
	q, err := l.query()
	if err != nil {
		return err
	}
	agent, err := p.defaultAgent(l.stateDir, l.db)
	if err != nil {
		return err
	}
	runList := list[run.Result, runAnswer]{
		read: func(ctx context.Context, tx *sql.Tx) (_ []run.Result, err error) {
			if l.session != "" {
				if q.SessionKey, err = sessionMeant(ctx, tx, l.session, cmp.Or(q.Agent, agent)); err != nil {
					return nil, err
				}
			}
			return runs.List(ctx, tx, q)
		},
		name:     "runs",
		answer:   runAnswerOf,
		thing:    "run",
		none:     `no runs yet: send a message to an agent, e.g. openclawd agent "hello"` + shownPlace(l.stateDir, l.db),
		noMatch:  "no matching runs; try: openclawd runs",
		filtered: l.session+l.agent+l.job != "" || len(l.states) > 0,
		head:     []string{"RUN", "SESSION", "STATE", "ASKED", "WAITED", "TOOK", "CAUSE"},
		row: func(r *run.Result, now time.Time) []string {
			return []string{r.RunID, r.SessionKey, string(r.State), ago(now, time.UnixMilli(r.QueuedAt)), waited(r, now), took(r, now), r.Cause}
		},
	}
	return runList.print(ctx, p, &l.listFlags)
}

// sessionMeant resolves a session name to a key as openclawd sessions show does; an unknown name is returned
// unchanged.
func sessionMeant(ctx context.Context, tx *sql.Tx, name, agent string) (string, error) {
	found, key, err := findSession(ctx, tx, name, agent)
	switch {
	case err != nil:
		return "", err
	case found != nil:
		return found.Key, nil
	}
	return cmp.Or(key, name), nil
}

// shownPlace repeats the flags that select the database, quoted for a shell.
func shownPlace(stateDir, db string) (flags string) {
	for _, flag := range [][2]string{{" --state-dir ", stateDir}, {" --db ", db}} {
		if value := flag[1]; value != "" {
			flags += flag[0] + "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
	}
	return flags
}

// waited is how long a run has waited for its turn, up to now if it still waits.
func waited(r *run.Result, now time.Time) string {
	switch {
	case r.StartedAt > 0:
		return output.Duration(r.StartedAt - r.QueuedAt)
	case r.EndedAt > 0:
		return output.Duration(r.EndedAt - r.QueuedAt)
	}
	return output.Duration(now.UnixMilli() - r.QueuedAt)
}

// took is the duration of a run; 0 if it never started.
func took(r *run.Result, now time.Time) string {
	switch {
	case r.StartedAt == 0:
		return ""
	case r.EndedAt > 0:
		return output.Duration(r.EndedAt - r.StartedAt)
	}
	return output.Duration(now.UnixMilli() - r.StartedAt)
}
