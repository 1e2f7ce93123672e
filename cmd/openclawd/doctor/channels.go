package doctor

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/pending"
)

// checkChannels checks for undelivered posts. The state of the bots is known to the server only, which reports it. Of
// channels besides Discord only those are told of that have bots, or posts to settle.
func (c *checkup) checkChannels(ctx context.Context, log *sqlite.DB) {
	var states map[string]health.ChannelState
	err := log.View(ctx, func(tx *sql.Tx) (err error) {
		states, err = pending.Channels(ctx, tx, c.now().UnixMilli())
		return err
	})
	if err != nil {
		c.failed("tables_unreadable", c.place.DB, "openclawd verify shows details", err)
		return
	}
	team := c.place.Team(c.server)
	for _, channel := range coordination.Channels() {
		state, n, bots := states[channel.Name], 0, "the configured bots are unknown here"
		if team != nil {
			n = team.Channel(channel.Name).Connects()
			bots = output.Count(int64(n), "bot") + " configured"
		}
		switch {
		case state.Undelivered > 0:
			c.warn(channel.Name+"_undelivered", c.place.DB,
				"openclawd work --dead shows why; openclawd work resend posts it unless it is already there, openclawd work cancel drops it",
				"%s to %s failed for good, or delivery is unknown; %s", output.Count(int64(state.Undelivered), "post"), channel.Title, bots)
		case n > 0 || channel.Name == coordination.Discord:
			c.ok(channel.Name, c.place.DB, "%s, %s without an answer, every post delivered or in progress", bots,
				output.Count(int64(state.OpenCollaborations), "request"))
		}
	}
}
