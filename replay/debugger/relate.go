package debugger

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/causality"
)

// Names of package causality that users of a Step need.
type (
	Link = causality.Link
	How  = causality.How
)

const (
	ByCause    = causality.ByCause
	ByStream   = causality.ByStream
	ByJob      = causality.ByJob
	ByRun      = causality.ByRun
	ByWork     = causality.ByWork
	MaxEffects = causality.MaxEffects
)

// relations finds causes and effects of events in the log.
type relations struct{ log *sqlite.DB }

func (r relations) causes(ctx context.Context, e *eventstore.Event) (chain []Link, err error) {
	err = r.log.View(ctx, func(tx *sql.Tx) (err error) {
		chain, err = causality.Causes(ctx, tx, r.log, e)
		return err
	})
	return chain, err
}

func (r relations) effects(ctx context.Context, e *eventstore.Event) (list []Link, err error) {
	err = r.log.View(ctx, func(tx *sql.Tx) (err error) {
		list, err = causality.Effects(ctx, tx, e)
		return err
	})
	return list, err
}
