package monitor

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/projections/flows"
)

const (
	flowsPath    = "/api/a2a/jobs"
	handoffsPath = "/api/a2a/handoffs"
	policyPath   = "/api/a2a/policy"
	matrixPath   = policyPath + "/matrix"
)

// flowKinds are the values of kind in GET /api/a2a/jobs.
var flowKinds = []string{string(a2a.Send), string(a2a.Spawn)}

// FlowAnswer is a flow between agents: an exchange, or a delegation to a sub-agent. Times are ms since 1970; null if
// it has not happened.
type FlowAnswer struct {
	JobID                string              `json:"jobId"`
	Kind                 a2a.Kind            `json:"kind"`
	Phase                a2a.Phase           `json:"phase"`
	FromAgent            string              `json:"fromAgent"`
	ToAgent              string              `json:"toAgent"`
	RequesterSessionKey  string              `json:"requesterSessionKey"`
	RequesterRunID       string              `json:"requesterRunId,omitempty"`
	TargetSessionKey     string              `json:"targetSessionKey"`
	ConversationID       string              `json:"conversationId"`
	ParentConversationID string              `json:"parentConversationId,omitempty"`
	WorkSessionID        string              `json:"workSessionId,omitempty"`
	TaskID               string              `json:"taskId,omitempty"`
	Label                string              `json:"label,omitempty"`
	Preview              string              `json:"preview"` // start of the message
	Intent               string              `json:"intent,omitempty"`
	PayloadType          string              `json:"payloadType,omitempty"`
	RunID                string              `json:"runId,omitempty"` // run it waits for, or last waited for
	Attempt              int                 `json:"attempt"`         // exchange it waits for, counted from 1 at the first answer; 0: another wait, or none
	Turn                 int                 `json:"turn"`
	EffectiveTurns       int                 `json:"effectiveTurns"`
	DueAt                *int64              `json:"dueAt"` // time of its next check
	CreatedAt            int64               `json:"createdAt"`
	ChangedAt            int64               `json:"changedAt"`
	EndedAt              *int64              `json:"endedAt"`
	Resumed              int                 `json:"resumed"` // restarts since its last progress
	Outcome              string              `json:"outcome,omitempty"`
	Reason               string              `json:"reason,omitempty"`
	Said                 []a2a.AnswerPreview `json:"said"` // start of each answer, oldest first
}

// FlowAnswerOf converts a flow.
func FlowAnswerOf(r *flows.Row) FlowAnswer {
	return FlowAnswer{JobID: r.JobID, Kind: r.Kind, Phase: r.Phase, FromAgent: r.FromAgent, ToAgent: r.ToAgent,
		RequesterSessionKey: r.RequesterSessionKey, RequesterRunID: r.RequesterRunID, TargetSessionKey: r.TargetSessionKey,
		ConversationID: r.ConversationID, ParentConversationID: r.ParentConversation, WorkSessionID: r.WorkSessionID, TaskID: r.TaskID, Label: r.Label,
		Preview: r.Preview, Intent: r.Intent, PayloadType: r.PayloadType, RunID: r.RunID, Attempt: r.Attempt, Turn: r.Turn,
		EffectiveTurns: r.EffectiveTurns, DueAt: orNull(r.DueAt), CreatedAt: r.CreatedAt, ChangedAt: r.ChangedAt, EndedAt: orNull(r.EndedAt),
		Resumed: r.Resumed, Outcome: r.Outcome, Reason: r.Reason, Said: listOf(r.Said)}
}

// FlowCount counts flows of one kind and state.
type FlowCount struct {
	Kind    a2a.Kind  `json:"kind"`
	Phase   a2a.Phase `json:"phase"`
	Outcome string    `json:"outcome,omitempty"` // finished flows only
	Flows   int64     `json:"flows"`
}

// flowsAnswer answers GET /api/a2a/jobs.
type flowsAnswer struct {
	Jobs       []FlowAnswer `json:"jobs"`
	Count      int          `json:"count"`
	Counts     []FlowCount  `json:"counts"` // of all flows, regardless of filters
	NextCursor *string      `json:"nextCursor"`
	AsOfSeq    int64        `json:"asOfSeq"`
}

func (s *Server) listFlows(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := flows.Query{Kind: a2a.Kind(p.word("kind", flowKinds...)), Open: p.yes("open"), From: p.agent("from"), To: p.agent("to"), ConversationID: p.first("conversationId"),
		WorkSessionID: p.workSession("workSessionId"), Before: p.placeCursor("j"), Limit: limit + 1}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := flows.List(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		list, next := pageOf(list, limit, "j", func(r *flows.Row) int64 { return r.Seq })
		counts, err := v.flowCounts(ctx)
		return flowsAnswer{Jobs: each(list, FlowAnswerOf), Count: len(list), Counts: counts, NextCursor: next, AsOfSeq: v.asOf}, err
	})
}

func (v *view) flowCounts(ctx context.Context) ([]FlowCount, error) {
	tallies, err := flows.Count(ctx, v.tx)
	counts := []FlowCount{}
	for _, t := range tallies {
		counts = append(counts, FlowCount(t))
	}
	return counts, err
}

// shownFlow answers GET /api/a2a/jobs/:id.
type shownFlow struct {
	Job     FlowAnswer  `json:"job"`
	Runs    []runAnswer `json:"runs"` // oldest first
	AsOfSeq int64       `json:"asOfSeq"`
}

func (s *Server) showFlow(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		row, found, err := flows.ByID(ctx, v.tx, id)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, noFlow(id)
		}
		list, err := RunsOf(ctx, v.tx, id)
		return shownFlow{Job: FlowAnswerOf(&row), Runs: each(list, runAnswerOf), AsOfSeq: v.asOf}, err
	})
}

func noFlow(id string) *problem {
	return &problem{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("Flow not found: %.80q", id), Field: "id", Hint: "GET " + flowsPath + " lists them"}
}

func (p *parameters) yes(name string) bool { return p.choice(name, "false", "true") == "true" }

func (p *parameters) agent(name string) string { return strings.ToLower(p.first(name)) }

// workSession reads a work session id, with or without ws:.
func (p *parameters) workSession(name string) string {
	return strings.TrimPrefix(p.first(name), idPrefix)
}
