package main

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/cmd/openclawd/server"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
)

// Defaults of server.BackupOptions, and the shortest pause: a backup reads the whole database.
const (
	defaultBackupEvery = 24 * time.Hour
	defaultBackupKeep  = 7
	leastBackupEvery   = time.Minute
)

func addBackups(flags *pflag.FlagSet, o *server.BackupOptions) {
	flags.StringVar(&o.Dir, "backup-dir", "", "`DIR` for backups (default backups beside the database)")
	flags.DurationVar(&o.Every, "backup-every", defaultBackupEvery, "`TIME` from one backup to the next, e.g. 12h; 0: none; none with --sample and --clock")
	flags.IntVar(&o.Keep, "backup-keep", defaultBackupKeep, "`N` newest backups to keep")
}

// checkBackups refuses what makes no sense. off is for servers whose data or clock are not real.
func checkBackups(o server.BackupOptions, off bool) (server.BackupOptions, error) {
	switch {
	case o.Every < 0 || o.Every > 0 && o.Every < leastBackupEvery:
		return o, &settings.Error{Setting: "--backup-every", Value: o.Every.String(), Mend: "give 1m or more, e.g. 24h, or 0 for none"}
	case o.Keep < 1:
		return o, &settings.Error{Setting: "--backup-keep", Value: strconv.Itoa(o.Keep), Err: errors.New("the newest backup always stays"), Mend: "give 1 or more"}
	case off:
		o.Every = 0
	}
	return o, nil
}
