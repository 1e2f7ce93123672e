package sqlite

import (
	"context"
	"database/sql"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// checkpointer moves committed pages from the WAL into the database file, on a connection and goroutine of its own: the writer would
// make all its appenders wait for it. A pass never blocks the writer. What was committed meanwhile the writer moves itself, between
// two batches: only then can the WAL begin anew, and a WAL that is written over costs half the sync of one that grows.
type checkpointer struct {
	db      *DB
	pool    *sql.DB
	due     chan struct{} // holds one token while a checkpoint is due
	done    chan struct{}
	commits int         // since the last token; only the writer touches it
	nearly  atomic.Bool // a round has left little to move
}

// A checkpoint is due after so many commits: a few thousand pages under load, seconds of work for one appender.
const commitsPerCheckpoint = 96

// A round ends when a pass has left so few pages behind, or after so many passes.
const (
	fewPages         = 400
	checkpointPasses = 4
)

// walPagesWarn is a WAL that should not have grown so: some reader holds an old snapshot.
const walPagesWarn = 64_000

func startCheckpointer(db *DB) (*checkpointer, error) {
	pool, err := sql.Open("sqlite", fileURL(db.path, url.Values{"_busy_timeout": {"0"}, "_pragma": {"wal_autocheckpoint(0)"}, "_synchronous": {"FULL"}}))
	if err != nil {
		return nil, db.translate("open", err)
	}
	pool.SetMaxOpenConns(1)
	c := &checkpointer{db: db, pool: pool, due: make(chan struct{}, 1), done: make(chan struct{})}
	go c.run()
	return c, nil
}

// committed counts a commit of the writer.
func (c *checkpointer) committed() {
	if c.commits++; c.commits < commitsPerCheckpoint {
		return
	}
	select {
	case c.due <- struct{}{}:
		c.commits = 0
	default: // one is running and another waits for it
	}
}

// stop ends the goroutine. The writer must have stopped: SQLite checkpoints for the last time when the file is closed.
func (c *checkpointer) stop() error {
	close(c.due)
	<-c.done
	return c.pool.Close()
}

func (c *checkpointer) run() {
	defer close(c.done)
	for range c.due {
		c.round()
	}
}

func (c *checkpointer) round() {
	for range checkpointPasses {
		start := time.Now()
		var busy, pages, moved int64
		err := c.pool.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &moved)
		if err != nil {
			c.db.log.Warn("checkpoint failed; the WAL grows until one succeeds", "err", err)
			return
		}
		if pages > walPagesWarn {
			c.db.log.Warn("the WAL is large: a reader may be holding an old snapshot", "pages", pages, "moved", moved, "took", time.Since(start))
		}
		if pages-moved <= fewPages {
			break
		}
	}
	c.db.custody.grown()
	c.nearly.Store(true)
}

// finish moves what is left after a round. The writer calls it between two transactions.
func (c *checkpointer) finish(tx *tx) {
	if !c.nearly.Swap(false) {
		return
	}
	if err := tx.Query("PRAGMA wal_checkpoint(PASSIVE)", nil, func(eventstore.Row) error { return nil }); err != nil {
		c.db.log.Warn("checkpoint failed; the WAL grows until one succeeds", "err", err)
	}
	c.db.custody.grown()
}
