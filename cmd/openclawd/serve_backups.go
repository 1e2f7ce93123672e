package main

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/server"
)

// Defaults of server.BackupOptions, and the minimum interval: a backup reads the whole database.
const (
	defaultBackupEvery = 24 * time.Hour
	defaultBackupKeep  = 7
	leastBackupEvery   = time.Minute
)

func addBackups(flags *pflag.FlagSet, o *server.BackupOptions) {
	flags.StringVar(&o.Dir, "backup-dir", "", "`DIR` for backups (default backups beside the database)")
	flags.DurationVar(&o.Every, "backup-every", defaultBackupEvery, "`TIME` between backups, e.g. 12h; 0: none; none with --sample and --clock")
	flags.IntVar(&o.Keep, "backup-keep", defaultBackupKeep, "number `N` of backups to keep")
}

// checkBackups rejects invalid flags. off is for servers with sample data or a frozen clock.
func checkBackups(o server.BackupOptions, off bool) (server.BackupOptions, error) {
	switch {
	case o.Every < 0 || o.Every > 0 && o.Every < leastBackupEvery:
		return o, &config.SettingError{Setting: "--backup-every", Value: o.Every.String(), HintText: "give 1m or more, e.g. 24h, or 0 for none"}
	case o.Keep < 1:
		return o, &config.SettingError{Setting: "--backup-keep", Value: strconv.Itoa(o.Keep), Err: errors.New("the newest backup is always kept"), HintText: "give 1 or more"}
	case off:
		o.Every = 0
	}
	return o, nil
}
