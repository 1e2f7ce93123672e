package monitor

import (
	"context"
	"database/sql"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// ContinuationAnswer is an agent's next continuation step and its state. It answers GET /api/agents/:id/continuation.
// Times are ISO 8601 and, in fields ending in Ms, ms since 1970.
type ContinuationAnswer struct {
	AgentID        string         `json:"agentId"`
	Decision       DecisionAnswer `json:"decision"`
	Explanation    string         `json:"explanation"`
	State          CareAnswer     `json:"state"`
	RestartedAt    string         `json:"restartedAt,omitempty"` // when the process started, if it is a restart
	At             string         `json:"at"`
	AtMs           int64          `json:"atMs"`
	DerivedFromSeq int64          `json:"derivedFromSeq"`
}

// DecisionAnswer is the decision.
type DecisionAnswer struct {
	Kind          continuation.Kind   `json:"kind"`
	Reason        continuation.Reason `json:"reason"`
	TaskID        string              `json:"taskId,omitempty"`
	To            string              `json:"to,omitempty"` // the agent notified; absent with a prompt: people are
	Prompt        string              `json:"prompt,omitempty"`
	Visible       bool                `json:"visible,omitempty"` // people are notified too
	Attempt       int                 `json:"attempt,omitempty"`
	LookAgainAt   string              `json:"lookAgainAt,omitempty"` // absent with no action: an event changes that, not time
	LookAgainAtMs int64               `json:"lookAgainAtMs,omitempty"`
}

// CareAnswer is an agent's continuation state.
type CareAnswer struct {
	ConsecutiveFailures int              `json:"consecutiveFailures"`
	Overflows           int              `json:"overflows,omitempty"` // consecutive ones at the end caused by a too long context
	Cause               string           `json:"cause,omitempty"`     // of the last failure
	FailedTaskID        string           `json:"failedTaskId,omitempty"`
	FailedRunID         string           `json:"failedRunId,omitempty"`
	BackoffUntil        string           `json:"backoffUntil,omitempty"`
	BackoffUntilMs      int64            `json:"backoffUntilMs,omitempty"`
	LastPrompt          *PromptAnswer    `json:"lastPrompt,omitempty"`
	LastRun             *LastRunAnswer   `json:"lastRun,omitempty"`
	Tasks               []TaskCareAnswer `json:"tasks,omitempty"` // by id
}

// PromptAnswer is the last continuation prompt to an agent.
type PromptAnswer struct {
	RunID  string              `json:"runId,omitempty"`
	TaskID string              `json:"taskId,omitempty"`
	Reason continuation.Reason `json:"reason,omitempty"`
	At     string              `json:"at"`
	AtMs   int64               `json:"atMs"`
	Over   bool                `json:"over"` // its run has ended
}

// LastRunAnswer is the outcome of the last run in an agent's main session.
type LastRunAnswer struct {
	RunID     string `json:"runId"`
	OK        bool   `json:"ok"`
	BrokenOff bool   `json:"brokenOff,omitempty"` // interrupted by a restart
	At        string `json:"at"`
	AtMs      int64  `json:"atMs"`
}

// TaskCareAnswer is the continuation state of a task.
type TaskCareAnswer struct {
	TaskID       string `json:"taskId"`
	Prompts      int    `json:"prompts"`              // prompts to continue it, without progress since
	SameStep     int    `json:"sameStep,omitempty"`   // consecutive ones at stepId
	StepID       string `json:"stepId,omitempty"`     // the step at the last one
	PromptedAt   string `json:"promptedAt,omitempty"` // time of the last one
	PromptedAtMs int64  `json:"promptedAtMs,omitempty"`
	Reminders    int    `json:"reminders,omitempty"` // since the last request to unblock it
	Told         bool   `json:"told,omitempty"`      // it was reported that nothing unblocks it
}

// ContinuationAnswerOf converts an explained decision.
func ContinuationAnswerOf(e *continuation.Explained) ContinuationAnswer {
	return ContinuationAnswer{AgentID: e.Agent, Decision: decisionAnswerOf(&e.Decision), Explanation: e.Text, State: careAnswerOf(&e.State),
		RestartedAt: coordination.FormatTime(e.RestartedAt), At: iso(e.At), AtMs: e.At, DerivedFromSeq: e.Seq}
}

func decisionAnswerOf(d *continuation.Decision) DecisionAnswer {
	return DecisionAnswer{Kind: d.Kind, Reason: d.Reason, TaskID: d.TaskID, To: d.To, Prompt: d.Prompt, Visible: d.Visible, Attempt: d.Attempt,
		LookAgainAt: coordination.FormatTime(d.LookAgainAt), LookAgainAtMs: d.LookAgainAt}
}

func careAnswerOf(s *continuation.State) CareAnswer {
	a := CareAnswer{ConsecutiveFailures: s.Failures, Overflows: s.Overflows, Cause: s.Cause, FailedTaskID: s.FailedTask, FailedRunID: s.FailedRun,
		BackoffUntil: coordination.FormatTime(s.BackoffUntil), BackoffUntilMs: s.BackoffUntil}
	if p := &s.Prompt; p.At != 0 {
		a.LastPrompt = &PromptAnswer{RunID: p.RunID, TaskID: p.TaskID, Reason: p.Reason, At: iso(p.At), AtMs: p.At, Over: p.Over}
	}
	if r := &s.Ended; r.RunID != "" {
		a.LastRun = &LastRunAnswer{RunID: r.RunID, OK: r.OK, BrokenOff: r.BrokenOff, At: iso(r.At), AtMs: r.At}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Tasks)) {
		c := s.Tasks[id]
		a.Tasks = append(a.Tasks, TaskCareAnswer{TaskID: id, Prompts: c.Prompts, SameStep: c.Same, StepID: c.StepID,
			PromptedAt: coordination.FormatTime(c.At), PromptedAtMs: c.At, Reminders: c.Reminders, Told: c.Told})
	}
	return a
}

