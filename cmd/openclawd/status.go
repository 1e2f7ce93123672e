package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/doctor"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/monitor"
)

// asking holds the flags of commands that ask a running server.
type asking struct {
	db, api, stateDir string
	asJSON            bool
}

func (a *asking) addFlags(cmd *cobra.Command) {
	addDB(cmd, &a.db)
	cmd.Flags().StringVar(&a.api, "api", "", "`ADDR` of the server's API (default: as serve finds it)")
	cmd.Flags().StringVar(&a.stateDir, "state-dir", "", "OpenClaw's state `DIR` (default ~/.openclaw)")
	cmd.Flags().BoolVar(&a.asJSON, jsonFlag, false, "answer in JSON")
}

func newStatus(p *process) *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say on one screen how everything stands",
		Long: `Asks the running server. Where none answers, reads the database, and says so: what only a server knows is then missing. What waits for
approval, which agents are not prompted for now, and which tasks are those of agents that are not configured any more, it reads from the
server's database in either case.

Exit codes: 0 it could be said, whatever it is; 1 it could not.`,
		Example: "  openclawd status\n  openclawd status --api 127.0.0.1:3847 --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.status(cmd.Context(), a) },
	}
	a.addFlags(cmd)
	return cmd
}

// statusReport is the answer of status.
type statusReport struct {
	Source string `json:"source"` // server, file
	Note   string `json:"note,omitempty"`
	*monitor.Status
	statusWaits
}

func (p *process) status(ctx context.Context, a asking) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	report := statusReport{Source: "server"}
	status, why := place.Status(ctx)
	team := place.Team(status)
	if report.Status = status; status == nil {
		report.Source, report.Note = "file", why+"; read from "+place.DB+", without what only a server knows"
		if report.Status, err = p.readStatus(ctx, place); err != nil {
			return err
		}
		if team != nil {
			report.Discord.Bots = doctor.Bots(team)
		}
	}
	report.statusWaits = p.readWaits(ctx, place.DB, team)
	if a.asJSON {
		return output.JSON(p.stdout, report)
	}
	return p.writeStatus(&report)
}

// place is where a command looks for a server and its files.
func (p *process) place(a asking) (*client.Place, error) {
	stateDir := a.stateDir
	if stateDir == "" {
		var err error
		if stateDir, err = p.stateDir(); err != nil {
			return nil, err
		}
	}
	return client.PlaceOf(stateDir, a.db, a.api, a.stateDir != "", p.getenv), nil
}

// readStatus makes the answer that a server would give, as far as the file says.
func (p *process) readStatus(ctx context.Context, at *client.Place) (*monitor.Status, error) {
	log, err := p.openToRead(ctx, at.DB)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	backups := database.BackupsDir(log.Path())
	newest, err := backup.Newest(backups)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	gauges := log.Gauges()
	return monitor.New(monitor.Options{Store: log, Rules: coordination.RulesV2, Now: p.now, Version: buildinfo.Read().Version,
		Operations: monitor.Operations{Running: func(context.Context) monitor.Running {
			r := monitor.Running{
				Database: &monitor.DatabaseState{File: log.Path(), Bytes: gauges.DatabaseBytes, WALBytes: gauges.WALBytes},
				Backup:   &monitor.BackupState{Dir: backups},
				Config:   &monitor.ConfigState{File: at.Config.File, Valid: at.Findings.Err() == nil},
			}
			if newest != nil {
				r.Backup.Last, r.Backup.LastSeq = newest.Time, newest.Seq
			}
			return r
		}}}).Status(ctx)
}

// ago writes how long something is past, coarsely.
func ago(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
