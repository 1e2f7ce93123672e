package server

import (
	"context"
	"database/sql"
	"net/http"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/hooks"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// withHooks serves the requests to hooks, and leaves all others to the gateway.
func (p *Program) withHooks(gateway http.Handler) http.Handler {
	if p.agents == nil {
		return gateway
	}
	return hooks.New(hooks.Options{
		Runs: p.agents.queue, Config: p.newConfiguration().InForce, IsOfGateway: p.gateway.isSecret, LastRoute: p.lastRoute, Now: p.opts.Now, NewID: uuid.NewString,
		Logger: p.opts.Logger.With("component", "hooks"),
	}).Before(gateway)
}

// isSecret reports whether a text opens the gateway. The caller has shown it, so the time that this takes tells nothing new.
func (g *gatewayPort) isSecret(text string) bool {
	s := g.settings()
	return text == s.Token.Value.Reveal() || text == s.Password.Value.Reveal()
}

// lastRoute is where a session was addressed last.
func (p *Program) lastRoute(ctx context.Context, key coordination.SessionKey) (r sessions.LastRoute, err error) {
	err = p.log.View(ctx, func(tx *sql.Tx) error {
		r, err = sessions.LoadRoute(projections.Reading(ctx, tx), key)
		return err
	})
	return r, err
}