func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format(timestampLayout) }

// Explain returns an agent's next continuation step; false if the agent is not continued automatically or not
// configured. agent is lower case.
type Explain func(ctx context.Context, tx *sql.Tx, agent string) (e continuation.Explained, kept bool, err error)

// Continuations returns the next steps of all agents that are continued automatically, by id: those named, those that
// have had tasks, and those that were prompted.
func Continuations(ctx context.Context, tx *sql.Tx, named []string, explain Explain) ([]ContinuationAnswer, error) {
	ids := map[string]bool{}
	for _, id := range named {
		ids[strings.ToLower(id)] = true
	}
	boards, err := tasks.Boards(ctx, tx)
	if err != nil {
		return nil, err
	}
	for i := range boards {
		ids[boards[i].AgentID] = true
	}
	rows, err := continuations.List(ctx, tx)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		ids[rows[i].AgentID] = true
	}
	list := []ContinuationAnswer{}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		e, kept, err := explain(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if kept {
			list = append(list, ContinuationAnswerOf(&e))
		}
	}
	return list, nil
}

// continuationsAnswer answers GET /api/continuation.
type continuationsAnswer struct {
	Agents  []ContinuationAnswer `json:"agents"`
	Count   int                  `json:"count"`
	AsOfSeq int64                `json:"asOfSeq"`
}

func (s *Server) listContinuations(c echo.Context) error {
	p := parametersOf(c)
	minSeq := p.minSeq()
	switch {
	case p.err != nil:
		return p.err
	case s.opts.Continuation == nil:
		return noAgents()
	}
	if then := s.opts.then; then != nil && then.Continuation == nil {
		return notThen(whyNoSettings)
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		var named []string
		if v.OwnTasks != nil && v.OwnTasks.Team != nil {
			for _, m := range v.OwnTasks.Team() {
				named = append(named, m.ID)
			}
		}
		list, err := Continuations(ctx, v.tx, named, v.Continuation)
		return continuationsAnswer{list, len(list), v.asOf}, err
	})
}

// explainAgent shows an agent's next continuation step, the reason, and the time of the next check.
func (s *Server) explainAgent(c echo.Context, agent string) error {
	p := parametersOf(c)
	minSeq := p.minSeq()
	switch {
	case p.err != nil:
		return p.err
	case s.opts.Continuation == nil:
		return noAgents()
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		e, kept, err := v.Continuation(ctx, v.tx, strings.ToLower(agent))
		switch {
		case err != nil:
			return nil, err
		case !kept:
			return nil, &problem{Status: http.StatusNotFound, Code: "not_found", Message: "Agent is not continued automatically: " + coordination.Shown(agent), Field: "id",
				Hint: "GET /api/continuation lists the configured agents that may have tasks"}
		}
		return ContinuationAnswerOf(&e), nil
	})
}
