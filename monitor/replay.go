package monitor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/snapshot"
	"github.com/pronto-lab/openclawd/projections/points"
)

// Replay says what changed between points of the log, as openclawd replay does. Diff and Steps read snapshots: while one is being built, pending
// is not nil and there is no answer. Errors: snapshot.ErrBusy, those of Past, and for a point that does not exist one with a Code and a Hint.
type Replay interface {
	// Resolve finds the event that a text names: a seq, head, an event id or a time.
	Resolve(ctx context.Context, point string) (points.Point, error)
	// Before finds the last event recorded at or before a time.
	Before(ctx context.Context, at time.Time) (points.Point, error)
	// Happened finds about the last event whose own time is at or before a time: the one with as many events up to it as have such a time. It
	// differs from Before where events were imported.
	Happened(ctx context.Context, at time.Time) (points.Point, error)
	// TimeOf is the own time of an event, in ms since 1970; 0 for seq 0.
	TimeOf(ctx context.Context, seq int64) (int64, error)
	Diff(ctx context.Context, q DiffQuery) (diff *points.BoundedDiff, pending *Pending, err error)
	Steps(ctx context.Context, q StepsQuery) (steps *points.Steps, pending *Pending, err error)
	Tables() []string // that can be compared
}

// DiffQuery asks how the tables differ between two events of the log; 0 is the empty log.
type DiffQuery struct {
	From, To int64
	Tables   []string // none: all
	Limit    int      // rows of each table
}

// StepsQuery asks what up to N events did, from the event At on.
type StepsQuery struct {
	At         int64
	N          int
	ErrorsOnly bool
}

// Pending is the progress of a snapshot that an answer needs.
type Pending struct {
	AsOf int64
	snapshot.Progress
}

const (
	replayDiffPath  = "/api/replay/diff"
	replayStepPath  = "/api/replay/step"
	replayPointPath = "/api/replay/point"

	usualRows = 10 // of a table, as in openclawd replay diff

	// replayTime bounds the work for one answer, below the time in which answers must be written.
	replayTime = 45 * time.Second
)

// replayDiff answers how the tables differ between two points.
func (s *Server) replayDiff(c echo.Context) error {
	if err := s.mayReplay(c); err != nil {
		return err
	}
	p := parametersOf(c)
	q := DiffQuery{Limit: int(p.integer("limit", usualRows, 0, points.MaxRows)), Tables: p.words("table", s.opts.Replay.Tables()...)}
	if p.err != nil {
		return p.err
	}
	ctx := c.Request().Context()
	for _, side := range []struct {
		name string
		seq  *int64
	}{{"a", &q.From}, {"b", &q.To}} {
		point, err := s.resolve(ctx, p, side.name)
		if err != nil {
			return err
		}
		*side.seq = point.Seq
	}
	return s.answerReplay(c, func(ctx context.Context) (any, *Pending, error) { return s.opts.Replay.Diff(ctx, q) })
}

// replayStep answers what events did, one after the other.
func (s *Server) replayStep(c echo.Context) error {
	if err := s.mayReplay(c); err != nil {
		return err
	}
	p := parametersOf(c)
	q := StepsQuery{At: p.integer("at", 0, 1, math.MaxInt64), N: int(p.integer("n", 1, 0, points.MaxSteps)), ErrorsOnly: p.yes("errors")}
	if p.err != nil {
		return p.err
	}
	if p.first("at") == "" {
		return missingParameter("at", "give the seq of the first event")
	}
	head, err := s.opts.Store.Head(c.Request().Context())
	switch {
	case err != nil:
		return err
	case q.At > head.Seq+1:
		return &problem{Status: http.StatusNotFound, Code: "no_such_point", Field: "at", Value: p.first("at"), Message: fmt.Sprintf("Event %d does not exist", q.At),
			Hint: fmt.Sprintf("the log ends at %d", head.Seq)}
	}
	return s.answerReplay(c, func(ctx context.Context) (any, *Pending, error) { return s.opts.Replay.Steps(ctx, q) })
}

// PointAnswer answers GET /api/replay/point.
type PointAnswer struct {
	points.Point
	TS   int64        `json:"ts"` // own time of the event, in ms since 1970
	Head points.Point `json:"head"`
}

