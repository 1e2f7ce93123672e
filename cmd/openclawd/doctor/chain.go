package doctor

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/verify"
)

// checkChain reports the result of the last verification of the log's hash chain. A running server reports a failed
// one itself.
func (c *checkup) checkChain(ctx context.Context, log *sqlite.DB) {
	where := database.CheckFile(c.place.DB)
	last, err := verify.LastCheck(ctx, log)
	switch {
	case err != nil:
		c.warn("chain_unknown", where, "openclawd verify --chain verifies it now", "cannot read the result of the last chain verification: %v", err)
	case last == nil:
		c.ok("chain", where, "the hash chain was never verified; openclawd verify --chain does it now, a server once a day")
	case last.Error != "" && c.server == nil:
		c.fail("chain_broken", where, "openclawd verify shows details; restore an earlier backup, or put the missing archive back",
			"the chain verification at %s failed: %s", last.At.Format(time.RFC3339), last.Error)
	case last.Error == "":
		c.ok("chain", where, "intact up to event %s at %s", output.Thousands(last.Seq), last.At.Format(time.RFC3339))
	}
}
