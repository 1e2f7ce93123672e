package main

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// The bare table is the obvious design: an event's payload under its 16-byte id; no hash, no stream number, no index
// but the id's.
const (
	bareTable = `CREATE TABLE e (seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, stream TEXT, type TEXT, ver INTEGER, agent TEXT, ts INTEGER,
 recorded_at INTEGER, actor TEXT, data TEXT) STRICT`
	bareInsert = "INSERT INTO e (id, stream, type, ver, agent, ts, recorded_at, actor, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

// table is a bare table in a file of its own, the baseline of what we store.
type table struct {
	db     *sql.DB
	insert *sql.Stmt
	ids    *eventstore.IDs
}

// withTable calls do with a new bare table on one connection: more of them would only fight for the lock of the file.
func (b *bench) withTable(do func(*table) error) error {
	dir, err := b.newDir("bare")
	if err != nil {
		return err
	}
	db, err := sqlite.OpenPlain(filepath.Join(dir, "bare.db"), 1)
	if err != nil {
		return err
	}
	t := &table{db: db, ids: eventstore.NewIDs(time.Now, rand.Reader)}
	if _, err = db.Exec(bareTable); err == nil {
		t.insert, err = db.Prepare(bareInsert)
	}
	if err == nil {
		err = do(t)
	}
	return errors.Join(err, db.Close(), os.RemoveAll(dir))
}

func (t *table) row(a eventstore.StreamAppend) []any {
	id, e := t.ids.Next(), &a.Events[0]
	return []any{id[:], a.Stream, e.Type, 1, e.AgentID, e.TS, time.Now().UnixMilli(), string(e.Actor), string(e.Data)}
}

// append inserts an event in a transaction of its own.
func (t *table) append(a eventstore.StreamAppend) error {
	_, err := t.insert.Exec(t.row(a)...)
	return err
}

// batch inserts events in one transaction.
func (t *table) batch(events []eventstore.StreamAppend) error {
	tx, err := t.db.Begin()
	if err != nil {
		return err
	}
	insert := tx.Stmt(t.insert)
	for _, a := range events {
		if _, err := insert.Exec(t.row(a)...); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// grouped returns a store for many clients, which inserts what waits in one transaction, and what stops it.
func (t *table) grouped() (store, func()) {
	const most = 256
	type request struct {
		event eventstore.StreamAppend
		done  chan error
	}
	queue, stopped := make(chan request, most), make(chan struct{})
	go func() {
		defer close(stopped)
		for first := range queue {
			waiting := []request{first}
			for more := true; more && len(waiting) < most; {
				select {
				case r, open := <-queue:
					if more = open; open {
						waiting = append(waiting, r)
					}
				default:
					more = false
				}
			}
			events := make([]eventstore.StreamAppend, len(waiting))
			for i, r := range waiting {
				events[i] = r.event
			}
			err := t.batch(events)
			for _, r := range waiting {
				r.done <- err
			}
		}
	}()
	return func(a eventstore.StreamAppend) error {
			r := request{a, make(chan error, 1)}
			queue <- r
			return <-r.done
		}, func() {
			close(queue)
			<-stopped
		}
}
