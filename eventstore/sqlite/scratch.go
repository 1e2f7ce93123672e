package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	sqlite3 "modernc.org/sqlite"
	sqlite3lib "modernc.org/sqlite/lib"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/pages"
)

// ScratchOptions of CreateScratch. Log is required, and either Path or Pages.
type ScratchOptions struct {
	Path  string // the file to create; it must not exist
	Log   string // the log's file; it may be in use
	Until int64  // later events are left out
	// Whole copies the log up to Until, so that the file is a complete database that every command reads. Without it
	// the file holds only tables, and the log is read from its own file.
	Whole    bool
	Payloads Payloads // those of the log; a Whole file contains them

	// Pages keeps the tables as layers of pages instead of in a file at Path. They are read once Freeze was called; until
	// then Seal returns states on the way. Not Whole.
	Pages *pages.Dir
	// Base is the tables to start from: a state of a scratch of this log, of the newest schema. nil: empty tables. It may
	// be closed afterwards. Not Whole.
	Base *pages.Image
	// Frugal keeps small caches of pages: for tables that are made in the background, where time does not matter.
	Frugal bool
}

// Sizes of page caches in KiB: of the tables that are written, of the log attached to them, and of a connection that
// reads the log.
func (o *ScratchOptions) caches() (tables, attached, log int) {
	if o.Frugal {
		return 1_000, 500, 250
	}
	return 8_000, 4_000, readerCache
}

// Scratch is a file with the tables as of an event of a log. It has one writer and many readers, is not synced, and is
// deleted on Close unless it is Whole. Reading it is like reading a DB that ends at Until: the same tables, views and
// methods; Append returns an error. Its methods may be called concurrently.
type Scratch struct {
	opts  ScratchOptions
	until atomic.Int64
	log   *DB // the whole log, read-only
	past  *DB // reads up to Until, like a read-only log

	views []string // DDL of the views of each connection

	// With opts.Pages: what is written, nil once frozen, and what is read, nil before that.
	building, frozen *pages.File
	image            *pages.Image // of frozen

	mu    sync.Mutex // held while writing
	write *sql.DB
	conn  *sql.Conn
	tx    *tx // on conn

	closeOnce sync.Once
	closeErr  error
}

