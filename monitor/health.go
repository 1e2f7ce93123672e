package monitor

import (
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
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
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := projections.List(ctx, v.tx)
		if err != nil {
			return nil, err
		}
		rejected, err := index.CountInternal(ctx, v.tx, coordination.TypeImportRejected)
		if err != nil {
			return nil, err
		}
		head, err := v.Store.Head(ctx)
		if err != nil {
			return nil, err
		}
		a := &healthAnswer{Status: "ok", Timestamp: s.opts.Now().UTC().Format(timestampLayout), Version: s.opts.Version, Seq: head.Seq,
			AsOfSeq: v.asOf, Events: head.Seq, BadLines: rejected, Projections: listOf(list)}
		if a.Doubts, err = index.CountDoubts(ctx, v.tx); err != nil {
			return nil, err
		}
		a.Durability, a.Importing = s.opts.Durability, s.importing()
		if of := s.opts.Operations.TaskFiles; of != nil {
			a.TaskFiles = of()
		}
		if s.opts.Bots != nil {
			a.Discord = botsHealthOf(s.opts.Bots())
		}
		if parked(list) {
			a.Status = "degraded"
		}
		return a, nil
	})
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
