package monitor

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// healthAnswer answers GET /api/health.
type healthAnswer struct {
	Status      string                 `json:"status"` // ok; degraded: a projection is parked
	Timestamp   string                 `json:"timestamp"`
	Version     string                 `json:"version,omitempty"`
	Seq         int64                  `json:"seq"` // head of the log
	AsOfSeq     int64                  `json:"asOfSeq"`
	Events      int64                  `json:"events"`
	BadLines    int64                  `json:"badLines"` // lines of imported logs that were no events
	Doubts      index.Doubts           `json:"doubts"`
	Durability  string                 `json:"durability,omitempty"`
	Importing   *importAnswer          `json:"importing,omitempty"` // absent if no log is being imported
	TaskFiles   *health.TaskFilesState `json:"taskFiles,omitempty"` // absent if another gateway writes them
	Discord     *botsHealth            `json:"discord,omitempty"`   // absent if no bots run
	Channels    map[string]*botsHealth `json:"channels,omitempty"`  // those with accounts, by name
	Projections []projections.Status   `json:"projections"`
}

type importAnswer struct {
	Bytes int64 `json:"bytes"`
	Total int64 `json:"total"`
}

// timestampLayout is ECMAScript's time format.
const timestampLayout = "2006-01-02T15:04:05.000Z"

func (s *Server) health(c echo.Context) error {
	p := parametersOf(c)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	ctx := c.Request().Context()
	if err := s.await(ctx, minSeq); err != nil {
		return err
	}
	t, err := s.healthTables(ctx, minSeq)
	if err != nil {
		return err
	}
	head, err := s.opts.Store.Head(ctx)
	if err != nil {
		return err
	}
	a := &healthAnswer{Status: "ok", Timestamp: s.opts.Now().UTC().Format(timestampLayout), Version: s.opts.Version, Seq: head.Seq,
		AsOfSeq: t.asOf, Events: head.Seq, BadLines: t.rejected, Doubts: t.doubts, Projections: listOf(t.projections)}
	a.Durability, a.Importing = s.opts.Durability, s.importing()
	if of := s.opts.Operations.TaskFiles; of != nil {
		a.TaskFiles = of()
	}
	if s.opts.Bots != nil {
		bots := s.opts.Bots()
		a.Discord, a.Channels = botsHealthOf(health.OfBots(bots, coordination.Discord)), channelsHealth(bots)
	}
	if parked(t.projections) {
		a.Status = "degraded"
	}
	text, err := (&Wording{names: s.opts.Names, roster: t.roster}).worded(a)
	if err != nil {
		return err
	}
	setAsOf(c, t.asOf)
	return writeJSON(c, http.StatusOK, text)
}

// healthTables is what health reads. It is kept while nothing is committed, because health is asked for often.
type healthTables struct {
	commits     uint64
	asOf        int64
	roster      *coordination.Roster
	projections []projections.Status
	rejected    int64
	doubts      index.Doubts
}

func (s *Server) healthTables(ctx context.Context, minSeq int64) (*healthTables, error) {
	now := s.opts.Store.Mark()
	if t := s.tables.Load(); t != nil && now.Settled() && t.commits == now.Commits && t.asOf >= minSeq {
		return t, nil
	}
	t := &healthTables{}
	var settled bool
	err := s.opts.Store.ViewMarked(ctx, func(tx *sql.Tx, mark eventstore.Mark) (err error) {
		t.commits, settled = mark.Commits, mark.Settled()
		if t.asOf, err = projections.AsOf(ctx, tx); err != nil {
			return fmt.Errorf("read position: %w", err)
		}
		if t.asOf < minSeq {
			return stuck(ctx, tx, minSeq)
		}
		if t.roster, err = s.rosters.Read(ctx, tx); err != nil {
			return err
		}
		if t.projections, err = projections.List(ctx, tx); err != nil {
			return err
		}
		if t.rejected, err = index.CountInternal(ctx, tx, coordination.TypeImportRejected); err != nil {
			return err
		}
		t.doubts, err = index.CountDoubts(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if settled {
		s.tables.Store(t)
	}
	return t, nil
}

func parked(list []projections.Status) bool {
	return slices.ContainsFunc(list, func(p projections.Status) bool { return p.State == projections.Parked })
}

// importing is nil if no log is being imported.
func (s *Server) importing() *importAnswer {
	if s.opts.Importing == nil {
		return nil
	}
	done, total, running := s.opts.Importing()
	if !running {
		return nil
	}
	return &importAnswer{done, total}
}
