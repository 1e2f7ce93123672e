package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/maintenance/upgrade"
)

// defaultBackupAge is twice the interval of automatic backups.
const defaultBackupAge = 48 * time.Hour

type upgradeFlags struct {
	backups
	maxAge  time.Duration
	program string
}

func newUpgrade(p *process) *cobra.Command {
	var u upgradeFlags
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Check that an upgrade can be undone, and replace this program",
		Long: `Verifies the newest backup as openclawd backup verify does, and prints how to go back to it. With --program it then replaces this program by
FILE, which must be an openclawd for this platform, and keeps the old one as NAME.previous. A running server goes on with the old program until it is
restarted; the first start of a version may migrate the database and build tables, after a backup beside it.

Nothing is downloaded. Packages of the system are upgraded by their package manager: run this without --program before.

Exit codes: 0 done; 1 no backup, an old or a damaged one, or a program that cannot be used; 78 invalid flag.`,
		Example: `  openclawd upgrade
  openclawd upgrade --program ./openclawd --max-age 168h`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.maxAge <= 0 {
				return &config.SettingError{Setting: "--max-age", Value: u.maxAge.String(), HintText: "give the greatest age of the backup, e.g. 48h"}
			}
			return p.upgrade(cmd.Context(), u)
		},
	}
	u.addFlags(cmd)
	cmd.Flags().DurationVar(&u.maxAge, "max-age", defaultBackupAge, "greatest `AGE` of a backup that lacks events")
	cmd.Flags().StringVar(&u.program, "program", "", "`FILE` that replaces this program")
	return cmd
}

// upgradeResult is the JSON output of upgrade.
type upgradeResult struct {
	*upgrade.Readiness
	Replaced *upgrade.Replaced `json:"replaced,omitempty"`
}

func (p *process) upgrade(ctx context.Context, u upgradeFlags) error {
	dir, err := p.backupDir(&u.backups)
	if err != nil {
		return err
	}
	log, err := p.openToRead(ctx, u.db)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := backup.CheckUser(log.Path(), dir); err != nil {
		return err
	}
	o := upgrade.Options{DB: log.Path(), Log: log, Dir: dir, MaxAge: u.maxAge, Now: p.now}
	bar := p.eventProgress("verify")
	o.Tell = bar.update
	ready, err := upgrade.Check(ctx, o)
	bar.end()
	if err != nil {
		return err
	}
	result := &upgradeResult{Readiness: ready}
	if u.program != "" {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		if result.Replaced, err = upgrade.Replace(ctx, program, u.program); err != nil {
			return err
		}
		result.Back = append(result.Replaced.Back(), result.Back...)
	}
	if u.asJSON {
		return output.JSON(p.stdout, result)
	}
	return p.writeUpgrade(result)
}

func (p *process) writeUpgrade(r *upgradeResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "ok: %s is complete and unchanged: %s; %s since\n", r.Backup, output.Count(r.Proof.Seq, "event"), output.Count(r.Missing, "event"))
	switch {
	case r.Replaced == nil:
	case r.Replaced.Unchanged:
		fmt.Fprintf(&b, "%s is that program already, %s\n", r.Replaced.Program, r.Replaced.Versions[1])
	default:
		fmt.Fprintf(&b, "replaced %s %s by %s; restart the server\n", r.Replaced.Program, r.Replaced.Versions[0], r.Replaced.Versions[1])
	}
	fmt.Fprintf(&b, "\nto go back: stop the server, then\n")
	newer := "with the newer version"
	if r.Replaced == nil || r.Replaced.Previous == "" {
		fmt.Fprintf(&b, "  # install the old version\n")
	} else {
		newer = "with " + r.Replaced.Program + upgrade.Newer + " as openclawd"
	}
	fmt.Fprintf(&b, "  %s\n\nto keep the events since, before the old version is started: %s\n  %s\nwith the old one\n  %s\n",
		strings.Join(r.Back, " &&\n  "), newer, r.Newer[0], r.Newer[1])
	_, err := p.stdout.Write([]byte(b.String()))
	return err
}
