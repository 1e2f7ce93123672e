package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/migrations"
)

func newMigrate(p *process) *cobra.Command {
	return newGroup("migrate", "Move in from OpenClaw, or migrate the schema of a database", newMigrateOpenClaw(p), newMigrateBack(p), newMigrateStatus(p), newMigrateUp(p))
}

func newMigrateStatus(p *process) *cobra.Command {
	var (
		db     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List the schema migrations and which ones a file has",
		Example: "  openclawd migrate status\n  openclawd migrate status --db old.db --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := p.schemaOf(cmd.Context(), db)
			if err != nil {
				return err
			}
			if asJSON {
				return output.JSON(p.stdout, status)
			}
			return p.writeSchema(status)
		},
	}
	addPlace(cmd, &db)
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}

func newMigrateUp(p *process) *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Migrate a file to the newest schema",
		Long: `Migrates a file to the newest schema. A backup is made beside it first (FILE.backup-*). Commands that write migrate automatically; this one
lets you choose the time.`,
		Example: "  openclawd migrate up --db ~/.openclaw/openclawd.db",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			before, err := p.schemaOf(cmd.Context(), db)
			if err != nil {
				return err
			}
			log, err := p.openExisting(cmd.Context(), db, "migrate up")
			if err != nil {
				return err
			}
			if err := log.Close(); err != nil {
				return err
			}
			if before.Found == before.Newest {
				_, err = fmt.Fprintf(p.stdout, "schema %d is up to date\n", before.Found)
			} else {
				_, err = fmt.Fprintf(p.stdout, "migrated from schema %d to %d\n", before.Found, before.Newest)
			}
			return err
		},
	}
	addPlace(cmd, &db)
	return cmd
}

// schemaStatus lists the migrations and which ones a file has.
type schemaStatus struct {
	File   string             `json:"file"`
	Found  int64              `json:"found"`  // version of the file
	Newest int64              `json:"newest"` // version that this binary uses
	Steps  []sqlite.Migration `json:"steps"`
}

// schemaOf reads a file's schema without changing it, also one newer or older than this binary's.
func (p *process) schemaOf(ctx context.Context, flag string) (*schemaStatus, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	status := &schemaStatus{File: path}
	if status.Steps, err = knownSteps(); err != nil {
		return nil, err
	}
	status.Newest = status.Steps[len(status.Steps)-1].Version
	status.Found = status.Newest
	log, err := p.openToRead(ctx, path)
	var other *eventstore.SchemaError
	switch {
	case errors.As(err, &other):
		status.Found = other.Found
	case err != nil:
		return nil, err
	default:
		if err := log.Close(); err != nil {
			return nil, err
		}
	}
	for i := range status.Steps {
		status.Steps[i].Applied = status.Steps[i].Version <= status.Found
	}
	return status, nil
}

// knownSteps lists the migrations of this binary, oldest first.
func knownSteps() ([]sqlite.Migration, error) {
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	slices.Sort(names)
	steps := make([]sqlite.Migration, len(names))
	for i, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("number of migration %s: %w", name, err)
		}
		steps[i] = sqlite.Migration{Version: version, Name: name}
	}
	return steps, nil
}

func (p *process) writeSchema(s *schemaStatus) error {
	rows := make([][]string, len(s.Steps))
	for i, step := range s.Steps {
		state := "pending"
		if step.Applied {
			state = "applied"
		}
		rows[i] = []string{strconv.FormatInt(step.Version, 10), step.Name, state}
	}
	if err := output.Table(p.stdout, []string{"VERSION", "NAME", "STATE"}, rows); err != nil {
		return err
	}
	var verdict string
	switch {
	case s.Found == s.Newest:
		verdict = "up to date"
	case s.Found < s.Newest:
		verdict = fmt.Sprintf("schema %d, the newest is %d: run openclawd migrate up", s.Found, s.Newest)
	default:
		verdict = fmt.Sprintf("schema %d was made by a newer openclawd; this one supports up to %d", s.Found, s.Newest)
	}
	_, err := fmt.Fprintln(p.stdout, verdict)
	return err
}
