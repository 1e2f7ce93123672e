package sqlite

import (
	"context"
	"database/sql"
	"fmt"
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
	cutting bool        // the WAL is shortened when it restarts; only the writer uses it
}

// A checkpoint is due after this many commits: a few thousand pages under load, seconds of work for one appender.
const commitsPerCheckpoint = 96

// A round ends when a pass has left this few pages, or after this many passes. What comes during a pass is not counted:
// that is much only while a long WAL is moved, and then the pass before must not have let more come either.
const (
	fewPages         = 400
	checkpointPasses = 8
	longWAL          = walKept / 4096 // pages
)

// A WAL longer than this is shortened, by at most so much each time it restarts: the commit that restarts it waits for
// the file system to free what is cut off, which takes a few hundred milliseconds for what a backup lets grow.
const (
	walKept = 64 << 20
	walCut  = 32 << 20
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

// round moves pages until few are left. While a reader holds an old snapshot, as a backup does, that cannot be reached,
// and the writer is not asked for the rest.
func (c *checkpointer) round() {
	var left, known int64 // known: pages of the WAL when the newest pass began
	for range checkpointPasses {
		pages, moved, err := c.pass()
		if err != nil {
			c.db.log.Warn("checkpoint failed; the WAL grows until one succeeds", "err", err)
			return
		}
		if pages < 0 { // another process is moving pages: how many are left is not known
			return
		}
		came := pages - known // since the pass before began
		if left, known = pages-moved, pages; left <= fewPages && (pages <= longWAL || came <= fewPages) {
			break
		}
	}
	c.db.custody.grown()
	c.nearly.Store(left <= fewPages)
}

// pass moves the pages that are in the WAL when it begins, as far as readers allow. Both numbers are -1 while another
// checkpoint runs.
func (c *checkpointer) pass() (pages, moved int64, err error) {
	start := time.Now()
	var busy int64
	err = c.pool.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &moved)
	if err == nil && pages > walPagesWarn {
		c.db.log.Warn("the WAL is large; a reader may be holding an old snapshot", "pages", pages, "moved", moved, "took", time.Since(start))
	}
	return pages, moved, err
}

// finish moves what is left after a round. The writer calls it between two transactions.
func (c *checkpointer) finish(tx *tx) {
	if err := c.finishRound(tx); err != nil {
		c.db.log.Warn("checkpoint failed; the WAL grows until one succeeds", "err", err)
	}
}

func (c *checkpointer) finishRound(tx *tx) error {
	if c.cutting {
		c.cutting = false
		if err := limitWAL(tx, -1); err != nil {
			return err
		}
	}
	if !c.nearly.Swap(false) {
		return nil
	}
	var pages, moved int64
	err := tx.Query("PRAGMA wal_checkpoint(PASSIVE)", nil, func(r eventstore.Row) error {
		pages, moved = r.Int(1), r.Int(2)
		return nil
	})
	c.db.custody.grown()
	if err != nil || moved < pages {
		return err
	}
	if size := c.db.custody.walBytes(); size > walKept { // the next commit restarts it
		c.cutting = true
		return limitWAL(tx, max(walKept, size-walCut))
	}
	return nil
}

// limitWAL sets the length to which the WAL is cut when it restarts; below 0 it is not cut.
func limitWAL(tx *tx, bytes int64) error {
	return tx.pragma(fmt.Sprintf("PRAGMA journal_size_limit = %d", bytes))
}
