package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
)

// writeEmpty writes an empty database of the newest schema, without a mark, and closes the file.
func writeEmpty(f *os.File) error {
	made, err := emptyDatabase()
	if err == nil {
		_, err = f.Write(made.content)
	}
	return errors.Join(err, f.Close())
}

// empty is such a database, and its views.
type empty struct {
	content []byte
	views   []object
}

// emptyDatabase never changes, and copying it is many times faster than migrating.
var emptyDatabase = sync.OnceValues(func() (made empty, err error) {
	ctx := context.Background()
	fresh, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, fresh.Close()) }()
	fresh.SetMaxOpenConns(1) // another connection would be another database
	p, err := provider(fresh)
	if err != nil {
		return made, err
	}
	if _, err := p.Up(ctx); err != nil {
		return made, fmt.Errorf("create the newest schema: %w", err)
	}
	if made.views, err = objects(ctx, fresh, "SELECT name, sql FROM main.sqlite_schema WHERE type = 'view' ORDER BY rowid"); err != nil {
		return made, err
	}
	conn, err := fresh.Conn(ctx)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = conn.Raw(func(dc any) (err error) {
		made.content, err = dc.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	return made, err
})
