package server

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/services/pairings"
)

// pairings decides which people may write to agents; nil: another gateway runs them.
func (p *Program) pairings() monitor.Pairings {
	if p.agents == nil {
		return nil
	}
	return &pairings.Service{Log: p.log, Config: p.newConfiguration().InForce, Now: p.opts.Now}
}

// paired tells whether an operator allowed a person to write to the agents of a channel. If the log cannot tell, no one is.
func (p *Program) paired(channel string) func(ctx context.Context, userID string) bool {
	return func(ctx context.Context, userID string) bool {
		state := pairing.State("")
		err := p.log.View(ctx, func(tx *sql.Tx) error {
			known, err := routing.PersonOf(projections.Reading(ctx, tx), channel, userID)
			state = known.State
			return err
		})
		if err != nil {
			p.opts.Logger.Error("cannot read whether a person may write to agents", "channel", channel, "user", userID, "err", err)
		}
		return err == nil && state == pairing.Approved
	}
}
