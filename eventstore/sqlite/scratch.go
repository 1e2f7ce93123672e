package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	sqlite3 "modernc.org/sqlite"

	"github.com/pronto-lab/openclawd/eventstore"
)

// ScratchOptions of CreateScratch. Path and Log are required.
type ScratchOptions struct {
	Path  string // of the file to make; there must be none
	Log   string // the log's file; it may be in use
	Until int64  // events after this one are not there
	// Whole copies the log up to Until, so that the file is a database of its own, which every command reads. Without it the file holds
	// tables only, and the log is read where it lies.
	Whole    bool
	Payloads Payloads // those of the log; a Whole file has them in it
}

// Scratch is a file of tables as they stood at an event of a log. It has one writer and many readers, is not synced, and is thrown away
// unless it is Whole. Reading it is like reading a DB that ends at Until: the same tables, views and methods, of which Append refuses.
// Its methods may be called concurrently.
type Scratch struct {
	opts  ScratchOptions
	until atomic.Int64
	log   *DB // all of it, for reading only
	past  *DB // reads up to Until, as a log that is open for reading only

	mu    sync.Mutex // held while writing
	write *sql.DB
	conn  *sql.Conn
	tx    *tx // on conn

	closeOnce sync.Once
	closeErr  error
}

// CreateScratch makes the file, with every table of the newest schema, all of them empty. What a failed one has made is removed.
// Errors: *eventstore.InvalidError, *eventstore.CorruptError, *eventstore.SchemaError, *eventstore.DiskFullError, fs.ErrExist, fs.ErrNotExist.
func CreateScratch(ctx context.Context, opts ScratchOptions) (*Scratch, error) {
	var err error
	for _, path := range []*string{&opts.Path, &opts.Log} {
		if *path == "" {
			return nil, &eventstore.InvalidError{Field: "db", Value: "", Mend: "name a file"}
		}
		if *path, err = resolve(*path); err != nil {
			return nil, fmt.Errorf("resolve %s: %w", *path, err)
		}
	}
	s := &Scratch{opts: opts}
	s.until.Store(opts.Until)
	if s.log, err = openUntil(ctx, opts); err != nil {
		return nil, err
	}
	made, err := os.OpenFile(opts.Path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make %s: %w", opts.Path, err), s.log.Close())
	}
	if err = errors.Join(writeEmpty(made), removeFiles(besides(opts.Path))); err == nil {
		err = s.open(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.translate("make", err), s.Discard())
	}
	return s, nil
}

// openUntil opens the log. It refuses what is none, and an end that it does not have.
func openUntil(ctx context.Context, opts ScratchOptions) (*DB, error) {
	log, err := Open(ctx, Options{Path: opts.Log, ReadOnly: true, OlderSchema: true, Payloads: opts.Payloads})
	if err != nil {
		return nil, err
	}
	head, err := log.Head(ctx)
	if err == nil && (opts.Until < 0 || opts.Until > head.Seq) {
		err = &eventstore.InvalidError{Field: "until", Value: strconv.FormatInt(opts.Until, 10), Mend: fmt.Sprintf("the log ends at event %d", head.Seq)}
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// theLog is the name under which connections of a scratch know the log's file.
const theLog = "log"

func (s *Scratch) open(ctx context.Context) error {
	views, err := s.makeTables(ctx)
	if err != nil {
		return err
	}
	connect := func(ctx context.Context, conn execer, bound string) error {
		if s.opts.Whole {
			return nil
		}
		if _, err := conn.ExecContext(ctx, "ATTACH ? AS "+theLog, []driver.NamedValue{{Ordinal: 1, Value: s.log.readURL(nil)}}); err != nil {
			return fmt.Errorf("attach %s: %w", s.opts.Log, err)
		}
		for _, ddl := range []string{
			"CREATE TEMP VIEW events AS SELECT * FROM " + theLog + ".events" + strings.ReplaceAll(bound, "?", "seq"),
			"CREATE TEMP VIEW streams AS SELECT * FROM " + theLog + ".streams" + strings.ReplaceAll(bound, "?", "id"),
			"PRAGMA " + theLog + ".cache_size = -4000",
		} {
			if _, err := conn.ExecContext(ctx, ddl, nil); err != nil {
				return fmt.Errorf("%.40s: %w", ddl, err)
			}
		}
		for _, ddl := range views {
			if _, err := conn.ExecContext(ctx, ddl, nil); err != nil {
				return fmt.Errorf("%.40s: %w", ddl, err)
			}
		}
		return nil
	}
	s.write, err = openPrepared(fileURL(s.opts.Path, url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"OFF"}, "_busy_timeout": {"5000"}, "_fk": {"1"}, "_dqs": {"0"},
		"_pragma": {"temp_store(MEMORY)", "trusted_schema(0)", "cache_size(-16000)", "recursive_triggers(1)"},
	}), func(ctx context.Context, conn execer) error {
		return connect(ctx, conn, "") // a fold reads the event that it folds, which may be the one after Until
	})
	if err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.conn, err = s.write.Conn(ctx); err != nil {
		return err
	}
	if err := s.conn.Raw(func(dc any) error {
		s.tx = newTx(dc.(driverConn))
		return nil
	}); err != nil {
		return err
	}
	s.past = &DB{path: s.opts.Log, opts: Options{ReadOnly: true}}
	if s.opts.Payloads != nil {
		s.past.opts.Payloads = pastPayloads{s.opts.Payloads, s.log}
	}
	s.past.read, err = openPrepared(fileURL(s.opts.Path, url.Values{
		"mode": {"ro"}, "_busy_timeout": {"5000"}, "_dqs": {"0"}, "_defensive": {"1"},
		"_pragma": {"temp_store(MEMORY)", "cache_size(-4000)", "trusted_schema(0)"},
	}), func(ctx context.Context, conn execer) error {
		if err := connect(ctx, conn, " WHERE ? <= (SELECT seq FROM main.scratch_until WHERE id = 1)"); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, "PRAGMA query_only = 1", nil) // last: it would forbid temporary views as well
		return err
	})
	if err != nil {
		return err
	}
	s.past.read.SetMaxOpenConns(max(4, runtime.NumCPU()))
	s.past.read.SetMaxIdleConns(max(4, runtime.NumCPU()))
	return s.past.read.PingContext(ctx)
}

