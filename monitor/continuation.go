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

	"github.com/pronto-lab/openclawd/coordination/continuation"
	continuations "github.com/pronto-lab/openclawd/projections/continuation"
	tasks "github.com/pronto-lab/openclawd/projections/task"
)

// Explained is what would be done about an agent now, so that it goes on with its tasks.
type Explained struct {
	continuation.Decision
	Text        string // the same in words
	State       continuation.State
	Seq         int64 // of the log, as it was read
	At          int64 // ms since 1970
	RestartedAt int64 // likewise; 0: no restart is known
}

// ContinuationAnswer is what would be done about an agent now, and how it was kept going so far. It answers GET /api/agents/:id/continuation.
// Times are ISO 8601 and, where they end in Ms, ms since 1970.
type ContinuationAnswer struct {
	AgentID        string         `json:"agentId"`
	Decision       DecisionAnswer `json:"decision"`
	Explanation    string         `json:"explanation"`
	State          CareAnswer     `json:"state"`
	RestartedAt    string         `json:"restartedAt,omitempty"` // when the process began, if another one was there before
	At             string         `json:"at"`
	AtMs           int64          `json:"atMs"`
	DerivedFromSeq int64          `json:"derivedFromSeq"`
}

// DecisionAnswer is the one thing that would be done.
type DecisionAnswer struct {
	Kind          continuation.Kind   `json:"kind"`
	Reason        continuation.Reason `json:"reason"`
	TaskID        string              `json:"taskId,omitempty"`
	To            string              `json:"to,omitempty"` // the agent that is told; absent with a prompt: people are
	Prompt        string              `json:"prompt,omitempty"`
	Visible       bool                `json:"visible,omitempty"` // people are to see it too
	Attempt       int                 `json:"attempt,omitempty"`
	LookAgainAt   string              `json:"lookAgainAt,omitempty"` // absent of nothing: an event changes that, not time
	LookAgainAtMs int64               `json:"lookAgainAtMs,omitempty"`
}

// CareAnswer is how an agent was kept going.
type CareAnswer struct {
	ConsecutiveFailures int              `json:"consecutiveFailures"`
	Overflows           int              `json:"overflows,omitempty"` // of these the last in a row whose context was too long
	Cause               string           `json:"cause,omitempty"`     // of the last failure
	FailedTaskID        string           `json:"failedTaskId,omitempty"`
	FailedRunID         string           `json:"failedRunId,omitempty"`
	BackoffUntil        string           `json:"backoffUntil,omitempty"`
	BackoffUntilMs      int64            `json:"backoffUntilMs,omitempty"`
	LastPrompt          *PromptAnswer    `json:"lastPrompt,omitempty"`
	LastRun             *LastRunAnswer   `json:"lastRun,omitempty"`
	Tasks               []TaskCareAnswer `json:"tasks,omitempty"` // by id
}

// PromptAnswer is the last prompt to an agent.
type PromptAnswer struct {
	RunID  string              `json:"runId,omitempty"`
	TaskID string              `json:"taskId,omitempty"`
	Reason continuation.Reason `json:"reason,omitempty"`
	At     string              `json:"at"`
	AtMs   int64               `json:"atMs"`
	Over   bool                `json:"over"` // its run has ended
}

// LastRunAnswer is how the last run of an agent's main session has ended.
type LastRunAnswer struct {
	RunID     string `json:"runId"`
	OK        bool   `json:"ok"`
	BrokenOff bool   `json:"brokenOff,omitempty"` // by a restart
	At        string `json:"at"`
	AtMs      int64  `json:"atMs"`
}

// TaskCareAnswer is what was done for a task.
type TaskCareAnswer struct {
	TaskID       string `json:"taskId"`
	Prompts      int    `json:"prompts"`              // to go on with it, without progress since
	SameStep     int    `json:"sameStep,omitempty"`   // of these in a row at stepId
	StepID       string `json:"stepId,omitempty"`     // that it was at, at the last one
	PromptedAt   string `json:"promptedAt,omitempty"` // the last one
	PromptedAtMs int64  `json:"promptedAtMs,omitempty"`
	Reminders    int    `json:"reminders,omitempty"` // since the last request to unblock it
	Told         bool   `json:"told,omitempty"`      // somebody was told that nobody unblocks it
}

// ContinuationAnswerOf words what would be done about an agent.
func ContinuationAnswerOf(e *Explained) ContinuationAnswer {
	return ContinuationAnswer{AgentID: e.Agent, Decision: decisionAnswerOf(&e.Decision), Explanation: e.Text, State: careAnswerOf(&e.State),
		RestartedAt: isoOrNone(e.RestartedAt), At: iso(e.At), AtMs: e.At, DerivedFromSeq: e.Seq}
}

func decisionAnswerOf(d *continuation.Decision) DecisionAnswer {
	return DecisionAnswer{Kind: d.Kind, Reason: d.Reason, TaskID: d.TaskID, To: d.To, Prompt: d.Prompt, Visible: d.Visible, Attempt: d.Attempt,
		LookAgainAt: isoOrNone(d.LookAgainAt), LookAgainAtMs: d.LookAgainAt}
}

func careAnswerOf(s *continuation.State) CareAnswer {
	a := CareAnswer{ConsecutiveFailures: s.Failures, Overflows: s.Overflows, Cause: s.Cause, FailedTaskID: s.FailedTask, FailedRunID: s.FailedRun,
		BackoffUntil: isoOrNone(s.BackoffUntil), BackoffUntilMs: s.BackoffUntil}
	if p := &s.Prompt; p.At != 0 {
		a.LastPrompt = &PromptAnswer{RunID: p.RunID, TaskID: p.TaskID, Reason: p.Reason, At: iso(p.At), AtMs: p.At, Over: p.Over}
	}
	if r := &s.Ended; r.RunID != "" {
		a.LastRun = &LastRunAnswer{RunID: r.RunID, OK: r.OK, BrokenOff: r.BrokenOff, At: iso(r.At), AtMs: r.At}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Tasks)) {
		c := s.Tasks[id]
		a.Tasks = append(a.Tasks, TaskCareAnswer{TaskID: id, Prompts: c.Prompts, SameStep: c.Same, StepID: c.StepID,
			PromptedAt: isoOrNone(c.At), PromptedAtMs: c.At, Reminders: c.Reminders, Told: c.Told})
	}
	return a
}

func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format(timestampLayout) }

// isoOrNone is a time, or "" where there is none.
func isoOrNone(ms int64) string {
	if ms == 0 {
		return ""
	}
	return iso(ms)
}

// Explain says what would be done about an agent now, and false for one that is not kept going, or is not configured. agent is lower case.
type Explain func(ctx context.Context, tx *sql.Tx, agent string) (e Explained, kept bool, err error)

// Continuations words what would be done about every agent that is kept going, by id: those that are named, those that have had tasks, and
// those that were prompted.
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

// listContinuations says of every agent what would be done about it now.
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

// explainAgent says of an agent what would be done about it now, why, and when that is looked at again.
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
			return nil, &problem{Status: http.StatusNotFound, Code: "not_found", Message: "Agent not kept going: " + shortened(agent), Field: "id",
				Hint: "GET /api/continuation lists those of the configuration that may have tasks"}
		}
		return ContinuationAnswerOf(&e), nil
	})
}
