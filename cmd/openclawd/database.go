package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// databaseName is the log's file in a state directory.
const databaseName = "openclawd.db"

// addDB gives a command the flag that names the file it works on.
func addDB(cmd *cobra.Command, db *string) {
	cmd.Flags().StringVar(db, "db", "", "database `FILE` (default openclawd.db in the state directory)")
}

// stateDir is the state directory to use where none is named: $OPENCLAW_STATE_DIR, else ~/.openclaw.
func (p *process) stateDir() (string, error) {
	if dir := p.getenv("OPENCLAW_STATE_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &configError{setting: "HOME", err: err, mend: "set HOME, or name the directory in OPENCLAW_STATE_DIR"}
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
	return filepath.Join(dir, databaseName), nil
}

// openToRead opens an existing log beside whoever else has it.
func (p *process) openToRead(ctx context.Context, flag string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true, Now: p.now})
	return db, openError(path, err)
}

// openToWrite opens or makes a log and keeps others from writing to it. owner is what they are told.
func (p *process) openToWrite(ctx context.Context, flag, owner string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Owner: owner, Now: p.now})
	return db, openError(path, err)
}

// openExisting is openToWrite for commands that make no sense on a log that is not there.
func (p *process) openExisting(ctx context.Context, flag, owner string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &missingError{path}
	}
	return p.openToWrite(ctx, path, owner)
}

// openError gives the errors of opening a file that was chosen by a setting their type.
func openError(path string, err error) error {
	var invalid *eventstore.InvalidError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &missingError{path}
	case errors.As(err, &invalid):
		return &configError{setting: "--" + invalid.Field, value: invalid.Value, mend: invalid.Mend}
	}
	return err
}

// missingError says that there is no log to work on.
type missingError struct{ path string }

func (e *missingError) Error() string { return fmt.Sprintf("there is no database at %s", e.path) }
func (e *missingError) Unwrap() error { return fs.ErrNotExist }
func (e *missingError) Code() string  { return "no_database" }
func (e *missingError) Hint() string {
	return "openclawd serve or openclawd import makes one; name another file with --db"
}
