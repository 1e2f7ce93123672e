package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/doctor"
	"github.com/pronto-lab/openclawd/internal/output"
)

func newDoctor(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation for problems and suggest fixes",
		Long: `Checks the configuration, the addresses of API and gateway, the gateway token, directories and disk space, the clock, the database and its WAL,
the tables, programs of MCP servers, tasks of agents that are no longer configured, undelivered Discord posts, the position in a followed log, the search file and the
backups. Changes nothing. Works beside a running server, which it asks for what only the server knows.

Exit codes: 0 no errors; 1 errors; 78 only errors of the configuration.`,
		Example: "  openclawd doctor\n  openclawd doctor --state-dir ./team --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), a) },
	}
	a.addFlags(cmd)
	return cmd
}

func (p *process) doctor(ctx context.Context, a serverFlags) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	findings, err := doctor.Examine(ctx, doctor.Patient{Place: place, Getenv: p.getenv, Now: p.now})
	if err != nil {
		return err
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
