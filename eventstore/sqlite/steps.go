package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/pronto-lab/openclawd/migrations"
)

// step is a migration that brings the schema to its version.
type step struct {
	version int64
	name    string // of the file
	up      string // SQL
}

// steps reads the migrations once, by version. goose would parse all files at each opening of a new log, line by line, with buffers of
// 4 MiB: that costs more than the migrations themselves. SQLite takes the statements of a file at once.
var steps = sync.OnceValues(func() ([]step, error) {
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return nil, err
	}
	var list []step
	for _, name := range names {
		s, err := readStep(name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		list = append(list, s)
	}
	return list, nil
})

func readStep(name string) (step, error) {
	version, err := goose.NumericComponent(name)
	if err != nil {
		return step{}, err
	}
	text, err := fs.ReadFile(migrations.Files, name)
	if err != nil {
		return step{}, err
	}
	_, after, found := strings.Cut(string(text), "-- +goose Up\n")
	up, _, hasDown := strings.Cut(after, "-- +goose Down\n")
	if !found || !hasDown {
		return step{}, errors.New("it has no Up or no Down part")
	}
	return step{version, name, up}, nil
}

// provider applies the migrations to a file, each in a transaction, and records them as goose does for the files.
func provider(pool *sql.DB) (*goose.Provider, error) {
	list, err := steps()
	if err != nil {
		return nil, err
	}
	var all []*goose.Migration
	for _, s := range list {
		all = append(all, goose.NewGoMigration(s.version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, s.up)
			return err
		}}, nil))
	}
	p, err := goose.NewProvider(database.DialectSQLite3, pool, nil, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(all...))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}
