package main

import (
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
)

// BackupOptions say how a program backs itself up. The zero value: it does not.
type BackupOptions struct {
	Dir   string        // "": backups beside the database
	Every time.Duration // 0: never
	Keep  int           // at least 1
}

// Defaults of BackupOptions, and the shortest pause: a backup reads the whole database.
const (
	defaultBackupEvery = 24 * time.Hour
	defaultBackupKeep  = 7
	leastBackupEvery   = time.Minute
)

func (o *BackupOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Dir, "backup-dir", "", "`DIR` for backups (default backups beside the database)")
	flags.DurationVar(&o.Every, "backup-every", defaultBackupEvery, "`TIME` from one backup to the next, e.g. 12h; 0: none; none with --sample and --clock")
	flags.IntVar(&o.Keep, "backup-keep", defaultBackupKeep, "`N` newest backups to keep")
}

// check refuses what makes no sense. off is for servers whose data or clock are not real.
func (o BackupOptions) check(off bool) (BackupOptions, error) {
	switch {
	case o.Every < 0 || o.Every > 0 && o.Every < leastBackupEvery:
		return o, &configError{setting: "--backup-every", value: o.Every.String(), mend: "give 1m or more, e.g. 24h, or 0 for none"}
	case o.Keep < 1:
		return o, &configError{setting: "--backup-keep", value: strconv.Itoa(o.Keep), err: errors.New("the newest backup always stays"), mend: "give 1 or more"}
	case off:
		o.Every = 0
	}
	return o, nil
}

func (p *Program) newBackups() *backup.Schedule {
	o := p.opts.Backups
	if o.Dir == "" {
		o.Dir = filepath.Join(filepath.Dir(p.log.Path()), backupsName)
	}
	return &backup.Schedule{Log: p.log, File: p.log.Path(), Dir: o.Dir, Every: o.Every, Keep: o.Keep, Now: p.opts.Now,
		Version: buildinfo.Read().Version, Logger: p.opts.Logger.With("component", "backup")}
}
