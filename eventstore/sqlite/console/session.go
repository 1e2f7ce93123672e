package console

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite"
	sqlite3lib "modernc.org/sqlite/lib"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// session is a connection for one query.
type session struct {
	ctx    context.Context
	path   string
	limits Limits
	conn   driver.Conn
	handle handle
	memory *account
	tables map[string]bool // names that may be read, in lower case
	made   map[string]bool // virtual tables, likewise: they may not be read
	later  map[string]bool // tables of the whole log's file that a state of the past does not have, likewise
	past   bool            // the tables are those as of an event

	text  string // text that contains the statement
	begin int    // its offset there

	refused *RefusedError // what the authorizer refused first

	stop   func() bool
	mu     sync.Mutex // held while it is interrupted or closed
	closed chan struct{}
}

// connect opens a guarded connection that is interrupted when ctx ends.
func (c *Console) connect(ctx context.Context, t *turn) (*session, error) {
	s := &session{ctx: ctx, path: c.path, limits: c.limits, past: c.past != nil, closed: make(chan struct{})}
	t.ctx = ctx
	name, prepare := c.source()
	var err error
	if s.conn, err = t.driver.Open(name); err != nil {
		return nil, s.translate(err)
	}
	if s.handle, err = handleOf(s.conn); err != nil {
		return nil, errors.Join(err, s.conn.Close())
	}
	if s.memory, err = openAccount(s.handle, s.limits.Heap, ctx.Err); err != nil {
		return nil, errors.Join(err, s.conn.Close())
	}
	if err := s.guard(prepare); err != nil {
		s.memory.lift()
		defer s.memory.close()
		return nil, errors.Join(err, s.conn.Close())
	}
	s.stop = context.AfterFunc(ctx, s.interrupt)
	return s, nil
}

// nameOf returns the data source name for the driver. Sorters and temporary tables use files, which SQLite unlinks
// before it uses them, so that a query takes little memory.
func nameOf(path string) string {
	query := url.Values{
		"mode":          {"ro"},
		"_query_only":   {"1"},
		"_busy_timeout": {"1000"},
		"_dqs":          {"0"},
		"_defensive":    {"1"},
		"_pragma":       {"temp_store(FILE)", "cache_size(-4000)", "mmap_size(0)"},
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	return u.String()
}

// source returns the data source name for the driver, and what prepares a connection.
func (c *Console) source() (name string, prepare func(context.Context, driver.ExecerContext) error) {
	if c.past == nil {
		return nameOf(c.path), func(context.Context, driver.ExecerContext) error { return nil }
	}
	return c.past.Reading(url.Values{
		"_busy_timeout": {"1000"}, "_dqs": {"0"}, "_defensive": {"1"}, "_pragma": {"temp_store(MEMORY)", "cache_size(-4000)", "mmap_size(0)"},
	})
}

// guard prepares the connection, reads which tables there are, then installs the authorizer.
func (s *session) guard(prepare func(context.Context, driver.ExecerContext) error) error {
	if err := prepare(s.ctx, s.conn.(driver.ExecerContext)); err != nil {
		return s.translate(err)
	}
	if err := s.readTables(); err != nil {
		return s.translate(err)
	}
	for id, most := range engineLimits {
		s.handle.limit(id, most)
	}
	s.handle.limit(sqlite3lib.SQLITE_LIMIT_LENGTH, int32(s.limits.Value))
	guarded, is := s.conn.(sqlite3.AuthorizerRegisterer)
	if !is {
		return errors.New("the SQLite driver has no authorizer")
	}
	return guarded.RegisterAuthorizer(s.authorize)
}

// readTables lists what may be read: tables and views of the file, but no virtual tables.
func (s *session) readTables() error {
	s.tables, s.made = maps.Clone(madeByJSON), map[string]bool{}
	for _, name := range schemaTables {
		s.tables[name] = true
	}
	const readable = "WHERE type = 'view' OR type = 'table' AND rootpage > 0"
	err := s.each("SELECT name FROM main.sqlite_schema "+readable+" UNION ALL SELECT name FROM temp.sqlite_schema "+readable, func(row []driver.Value) {
		if name, is := row[0].(string); is {
			s.tables[strings.ToLower(name)] = true
		}
	})
	if err == nil && s.past {
		err = s.readLater()
	}
	if err != nil {
		return err
	}
	return s.each("PRAGMA module_list", func(row []driver.Value) {
		if name, is := row[0].(string); is && !madeByJSON[strings.ToLower(name)] {
			s.made[strings.ToLower(name)] = true
		}
	})
}

// readLater lists the tables of the whole log's file to which a name without a schema would lead.
func (s *session) readLater() error {
	s.later = map[string]bool{}
	return s.each("SELECT name FROM "+sqlite.ScratchLog+".sqlite_schema", func(row []driver.Value) {
		if name, is := row[0].(string); is && !s.tables[strings.ToLower(name)] {
			s.later[strings.ToLower(name)] = true
		}
	})
}

// each runs a statement of our own, before the session is guarded.
func (s *session) each(statement string, row func([]driver.Value)) (err error) {
	rows, err := s.conn.(driver.QueryerContext).QueryContext(s.ctx, statement, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(values); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		row(values)
	}
}

// interruptAgain is the interval after which a session that has not ended is interrupted once more.
const interruptAgain = 10 * time.Millisecond

// interrupt ends the session's running statement.
func (s *session) interrupt() {
	again := time.NewTicker(interruptAgain)
	defer again.Stop()
	for s.interruptOnce() {
		select {
		case <-s.closed:
			return
		case <-again.C:
		}
	}
}

// interruptOnce reports whether the session was still open.
func (s *session) interruptOnce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
		s.handle.interrupt()
		return true
	}
}

