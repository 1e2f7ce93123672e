package apiclient

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
)

// backupTime is how long a server may take to make and verify a backup.
const backupTime = 30 * time.Minute

// MakeBackup asks the place's server to back up what it has open. The backup is verified and on disk when MakeBackup
// returns. It returns the errors of change.
func (p *Place) MakeBackup(ctx context.Context) (made monitor.Copy, err error) {
	err = p.changeWithin(ctx, backupTime, "/api/backups", nil, &made)
	return made, err
}

// Lost reports whether a server answers at the place although its files were removed or replaced: only that server
// still has their content open.
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
