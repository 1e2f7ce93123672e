package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/config"
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
		Long: `Asks the running server. Where none answers, reads the database, and says so: what only a server knows is then missing.

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
}

func (p *process) status(ctx context.Context, a asking) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	report := statusReport{Source: "server"}
	why := ""
	if report.Status, why = askStatus(ctx, place, a.db != ""); report.Status == nil {
		report.Source, report.Note = "file", why+"; read from "+place.db+", without what only a server knows"
		if report.Status, err = p.readStatus(ctx, place); err != nil {
			return err
		}
	}
	if a.asJSON {
		return writeJSON(p.stdout, report)
	}
	return p.writeStatus(&report)
}

// place is where a server and its files are expected.
type place struct {
	stateDir, db, api string
	configured        *config.Config
	findings          config.Findings
}

func (p *process) place(a asking) (*place, error) {
	at := &place{stateDir: a.stateDir, db: a.db}
	var err error
	if at.stateDir == "" {
		if at.stateDir, err = p.stateDir(); err != nil {
			return nil, err
		}
	}
	if at.db == "" {
		at.db = filepath.Join(at.stateDir, databaseName)
	}
	at.configured, at.findings = config.Load(filepath.Join(at.stateDir, configName), p.getenv)
	found := settingsOf(at.configured, p.getenv, a.api, nil)
	at.api = found.api.value
	return at, nil
}

// askStatus asks the server, or says why it is not to be believed. mine: only a server of the very database counts.
func askStatus(ctx context.Context, at *place, mine bool) (status *monitor.Status, why string) {
	var answer monitor.Status
	code, err := ask(ctx, at.api, "/api/status", &answer)
	switch {
	case code == 0:
		return nil, "no server answers at " + at.api
	case err != nil || code != http.StatusOK || answer.Database == nil:
		return nil, "what answers at " + at.api + " is no openclawd of this version"
	case mine && !sameFile(answer.Database.File, at.db):
		return nil, "the server at " + at.api + " serves " + answer.Database.File
	}
	return &answer, ""
}

func sameFile(a, b string) bool {
	real := func(path string) string {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}
		return path
	}
	return real(a) == real(b)
}

// readStatus makes the answer that a server would give, as far as the file says.
func (p *process) readStatus(ctx context.Context, at *place) (*monitor.Status, error) {
	log, err := p.openToRead(ctx, at.db)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	backups := filepath.Join(filepath.Dir(log.Path()), backupsName)
	newest, err := backup.Newest(backups)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	gauges := log.Gauges()
	return monitor.New(monitor.Options{Store: log, Rules: coordination.RulesV2, Now: p.now, Version: buildinfo.Read().Version,
		Operations: monitor.Operations{Running: func() monitor.Running {
			r := monitor.Running{
				Database: &monitor.DatabaseState{File: log.Path(), Bytes: gauges.DatabaseBytes, WALBytes: gauges.WALBytes},
				Backup:   &monitor.BackupState{Dir: backups},
				Config:   &monitor.ConfigState{File: at.configured.File, Valid: at.findings.Err() == nil},
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
