package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Work lets operators change the queue of external effects.
type Work interface {
	// Resend retries an effect that was given up. Its errors, and those of Cancel, are *work.Refusal, or the log's.
	Resend(ctx context.Context, effectID, by string) error
	// Cancel cancels an effect that waits or was given up.
	Cancel(ctx context.Context, effectID, by string) error
}

const (
	workPath   = "/api/work"
	resendTail = "/resend"
	cancelTail = "/cancel"
	maxEffect  = 1_024 // length of an effect id, in characters
)

var workStates = []string{string(workqueue.Waiting), string(workqueue.Leased), string(workqueue.Dead)}

// WorkState summarizes the queue of external effects.
type WorkState struct {
	Lanes []LaneState      `json:"lanes"`
	Dead  int              `json:"dead"` // given up: to be resent or cancelled by an operator
	Runs  map[string]int64 `json:"runs"` // of agents, by state
	Jobs  []FlowCount      `json:"jobs"` // flows between agents
}

// LaneState is the load of one agent's lane.
type LaneState struct {
	Lane     string `json:"lane"`
	Owner    string `json:"owner"`
	Waiting  int    `json:"waiting"`
	Running  int    `json:"running"`
	Dead     int    `json:"dead"`
	OldestMs int64  `json:"oldestMs"` // waiting time of the first in the queue; 0: none, or flows, which wait on purpose
}

// LaneStateOf converts a lane.
func LaneStateOf(l *workqueue.Lane, now int64) LaneState {
	s := LaneState{Lane: l.Pool, Owner: l.Owner, Waiting: l.Waiting, Running: l.Leased, Dead: l.Dead}
	if l.Waiting > 0 && l.Since > 0 && l.Pool != work.PoolJobs {
		s.OldestMs = max(now-l.Since, 0)
	}
	return s
}

// effectAnswer is a pending effect. Times are ms since 1970.
type effectAnswer struct {
	EffectID   string          `json:"effectId"`
	Kind       string          `json:"kind"`
	Key        string          `json:"key"`
	Lane       string          `json:"lane"`
	Owner      string          `json:"owner"`
	State      workqueue.State `json:"state"`
	Since      int64           `json:"since"`
	DueAt      *int64          `json:"dueAt"`
	Attempt    int             `json:"attempt"`
	LeaseUntil *int64          `json:"leaseUntil"`
	Error      string          `json:"error,omitempty"`
}

// workAnswer answers GET /api/work.
type workAnswer struct {
	Lanes      []LaneState    `json:"lanes"`
	Items      []effectAnswer `json:"items"`
	Count      int            `json:"count"`
	NextCursor *string        `json:"nextCursor"`
	AsOfSeq    int64          `json:"asOfSeq"`
}

func (s *Server) listWork(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := workqueue.Query{State: workqueue.State(p.word("state", workStates...)), Kind: p.first("kind"), Key: p.first("key"), Owner: p.first("owner"), After: p.placeCursor("w"), Limit: limit + 1}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		lanes, err := v.lanes(ctx)
		if err != nil {
			return nil, err
		}
		list, err := workqueue.List(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		list, next := pageOf(list, limit, "w", func(item *workqueue.Item) int64 { return item.Seq })
		items := each(list, func(item *workqueue.Item) effectAnswer {
			return effectAnswer{EffectID: item.EffectID, Kind: item.Kind, Key: item.Key, Lane: item.Pool, Owner: item.Owner,
				State: item.State, Since: item.Since, DueAt: orNull(item.DueAt), Attempt: item.Attempt, LeaseUntil: orNull(item.LeaseUntil),
				Error: item.Error}
		})
		return workAnswer{Lanes: lanes, Items: items, Count: len(list), NextCursor: next, AsOfSeq: v.asOf}, nil
	})
}

func (v *view) lanes(ctx context.Context) ([]LaneState, error) {
	list, err := workqueue.Lanes(ctx, v.tx)
	if err != nil {
		return nil, err
	}
	lanes := make([]LaneState, len(list))
	for i := range list {
		lanes[i] = LaneStateOf(&list[i], int64(v.now))
	}
	return lanes, nil
}

func (v *view) workState(ctx context.Context) (s WorkState, err error) {
	if s.Lanes, err = v.lanes(ctx); err != nil {
		return s, err
	}
	for i := range s.Lanes {
		s.Dead += s.Lanes[i].Dead
	}
	if s.Runs, err = v.runCounts(ctx); err != nil {
		return s, err
	}
	s.Jobs, err = v.flowCounts(ctx)
	return s, err
}

func (v *view) runCounts(ctx context.Context) (map[string]int64, error) {
	counts, err := runs.Count(ctx, v.tx)
	all := map[string]int64{}
	for _, state := range runStates {
		all[state] = counts[run.State(state)]
	}
	return all, err
}

// workChanged answers POST /api/work/:effectId/resend and /cancel.
type workChanged struct {
	OK       bool   `json:"ok"`
	EffectID string `json:"effectId"`
}

func (s *Server) resendWork(c echo.Context) error { return s.changeWork(c, resendTail, Work.Resend) }

func (s *Server) cancelWork(c echo.Context) error { return s.changeWork(c, cancelTail, Work.Cancel) }

// skipBody discards an unneeded body, and reports whether it is within the limit.
func skipBody(c echo.Context) bool {
	_, err := io.Copy(io.Discard, c.Request().Body)
	var large *http.MaxBytesError
	return !errors.As(err, &large)
}

// changeWork resends or cancels an effect. The change is on disk when the answer is sent.
func (s *Server) changeWork(c echo.Context, tail string, change func(Work, context.Context, string, string) error) error {
	id := coordination.TrimJS(idBefore(c, tail))
	switch {
	case id == "":
		return echo.ErrNotFound
	case !utf8.ValidString(id):
		return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "effectId",
			Message: fmt.Sprintf("Bad value %.80q for effectId", id), Hint: "escape everything but letters and digits as %XX, in UTF-8"}
	case utf8.RuneCountInString(id) > maxEffect:
		return tooLong("effectId", id, maxEffect)
	case !skipBody(c):
		return tooLarge()
	case s.opts.Work == nil:
		return noAgents()
	}
	if err := change(s.opts.Work, c.Request().Context(), id, askerOf(c)); err != nil {
		return workProblem(err)
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, workChanged{true, id})
}

func workProblem(err error) error {
	refused, ok := errors.AsType[*work.Refusal](err)
	switch {
	case !ok:
		return err
	case refused.Reason == work.CodeUnknown:
		return &problem{Status: http.StatusNotFound, Code: "not_found", Message: refused.Error(), Field: "effectId", Hint: refused.HintText}
	}
	return &problem{Status: http.StatusConflict, Code: "conflict", Message: refused.Error(), Field: "effectId", Hint: refused.HintText}
}