// close ends the connection.
func (s *session) close() error {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.closed)
	s.memory.lift()
	defer s.memory.close()
	if err := s.conn.Close(); err != nil {
		return fmt.Errorf("close %s: %w", s.path, err)
	}
	return nil
}

// translate converts the driver's errors to typed ones.
func (s *session) translate(err error) error {
	if err == nil {
		return nil
	}
	if s.ctx.Err() != nil { // whatever its error is then
		return s.ended()
	}
	var told interface{ Code() int }
	if !errors.As(err, &told) {
		return fmt.Errorf("ask %s: %w", s.path, err)
	}
	switch code := told.Code() & 0xff; {
	case s.memory != nil && s.memory.full && (code == sqlite3lib.SQLITE_NOMEM || code == sqlite3lib.SQLITE_INTERRUPT || code == sqlite3lib.SQLITE_IOERR):
		return s.tooLarge("the statement takes too much memory")
	case s.refused != nil && (code == sqlite3lib.SQLITE_AUTH || code == sqlite3lib.SQLITE_ERROR):
		return s.refused
	case code == sqlite3lib.SQLITE_READONLY, code == sqlite3lib.SQLITE_AUTH:
		return &RefusedError{What: "a change of the database", HintText: onlyQuestions}
	case code == sqlite3lib.SQLITE_TOOBIG, code == sqlite3lib.SQLITE_NOMEM, code == sqlite3lib.SQLITE_FULL:
		return &LimitError{What: fmt.Sprintf("the statement, or a value that it produces, is too large (%s)", s.words(err)),
			HintText: fmt.Sprintf("a value may have at most %d bytes, a statement %d", s.limits.Value, MaxStatement)}
	case code == sqlite3lib.SQLITE_CORRUPT:
		return &eventstore.CorruptError{Path: s.path, Detail: "the database is damaged: " + err.Error(), Err: err,
			HintText: "openclawd verify shows how far it is intact; restore the newest backup"}
	case code == sqlite3lib.SQLITE_ERROR, code == sqlite3lib.SQLITE_MISMATCH, code == sqlite3lib.SQLITE_RANGE, code == sqlite3lib.SQLITE_CONSTRAINT:
		message, offset := s.handle.failure()
		if offset >= 0 {
			offset += s.begin
		}
		return syntaxError(message, s.text, offset)
	}
	return fmt.Errorf("ask %s: %w", s.path, err)
}

// tooLarge reports a query that exceeds its memory limit.
func (s *session) tooLarge(what string) *LimitError {
	return &LimitError{What: fmt.Sprintf("%s: a query may use at most %d bytes at a time", what, s.limits.Heap),
		HintText: "ask for less at a time: a WHERE over seq, fewer columns, or rows rather than one value made of them"}
}

// words returns SQLite's message for the last failure.
func (s *session) words(err error) string {
	if s.handle.db == 0 {
		return err.Error()
	}
	message, _ := s.handle.failure()
	return message
}
