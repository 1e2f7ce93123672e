package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// addDB adds the --db flag.
func addDB(cmd *cobra.Command, db *string) {
	cmd.Flags().StringVar(db, "db", "", "database `FILE` (default openclawd.db in the state directory)")
}

// addPlace adds the flags that select the database: the file itself, or the state directory that it is in. The file
// takes precedence.
func addPlace(cmd *cobra.Command, db *string) {
	addDB(cmd, db)
	cmd.Flags().Var(&stateDirFlag{of: cmd, db: db}, "state-dir", "OpenClaw's state `DIR` whose database to use (default ~/.openclaw)")
}

// stateDirFlag is a --state-dir flag of a command that needs only the database.
type stateDirFlag struct {
	of  *cobra.Command
	db  *string
	dir string
}

func (f *stateDirFlag) String() string { return f.dir }
func (f *stateDirFlag) Type() string   { return "string" }

func (f *stateDirFlag) Set(dir string) error {
	if f.dir = dir; dir != "" && !f.of.Flags().Changed("db") { // the last of --db and --state-dir wins
		*f.db = filepath.Join(dir, database.Name)
	}
	return nil
}

// stateDir is the default state directory: $OPENCLAW_STATE_DIR, else ~/.openclaw.
func (p *process) stateDir() (string, error) {
	if dir := p.getenv("OPENCLAW_STATE_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &config.SettingError{Setting: "HOME", Err: err, HintText: "set HOME, or set OPENCLAW_STATE_DIR to the directory"}
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

// openToRead opens an existing log, which other processes may have open.
func (p *process) openToRead(ctx context.Context, flag string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	return database.OpenToRead(ctx, path, p.now)
}

// openToWrite opens or creates a log and locks it for writing. owner is shown to other processes that find it locked.
func (p *process) openToWrite(ctx context.Context, flag, owner string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	return database.OpenToWrite(ctx, path, owner, p.now)
}

// openExisting is openToWrite for commands that require an existing log.
func (p *process) openExisting(ctx context.Context, flag, owner string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	return database.OpenExisting(ctx, path, owner, p.now)
}
