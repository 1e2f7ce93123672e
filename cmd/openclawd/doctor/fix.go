package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/server/settings"
)

// Fixed is a finding that was fixed, or why it could not be.
type Fixed struct{ Code, Done, Err string }

// privateMode gives access to the owner only.
const privateMode = 0o600

// Fix fixes what cannot take anything away: it closes files to other users, and makes or verifies a backup. It changes neither the
// content of the configuration nor the log. Its error is ctx's.
func Fix(ctx context.Context, who Patient, findings []Finding) ([]Fixed, error) {
	c := &checkup{place: who.Place, getenv: who.Getenv, now: who.Now}
	c.server, _ = c.place.Status(ctx)
	done := []Fixed{}
	for _, f := range findings {
		fix := c.fixOf(f)
		if f.Severity == severityOK || fix == nil {
			continue
		}
		what, err := fix(ctx)
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
		one := Fixed{Code: f.Code, Done: what}
		if err != nil {
			one = Fixed{Code: f.Code, Err: err.Error()}
			if hinted := interface{ Hint() string }(nil); errors.As(err, &hinted) {
				one.Err += "; " + hinted.Hint()
			}
		}
		done = append(done, one)
	}
	return done, nil
}

// fixOf returns what fixes a finding, or nil if a person has to decide.
func (c *checkup) fixOf(f Finding) func(context.Context) (string, error) {
	switch f.Code {
	case "permissions":
		return closeFile(f.Where)
	case configExposed:
		return closeFile(c.place.Config.File)
	case "gateway_token":
		file := settings.TokenFile(c.place.StateDir)
		if kept, err := settings.ReadToken(file); err == nil && kept.Exposed {
			return closeFile(file)
		}
	case "backup_none", "backup_old":
		return c.makeBackup
	case "backup_unproved":
		return func(ctx context.Context) (string, error) {
			if err := backup.CheckUser(c.place.DB, c.backupsDir()); err != nil {
				return "", err
			}
			m, err := backup.Verify(ctx, f.Where, c.now, nil)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("verified %s, %d events", f.Where, m.Seq), nil
		}
	}
	return nil
}

func closeFile(file string) func(context.Context) (string, error) {
	if runtime.GOOS == "windows" {
		return nil // has no such modes
	}
	return func(context.Context) (string, error) {
		return "closed " + file + " to other users", os.Chmod(file, privateMode)
	}
}

func (c *checkup) makeBackup(ctx context.Context) (string, error) {
	if err := backup.CheckUser(c.place.DB, c.backupsDir()); err != nil {
		return "", err
	}
	log, err := database.OpenToRead(ctx, c.place.DB, c.now)
	if err != nil {
		return "", err
	}
	defer log.Close()
	made, err := backup.Create(ctx, backup.CreateOptions{Log: log, Dir: c.backupsDir(), Now: c.now, Version: buildinfo.Read().Version})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("made the backup %s, %d events", made.File, made.Seq), nil
}
