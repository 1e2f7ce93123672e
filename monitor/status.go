package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/index"
)

// Status summarizes everything an operator needs. It answers GET /api/status.
type Status struct {
	Status    string `json:"status"` // ok; degraded: there is a reason, or a projection is parked
	Version   string `json:"version"`
	Timestamp string `json:"timestamp"`
	health.Running
	Seq         int64                          `json:"seq"`
	AsOfSeq     int64                          `json:"asOfSeq"`
	HeadAt      *string                        `json:"headAt"` // time of the newest event; null if there is none
	Events      Counts                         `json:"events"`
	BadLines    int64                          `json:"badLines"`
	Doubts      index.Doubts                   `json:"doubts"`
	Sessions    conversations.Recent           `json:"sessions"`
	Trouble     []conversations.Trouble        `json:"trouble"` // the newest five
	Projections []projections.Status           `json:"projections"`
	Work        WorkState                      `json:"work"`
	Discord     health.ChannelState            `json:"discord"`
	Channels    map[string]health.ChannelState `json:"channels"` // all, by name
	Importing   *importAnswer                  `json:"importing,omitempty"`
	Reasons     []health.Reason                `json:"reasons"`
}

// Counts are numbers of events by their own time.
type Counts struct {
	Total            int64 `json:"total"`   // internal ones included
	LastDay          int64 `json:"lastDay"` // of the last 24 full hours, without internal ones
	LastWeek         int64 `json:"lastWeek"`
	InternalLastDay  int64 `json:"internalLastDay"` // likewise, of internal bookkeeping
	InternalLastWeek int64 `json:"internalLastWeek"`
}

// newestTrouble is how many troubled conversations a status lists.
const newestTrouble = 5

func (s *Server) status(c echo.Context) error {
	p := parametersOf(c)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	program := s.program(c.Request().Context())
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) { return s.statusOf(ctx, v, program) })
}

// Status returns the state of the log, its tables and the program. It works without Run.
func (s *Server) Status(ctx context.Context) (status *Status, err error) {
	program := s.program(ctx)
	err = s.opts.Store.View(ctx, func(tx *sql.Tx) error {
		v := view{Options: &s.opts, tx: tx, now: float64(s.opts.Now().UnixMilli())}
		if v.asOf, err = projections.AsOf(ctx, tx); err != nil {
			return fmt.Errorf("read position: %w", err)
		}
		status, err = s.statusOf(ctx, &v, program)
		return err
	})
	return status, err
}

type programState struct {
	reasons []health.Reason
	running health.Running
}

// program asks the program for its state. The program opens read transactions of its own, so this must not be called
// inside one: if all readers did, they would wait for each other forever.
func (s *Server) program(ctx context.Context) (p programState) {
	p.reasons = s.reasons(ctx)
	if s.opts.Operations.Running != nil {
		p.running = s.opts.Operations.Running(ctx)
	}
	return p
}

func (s *Server) statusOf(ctx context.Context, v *view, program programState) (*Status, error) {
	head, err := v.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	a := &Status{Status: "ok", Version: s.opts.Version, Timestamp: s.opts.Now().UTC().Format(timestampLayout), Seq: head.Seq, AsOfSeq: v.asOf,
		Importing: s.importing(), Reasons: program.reasons, Running: program.running}
	if err := s.readStatus(ctx, v, a); err != nil {
		return nil, err
	}
	if len(a.Reasons) > 0 || parked(a.Projections) {
		a.Status = "degraded"
	}
	return a, nil
}

func (s *Server) readStatus(ctx context.Context, v *view, a *Status) (err error) {
	if a.HeadAt, err = headTime(ctx, v, a.Seq); err != nil {
		return err
	}
	list, err := projections.List(ctx, v.tx)
	if err != nil {
		return err
	}
	a.Projections = listOf(list)
	if a.BadLines, err = index.CountInternal(ctx, v.tx, coordination.TypeImportRejected); err != nil {
		return err
	}
	if a.Doubts, err = index.CountDoubts(ctx, v.tx); err != nil {
		return err
	}
	a.Events.Total = a.Seq
	if a.Events.LastDay, a.Events.InternalLastDay, err = index.CountSince(ctx, v.tx, v.now-dayMs); err != nil {
		return err
	}
	if a.Events.LastWeek, a.Events.InternalLastWeek, err = index.CountSince(ctx, v.tx, v.now-7*dayMs); err != nil {
		return err
	}
	if a.Sessions, err = conversations.CountRecent(ctx, v.tx, v.now); err != nil {
		return err
	}
	trouble, err := conversations.NewestTrouble(ctx, v.tx, newestTrouble)
	if err != nil {
		return err
	}
	roster, err := index.Roster(ctx, v.tx)
	if err != nil {
		return err
	}
	for i := range trouble {
		t := &trouble[i]
		t.Title, t.Reason = cmp.Or(coordination.TaskTitle(t.Task, roster), t.Title), coordination.ForPeople(t.Reason, roster).Text
	}
	a.Trouble = listOf(trouble)
	if a.Work, err = v.workState(ctx); err != nil {
		return err
	}
	a.Channels, err = v.channelStates(ctx)
	a.Discord = a.Channels[coordination.Discord]
	return err
}

const dayMs = 24 * index.HourMs

func headTime(ctx context.Context, v *view, seq int64) (*string, error) {
	events, err := v.Store.EventsIn(ctx, v.tx, []int64{seq})
	if err != nil || len(events) == 0 {
		return nil, err
	}
	at := time.UnixMilli(events[0].RecordedAt).UTC().Format(timestampLayout)
	return &at, nil
}
