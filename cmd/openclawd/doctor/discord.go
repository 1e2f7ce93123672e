package doctor

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
)

// Bots is how many bots a configuration has connected to Discord.
func Bots(c *config.Config) (n int) {
	for i := range c.Discord.Accounts {
		if a := &c.Discord.Accounts[i]; c.Discord.Enabled && a.Enabled && a.Token != "" {
			n++
		}
	}
	return n
}

// checkDiscord looks for posts that do not stand in Discord. How the bots are doing only a server knows, and says.
func (c *checkup) checkDiscord(ctx context.Context, log *sqlite.DB) {
	var state monitor.DiscordState
	err := log.View(ctx, func(tx *sql.Tx) (err error) {
		state, err = monitor.ReadDiscord(ctx, tx, c.now().UnixMilli())
		return err
	})
	bots := "nobody knows here which bots there are"
	if team := c.place.Team(c.server); team != nil {
		bots = output.Count(int64(Bots(team)), "bot") + " configured"
	}
	switch {
	case err != nil:
		c.failed("tables_unreadable", c.place.DB, "openclawd verify says more", err)
	case state.Undelivered > 0:
		c.warn("discord_undelivered", c.place.DB,
			"openclawd work --dead says why; openclawd work resend looks whether it stands there and posts it else, openclawd work cancel leaves it at that",
			"%s to Discord given up, or it is not known whether it stands there; %s", output.Count(int64(state.Undelivered), "post"), bots)
	default:
		c.ok("discord", c.place.DB, "%s, %s without an answer, every post stands there or is on its way", bots,
			output.Count(int64(state.OpenCollaborations), "request"))
	}
}
