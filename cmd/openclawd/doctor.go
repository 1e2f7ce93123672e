package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/doctor"
	"github.com/pronto-lab/openclawd/internal/output"
)

func newDoctor(p *process) *cobra.Command {
	var (
		a   serverFlags
		fix bool
	)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation for problems and suggest fixes",
		Long: `Checks the configuration, the addresses of API and gateway, the gateway token, directories and disk space, the clock, the database and its WAL,
the tables, programs of MCP servers, tasks of agents that are no longer configured, undelivered Discord posts, the position in a followed log, the search file and the
backups. Works beside a running server, which it asks for what only the server knows.

Changes nothing without --fix. That fixes what can take nothing away: it closes the database, openclaw.json and the token to other users (mode 0600), makes a
backup if there is none or an old one, and verifies one that was not verified for long. Then it checks again. What the configuration says, the log
and other programs are left to you.

Exit codes: 0 no errors; 1 errors; 78 only errors of the configuration.`,
		Example: "  openclawd doctor\n  openclawd doctor --state-dir ./team --json\n  openclawd doctor --fix",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), a, fix) },
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&fix, "fix", false, "fix what can take nothing away, and check again")
	return cmd
}

func (p *process) doctor(ctx context.Context, a serverFlags, fix bool) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	patient := doctor.Patient{Place: place, Getenv: p.getenv, Now: p.now}
	findings, err := doctor.Examine(ctx, patient)
	if err != nil {
		return err
	}
	if fix {
		if findings, err = p.fix(ctx, patient, findings); err != nil {
			return err
		}
	}
	write := p.writeFindings
	if a.asJSON {
		write = func(findings []doctor.Finding) error { return output.JSON(p.stdout, findings) }
	}
	if err := write(findings); err != nil {
		return err
	}
	return doctor.Verdict(findings, place.Config.File)
}

// fix fixes findings, says on stderr what it did, and checks again.
func (p *process) fix(ctx context.Context, patient doctor.Patient, findings []doctor.Finding) ([]doctor.Finding, error) {
	done, err := doctor.Fix(ctx, patient, findings)
	for _, f := range done {
		line := "fixed " + f.Code + ": " + f.Done
		if f.Err != "" {
			line = "not fixed " + f.Code + ": " + f.Err
		}
		fmt.Fprintln(p.stderr, output.Printable(line))
	}
	if err != nil || len(done) == 0 {
		return findings, err
	}
	return doctor.Examine(ctx, patient)
}

func (p *process) writeFindings(findings []doctor.Finding) error {
	rows := make([][]string, len(findings))
	for i, f := range findings {
		rows[i] = []string{f.Severity, f.Code, f.What, f.Where}
	}
	if err := output.Table(p.stdout, []string{"SEVERITY", "CODE", "WHAT", "WHERE"}, rows); err != nil {
		return err
	}
	for _, f := range findings {
		if f.Hint == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%s: %s\n", f.Code, output.Printable(f.Hint)); err != nil {
			return err
		}
	}
	return nil
}
