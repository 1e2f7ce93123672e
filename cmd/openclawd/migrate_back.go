package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/migrate/back"
)

func newMigrateBack(p *process) *cobra.Command {
	var db, to, agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "back",
		Short: "Write a state directory that OpenClaw opens",
		Long: `Writes sessions with their transcripts, and scheduled jobs with their runs, into a new directory in the form of OpenClaw 2026.2. Newer versions
take it over: 2026.9 with openclaw doctor --fix. Nothing else is written or changed; a server may be running. The configuration is not
written: openclaw.json is a file of both.`,
		Example: "  openclawd migrate back --to ~/openclaw-again\n  openclawd migrate back --state-dir ~/.openclawd --to ./again --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("give the directory to write with --to")}
			}
			return p.migrateBack(cmd.Context(), db, to, agent, asJSON)
		},
	}
	addPlace(cmd, &db)
	cmd.Flags().StringVar(&to, "to", "", "new `DIR` to write")
	cmd.Flags().StringVar(&agent, "agent", coordination.DefaultMainKey, "agent `ID` for sessions whose key names none")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print the report as JSON")
	return cmd
}

func (p *process) migrateBack(ctx context.Context, db, to, agent string, asJSON bool) error {
	log, err := p.openToRead(ctx, db)
	if err != nil {
		return err
	}
	defer log.Close()
	r, err := back.Write(ctx, back.Options{Log: log, Files: media.Open(database.MediaDir(log.Path()), nil), To: to, DefaultAgent: agent})
	if err != nil {
		return err
	}
	if asJSON {
		return output.JSON(p.stdout, r)
	}
	_, err = fmt.Fprintf(p.stdout, "wrote %s: %s, %s, %s, %s\n", output.Printable(r.To), output.Count(r.Sessions, "session"), output.Count(r.Transcripts, "transcript"),
		output.Count(r.Messages, "message"), output.Count(r.Jobs, "job"))
	if r.FilesLeft > 0 && err == nil {
		_, err = fmt.Fprintf(p.stdout, "%s of messages left out: no pictures, too large, or gone; the messages name them\n", output.Count(r.FilesLeft, "file"))
	}
	if r.Blank > 0 && err == nil {
		_, err = fmt.Fprintf(p.stdout, "%s without text left out: redacted, or in an archive (openclawd archive restore)\n", output.Count(r.Blank, "message"))
	}
	return err
}
