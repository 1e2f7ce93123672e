package doctor

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/pending"
)

// Bots is the number of bots that a configuration connects to Discord.
func Bots(c *config.Config) (n int) {
	for i := range c.Discord.Accounts {
		if a := &c.Discord.Accounts[i]; c.Discord.Enabled && a.Enabled && a.Token != "" {
			n++
		}
	}
	return n
}

// checkDiscord checks for undelivered posts. The state of the bots is known to the server only, which reports it.
func (c *checkup) checkDiscord(ctx context.Context, log *sqlite.DB) {
	var state health.Discord
	err := log.View(ctx, func(tx *sql.Tx) (err error) {
		state, err = pending.Discord(ctx, tx, c.now().UnixMilli())
		return err
	})
	bots := "the configured bots are unknown here"
	if team := c.place.Team(c.server); team != nil {
		bots = output.Count(int64(Bots(team)), "bot") + " configured"
	}
	switch {
	case err != nil:
		c.failed("tables_unreadable", c.place.DB, "openclawd verify shows details", err)
	case state.Undelivered > 0:
		c.warn("discord_undelivered", c.place.DB,
			"openclawd work --dead shows why; openclawd work resend posts it unless it is already there, openclawd work cancel drops it",
			"%s to Discord failed for good, or delivery is unknown; %s", output.Count(int64(state.Undelivered), "post"), bots)
	default:
		c.ok("discord", c.place.DB, "%s, %s without an answer, every post delivered or in progress", bots,
			output.Count(int64(state.OpenCollaborations), "request"))
	}
}
