package client

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
)

// backupTime is how long a server may take to make and prove a backup.
const backupTime = 30 * time.Minute

// MakeBackup has the server of the place make a backup of what it has open. It is proved and on disk when MakeBackup returns. Errors are those of
// change.
func (p *Place) MakeBackup(ctx context.Context) (made monitor.Copy, err error) {
	err = p.changeWithin(ctx, backupTime, "/api/backups", nil, &made)
	return made, err
}

// Lost reports whether a server answers at the place whose files were removed or replaced: it alone has still open what was in them.
func (p *Place) Lost(ctx context.Context) bool {
	status, _ := p.Status(ctx)
	if status == nil {
		return false
	}
	for _, r := range status.Reasons {
		if r.Code == "database_lost" {
			return true
		}
	}
	return false
}
