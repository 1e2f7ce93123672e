package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/pressly/goose/v3"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Migration is one step of the schema.
type Migration struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// Migrations lists the steps known to this binary and which of them were applied to the file.
func (db *DB) Migrations(ctx context.Context) ([]Migration, error) {
	pool := db.read
	found, err := schemaVersion(ctx, pool)
	if err != nil {
		return nil, db.translate("read", err)
	}
	all, err := steps()
	if err != nil {
		return nil, err
	}
	var list []Migration
	for _, s := range all {
		list = append(list, Migration{Version: s.version, Name: s.name, Applied: s.version <= found})
	}
	return list, nil
}

// Schema is the version of the file's schema.
func (db *DB) Schema(ctx context.Context) (int64, error) {
	version, err := schemaVersion(ctx, db.read)
	return version, db.translate("read", err)
}

// migrate brings the file to the newest schema. Before the first step on a file that is not empty, a backup is made
// beside it.
func (db *DB) migrate(ctx context.Context) error {
	found, err := schemaVersion(ctx, db.write)
	if err != nil {
		return db.translate("read", err)
	}
	known, err := newestSchema()
	if err != nil {
		return err
	}
	if found > known {
		return &eventstore.SchemaError{Path: db.path, Found: found, Known: known}
	}
	if found == known {
		return nil
	}
	if found > 0 {
		if db.opts.NoMigrate {
			return &eventstore.SchemaError{Path: db.path, Found: found, Known: known}
		}
		target, err := freeName(fmt.Sprintf("%s.backup-v%d-%s", db.path, found, db.opts.Now().UTC().Format("20060102T150405Z")))
		if err == nil {
			err = vacuumInto(ctx, target, copyOf(ctx, db.write))
		}
		if err != nil {
			return db.translate("back up before migration", err)
		}
		db.log.Info("backed up before migration", "file", target, "schema", found)
	}
	p, err := provider(db.write)
	if err != nil {
		return err
	}
	applied, err := p.Up(ctx)
	if err != nil {
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			err = partial.Err
		}
		return fmt.Errorf("migrate %s from schema %d: %w", db.path, found, db.translate("migrate", err))
	}
	db.log.Info("migrated", "from", found, "to", known, "steps", len(applied))
	return nil
}

// NewestSchema is the version of the schema that this package writes.
func NewestSchema() (int64, error) { return newestSchema() }

func newestSchema() (int64, error) {
	all, err := steps()
	if err != nil {
		return 0, err
	}
	return all[len(all)-1].version, nil
}

// schemaVersion is 0 for a file without any of our tables.
func schemaVersion(ctx context.Context, pool *sql.DB) (int64, error) {
	var tables int
	err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'").Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	var version int64
	err = pool.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied = 1").Scan(&version)
	return version, err
}

// freeName returns name, or name with the lowest unused number from 2 appended.
func freeName(name string) (string, error) {
	for n, free := 1, name; ; {
		switch _, err := os.Lstat(free); {
		case errors.Is(err, os.ErrNotExist):
			return free, nil
		case err != nil:
			return "", err
		}
		n++
		free = fmt.Sprintf("%s-%d", name, n)
	}
}
