package doctor

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/server/settings"
)

// newestEvents is how many events at the end of the log are read.
const newestEvents = 1_000

// checkDatabase reads the file through SQLite only, which is safe beside a server.
func (c *checkup) checkDatabase(ctx context.Context) {
	info, err := os.Stat(c.place.DB)
	if errors.Is(err, fs.ErrNotExist) {
		c.warn("database_absent", c.place.DB, "openclawd serve or openclawd import creates one", "there is no database yet")
		return
	}
	if err != nil {
		c.failed("database_unreadable", c.place.DB, "give this user read access to the file", err)
		return
	}
	c.checkPermissions("permissions", c.place.DB, "what agents say", info)
	c.checkPrivateFiles()
	if names := sqlite.Names(info); names > 1 {
		linked := &eventstore.LinkedError{Path: c.place.DB, Names: names}
		c.fail(linked.Code(), c.place.DB, linked.Hint(), "%v", linked)
	}
	log, err := database.OpenToRead(ctx, c.place.DB, c.now)
	if err != nil {
		c.failed("database_unreadable", c.place.DB, "give this user read access to the file, or use another one with --db", err)
		return
	}
	defer log.Close()
	c.checkLog(ctx, log)
	c.checkChain(ctx, log)
	c.checkTables(ctx, log)
	c.checkUnattended(ctx, log)
	c.checkSandboxes(ctx, log)
	c.checkChannels(ctx, log)
	c.checkFollowed(ctx, log)
	c.checkSearch(log.Path())
}

// checkPermissions reports whether other users can access a file.
func (c *checkup) checkPermissions(code, path, what string, info fs.FileInfo) {
	if exposed(info) {
		c.warn(code, path, "chmod 600 "+path, "other users can access %s: %s", what, info.Mode().Perm())
		return
	}
	c.ok(code, path, "readable only by its owner")
}

func exposed(info fs.FileInfo) bool {
	const others = 0o077
	return info.Mode().Perm()&others != 0 && runtime.GOOS != "windows" // which has no such modes
}

// checkPrivateFiles reports what other users can access of the files that hold the same as the database, or let someone in: what SQLite has
// beside it, the search file, copies before migrations, backups, the key of Task-Hub and what MCP servers have granted.
func (c *checkup) checkPrivateFiles() {
	for _, pattern := range []string{
		c.place.DB + "-*", c.place.DB + ".*", filepath.Join(c.backupsDir(), "openclawd-*"),
		filepath.Join(c.place.StateDir, settings.UIKeyName), filepath.Join(c.place.StateDir, mcp.GrantFiles),
	} {
		files, _ := filepath.Glob(pattern) // an invalid pattern, of a strange directory, matches nothing
		for _, file := range files {
			info, err := os.Lstat(file)
			if err == nil && info.Mode().IsRegular() && exposed(info) {
				c.warn("permissions", file, "chmod 600 "+file, "other users can access it: %s", info.Mode().Perm())
			}
		}
	}
}

func (c *checkup) checkLog(ctx context.Context, log *sqlite.DB) {
	if err := log.QuickCheck(ctx); err != nil {
		c.failed("database_damaged", c.place.DB, "openclawd verify shows details", err)
		return
	}
	if err := log.CheckEnd(ctx); err != nil {
		c.failed("log_unreadable", c.place.DB, "openclawd verify shows details", err)
		return
	}
	head, err := log.Head(ctx)
	if err != nil {
		c.failed("database_unreadable", c.place.DB, "openclawd verify shows details", err)
		return
	}
	events, err := log.Read(ctx, max(0, head.Seq-newestEvents), newestEvents)
	if err != nil {
		c.failed("log_unreadable", c.place.DB, "openclawd verify shows details", err)
		return
	}
	c.ok("database", c.place.DB, "SQLite reports no damage; %s, the newest ones are readable", output.Count(head.Seq, "event"))
	if n := len(events); n > 0 {
		if ahead := time.UnixMilli(events[n-1].RecordedAt).Sub(c.now()); ahead > time.Second {
			c.fail("clock_behind", "system clock", "set the clock: until it catches up, new events get the time of the newest one",
				"the clock is %s behind the newest event", ahead.Round(time.Second))
		}
	}
	if wal := log.Gauges().WALBytes; wal > walLargeBytes {
		c.warn("wal_large", c.place.DB+"-wal", "look for a process with a long read transaction; restarting the server empties the WAL", "the WAL has %s", output.Bytes(wal))
	} else {
		c.ok("wal", c.place.DB+"-wal", "%s", output.Bytes(wal))
	}
}

