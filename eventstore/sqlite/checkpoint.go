package sqlite

import (
	"context"
	"database/sql"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// checkpointer moves committed pages from the WAL into the database file, on its own connection and goroutine: on the
// writer's, all appenders would wait. A pass never blocks the writer. The writer itself moves what was committed
// meanwhile, between two batches: only then can the WAL restart from its beginning, and overwriting a WAL costs half
// the sync of growing one.
type checkpointer struct {
	db      *DB
	pool    *sql.DB
	due     chan struct{} // holds one token while a checkpoint is due
	done    chan struct{}
	commits int         // since the last token; only the writer uses it
	nearly  atomic.Bool // a round has left only a few pages
}

// A checkpoint is due after this many commits: a few thousand pages under load, seconds of work for one appender.
const commitsPerCheckpoint = 96

// A round ends when a pass has left this few pages, or after this many passes.
const (
	fewPages         = 400
	checkpointPasses = 4
)

// walPagesWarn is a WAL size that indicates a reader holding an old snapshot.
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
	default: // one is running and another is queued
	}
}

// stop ends the goroutine. The writer must have stopped: SQLite makes a last checkpoint when the file is closed.
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
			c.db.log.Warn("the WAL is large; a reader may be holding an old snapshot", "pages", pages, "moved", moved, "took", time.Since(start))
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
