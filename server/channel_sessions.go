package server

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/tools/sessiontools"
)

// channelSessions implements the session commands that people use in channels.
type channelSessions struct{ p *Program }

// Reset implements command.Sessions. Running work of the session is stopped first.
func (d channelSessions) Reset(ctx context.Context, key coordination.SessionKey, how, by string) error {
	if _, err := d.p.agents.runner.Stop(ctx, run.Stop{SessionKey: key.String(), Reason: "reset", By: by}); err != nil {
		return fmt.Errorf("stop running work of the session: %w", err)
	}
	_, err := d.p.log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		state, _, err := sessions.Load(tx, key)
		if err != nil {
			return nil, err
		}
		decided, err := session.Reset(state, session.ResetCommand{Command: session.Command{By: by, NewID: uuid.NewString()}, Reason: how})
		if err != nil {
			return nil, err
		}
		return sessions.Append(state, eventstore.ActorHuman, d.p.opts.Now().UnixMilli(), decided)
	})
	return err
}

// Status implements command.Sessions.
func (d channelSessions) Status(ctx context.Context, key coordination.SessionKey) (text string, err error) {
	err = d.p.log.View(ctx, func(tx *sql.Tx) error {
		c := d.p.newConfiguration().InForce()
		one, err := sessions.ByKey(ctx, tx, key.String())
		if err != nil || one == nil {
			text = fmt.Sprintf(c.Language().Say("세션: %s\n아직 나눈 대화가 없습니다.", "Session: %s\nNothing has been said in it yet."), key)
			return err
		}
		text, err = sessiontools.Describe(ctx, tx, c, one, d.p.opts.Now())
		return err
	})
	return text, err
}
