package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// addDB gives a command the flag that names the file it works on.
func addDB(cmd *cobra.Command, db *string) {
	cmd.Flags().StringVar(db, "db", "", "database `FILE` (default openclawd.db in the state directory)")
}

// addPlace gives a command the flags that name the file it works on: by itself, or by the state directory that it lies in. The file goes before.
func addPlace(cmd *cobra.Command, db *string) {
	addDB(cmd, db)
	cmd.Flags().Var(&stateDirFlag{of: cmd, db: db}, "state-dir", "OpenClaw's state `DIR` that the database is of (default ~/.openclaw)")
}

// stateDirFlag is a state directory of which a command needs no more than the database.
type stateDirFlag struct {
	of  *cobra.Command
	db  *string
	dir string
}

func (f *stateDirFlag) String() string { return f.dir }
func (f *stateDirFlag) Type() string   { return "string" }

func (f *stateDirFlag) Set(dir string) error {
	if f.dir = dir; dir != "" && !f.of.Flags().Changed("db") { // what comes after this, counts
		*f.db = filepath.Join(dir, database.Name)
	}
	return nil
}

// stateDir is the state directory to use where none is named: $OPENCLAW_STATE_DIR, else ~/.openclaw.
func (p *process) stateDir() (string, error) {
	if dir := p.getenv("OPENCLAW_STATE_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &settings.Error{Setting: "HOME", Err: err, Mend: "set HOME, or name the directory in OPENCLAW_STATE_DIR"}
	}
	return filepath.Join(home, ".openclaw"), nil
}

// databasePath is the file that --db names, or the default one.
func (p *process) databasePath(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	dir, err := p.stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, database.Name), nil
}

// openToRead opens an existing log beside whoever else has it.
func (p *process) openToRead(ctx context.Context, flag string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	return database.OpenToRead(ctx, path, p.now)
}

// openToWrite opens or makes a log and keeps others from writing to it. owner is what they are told.
func (p *process) openToWrite(ctx context.Context, flag, owner string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	return database.OpenToWrite(ctx, path, owner, p.now)
}

// openExisting is openToWrite for commands that make no sense on a log that is not there.
func (p *process) openExisting(ctx context.Context, flag, owner string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	return database.OpenExisting(ctx, path, owner, p.now)
}
