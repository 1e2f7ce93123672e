package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// newestEvents is how many events at the end of the log are read.
const newestEvents = 1_000

// checkDatabase reads the file as SQLite does, which is safe beside a server; nothing opens it by other means.
func (c *checkup) checkDatabase(ctx context.Context) {
	info, err := os.Stat(c.db)
	if errors.Is(err, fs.ErrNotExist) {
		c.warn("database_absent", c.db, "openclawd serve or openclawd import makes one", "there is no database yet")
		return
	}
	if err != nil {
		c.failed("database_unreadable", c.db, "let this user read the file", err)
		return
	}
	c.checkPermissions(info)
	log, err := c.openToRead(ctx, c.db)
	if err != nil {
		c.failed("database_unreadable", c.db, "restore the newest backup, or name another file with --db", err)
		return
	}
	defer log.Close()
	c.checkLog(ctx, log)
	c.checkTables(ctx, log)
	c.checkFollowed()
	c.checkSearch(log.Path())
}

func (c *checkup) checkPermissions(info fs.FileInfo) {
	const others = 0o077
	if mode := info.Mode().Perm(); mode&others != 0 {
		c.warn("permissions", c.db, "chmod 600 "+c.db, "other users may read or write what agents say: %s", mode)
		return
	}
	c.ok("permissions", c.db, "only its owner may read it")
}

func (c *checkup) checkLog(ctx context.Context, log *sqlite.DB) {
	if err := log.QuickCheck(ctx); err != nil {
		c.failed("database_damaged", c.db, "stop the server and restore the newest backup", err)
		return
	}
	head, err := log.Head(ctx)
	if err != nil {
		c.failed("database_unreadable", c.db, "openclawd verify says more", err)
		return
	}
	events, err := log.Read(ctx, max(0, head.Seq-newestEvents), newestEvents)
	if err != nil {
		c.failed("log_unreadable", c.db, "openclawd verify says more", err)
		return
	}
	c.ok("database", c.db, "SQLite finds it sound; %s, the newest ones can be read", count(head.Seq, "event"))
	if n := len(events); n > 0 {
		if ahead := time.UnixMilli(events[n-1].RecordedAt).Sub(c.now()); ahead > time.Second {
			c.fail("clock_behind", "system clock", "set the clock: new events are stamped with the time of the newest one until it has caught up",
				"the clock is %s behind the newest event", ahead.Round(time.Second))
		}
	}
	if wal := log.Gauges().WALBytes; wal > walLargeBytes {
		c.warn("wal_large", c.db+"-wal", "look for a program that holds an old snapshot; restarting the server empties the WAL", "the WAL has %s", formatBytes(wal))
	} else {
		c.ok("wal", c.db+"-wal", "%s", formatBytes(wal))
	}
}

func (c *checkup) checkTables(ctx context.Context, log *sqlite.DB) {
	list, err := statuses(ctx, log)
	if err != nil {
		c.failed("tables_unreadable", c.db, "openclawd verify says more", err)
		return
	}
	live := 0
	for _, s := range list {
		switch s.State {
		case projections.Parked:
			c.fail("projection_parked", c.db, "stop the server and run openclawd projections resume "+s.Name+"; report the error",
				"projection %s could not apply event %d: %s", s.Name, s.ParkedSeq, s.ParkedError)
		case projections.Live:
			live++
		default:
			c.warn("projection_rebuilding", c.db, "wait, or start the server: it goes on with it", "projection %s is being made anew and stands at %d", s.Name, s.Seq)
		}
	}
	if live == len(list) {
		c.ok("projections", c.db, "%s, all live", count(int64(live), "projection"))
	}
}

// checkFollowed compares how far logs were read with how long they are.
func (c *checkup) checkFollowed() {
	path := positionsPath(c.db)
	positions, err := readPositions(c.db)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.ok("follow_position", path, "no log has been read yet")
		return
	case err != nil:
		c.warn("follow_position", path, "nothing is to be done: the logs are read again, which adds nothing", "%v", err)
		return
	}
	var behind int64
	for _, f := range positions.Files {
		info, err := os.Stat(f.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // rotated away
		}
		if err != nil {
			c.failed("log_unreadable", f.Path, "let this user read the log", err)
			continue
		}
		behind += max(0, info.Size()-f.Offset)
	}
	c.ok("follow_position", path, "%s read, %s not yet", count(int64(len(positions.Files)), "log"), formatBytes(behind))
}

// checkSearch looks at the file of the search, which may be lost without harm.
func (c *checkup) checkSearch(db string) {
	path := db + searchSuffix
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.ok("search", path, "there is no search file; the server makes it")
	case err != nil:
		c.failed("search_unreadable", path, "let this user read the file", err)
	default:
		c.ok("search", path, "%s", formatBytes(info.Size()))
	}
}