// makeTables copies the log into the empty file, or drops what belongs to the log. It returns what makes the views again. Nobody else looks yet,
// and what fails is removed, so no journal is kept.
func (s *Scratch) makeTables(ctx context.Context) (views []string, err error) {
	pool, err := sql.Open("sqlite", fileURL(s.opts.Path, url.Values{
		"_journal_mode": {"OFF"}, "_synchronous": {"OFF"}, "_dqs": {"0"}, "_pragma": {"temp_store(MEMORY)", "trusted_schema(0)", "cache_size(-16000)"},
	}))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, pool.Close()) }()
	if s.opts.Whole {
		return nil, s.copyLog(ctx, pool)
	}
	return s.withoutLog(ctx, pool)
}

// withoutLog drops the log's tables and all views, and returns what makes the views again for one connection.
func (s *Scratch) withoutLog(ctx context.Context, pool *sql.DB) (views []string, err error) {
	objects, err := objects(ctx, pool, "SELECT name, sql FROM main.sqlite_schema WHERE type = 'view' ORDER BY rowid")
	if err != nil {
		return nil, err
	}
	for _, view := range objects {
		if _, err := pool.ExecContext(ctx, "DROP VIEW main."+view.name); err != nil {
			return nil, err
		}
		views = append(views, "CREATE TEMP"+strings.TrimPrefix(view.ddl, "CREATE"))
	}
	for _, statement := range []string{
		"DROP TABLE main.events", "DROP TABLE main.streams",
		"CREATE TABLE main.scratch_until (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL) STRICT",
	} {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	_, err = pool.ExecContext(ctx, "INSERT INTO main.scratch_until VALUES (1, ?)", s.opts.Until)
	return views, err
}

// copied is how many events one transaction of copyLog takes.
const copied = 50_000

// copyLog copies the log up to Until. Indexes are built last, which is faster.
func (s *Scratch) copyLog(ctx context.Context, pool *sql.DB) error {
	indexes, err := objects(ctx, pool,
		"SELECT name, sql FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = 'events' AND sql IS NOT NULL ORDER BY rowid")
	if err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, "ATTACH ? AS "+theLog, s.log.readURL(nil)); err != nil {
		return fmt.Errorf("attach %s: %w", s.opts.Log, err)
	}
	for _, index := range indexes {
		if _, err := pool.ExecContext(ctx, "DROP INDEX main."+index.name); err != nil {
			return err
		}
	}
	if _, err := pool.ExecContext(ctx, "INSERT INTO main.streams SELECT * FROM "+theLog+".streams WHERE id <= ? ORDER BY id", s.opts.Until); err != nil {
		return err
	}
	for after := int64(0); after < s.opts.Until; after += copied {
		until := min(after+copied, s.opts.Until)
		if _, err := pool.ExecContext(ctx,
			"INSERT INTO main.events SELECT * FROM "+theLog+".events WHERE seq > ? AND seq <= ? AND data IS NOT NULL ORDER BY seq", after, until); err != nil {
			return err
		}
		if err := s.copyBlank(ctx, pool, after, until); err != nil {
			return err
		}
	}
	for _, index := range indexes {
		if _, err := pool.ExecContext(ctx, index.ddl); err != nil {
			return err
		}
	}
	return nil
}

