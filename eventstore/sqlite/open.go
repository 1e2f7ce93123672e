package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	sqlite3 "modernc.org/sqlite"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// ApplicationID marks a SQLite file as ours ("ocld"), so that another program's database is never mistaken for a log.
const ApplicationID = 0x6f636c64

// Durability says what an acknowledged append survives.
type Durability string

const (
	// DurabilityFull syncs the disk before every acknowledgement.
	DurabilityFull Durability = "full"
	// DurabilityRelaxed survives the end of the process, but a power cut may lose the last commits.
	DurabilityRelaxed Durability = "relaxed"
)

// Options of Open. The zero value of a field means its default.
type Options struct {
	Path     string
	ReadOnly bool // read-only; takes no lock and does not migrate, so it works alongside a server
	// OlderSchema, with ReadOnly, also opens a file of an older schema: its log, which is the same in all of them, and
	// its checkpoints.
	OlderSchema bool
	NoMigrate   bool       // refuse a file that is not at the newest schema instead of migrating it
	Durability  Durability // default: full
	Owner       string     // shown to others who find the file locked, e.g. "serve on 127.0.0.1:3847"
	Now         func() time.Time
	Random      io.Reader // for salts and ids; default crypto/rand
	Logger      *slog.Logger

	LockWait time.Duration // wait for another process that holds the write lock; default 5 s
	MaxPages int64         // refuse to grow past this many 4 KiB pages; 0: no limit
	Shared   shared.Log    // what this log is a copy of; nil: it is the only one. See Lead and Follow
	Alone    bool          // open a copy of a shared log although Shared is nil. See SetCopy
	Payloads Payloads      // restores payloads that were moved out of the file; nil: blank ones are shown as redacted

	SharedWait time.Duration // how long an append waits for Shared to store it; default 5 s

	cache int // KiB of pages that a connection for reading keeps; default 4,000
}

// DB is an open log. It implements eventstore.Store and eventstore.Restorer.
type DB struct {
	path   string
	opts   Options
	log    *slog.Logger
	lock   *flock.Flock
	inode  *inode
	read   *sql.DB
	write  *sql.DB
	ids    *eventstore.IDs
	writer *writer
	checks *checkpointer
	held   snapshots
	marks  marks
	device device

	custody *fileGuard // nil if read-only

	beside     bool         // opened to read, beside a writer perhaps
	left       atomic.Int64 // head at which read models were left behind; see snapshotBeside
	unchanging bool         // see openToRead
	trace      *trace       // nil if there is none

	closed    atomic.Bool
	closeOnce sync.Once
	closeErr  error
}

// OFD locks belong to an open file, not to the process, so closing an unrelated handle cannot drop them. SQLite reads
// the setting once per process, before its first lock.
var (
	lockOnce sync.Once
	lockErr  error
)

func useOFDLocks() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	if _, err := sqlite3.OFDLocking(true); err != nil && !errors.Is(err, sqlite3.ErrOFDLockingUnavailable) {
		return fmt.Errorf("enable OFD locks: %w", err)
	}
	return nil
}

