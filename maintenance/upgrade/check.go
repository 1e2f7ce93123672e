// Package upgrade decides whether a database may be given to another version of the program, and replaces the program: not before a backup is
// verified from which the present state can be brought back.
package upgrade

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/internal/systemd"
	"github.com/pronto-lab/openclawd/maintenance/backup"
)

// Options configures Check. All are required but Tell.
type Options struct {
	DB, Dir string // the database; where its backups are
	Log     Log    // the database's
	MaxAge  time.Duration
	Now     func() time.Time
	Tell    func(done, total int64) // receives the number of verified events
}

// Log is the log of a database.
type Log interface {
	Head(ctx context.Context) (eventstore.Head, error)
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
}

// Readiness is the result of a check that found nothing wrong.
type Readiness struct {
	Backup  string           `json:"backup"` // file
	Time    time.Time        `json:"time"`   // of the backup
	Proof   *backup.Manifest `json:"proof"`  // of just now
	Missing int64            `json:"missing"`
	Back    []string         `json:"back"`  // commands that bring the state of the backup back, each after the success of the one before
	Newer   []string         `json:"newer"` // commands that add the events since: the first by the newer program, the second by the old one
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
	head, err := o.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	missing := head.Seq - newest.Seq
	if age := o.Now().Sub(newest.Time); age > o.MaxAge && missing > 0 {
		return nil, &NotReadyError{"backup_old", fmt.Sprintf("the newest backup, %s, is %s old and lacks %s", newest.File, age.Round(time.Minute), output.Count(missing, "event")),
			"openclawd backup create makes a new one; --max-age accepts an older one"}
	}
	same, err := o.continues(ctx, newest)
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, &NotReadyError{"backup_foreign", fmt.Sprintf("the newest backup, %s, has events that %s does not have", newest.File, o.DB),
			"it is of another database or of a later time: --dir selects another directory"}
	}
	proof, err := backup.Verify(ctx, newest.File, o.Now, o.Tell)
	if err != nil {
		return nil, fmt.Errorf("verify the backup %s: %w", newest.File, err)
	}
	ready := &Readiness{Backup: newest.File, Time: newest.Time, Proof: proof, Missing: missing}
	ready.Back, ready.Newer = o.back(newest)
	return ready, nil
}

// continues reports whether the log has the events of a backup: its chain has the backup's head where that ends.
func (o *Options) continues(ctx context.Context, b *backup.Backup) (bool, error) {
	if b.Seq == 0 {
		return true, nil
	}
	events, err := o.Log.Read(ctx, b.Seq-1, 1)
	return len(events) == 1 && events[0].Seq == b.Seq && events[0].Hash == b.Manifest.Head, err
}

// back lists the commands that put the state of a backup in place of the database, and those that then add what is newer. Their directory is
// named after the time, so that going back again overwrites nothing.
func (o *Options) back(b *backup.Backup) (back, newer []string) {
	dir, name := filepath.Split(o.DB)
	aside := filepath.Join(dir, "newer-"+o.Now().UTC().Format("20060102T150405Z"))
	in := func(parts ...string) string {
		return systemd.ShellQuote(filepath.Join(append([]string{aside}, parts...)...))
	}
	db := systemd.ShellQuote(o.DB)
	back = []string{
		"mkdir -m 0700 " + in(),
		"mv " + db + "* " + in() + "/",
		"openclawd backup restore " + systemd.ShellQuote(b.File) + " --to " + in("restored"),
		"mv " + in("restored", database.Name) + " " + db,
	}
	newer = []string{
		fmt.Sprintf("openclawd export --db %s --format full --from %d --out %s", in(name), b.Seq+1, in("newer.ndjson")),
		"openclawd import --db " + db + " " + in("newer.ndjson"),
	}
	return back, newer
}

// NotReadyError says why an upgrade could not be undone.
type NotReadyError struct{ code, text, hint string }

func (e *NotReadyError) Error() string { return e.text }
func (e *NotReadyError) Code() string  { return e.code }
func (e *NotReadyError) Hint() string  { return e.hint }