// copyBlank copies the events whose payload is not in the log's file, with their payload where it was moved out.
func (s *Scratch) copyBlank(ctx context.Context, pool *sql.DB, after, until int64) error {
	for {
		events, err := s.log.events(ctx, selectEvents+" WHERE e.seq > ? AND e.seq <= ? AND e.data IS NULL ORDER BY e.seq LIMIT 500", after, until)
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			e := &events[i]
			if _, err := pool.ExecContext(ctx, copyEvent,
				e.Seq, e.ID[:], e.Version, e.Type, e.Ver, e.AgentID, e.TS, e.RecordedAt, e.CorrelationID, e.CausationID, string(e.Actor),
				text(e.Data), text(e.Original), e.Salt, e.DataHash[:], e.Hash[:], e.Stream); err != nil {
				return err
			}
		}
		after = events[len(events)-1].Seq
	}
}

// copyEvent passes over an event that was redacted right after it had been copied.
const copyEvent = `INSERT INTO main.events (seq, id, stream_id, version, type, ver, agent_id, ts, recorded_at, correlation_id, causation_id, actor,
 data, original, salt, data_hash, hash) SELECT ?, ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM main.streams WHERE name = ?
 ON CONFLICT (seq) DO NOTHING`

// text is JSON as SQLite stores it.
func text(json []byte) any {
	if json == nil {
		return nil
	}
	return string(json)
}

// object is something that a schema names.
type object struct{ name, ddl string }

func objects(ctx context.Context, pool *sql.DB, query string) (list []object, err error) {
	rows, err := pool.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.name, &o.ddl); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, rows.Err()
}

// Update runs job in one transaction of the file, and commits it if job returns nil. Updates follow one another. Under the names of events and
// streams job finds the log where it lies, also after Until.
func (s *Scratch) Update(ctx context.Context, job func(eventstore.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.past.closed.Load() {
		return eventstore.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.translate("write to", s.conn.Raw(func(any) error { return s.transact(job) }))
}

// transact begins to write with the first statement that does: an attached log is then not pinned for as long as job takes.
func (s *Scratch) transact(job func(eventstore.Tx) error) (err error) {
	if _, err := s.tx.Exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write transaction: %v", p)
		}
		if err != nil {
			_, _ = s.tx.Exec("ROLLBACK") // SQLite may have rolled back by itself (disk full)
		}
	}()
	if err := job(s.tx); err != nil {
		return err
	}
	_, err = s.tx.Exec("COMMIT")
	return err
}

// View runs read in one read transaction. The names of tables, views, events and streams are those of a DB.
func (s *Scratch) View(ctx context.Context, read func(*sql.Tx) error) error {
	return s.past.View(ctx, read)
}

// EventsIn is DB.EventsIn.
func (s *Scratch) EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error) {
	return s.past.EventsIn(ctx, tx, seqs)
}

// Head implements eventstore.Reader.
func (s *Scratch) Head(ctx context.Context) (eventstore.Head, error) { return s.past.Head(ctx) }

// Read implements eventstore.Reader.
func (s *Scratch) Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error) {
	return s.past.Read(ctx, after, limit)
}

// ReadStream implements eventstore.Reader.
func (s *Scratch) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error) {
	return s.past.ReadStream(ctx, stream, after, limit)
}

// Event implements eventstore.Reader.
func (s *Scratch) Event(ctx context.Context, seq int64) (eventstore.Event, error) {
	return s.past.Event(ctx, seq)
}

// EventByID implements eventstore.Reader.
func (s *Scratch) EventByID(ctx context.Context, id eventstore.ID) (eventstore.Event, error) {
	return s.past.EventByID(ctx, id)
}

// StreamVersion implements eventstore.Reader.
func (s *Scratch) StreamVersion(ctx context.Context, stream string) (int64, error) {
	return s.past.StreamVersion(ctx, stream)
}

