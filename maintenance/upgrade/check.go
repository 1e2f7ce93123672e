// Package upgrade decides whether a database may be given to another version of the program, and replaces the program: not before a backup is
// verified from which the present state can be brought back.
package upgrade

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/internal/systemd"
	"github.com/pronto-lab/openclawd/maintenance/backup"
)

// Options configures Check. All are required but Tell.
type Options struct {
	DB, Dir string // the database; where its backups are
	Head    int64  // seq of the newest event
	MaxAge  time.Duration
	Now     func() time.Time
	Tell    func(done, total int64) // receives the number of verified events
}

// Readiness is the result of a check that found nothing wrong.
type Readiness struct {
	Backup  string           `json:"backup"` // file
	Time    time.Time        `json:"time"`   // of the backup
	Proof   *backup.Manifest `json:"proof"`  // of just now
	Missing int64            `json:"missing"`
	Back    []string         `json:"back"` // commands that bring the state of the backup back
}

// Check verifies the newest backup. It fails if there is none, if it is older than MaxAge and lacks events, and if it is damaged.
func Check(ctx context.Context, o Options) (*Readiness, error) {
	newest, err := backup.Newest(o.Dir)
	if err != nil {
		return nil, err
	}
	if newest == nil {
		return nil, &NotReadyError{"no_backup", "no verified backup in " + o.Dir, "openclawd backup create makes one; --dir selects another directory"}
	}
	missing := o.Head - newest.Seq
	if age := o.Now().Sub(newest.Time); age > o.MaxAge && missing > 0 {
		return nil, &NotReadyError{"backup_old", fmt.Sprintf("the newest backup, %s, is %s old and lacks %s", newest.File, age.Round(time.Minute), output.Count(missing, "event")),
			"openclawd backup create makes a new one; --max-age accepts an older one"}
	}
	if missing < 0 {
		return nil, &NotReadyError{"backup_foreign", fmt.Sprintf("the newest backup, %s, has events that %s does not have", newest.File, o.DB),
			"it is of another database or of a later time: --dir selects another directory"}
	}
	proof, err := backup.Verify(ctx, newest.File, o.Now, o.Tell)
	if err != nil {
		return nil, fmt.Errorf("verify the backup %s: %w", newest.File, err)
	}
	return &Readiness{Backup: newest.File, Time: newest.Time, Proof: proof, Missing: missing, Back: back(o.DB, newest.File)}, nil
}

// back lists the commands that put the state of a backup in place of a database.
func back(db, file string) []string {
	dir, name := filepath.Split(db)
	aside := filepath.Join(dir, "newer")
	return []string{
		"mkdir -m 0700 " + systemd.ShellQuote(aside),
		"mv " + systemd.ShellQuote(db) + "* " + systemd.ShellQuote(aside) + "/",
		"openclawd backup restore " + systemd.ShellQuote(file) + " --to " + systemd.ShellQuote(filepath.Join(dir, "restored")),
		"mv " + systemd.ShellQuote(filepath.Join(dir, "restored", "openclawd.db")) + " " + systemd.ShellQuote(filepath.Join(dir, name)),
	}
}

// NotReadyError says why an upgrade could not be undone.
type NotReadyError struct{ code, text, hint string }

func (e *NotReadyError) Error() string { return e.text }
func (e *NotReadyError) Code() string  { return e.code }
func (e *NotReadyError) Hint() string  { return e.hint }
