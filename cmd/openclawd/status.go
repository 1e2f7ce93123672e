package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/monitor"
)

type serverFlags struct {
	db, api, stateDir string
	asJSON            bool
}

func (a *serverFlags) addFlags(cmd *cobra.Command) {
	addDB(cmd, &a.db)
	cmd.Flags().StringVar(&a.api, "api", "", "`ADDR` of the server's API (default: found as serve does)")
	cmd.Flags().StringVar(&a.stateDir, "state-dir", "", "OpenClaw's state `DIR` (default ~/.openclaw)")
	cmd.Flags().BoolVar(&a.asJSON, jsonFlag, false, "print JSON")
}

func newStatus(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the whole system on one screen",
		Long: `Asks the running server. Without one it reads the database, and says so: what only a server knows is then missing. Pending approvals, agents in
back-off, and tasks of agents that are no longer configured are read from the server's database in either case.

Exit codes: 0 shown, whatever the state; 1 failed.`,
		Example: "  openclawd status\n  openclawd status --api 127.0.0.1:3847 --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.status(cmd.Context(), a) },
	}
	a.addFlags(cmd)
	return cmd
}

// statusReport is the JSON output of status.
type statusReport struct {
	Source string `json:"source"` // server, file
	Note   string `json:"note,omitempty"`
	*monitor.Status
	statusWaits
	Problems *monitor.ProblemsAnswer `json:"problems,omitempty"` // absent: the server is older
}

func (p *process) status(ctx context.Context, a serverFlags) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	report := statusReport{Source: "server"}
	status, why := place.Status(ctx)
	team := place.Team(status)
	if report.Status = status; status == nil {
		report.Source, report.Note = "file", why+"; read from "+place.DB+", without what only a server knows"
		if report.Status, report.Problems, err = p.readStatus(ctx, place); err != nil {
			return err
		}
		if team != nil {
			report.CountConfigured(team)
		}
	}
	if status != nil {
		report.Problems = place.Problems(ctx)
	}
	report.statusWaits = p.readWaits(ctx, place.DB, team)
	if a.asJSON {
		return output.JSON(p.stdout, report)
	}
	return p.writeStatus(&report)
}

// place is where a command looks for a server and its files.
func (p *process) place(a serverFlags) (*apiclient.Place, error) {
	stateDir := a.stateDir
	if stateDir == "" {
		var err error
		if stateDir, err = p.stateDir(); err != nil {
			return nil, err
		}
	}
	return apiclient.PlaceOf(stateDir, a.db, a.api, a.stateDir != "", p.getenv), nil
}

// readStatus builds the status that a server would report, and the problems, as far as the file has the data.
func (p *process) readStatus(ctx context.Context, at *apiclient.Place) (*monitor.Status, *monitor.ProblemsAnswer, error) {
	log, err := p.openToRead(ctx, at.DB)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	backups := database.BackupsDir(log.Path())
	newest, err := backup.Newest(backups)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	gauges := log.Gauges()
	server := monitor.New(monitor.Options{Store: log, Rules: coordination.RulesV2, Now: p.now, Version: buildinfo.Read().Version,
		OwnTasks: &monitor.OwnTasks{}, Operations: monitor.Operations{Running: func(context.Context) health.Running {
			r := health.Running{
				Database: &health.DatabaseState{File: log.Path(), Bytes: gauges.DatabaseBytes, WALBytes: gauges.WALBytes},
				Backup:   &health.BackupState{Dir: backups},
				Config:   &health.ConfigState{File: at.Config.File, Valid: at.Findings.Err() == nil},
			}
			if newest != nil {
				r.Backup.Last, r.Backup.LastSeq = newest.Time, newest.Seq
			}
			return r
		}}})
	status, err := server.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	problems, err := server.Problems(ctx)
	return status, problems, err
}

// ago formats the time since, coarsely.
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