// Open opens the log at opts.Path, creates the file if it does not exist, migrates it and starts the writer. Errors:
// *eventstore.LockedError, *eventstore.LinkedError, *eventstore.CorruptError, *eventstore.SchemaError,
// *eventstore.DiskFullError, *eventstore.IOError.
func Open(ctx context.Context, opts Options) (*DB, error) {
	if opts.Path == "" {
		return nil, &eventstore.InvalidError{Field: "db", Value: "", HintText: "name a file"}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.LockWait == 0 {
		opts.LockWait = 5 * time.Second
	}
	if opts.Durability == "" {
		opts.Durability = DurabilityFull
	}
	if opts.cache == 0 {
		opts.cache = readerCache
	}
	path, err := resolve(opts.Path)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", opts.Path, err)
	}
	lockOnce.Do(func() { lockErr = useOFDLocks() })
	if lockErr != nil {
		return nil, lockErr
	}
	db := &DB{path: path, opts: opts, log: opts.Logger, ids: eventstore.NewIDs(opts.Now, opts.Random)}
	if err := db.open(ctx); err != nil {
		return nil, errors.Join(err, db.release())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context) error {
	exists, err := checkFile(db.path)
	if err != nil {
		return err
	}
	if db.opts.ReadOnly {
		if !exists {
			return fmt.Errorf("open %s: %w", db.path, os.ErrNotExist)
		}
		return db.openToRead(ctx)
	}
	if err := os.MkdirAll(filepath.Dir(db.path), 0o700); err != nil {
		return fmt.Errorf("create directory of %s: %w", db.path, err)
	}
	if err := db.takeLocks(ctx); err != nil {
		return err
	}
	if err := db.SetOwner(db.opts.Owner); err != nil {
		return err
	}
	sync := "FULL"
	if db.opts.Durability == DurabilityRelaxed {
		sync = "NORMAL"
	}
	db.write, err = sql.Open("sqlite", fileURL(db.path, url.Values{
		"_txlock":       {"immediate"}, // and no journal mode yet: that would change a file that may not be ours
		"_synchronous":  {sync},
		"_busy_timeout": {strconv.FormatInt(db.opts.LockWait.Milliseconds(), 10)},
		"_fk":           {"1"},
		"_dqs":          {"0"},
		"_defensive":    {"1"},
		"_pragma": {"recursive_triggers(1)", "temp_store(MEMORY)", "trusted_schema(0)",
			"wal_autocheckpoint(0)", "cache_size(-16000)"},
	}))
	if err != nil {
		return db.translate("open", err)
	}
	db.write.SetMaxOpenConns(1)
	db.write.SetConnMaxLifetime(0)
	if err := db.claim(ctx); err != nil {
		return err
	}
	if err := db.migrate(ctx); err != nil {
		return err
	}
	if err := db.checkCopy(ctx); err != nil {
		return err
	}
	if err := db.openReaders(); err != nil {
		return err
	}
	if db.checks, err = startCheckpointer(db); err != nil {
		return err
	}
	if db.writer, err = startWriter(ctx, db); err != nil {
		return err
	}
	if err := db.checkLeft(db.writer.head.get().Seq); err != nil {
		return err
	}
	if err := db.guardFiles(); err != nil {
		return err
	}
	return db.leaveTrace(db.writer.head.get().Seq)
}

// readerCache is the size of the page cache of a connection for reading, in KiB. It takes twice as much memory: a page
// with what SQLite knows about it has a little more than 4 KiB, and the driver's allocator rounds up to powers of two.
const readerCache = 4_000

func cacheSize(kib int) string { return fmt.Sprintf("cache_size(-%d)", kib) }

func (db *DB) openReaders() error {
	connector, err := sqlite3.NewConnector(db.readURL(url.Values{
		"_query_only":   {"1"},
		"_busy_timeout": {"5000"},
		"_dqs":          {"0"},
		"_defensive":    {"1"},
		"_pragma":       {"temp_store(MEMORY)", cacheSize(db.opts.cache), "trusted_schema(0)"},
	}))
	if err != nil {
		return db.translate("open", err)
	}
	db.read = sql.OpenDB(keepingConnector{guardedConnector{connector, db}})
	db.read.SetMaxOpenConns(max(4, runtime.NumCPU()))
	db.read.SetMaxIdleConns(max(4, runtime.NumCPU()))
	return nil
}

// Warm opens all reader connections. They stay open, so that the log can be read even after its files were removed.
func (db *DB) Warm(ctx context.Context) (err error) {
	leave, err := db.held.enter()
	if err != nil {
		return err
	}
	defer leave()
	for range db.read.Stats().MaxOpenConnections {
		conn, openErr := db.read.Conn(ctx)
		if openErr != nil {
			return db.translate("open", openErr)
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		var id int64
		if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
			return db.translate("read", err)
		}
	}
	return nil
}

// Close drains the writer, waits for readers and closes the file. Accepted appends are stored first. Nothing touches
// the file once Close has returned. It may be called more than once.
func (db *DB) Close() error {
	db.closeOnce.Do(func() {
		db.closed.Store(true)
		db.closeErr = db.release()
	})
	return db.closeErr
}

// readersEnd is how long Close waits for readers.
const readersEnd = 10 * time.Second

func (db *DB) release() error {
	var errs []error
	if db.writer != nil {
		errs = append(errs, db.writer.stop())
	}
	if db.checks != nil {
		errs = append(errs, db.checks.stop())
	}
	db.held.drain(readersEnd)
	if db.read != nil {
		errs = append(errs, db.read.Close())
	}
	errs = append(errs, db.custody.end(), db.trace.remove())
	if db.write != nil {
		errs = append(errs, db.write.Close())
	}
	errs = append(errs, db.inode.close())
	if db.lock != nil {
		errs = append(errs, db.lock.Close())
	}
	return errors.Join(errs...)
}

// Path is the absolute path of the file.
func (db *DB) Path() string { return db.path }

// Durability says what an acknowledged append survives.
func (db *DB) Durability() Durability { return db.opts.Durability }

// claim marks a fresh file as ours and refuses one that is not.
func (db *DB) claim(ctx context.Context) error {
	var id, objects int64
	if err := db.write.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return db.translate("read", err)
	}
	if err := db.write.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return db.translate("read", err)
	}
	switch {
	case id == ApplicationID:
	case id == 0 && objects == 0:
		if _, err := db.write.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", ApplicationID)); err != nil {
			return db.translate("mark", err)
		}
	default:
		return foreignFile(db.path)
	}
	var mode string
	if err := db.write.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return db.translate("start the WAL of", err)
	}
	if mode != "wal" {
		return fmt.Errorf("%s: the file system has no shared memory: journal mode stays %s", db.path, mode)
	}
	if db.opts.MaxPages > 0 {
		if _, err := db.write.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", db.opts.MaxPages)); err != nil {
			return db.translate("limit", err)
		}
	}
	return nil
}