// CreateScratch creates the file, with all tables of the newest schema, empty. After an error the file is removed.
// Errors: *eventstore.InvalidError, *eventstore.CorruptError, *eventstore.SchemaError, *eventstore.DiskFullError,
// fs.ErrExist, fs.ErrNotExist.
func CreateScratch(ctx context.Context, opts ScratchOptions) (*Scratch, error) {
	var err error
	for _, path := range []*string{&opts.Path, &opts.Log} {
		if path == &opts.Path && opts.Pages != nil {
			continue
		}
		if *path == "" {
			return nil, &eventstore.InvalidError{Field: "db", Value: "", HintText: "name a file"}
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
	if opts.Pages != nil {
		err = s.makeLayers()
	} else if err = s.makeFile(); errors.Is(err, fs.ErrExist) { // it is another's
		return nil, errors.Join(fmt.Errorf("make %s: %w", opts.Path, err), s.log.Close())
	}
	if err == nil {
		err = s.open(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.translate("make", err), s.Discard())
	}
	return s, nil
}

// openUntil opens the log. It refuses a file that is not a log, and an end beyond its last event.
func openUntil(ctx context.Context, opts ScratchOptions) (*DB, error) {
	_, _, cache := opts.caches()
	log, err := Open(ctx, Options{Path: opts.Log, ReadOnly: true, OlderSchema: true, Payloads: opts.Payloads, cache: cache})
	if err != nil {
		return nil, err
	}
	head, err := log.Head(ctx)
	if err == nil && (opts.Until < 0 || opts.Until > head.Seq) {
		err = &eventstore.InvalidError{Field: "until", Value: strconv.FormatInt(opts.Until, 10), HintText: fmt.Sprintf("the log ends at event %d", head.Seq)}
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// ScratchLog is the schema name of the log's file in connections of a scratch. Its tables hold all events; the views events
// and streams, which have the same columns, end at Until. A statement without these letters names no table of the file
// that the scratch has too: a name without a schema means a temporary view or a table of the scratch first. No honest
// statement contains them, and they need no escape in any way of quoting a name.
const ScratchLog = "openclawd_whole_log"

func (s *Scratch) makeFile() error {
	made, err := os.OpenFile(s.opts.Path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if s.opts.Base == nil {
		err = writeEmpty(made)
	} else {
		_, err = s.opts.Base.WriteTo(made)
		err = errors.Join(err, made.Close())
	}
	return errors.Join(err, removeFiles(besides(s.opts.Path)))
}

func (s *Scratch) makeLayers() (err error) {
	if s.building, err = s.opts.Pages.NewFile(s.opts.Base); err != nil || s.opts.Base != nil {
		return err
	}
	fresh, err := emptyDatabase()
	if err != nil {
		return err
	}
	return s.building.Fill(fresh.content)
}

// url is the URL of the tables, which are in a file or in layers.
func (s *Scratch) url(layers *pages.File, query url.Values) string {
	if layers == nil {
		return fileURL(s.opts.Path, query)
	}
	query.Set("vfs", pages.VFS)
	return fileURL(layers.Path(), query)
}

func (s *Scratch) open(ctx context.Context) error {
	s.past = &DB{path: s.opts.Log, opts: Options{ReadOnly: true}}
	if s.opts.Payloads != nil {
		s.past.opts.Payloads = pastPayloads{s.opts.Payloads, s.log}
	}
	if err := s.makeTables(ctx); err != nil {
		return err
	}
	cache, _, _ := s.opts.caches()
	query := url.Values{
		"_synchronous": {"OFF"}, "_busy_timeout": {"5000"}, "_fk": {"1"}, "_dqs": {"0"},
		"_pragma": {"temp_store(MEMORY)", "trusted_schema(0)", cacheSize(cache), "recursive_triggers(1)"},
	}
	if s.building == nil {
		query.Set("_journal_mode", "WAL")
	} else { // there is no reader, and after an error it is discarded
		query.Set("_journal_mode", "OFF")
	}
	var err error
	s.write, err = openPrepared(s.url(s.building, query), func(ctx context.Context, conn execer) error {
		if s.building != nil { // its pages stay valid between transactions
			if _, err := conn.ExecContext(ctx, "PRAGMA main.locking_mode = EXCLUSIVE", nil); err != nil {
				return err
			}
		}
		return s.attach(ctx, conn, "") // a fold reads the event that it folds, which may be the one after Until
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
	if s.building != nil {
		return nil
	}
	return s.openPast(ctx)
}

// attach makes the log visible in a connection. bound is a condition of its events.
func (s *Scratch) attach(ctx context.Context, conn execer, bound string) error {
	if s.opts.Whole {
		return nil
	}
	settings := url.Values{}
	if s.opts.Pages != nil {
		system, err := pages.System()
		if err != nil {
			return err
		}
		settings.Set("vfs", system)
	}
	if _, err := conn.ExecContext(ctx, "ATTACH ? AS "+ScratchLog, []driver.NamedValue{{Ordinal: 1, Value: s.log.readURL(settings)}}); err != nil {
		return fmt.Errorf("attach %s: %w", s.opts.Log, err)
	}
	_, cache, _ := s.opts.caches()
	for _, ddl := range append([]string{
		"CREATE TEMP VIEW events AS SELECT * FROM " + ScratchLog + ".events" + strings.ReplaceAll(bound, "?", "seq"),
		"CREATE TEMP VIEW streams AS SELECT * FROM " + ScratchLog + ".streams" + strings.ReplaceAll(bound, "?", "id"),
		fmt.Sprintf("PRAGMA %s.cache_size = -%d", ScratchLog, cache),
	}, s.views...) {
		if _, err := conn.ExecContext(ctx, ddl, nil); err != nil {
			return fmt.Errorf("%.40s: %w", ddl, err)
		}
	}
	return nil
}

// openPast opens the tables for reading.
func (s *Scratch) openPast(ctx context.Context) (err error) {
	s.past.read, err = openPrepared(s.Reading(url.Values{
		"_busy_timeout": {"5000"}, "_dqs": {"0"}, "_defensive": {"1"},
		"_pragma": {"temp_store(MEMORY)", "cache_size(-4000)", "trusted_schema(0)"},
	}))
	if err != nil {
		return err
	}
	s.past.read.SetMaxOpenConns(max(4, runtime.NumCPU()))
	s.past.read.SetMaxIdleConns(max(4, runtime.NumCPU()))
	return s.past.read.PingContext(ctx)
}

// Reading returns the data source name of a read-only connection with these settings of the driver, and the function that
// prepares the connection, so that it reads what View does. The scratch must stay open for as long as the connection; with
// opts.Pages it must be frozen. Temporary files cannot be used.
func (s *Scratch) Reading(settings url.Values) (name string, prepare func(context.Context, driver.ExecerContext) error) {
	settings.Set("mode", "ro")
	if s.frozen != nil {
		settings.Set("immutable", "1")
	}
	return s.url(s.frozen, settings), func(ctx context.Context, conn execer) error {
		if err := s.attach(ctx, conn, " WHERE ? <= (SELECT seq FROM main.scratch_until WHERE id = 1)"); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, "PRAGMA query_only = 1", nil) // last: it would forbid temporary views as well
		return err
	}
}

// makeTables copies the log into the empty file, or drops what belongs to the log. There are no readers yet, and the
// file is removed after an error, so no journal is kept.
func (s *Scratch) makeTables(ctx context.Context) (err error) {
	pool, err := sql.Open("sqlite", s.url(s.building, url.Values{
		"_journal_mode": {"OFF"}, "_synchronous": {"OFF"}, "_dqs": {"0"}, "_pragma": {"temp_store(MEMORY)", "trusted_schema(0)", "cache_size(-16000)"},
	}))
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, pool.Close()) }()
	if s.opts.Whole {
		return s.copyLog(ctx, pool)
	}
	fresh, err := emptyDatabase()
	if err != nil {
		return err
	}
	for _, view := range fresh.views {
		s.views = append(s.views, "CREATE TEMP"+strings.TrimPrefix(view.ddl, "CREATE"))
	}
	if s.opts.Base != nil {
		_, err := pool.ExecContext(ctx, "UPDATE main.scratch_until SET seq = ?", s.opts.Until)
		return err
	}
	return s.withoutLog(ctx, pool, fresh.views)
}

// withoutLog drops the log's tables and all views.
func (s *Scratch) withoutLog(ctx context.Context, pool *sql.DB, views []object) (err error) {
	for _, view := range views {
		if _, err := pool.ExecContext(ctx, "DROP VIEW main."+view.name); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		"DROP TABLE main.events", "DROP TABLE main.streams",
		"CREATE TABLE main.scratch_until (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL) STRICT",
	} {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	_, err = pool.ExecContext(ctx, "INSERT INTO main.scratch_until VALUES (1, ?)", s.opts.Until)
	return err
}

// Seal returns the tables as they are now, which do not change when the scratch is written again. It needs opts.Pages.
func (s *Scratch) Seal() (*pages.Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.building == nil {
		return nil, errFrozen
	}
	return s.building.Seal()
}

// Freeze ends writing and opens the tables for reading. It needs opts.Pages.
func (s *Scratch) Freeze(ctx context.Context) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.building == nil {
		return errFrozen
	}
	if err := s.endWriting(); err != nil {
		return err
	}
	if s.image, err = s.building.Seal(); err != nil {
		return err
	}
	if err := s.building.Close(); err != nil {
		return err
	}
	s.building = nil
	if s.frozen, err = s.image.Open(); err != nil {
		return err
	}
	return s.openPast(ctx)
}

// Image is the tables after Freeze; nil before it, and without opts.Pages. The caller must not close it.
func (s *Scratch) Image() *pages.Image { return s.image }

var errFrozen = errors.New("the tables are complete, or in a file of their own")

// copied is the number of events per transaction of copyLog.
const copied = 50_000

// copyLog copies the log up to Until. Indexes are built last, which is faster.
func (s *Scratch) copyLog(ctx context.Context, pool *sql.DB) error {
	indexes, err := objects(ctx, pool,
		"SELECT name, sql FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = 'events' AND sql IS NOT NULL ORDER BY rowid")
	if err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, "ATTACH ? AS "+ScratchLog, s.log.readURL(nil)); err != nil {
		return fmt.Errorf("attach %s: %w", s.opts.Log, err)
	}
	for _, index := range indexes {
		if _, err := pool.ExecContext(ctx, "DROP INDEX main."+index.name); err != nil {
			return err
		}
	}
	if _, err := pool.ExecContext(ctx, "INSERT INTO main.streams SELECT * FROM "+ScratchLog+".streams WHERE id <= ? ORDER BY id", s.opts.Until); err != nil {
		return err
	}
	for after := int64(0); after < s.opts.Until; after += copied {
		until := min(after+copied, s.opts.Until)
		if _, err := pool.ExecContext(ctx,
			"INSERT INTO main.events SELECT * FROM "+ScratchLog+".events WHERE seq > ? AND seq <= ? AND data IS NOT NULL ORDER BY seq", after, until); err != nil {
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

// copyBlank copies the events whose payload is not in the log's file, with their payload if it was moved out.
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

// copyEvent skips an event that was redacted right after it had been copied.
const copyEvent = `INSERT INTO main.events (seq, id, stream_id, version, type, ver, agent_id, ts, recorded_at, correlation_id, causation_id, actor,
 data, original, salt, data_hash, hash) SELECT ?, ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM main.streams WHERE name = ?
 ON CONFLICT (seq) DO NOTHING`

// text returns JSON as SQLite stores it.
func text(json []byte) any {
	if json == nil {
		return nil
	}
	return string(json)
}

// object is an entry of a schema.
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

// Log reads the whole log, also after Until, on connections of the scratch. It is closed with the scratch.
func (s *Scratch) Log() eventstore.Reader { return s.log }

// Update runs job in one transaction of the file, and commits it if job returns nil. Updates are serialised. Under the
// names of events and streams, job reads the log's file, also after Until.
func (s *Scratch) Update(ctx context.Context, job func(eventstore.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.past.closed.Load() {
		return eventstore.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.conn == nil {
		return errFrozen
	}
	return s.translate("write to", s.conn.Raw(func(any) error { return s.transact(job) }))
}

// transact starts the write transaction with the first statement that writes, so that an attached log is not pinned
// while job runs.
func (s *Scratch) transact(job func(eventstore.Tx) error) (err error) {
	if _, err := s.tx.Exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write transaction: %v", p)
		}
		if err != nil {
			_, _ = s.tx.Exec("ROLLBACK") // SQLite may have rolled back already (disk full)
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

// ViewMarked is View with the zero Mark.
func (s *Scratch) ViewMarked(ctx context.Context, read func(*sql.Tx, eventstore.Mark) error) error {
	return s.past.ViewMarked(ctx, read)
}

// EventsIn works like DB.EventsIn.
func (s *Scratch) EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error) {
	return s.past.EventsIn(ctx, tx, seqs)
}

// Mark is unknown: what Update changes is not counted.
func (s *Scratch) Mark() eventstore.Mark { return eventstore.Mark{} }

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

// Wait implements eventstore.Reader. It does not wait: events after Until never arrive. The error is then an
// *eventstore.PastError.
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

// Append returns an *eventstore.PastError: a snapshot cannot be changed.
func (s *Scratch) Append(context.Context, ...eventstore.StreamAppend) (eventstore.Result, error) {
	return eventstore.Result{}, &eventstore.PastError{Seq: s.Until()}
}

// Until returns the seq of the last visible event.
func (s *Scratch) Until() int64 { return s.until.Load() }

// Move changes Until, to step through the log. The event must exist, and the caller must update the tables. Open views
// keep their end. A Whole file cannot be moved.
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

var errWhole = errors.New("a whole copy ends where its log ends")

// Path is the absolute path of the file.
func (s *Scratch) Path() string { return s.opts.Path }

// Close closes the file, and removes it unless it is Whole: then it syncs the file and marks it as an openclawd
// database. It may be called more than once.
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

// Discard is Close, but removes the file even if it is Whole.
func (s *Scratch) Discard() error {
	s.closeOnce.Do(func() { s.closeErr = s.remove() })
	return s.closeErr
}

// finish completes a whole database. Until it is marked, Open refuses the file.
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

// release closes all connections, the writing one last: only it can move the WAL into the file.
func (s *Scratch) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := []error{s.log.Close()}
	if s.past != nil {
		errs = append(errs, s.past.Close())
	}
	errs = append(errs, s.endWriting())
	for _, f := range []*pages.File{s.building, s.frozen} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if s.image != nil {
		errs = append(errs, s.image.Close())
	}
	s.building, s.frozen = nil, nil
	return errors.Join(errs...)
}

func (s *Scratch) endWriting() error {
	var errs []error
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
	if s.opts.Pages != nil {
		return s.release()
	}
	return errors.Join(s.release(), removeFiles(append(besides(s.opts.Path), s.opts.Path)))
}

// besides are the files that SQLite keeps beside a database.
func besides(path string) []string { return []string{path + "-wal", path + "-shm", path + "-journal"} }

func removeFiles(paths []string) (err error) {
	for _, path := range paths {
		if gone := os.Remove(path); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// pastPayloads searches the whole log for what became of a payload: it may have been moved out long after the event at
// which a scratch ends.
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
	if f := s.building; err != nil && f != nil && f.Failed() != nil {
		if failed := f.Failed(); errors.Is(failed, syscall.ENOSPC) || primaryCode(err) == sqlite3lib.SQLITE_FULL {
			return &eventstore.DiskFullError{Path: s.opts.Log, Err: failed}
		}
		return fmt.Errorf("%s the layers of tables: %w", doing, errors.Join(f.Failed(), err))
	}
	return (&DB{path: s.opts.Path}).translate(doing, err)
}

// execer is the interface of a connection that is being prepared.
type execer = driver.ExecerContext

// openPrepared opens a pool that prepares each connection before use.
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