// replayPoint answers which event a time, or another name of a point, means.
func (s *Server) replayPoint(c echo.Context) error {
	if err := s.mayReplay(c); err != nil {
		return err
	}
	p := parametersOf(c)
	at, by := p.instant("time"), p.choice("by", "recorded", "event")
	switch {
	case p.err != nil:
		return p.err
	case at == nil && p.first("at") == "":
		return missingParameter("time", "give time, or at with the name of a point")
	case at != nil && p.first("at") != "":
		p.refuse("at", p.first("at"), "give either time or at")
		return p.err
	}
	ctx := c.Request().Context()
	var a PointAnswer
	var err error
	switch {
	case at == nil:
		a.Point, err = s.resolve(ctx, p, "at")
	case by == "event":
		a.Point, err = s.opts.Replay.Happened(ctx, time.UnixMilli(int64(*at)))
	default:
		a.Point, err = s.opts.Replay.Before(ctx, time.UnixMilli(int64(*at)))
	}
	if err != nil {
		return err
	}
	if a.TS, err = s.opts.Replay.TimeOf(ctx, a.Seq); err != nil {
		return err
	}
	if a.Head, err = s.opts.Replay.Resolve(ctx, "head"); err != nil {
		return err
	}
	c.Response().Header().Set(headerAsOf, strconv.FormatInt(a.Head.Seq, 10))
	return writeJSON(c, http.StatusOK, a)
}

// mayReplay refuses requests where nothing is replayed, and those of pages that may not read the answer: they would have snapshots built.
func (s *Server) mayReplay(c echo.Context) error {
	switch {
	case s.opts.Replay == nil:
		return &problem{Status: http.StatusConflict, Code: "not_here", Message: "This server shows one state of the log only", Hint: "ask the server of the log"}
	case s.fromAfar(c.Request()):
		return &problem{Status: http.StatusForbidden, Code: "origin_refused", Field: "Origin", Message: "Pages of other sites may not replay",
			Hint: "add the page's origin, or its host, to the allowed ones"}
	}
	return nil
}

// resolve reads a parameter that names a point of the log.
func (s *Server) resolve(ctx context.Context, p *parameters, name string) (points.Point, error) {
	text := p.first(name)
	if text == "" {
		return points.Point{}, missingParameter(name, "give a seq, head, an event id, or a time such as 2026-02-20T12:00:00Z")
	}
	point, err := s.opts.Replay.Resolve(ctx, text)
	return point, noSuchPoint(name, text, err)
}

// noSuchPoint makes a problem of the error that a point does not exist.
func noSuchPoint(name, value string, err error) error {
	var unknown interface {
		error
		Code() string
		Hint() string
	}
	if !errors.As(err, &unknown) || unknown.Code() != "no_such_point" {
		return err
	}
	const shown = 80
	return &problem{Status: http.StatusNotFound, Code: "no_such_point", Field: name, Value: fmt.Sprintf("%.*s", shown, value),
		Message: fmt.Sprintf("%.*s", 4*shown, unknown.Error()), Hint: unknown.Hint()}
}

func missingParameter(field, hint string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: field, Message: "The parameter " + field + " is missing", Hint: hint}
}

// answerReplay computes an answer that reads snapshots and writes it, or the progress of a snapshot.
func (s *Server) answerReplay(c echo.Context, compute func(context.Context) (any, *Pending, error)) error {
	request := c.Request().Context()
	ctx, stop := context.WithTimeout(request, replayTime)
	defer stop()
	head, err := s.opts.Store.Head(ctx)
	if err != nil {
		return err
	}
	share := s.opts.Reads.Open()
	defer share.Close()
	body, pending, err := compute(ctx)
	switch {
	case errors.Is(err, snapshot.ErrBusy):
		return &problem{Status: http.StatusServiceUnavailable, Code: "busy", Message: "Other snapshots and comparisons are being computed",
			Hint: "wait for those already requested", RetryAfter: 5}
	case errors.Is(err, context.DeadlineExceeded) && request.Err() == nil:
		return &problem{Status: http.StatusServiceUnavailable, Code: "busy", Message: "The comparison took too long",
			Hint: "compare fewer tables with table, or use openclawd replay diff", RetryAfter: 30}
	case err != nil:
		return s.refuseSnapshot(c, "", "The answer cannot be computed", err)
	case pending != nil:
		return writeBuilding(c, pending.AsOf, pending.Progress)
	}
	text, err := encode(body)
	if err != nil {
		return err
	}
	share.Keep(int64(len(text))) // until written, at the reader's pace
	c.Response().Header().Set(headerAsOf, strconv.FormatInt(head.Seq, 10))
	return writeJSON(c, http.StatusOK, text)
}
