package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
)

// writeEmpty writes a database of the newest schema, with nothing in it and no mark, and closes the file.
func writeEmpty(f *os.File) error {
	content, err := emptyDatabase()
	if err == nil {
		_, err = f.Write(content)
	}
	return errors.Join(err, f.Close())
}

// emptyDatabase is such a database. It never changes, and migrating takes many times as long as copying.
var emptyDatabase = sync.OnceValues(func() (content []byte, err error) {
	ctx := context.Background()
	fresh, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fresh.Close()) }()
	fresh.SetMaxOpenConns(1) // another connection would be another database
	p, err := provider(fresh)
	if err != nil {
		return nil, err
	}
	if _, err := p.Up(ctx); err != nil {
		return nil, fmt.Errorf("make the newest schema: %w", err)
	}
	conn, err := fresh.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = conn.Raw(func(dc any) (err error) {
		content, err = dc.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	return content, err
})