// checkSound refuses, for read-only use, what claim and migrate refuse for writing.
func (db *DB) checkSound(ctx context.Context, pool *sql.DB) error {
	var id int64
	if err := pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return db.translate("read", err)
	}
	if id != ApplicationID {
		return foreignFile(db.path)
	}
	found, err := schemaVersion(ctx, pool)
	if err != nil {
		return db.translate("read", err)
	}
	known, err := newestSchema()
	if err != nil {
		return err
	}
	if found > known || found < known && !db.opts.OlderSchema {
		return &eventstore.SchemaError{Path: db.path, Found: found, Known: known}
	}
	return nil
}

// resolve returns one name for a file, whichever path leads to it, because its lock is beside it.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	// A link to a missing file stands for that file: otherwise two names would have two locks.
	if target, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	// The file or its directory does not exist yet; other errors appear when it is opened.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil
}

// checkFile checks the path before SQLite does: it reports whether there is a file and refuses anything but a regular
// file. It opens nothing.
func checkFile(path string) (exists bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, unreachable("look at", path, err)
	case !info.Mode().IsRegular():
		return false, &eventstore.InvalidError{Field: "db", Value: path, HintText: "name a regular file"}
	}
	if size := info.Size(); size > 0 && size < smallestDatabase {
		// SQLite would take it for an empty database and overwrite it. With a journal it may be a database, truncated
		// while it was created.
		if _, err := os.Lstat(path + "-journal"); err != nil {
			return true, &eventstore.CorruptError{Path: path, Detail: fmt.Sprintf("this is not a SQLite database: it has %d bytes", size),
				HintText: "name another file with --db, or restore a backup in its place"}
		}
	}
	return info.Size() > 0, nil
}

// smallestDatabase is one page of the smallest size, in bytes.
const smallestDatabase = 512

// createPrivate creates the empty file before SQLite does, accessible to its owner only because it will contain what
// agents say. WAL and shm inherit its mode.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return f.Close()
}

func foreignFile(path string) error {
	return &eventstore.CorruptError{Path: path, Detail: "this SQLite database was not created by openclawd",
		HintText: "name another file with --db; this one was left untouched"}
}

// fileURL always has the scheme: without it SQLite takes the query for part of the name and opens the file for
// writing.
func fileURL(path string, query url.Values) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	return u.String()
}
