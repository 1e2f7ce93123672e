package server

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/monitor"
)

// BackupOptions configure automatic backups. The zero value disables them.
type BackupOptions struct {
	Dir   string        // "": backups beside the database
	Every time.Duration // 0: never
	Keep  int           // at least 1
}

func (p *Program) newBackups() *backup.Schedule {
	o := p.opts.Backups
	if o.Dir == "" {
		o.Dir = database.BackupsDir(p.log.Path())
	}
	return &backup.Schedule{Log: p.log, File: p.log.Path(), Dir: o.Dir, Every: o.Every, Keep: o.Keep, Now: p.opts.Now,
		Version: buildinfo.Read().Version, Logger: p.opts.Logger.With("component", "backup")}
}

// backUp makes a backup now, of what this process has open.
func (p *Program) backUp(ctx context.Context) (monitor.Copy, error) {
	b, err := p.backups.Make(ctx)
	if err != nil {
		return monitor.Copy{}, err
	}
	return monitor.Copy{File: b.File, Seq: b.Seq, Bytes: b.Bytes}, nil
}
