package server

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// isThread reports whether the log knows that a thread was opened; false if it cannot be read.
func (p *Program) isThread(ctx context.Context, id string) (is bool) {
	err := p.log.View(ctx, func(tx *sql.Tx) (err error) {
		is, err = routing.IsOpened(projections.Reading(ctx, tx), id)
		return err
	})
	return err == nil && is
}

const selectFirstSeen = `SELECT e.ts FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? AND e.type = ? AND e.data ->> '$.accountId' = ?
 AND coalesce(e.data ->> '$.channel', ?) = ? ORDER BY e.version LIMIT 1`

// firstSeen is when the log first recorded that an account speaks for an agent, ms since 1970; 0 if it never has. If the log cannot be
// read, it has from the beginning.
func (p *Program) firstSeen(ctx context.Context, channel, account, agent string) (at int64) {
	typ := coordination.TypeIdentityBotRegistered
	stream := coordination.StreamOf(&coordination.Record{Type: typ, AgentID: agent})
	err := p.log.View(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, selectFirstSeen, stream, typ, account, coordination.Discord, cmp.Or(channel, coordination.Discord)).Scan(&at)
	})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 1
	}
	return at
}