func (c *checkup) checkTables(ctx context.Context, log *sqlite.DB) {
	list, err := database.Statuses(ctx, log)
	if err != nil {
		c.failed("tables_unreadable", c.place.DB, "openclawd verify shows details", err)
		return
	}
	live := 0
	for _, s := range list {
		switch s.State {
		case projections.Parked:
			c.fail("projection_parked", c.place.DB, "stop the server and run openclawd projections resume "+s.Name+"; report the error",
				"projection %s could not apply event %d: %s", s.Name, s.ParkedSeq, s.ParkedError)
		case projections.Live:
			live++
		default:
			c.warn("projection_rebuilding", c.place.DB, "wait, or start the server: it continues the rebuild", "projection %s is being rebuilt, at event %d", s.Name, s.Seq)
		}
	}
	if live == len(list) {
		c.ok("projections", c.place.DB, "%s, all live", output.Count(int64(live), "projection"))
	}
}

// checkFollowed reports how much of the logs is not stored yet: according to the server that follows them, else as
// its follower would find them.
func (c *checkup) checkFollowed(ctx context.Context, log *sqlite.DB) {
	if c.server != nil && c.server.Follow != nil {
		f := c.server.Follow
		c.reportLag(f.File, f.Behind, "wait, or check the load of this machine")
		return
	}
	path := database.PositionsFile(c.place.DB)
	if _, err := ndjson.ReadPositions(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.warn("follow_position", path, "no action needed: the logs are read again, which adds nothing", "%v", err)
	}
	dir := ndjson.LogDir(c.place.StateDir)
	behind, err := c.pending(ctx, log, path)
	if err != nil {
		c.failed("log_unreadable", dir, "give this user read access to the logs", err)
		return
	}
	hint := "start the server: it reads them"
	if c.server != nil {
		hint = "start the server with --follow if another gateway writes them: without it they are only read at startup"
	}
	c.reportLag(dir, behind, hint)
}

// pending is how many bytes a follower would read now. Nothing is saved: only a follower that has read something saves
// positions.
func (c *checkup) pending(ctx context.Context, log *sqlite.DB, positions string) (bytes int64, err error) {
	follower := ndjson.NewFollower(ndjson.FollowOptions{
		StateDir: c.place.StateDir, Positions: positions, Import: database.ImportOptions(log, slog.New(slog.DiscardHandler)), Now: c.now,
	})
	defer follower.Close()
	bytes, _, err = follower.Pending(ctx)
	return bytes, err
}

func (c *checkup) reportLag(where string, behind int64, hint string) {
	if behind > logBehindBytes {
		c.warn("log_behind", where, hint, "%s of the coordination logs are not stored yet", output.Bytes(behind))
		return
	}
	c.ok("follow_position", where, "%s of the coordination logs are not stored yet", output.Bytes(behind))
}

// checkSearch checks the search file, which can be lost without harm.
func (c *checkup) checkSearch(db string) {
	path := database.SearchFile(db)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.ok("search", path, "there is no search file; the server creates it")
	case err != nil:
		c.failed("search_unreadable", path, "give this user read access to the file", err)
	default:
		c.ok("search", path, "%s", output.Bytes(info.Size()))
	}
}
