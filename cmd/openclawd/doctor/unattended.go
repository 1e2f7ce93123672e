package doctor

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
	"github.com/pronto-lab/openclawd/services/continuer"
)

// checkUnattended checks for tasks of agents that were removed from the configuration.
func (c *checkup) checkUnattended(ctx context.Context, log *sqlite.DB) {
	team := c.place.Team(c.server)
	if team == nil {
		return
	}
	var list []continuer.Unattended
	err := log.View(ctx, func(tx *sql.Tx) (err error) {
		list, err = continuer.TasksUnattended(ctx, tx, team)
		return err
	})
	switch {
	case err != nil:
		c.failed("tables_unreadable", c.place.DB, "openclawd verify shows details", err)
	case len(list) > 0:
		c.warn(continuer.CodeUnattended, team.File, continuer.HintUnattended, "%s", continuer.UnattendedLine(list))
	default:
		c.ok(continuer.CodeUnattended, team.File, "every unfinished task belongs to a configured agent")
	}
}

// checkSandboxes reports what probes of the agents' sandboxes have found, never the setting.
func (c *checkup) checkSandboxes(ctx context.Context, log *sqlite.DB) {
	switch open, found, err := sandboxes.Summary(ctx, log); {
	case err != nil:
		c.failed("sandbox_unknown", c.place.DB, "openclawd verify shows details", err)
	case open:
		c.warn(sandboxes.CodeOpen, c.place.DB, sandboxes.HintOpen, "%s", found)
	default:
		c.ok("sandbox", c.place.DB, "%s", found)
	}
}
