package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/projections/flows"
)

// HandoffAnswer is a machine-readable delegation or question, with its reply. Times are ms since 1970; null if it has
// not happened.
type HandoffAnswer struct {
	Seq            int64        `json:"seq"` // of the a2a.send
	JobID          string       `json:"jobId"`
	RunID          string       `json:"runId,omitempty"`
	FromAgent      string       `json:"fromAgent"`
	ToAgent        string       `json:"toAgent"`
	Type           handoff.Type `json:"type"`
	Subject        string       `json:"subject"` // its taskId or questionId
	ConversationID string       `json:"conversationId"`
	WorkSessionID  string       `json:"workSessionId,omitempty"`
	At             int64        `json:"at"`
	State          string       `json:"state"`            // open, answered, failed
	Status         string       `json:"status,omitempty"` // of a delegation: the last report
	AnsweredSeq    *int64       `json:"answeredSeq"`      // of the answering event
	AnsweredAt     *int64       `json:"answeredAt"`
}

// HandoffAnswerOf converts a handoff.
func HandoffAnswerOf(h *flows.Handoff) HandoffAnswer {
	return HandoffAnswer{Seq: h.Seq, JobID: h.JobID, RunID: h.RunID, FromAgent: h.From, ToAgent: h.To, Type: h.Type, Subject: h.Subject,
		ConversationID: h.ConversationID, WorkSessionID: h.WorkSessionID, At: h.At, State: h.State, Status: h.Status,
		AnsweredSeq: orNull(h.AnsweredSeq), AnsweredAt: orNull(h.AnsweredAt)}
}

// handoffsAnswer answers GET /api/a2a/handoffs.
type handoffsAnswer struct {
	Handoffs   []HandoffAnswer `json:"handoffs"`
	Count      int             `json:"count"`
	NextCursor *string         `json:"nextCursor"`
	AsOfSeq    int64           `json:"asOfSeq"`
}

func (s *Server) listHandoffs(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := flows.HandoffQuery{Agent: p.agent("agent"), WorkSessionID: p.workSession("workSessionId"), Open: p.yes("open"), Before: p.placeCursor("h"),
		Limit: limit + 1}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := flows.Handoffs(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		list, next := pageOf(list, limit, "h", func(h *flows.Handoff) int64 { return h.Seq })
		return handoffsAnswer{Handoffs: each(list, HandoffAnswerOf), Count: len(list), NextCursor: next, AsOfSeq: v.asOf}, nil
	})
}
