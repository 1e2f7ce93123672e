package doctor

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/proof"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// checkChain says what the newest check of the log's chain has found. A server that runs tells itself of one that has found something.
func (c *checkup) checkChain(ctx context.Context, log *sqlite.DB) {
	where := database.CheckFile(c.place.DB)
	last, err := proof.LastCheck(ctx, log)
	switch {
	case err != nil:
		c.warn("chain_unknown", where, "openclawd verify --chain checks it now", "what the last check of the chain has found cannot be read: %v", err)
	case last == nil:
		c.ok("chain", where, "no check of the chain is known; openclawd verify --chain makes one, a server once a day")
	case last.Error != "" && c.server == nil:
		c.fail("chain_broken", where, "openclawd verify says more; restore a backup made before, or put the archive back that is missing",
			"the check of the chain at %s has found: %s", last.At.Format(time.RFC3339), last.Error)
	case last.Error == "":
		c.ok("chain", where, "it held up to event %s at %s", output.Thousands(last.Seq), last.At.Format(time.RFC3339))
	}
}
