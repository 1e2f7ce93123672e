package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	decide "github.com/pronto-lab/openclawd/coordination/work"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/work"
)

// Work is what operators may do about what has still to be done outside of the log.
type Work interface {
	// Resend has something done again that was given up. Its errors, and those of Cancel, are *WorkError, or what the log returns.
	Resend(ctx context.Context, effectID, by string) error
	// Cancel takes something back that waits or was given up.
	Cancel(ctx context.Context, effectID, by string) error
}

// WorkError says why nothing was done about an effect.
type WorkError struct {
	Unknown bool // there is no such effect that is open; otherwise it is not in the state for it
	Text    string
	Mend    string
}

func (e *WorkError) Error() string { return e.Text }

const (
	workPath   = "/api/work"
	resendTail = "/resend"
	cancelTail = "/cancel"
	maxEffect  = 1_024 // characters of an effect's id
)

// workStates are the words that GET /api/work takes for state.
var workStates = []string{string(work.Waiting), string(work.Leased), string(work.Dead)}

// WorkState is how the queue stands of what has still to be done outside of the log.
type WorkState struct {
	Lanes []LaneState      `json:"lanes"`
	Dead  int              `json:"dead"` // given up: somebody has to resend or cancel them
	Runs  map[string]int64 `json:"runs"` // of agents, by state
	Jobs  []FlowCount      `json:"jobs"` // flows between agents
}

// LaneState is what one agent has in one lane.
type LaneState struct {
	Lane     string `json:"lane"`
	Owner    string `json:"owner"`
	Waiting  int    `json:"waiting"`
	Running  int    `json:"running"`
	Dead     int    `json:"dead"`
	OldestMs int64  `json:"oldestMs"` // how long the first that waits has waited; 0: none does, or they are flows, which wait on purpose
}

// LaneStateOf words a lane.
func LaneStateOf(l *work.Lane, now int64) LaneState {
	s := LaneState{Lane: l.Pool, Owner: l.Owner, Waiting: l.Waiting, Running: l.Leased, Dead: l.Dead}
	if l.Waiting > 0 && l.Since > 0 && l.Pool != decide.PoolJobs {
		s.OldestMs = max(now-l.Since, 0)
	}
	return s
}

// effectAnswer is something that has still to be done. Times are ms since 1970.
type effectAnswer struct {
	EffectID   string     `json:"effectId"`
	Kind       string     `json:"kind"`
	Key        string     `json:"key"`
	Lane       string     `json:"lane"`
	Owner      string     `json:"owner"`
	State      work.State `json:"state"`
	Since      int64      `json:"since"`
	DueAt      *int64     `json:"dueAt"`
	Attempt    int        `json:"attempt"`
	LeaseUntil *int64     `json:"leaseUntil"`
	Error      string     `json:"error,omitempty"`
}

// workAnswer answers GET /api/work.
type workAnswer struct {
	Lanes      []LaneState    `json:"lanes"`
	Items      []effectAnswer `json:"items"`
	Count      int            `json:"count"`
	NextCursor *string        `json:"nextCursor"`
	AsOfSeq    int64          `json:"asOfSeq"`
}

// listWork lists what has still to be done, the oldest first.
func (s *Server) listWork(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := work.Query{State: work.State(p.word("state", workStates...)), Kind: p.first("kind"), Key: p.first("key"), Owner: p.first("owner"), After: p.placeCursor("w"), Limit: limit + 1}
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		lanes, err := v.lanes(ctx)
		if err != nil {
			return nil, err
		}
		list, err := work.List(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		a := workAnswer{Lanes: lanes, Items: []effectAnswer{}, AsOfSeq: v.asOf}
		if len(list) > limit {
			list = list[:limit]
			next := sealed("w", strconv.FormatInt(list[limit-1].Seq, 10))
			a.NextCursor = &next
		}
		for i := range list {
			item := &list[i]
			a.Items = append(a.Items, effectAnswer{EffectID: item.EffectID, Kind: item.Kind, Key: item.Key, Lane: item.Pool, Owner: item.Owner,
				State: item.State, Since: item.Since, DueAt: timeOrNull(item.DueAt), Attempt: item.Attempt, LeaseUntil: timeOrNull(item.LeaseUntil),
				Error: item.Error})
		}
		a.Count = len(list)
		return a, nil
	})
}

func (v *view) lanes(ctx context.Context) ([]LaneState, error) {
	list, err := work.Lanes(ctx, v.tx)
	if err != nil {
		return nil, err
	}
	lanes := make([]LaneState, len(list))
	for i := range list {
		lanes[i] = LaneStateOf(&list[i], int64(v.now))
	}
	return lanes, nil
}

// workState is how the queue stands, for whoever looks at everything.
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

// runCounts are how many runs there are in each state.
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

// skipBody reads what a request brings that needs nothing, and reports whether it is short enough for that.
func skipBody(c echo.Context) bool {
	_, err := io.Copy(io.Discard, c.Request().Body)
	var large *http.MaxBytesError
	return !errors.As(err, &large)
}

// changeWork does what an operator asks for. It is on disk when the answer goes out.
func (s *Server) changeWork(c echo.Context, tail string, change func(Work, context.Context, string, string) error) error {
	id := coordination.TrimJS(idBefore(c, tail))
	switch {
	case id == "":
		return echo.ErrNotFound
	case !utf8.ValidString(id):
		return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "effectId",
			Message: fmt.Sprintf("Bad value %.80q for effectId", id), Hint: "escape what is no letter or digit as %XX, in UTF-8"}
	case utf8.RuneCountInString(id) > maxEffect:
		return tooLong("effectId", id, maxEffect)
	case !skipBody(c):
		return tooLarge()
	case s.opts.Work == nil:
		return noAgents()
	}
	if err := change(s.opts.Work, c.Request().Context(), id, byAPI); err != nil {
		return workProblem(err)
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, workChanged{true, id})
}

// workProblem gives the refusal of an effect its status.
func workProblem(err error) error {
	var refused *WorkError
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Unknown:
		return &problem{Status: http.StatusNotFound, Code: "not_found", Message: refused.Text, Field: "effectId", Hint: refused.Mend}
	}
	return &problem{Status: http.StatusConflict, Code: "conflict", Message: refused.Text, Field: "effectId", Hint: refused.Mend}
}
