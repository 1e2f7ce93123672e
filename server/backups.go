package server

import (
	"context"
	"io/fs"
	"path/filepath"
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

// backupFiles are the program's backups.
type backupFiles struct{ p *Program }

func (f backupFiles) List() ([]monitor.BackupFile, error) {
	found, err := backup.List(f.p.backups.Dir)
	list := make([]monitor.BackupFile, len(found))
	for i := range found {
		b := &found[i]
		list[i] = monitor.BackupFile{Name: filepath.Base(b.File), Seq: b.Seq, Bytes: b.Bytes, AtMS: b.Time.UnixMilli()}
		if m := b.Manifest; m != nil {
			ms := m.VerifiedAt.UnixMilli()
			list[i].VerifiedMS, list[i].Archives = &ms, m.Archives != nil
		}
	}
	return list, err
}

func (f backupFiles) Has(name string) (bool, error) {
	_, found, err := backup.Named(f.p.backups.Dir, name)
	return found, err
}

func (f backupFiles) Verify(ctx context.Context, name string) error {
	file, found, err := backup.Named(f.p.backups.Dir, name)
	if err == nil && !found {
		err = fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	_, err = backup.Verify(ctx, file, f.p.opts.Now, nil)
	return err
}
