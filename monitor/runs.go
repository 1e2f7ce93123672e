package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/runs"
)

var runStates = []string{string(run.Queued), string(run.Running), string(run.OK), string(run.Failed), string(run.Aborted), string(run.TimedOut)}

// runAnswer is a run of an agent. Times are ms since 1970; null if it has not happened.
type runAnswer struct {
	RunID      string    `json:"runId"`
	SessionKey string    `json:"sessionKey"`
	SessionID  string    `json:"sessionId,omitempty"`
	AgentID    string    `json:"agentId"`
	Lane       string    `json:"lane"`
	Cause      string    `json:"cause"`
	State      run.State `json:"state"`
	QueuedAt   int64     `json:"queuedAt"`
	StartedAt  *int64    `json:"startedAt"`
	EndedAt    *int64    `json:"endedAt"`
	RetryOf    string    `json:"retryOf,omitempty"`
	JobID      string    `json:"jobId,omitempty"` // the flow that waits for it
	WorkID     string    `json:"workSessionId,omitempty"`
	TalkID     string    `json:"conversationId,omitempty"`
	ParentID   string    `json:"parentRunId,omitempty"` // the run that requested it
	Reason     string    `json:"reason,omitempty"`
	ErrorClass string    `json:"errorClass,omitempty"`
	Provider   string    `json:"provider,omitempty"`
	Model      string    `json:"model,omitempty"`
	ModelCalls int       `json:"modelCalls"`
	ToolCalls  int       `json:"toolCalls"`
}

func runAnswerOf(r *run.Result) runAnswer {
	a := runAnswer{RunID: r.RunID, SessionKey: r.SessionKey, SessionID: r.SessionID, AgentID: r.AgentID, Lane: r.Lane, Cause: r.Cause, State: r.State,
		QueuedAt: r.QueuedAt, StartedAt: orNull(r.StartedAt), EndedAt: orNull(r.EndedAt), RetryOf: r.RetryOf,
		JobID: r.JobID, WorkID: r.WorkSessionID, TalkID: r.ConversationID, ParentID: r.ParentRunID}
	if o := r.Over; o != nil {
		a.Reason, a.ErrorClass, a.Provider, a.Model, a.ModelCalls, a.ToolCalls = o.Reason, o.ErrorClass, o.Provider, o.Model, o.ModelCalls, o.ToolCalls
	}
	return a
}

// runsAnswer answers GET /api/runs.
type runsAnswer struct {
	Runs       []runAnswer      `json:"runs"`
	Count      int              `json:"count"`
	States     map[string]int64 `json:"states"` // of all runs, regardless of filters
	NextCursor *string          `json:"nextCursor"`
	AsOfSeq    int64            `json:"asOfSeq"`
}

func (s *Server) listRuns(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := runs.Query{SessionKey: p.first("session"), Agent: p.first("agent"), JobID: p.first("jobId"), WorkSessionID: p.workSession("workSessionId"),
		Before: p.placeCursor("r"), Limit: limit + 1}
	for _, state := range p.words("state", runStates...) {
		q.States = append(q.States, run.State(state))
	}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := runs.List(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		list, next := pageOf(list, limit, "r", func(r *run.Result) int64 { return r.Seq })
		states, err := v.runCounts(ctx)
		return runsAnswer{Runs: each(list, runAnswerOf), Count: len(list), States: states, NextCursor: next, AsOfSeq: v.asOf}, err
	})
}