// Wait implements eventstore.Reader. It waits for nothing: an event after Until does not come. The error is then an *eventstore.PastError.
func (s *Scratch) Wait(_ context.Context, seq int64) (int64, error) {
	until := s.Until()
	switch {
	case s.past.closed.Load():
		return 0, eventstore.ErrClosed
	case seq > until:
		return until, &eventstore.PastError{Seq: until}
	}
	return until, nil
}

// Append refuses: what has been is not changed. The error is an *eventstore.PastError.
func (s *Scratch) Append(context.Context, ...eventstore.StreamAppend) (eventstore.Result, error) {
	return eventstore.Result{}, &eventstore.PastError{Seq: s.Until()}
}

// Until is the last event that is there.
func (s *Scratch) Until() int64 { return s.until.Load() }

// Move changes Until, for those who step through the log. The event must be there, and the tables are the caller's to bring along. Views that
// are under way end at the event at which they began. A Whole file cannot be moved.
func (s *Scratch) Move(ctx context.Context, until int64) error {
	if s.opts.Whole {
		return errWhole
	}
	err := s.Update(ctx, func(tx eventstore.Tx) error {
		_, err := tx.Exec("UPDATE main.scratch_until SET seq = ? WHERE id = 1", until)
		return err
	})
	if err == nil {
		s.until.Store(until)
	}
	return err
}

var errWhole = errors.New("a database of its own ends where its log ends")

// Path is the absolute path of the file.
func (s *Scratch) Path() string { return s.opts.Path }

// Close closes the file, and removes it unless it is Whole: then it brings the file to disk, and marks it as a database of ours. It may be called
// more than once.
func (s *Scratch) Close() error {
	s.closeOnce.Do(func() {
		if s.opts.Whole {
			if s.closeErr = s.finish(); s.closeErr == nil {
				return
			}
		}
		s.closeErr = errors.Join(s.closeErr, s.remove())
	})
	return s.closeErr
}

// Discard is Close for a file that is not wanted: it is removed also if it is Whole.
func (s *Scratch) Discard() error {
	s.closeOnce.Do(func() { s.closeErr = s.remove() })
	return s.closeErr
}

// finish leaves a whole database. Until it is marked, Open refuses the file.
func (s *Scratch) finish() error {
	_, err := s.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA application_id = %d", ApplicationID))
	if err = errors.Join(err, s.release()); err != nil {
		return s.translate("finish", err)
	}
	for _, path := range []string{s.opts.Path, filepath.Dir(s.opts.Path)} {
		f, err := os.Open(path) // after SQLite has closed it
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// release closes all connections, those that write last: they alone can take the WAL into the file.
func (s *Scratch) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := []error{s.log.Close()}
	if s.past != nil {
		errs = append(errs, s.past.Close())
	}
	if s.tx != nil {
		errs = append(errs, s.conn.Raw(func(any) error { return s.tx.forget() }))
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.write != nil {
		errs = append(errs, s.write.Close())
	}
	s.tx, s.conn, s.write = nil, nil, nil
	return errors.Join(errs...)
}

func (s *Scratch) remove() error {
	return errors.Join(s.release(), removeFiles(append(besides(s.opts.Path), s.opts.Path)))
}

// besides are the files that SQLite keeps beside one.
func besides(path string) []string { return []string{path + "-wal", path + "-shm", path + "-journal"} }

func removeFiles(paths []string) (err error) {
	for _, path := range paths {
		if gone := os.Remove(path); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// pastPayloads looks into the whole log for what became of a payload: it may have been moved out long after the event at which a scratch ends.
type pastPayloads struct {
	Payloads
	log *DB
}

func (p pastPayloads) Going(ctx context.Context, _ Viewer) (map[int64]bool, error) {
	return p.Payloads.Going(ctx, p.log)
}

func (p pastPayloads) Lost(ctx context.Context, _ Viewer, blank []int64) error {
	return p.Payloads.Lost(ctx, p.log, blank)
}

func (s *Scratch) translate(doing string, err error) error {
	return (&DB{path: s.opts.Path}).translate(doing, err)
}

// execer is what a connection does before it comes to use.
type execer = driver.ExecerContext

// openPrepared opens a pool whose connections are prepared before they are used.
func openPrepared(dsn string, prepare func(context.Context, execer) error) (*sql.DB, error) {
	lockOnce.Do(func() { lockErr = useOFDLocks() })
	if lockErr != nil {
		return nil, lockErr
	}
	base, err := sqlite3.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(prepared{base, prepare}), nil
}

type prepared struct {
	driver.Connector
	prepare func(context.Context, execer) error
}

func (p prepared) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, conn.(execer)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
