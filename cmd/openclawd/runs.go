package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	coordrun "github.com/pronto-lab/openclawd/coordination/run"
	runs "github.com/pronto-lab/openclawd/projections/run"
)

// runListing holds the flags of runs.
type runListing struct {
	stateDir, db   string
	session, agent string
	job            string
	states         []string
	limit          int
	asJSON         bool
}

func newRuns(p *process) *cobra.Command {
	var l runListing
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs of agents, the newest first",
		Long: `Lists the runs of agents, from the database; works beside a running server and without one. A run is a message to an agent and what came
of it: it is queued, running, and then over: ok, error, aborted or timed_out.`,
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
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	flags.StringVar(&l.session, "session", "", "`KEY` of the session, a bare name for one of the agent's, a label or an id")
	flags.StringVar(&l.agent, "agent", "", "`ID` of the agent")
	flags.StringVar(&l.job, "job", "", "`ID` of the flow between agents that waits for them")
	flags.StringSliceVar(&l.states, "state", nil, "only these `STATES`: queued, running, ok, error, aborted, timed_out")
	flags.IntVar(&l.limit, "limit", 50, "at most `N`, 1 to 1000")
	flags.BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
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

const maxRuns = 1_000 // in one answer

// query reads what is asked for.
func (l *runListing) query() (q runs.Query, err error) {
	if err := checkLimit(l.limit, maxRuns); err != nil {
		return q, err
	}
	q = runs.Query{Agent: strings.ToLower(l.agent), JobID: l.job, Limit: l.limit}
	for _, name := range l.states {
		state := coordrun.State(name)
		if !slices.Contains(runStates, state) {
			return q, &settings.Error{Setting: "--state", Value: name, Mend: "choose from queued, running, ok, error, aborted, timed_out"}
		}
		q.States = append(q.States, state)
	}
	return q, nil
}

var runStates = []coordrun.State{coordrun.Queued, coordrun.Running, coordrun.OK, coordrun.Failed, coordrun.Aborted, coordrun.TimedOut}

// runAnswer is a run in JSON. Times are ms since 1970.
type runAnswer struct {
	RunID      string         `json:"runId"`
	SessionKey string         `json:"sessionKey"`
	SessionID  string         `json:"sessionId,omitempty"`
	AgentID    string         `json:"agentId"`
	Lane       string         `json:"lane"`
	Cause      string         `json:"cause,omitempty"`
	State      coordrun.State `json:"state"`
	QueuedAt   int64          `json:"queuedAt"`
	StartedAt  int64          `json:"startedAt,omitempty"` // absent: it has not begun, or never did
	EndedAt    int64          `json:"endedAt,omitempty"`
	RetryOf    string         `json:"retryOf,omitempty"` // the run that was asked for at first, where this one repeats it
	JobID      string         `json:"jobId,omitempty"`   // the flow between agents that waits for it
	WorkID     string         `json:"workSessionId,omitempty"`
	TalkID     string         `json:"conversationId,omitempty"`
	ParentID   string         `json:"parentRunId,omitempty"` // the run that has asked for it
}

func runAnswerOf(r *coordrun.Result) runAnswer {
	return runAnswer{RunID: r.RunID, SessionKey: r.SessionKey, SessionID: r.SessionID, AgentID: r.AgentID, Lane: r.Lane, Cause: r.Cause, State: r.State,
		QueuedAt: r.QueuedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, RetryOf: r.RetryOf, JobID: r.JobID, WorkID: r.WorkSessionID, TalkID: r.ConversationID,
		ParentID: r.ParentRunID}
}

// runsAnswer is the answer of runs.
type runsAnswer struct {
	Runs  []runAnswer `json:"runs"`
	Count int         `json:"count"`
}

func (p *process) runs(ctx context.Context, l runListing) error {
	q, err := l.query()
	if err != nil {
		return err
	}
	agent, err := p.defaultAgent(l.stateDir, l.db)
	if err != nil {
		return err
	}
	var list []coordrun.Result
	err = p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) (err error) {
		if l.session != "" {
			if q.SessionKey, err = sessionMeant(ctx, tx, l.session, cmp.Or(q.Agent, agent)); err != nil {
				return err
			}
		}
		list, err = runs.List(ctx, tx, q)
		return err
	})
	if err != nil {
		return err
	}
	if l.asJSON {
		answer := runsAnswer{Runs: []runAnswer{}, Count: len(list)}
		for i := range list {
			answer.Runs = append(answer.Runs, runAnswerOf(&list[i]))
		}
		return output.JSON(p.stdout, answer)
	}
	return p.writeRuns(list, l)
}

// sessionMeant is the key of the session that somebody names, as openclawd sessions show takes names, or the name where none is known by it.
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

func (p *process) writeRuns(list []coordrun.Result, l runListing) error {
	if len(list) == 0 {
		text := `no runs yet: say something to an agent, e.g. openclawd agent "hello"` + shownPlace(l.stateDir, l.db)
		if l.session+l.agent+l.job != "" || len(l.states) > 0 {
			text = "no run is like that; openclawd runs lists all"
		}
		_, err := fmt.Fprintln(p.stdout, text)
		return err
	}
	now := p.now()
	rows := make([][]string, len(list))
	for i := range list {
		r := &list[i]
		rows[i] = []string{r.RunID, r.SessionKey, string(r.State), ago(now, time.UnixMilli(r.QueuedAt)), waited(r, now), took(r, now), r.Cause}
	}
	if err := output.Table(p.stdout, []string{"RUN", "SESSION", "STATE", "ASKED", "WAITED", "TOOK", "CAUSE"}, rows); err != nil {
		return err
	}
	if len(list) == l.limit {
		_, err := fmt.Fprintf(p.stdout, "the newest %s; --limit %d lists more\n", output.Count(int64(len(list)), "run"), maxRuns)
		return err
	}
	_, err := fmt.Fprintln(p.stdout, output.Count(int64(len(list)), "run"))
	return err
}

// shownPlace repeats the flags that name a database, for a shell.
func shownPlace(stateDir, db string) (flags string) {
	for _, flag := range [][2]string{{" --state-dir ", stateDir}, {" --db ", db}} {
		if value := flag[1]; value != "" {
			flags += flag[0] + "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
	}
	return flags
}

// waited is how long a run has waited for its turn, or waits by now.
func waited(r *coordrun.Result, now time.Time) string {
	switch {
	case r.StartedAt > 0:
		return span(r.StartedAt - r.QueuedAt)
	case r.EndedAt > 0:
		return span(r.EndedAt - r.QueuedAt)
	}
	return span(now.UnixMilli() - r.QueuedAt)
}

// took is how long a run has gone on. One that never began has taken none.
func took(r *coordrun.Result, now time.Time) string {
	switch {
	case r.StartedAt == 0:
		return ""
	case r.EndedAt > 0:
		return span(r.EndedAt - r.StartedAt)
	}
	return span(now.UnixMilli() - r.StartedAt)
}

// span writes milliseconds for people: 340ms, 2.1s, 3m4s.
func span(ms int64) string {
	d := time.Duration(max(ms, 0)) * time.Millisecond
	switch {
	case d < time.Second:
		return d.String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
