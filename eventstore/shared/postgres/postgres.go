package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Options of Open.
type Options struct {
	URL  string // postgres://user@host/database
	Name string // schema that has the tables; created if it does not exist
	// Existing asks for a log that exists: otherwise the error is eventstore.ErrNotFound.
	Existing bool
	// Attempt is how long one try to store a record waits for its answer, which may have been lost; default 2 s.
	Attempt time.Duration
}

// Log is a shared log in PostgreSQL. It implements shared.Log.
type Log struct {
	opts   Options
	pool   *pgxpool.Pool
	schema string // quoted

	warnings warnings
}

var _ shared.Log = (*Log)(nil)

// names are those of schemas that need no quotes, so that they can be typed.
var names = regexp.MustCompile(`^[a-z][a-z0-9_]{0,48}$`)

// IsName reports whether a log can have a name.
func IsName(name string) bool { return names.MatchString(name) }

const badURL = "give postgres://USER@HOST/DATABASE; in a password write other characters than letters and digits as %XX"

// CheckURL returns what is wrong with a URL, without naming any of it.
func CheckURL(url string) error {
	if _, err := pgxpool.ParseConfig(url); err != nil {
		return errors.New(badURL)
	}
	return nil
}

// Open connects to a log, and creates its tables if they do not exist.
func Open(ctx context.Context, opts Options) (*Log, error) {
	if !IsName(opts.Name) {
		return nil, &eventstore.InvalidError{Field: "name", Value: opts.Name, HintText: "use 1 to 49 lower case letters, digits and _, a letter first"}
	}
	if opts.Attempt == 0 {
		opts.Attempt = 2 * time.Second
	}
	config, err := pgxpool.ParseConfig(opts.URL)
	if err != nil {
		return nil, &eventstore.InvalidError{Field: "url", Value: "postgres://...", HintText: badURL} // it may have a password
	}
	// Whatever the default of the database is, what is acknowledged is on its disk, and on those of synchronous standbys.
	if config.ConnConfig.RuntimeParams["synchronous_commit"] == "" {
		config.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	}
	// The pool goes on connecting after its caller has given up, and counts that as one of its few connections.
	if config.ConnConfig.ConnectTimeout <= 0 {
		config.ConnConfig.ConnectTimeout = opts.Attempt
	}
	config.ConnConfig.RuntimeParams["application_name"] = "openclawd " + opts.Name
	l := &Log{opts: opts, schema: pgx.Identifier{opts.Name}.Sanitize()}
	config.ConnConfig.OnNotice = l.warnings.note
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, &shared.UnavailableError{Err: err}
	}
	l.pool = pool
	open := l.create
	if opts.Existing {
		open = l.find
	}
	if err := open(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return l, nil
}

// create makes the tables. Nodes that begin together take turns.
func (l *Log) create(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		for _, statement := range []string{
			"SELECT pg_advisory_xact_lock(hashtext('openclawd " + l.opts.Name + "'))",
			"CREATE SCHEMA IF NOT EXISTS " + l.schema,
			"CREATE TABLE IF NOT EXISTS " + l.schema + `.records (number bigint PRIMARY KEY CHECK (number > 0), first bigint NOT NULL, last bigint NOT NULL,
 before bytea NOT NULL, after bytea NOT NULL, epoch bigint NOT NULL, node text NOT NULL, body bytea NOT NULL)`,
			"CREATE INDEX IF NOT EXISTS records_last ON " + l.schema + ".records (last, number)",
			"CREATE TABLE IF NOT EXISTS " + l.schema + `.lease (one boolean PRIMARY KEY CHECK (one), node text NOT NULL, token text NOT NULL,
 until timestamptz NOT NULL)`,
			"CREATE TABLE IF NOT EXISTS " + l.schema + ".nodes (node text PRIMARY KEY, said bytea NOT NULL, until timestamptz NOT NULL)",
		} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return nil
	}
	return refusal("create the tables of the shared log", err)
}

// find looks for the tables.
func (l *Log) find(ctx context.Context) error {
	var there bool
	err := l.pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", l.schema+".records").Scan(&there)
	switch {
	case err != nil:
		return refusal("look for the shared log", err)
	case !there:
		return eventstore.ErrNotFound
	}
	return nil
}

// refusal says of an error of opening whether it passes by itself.
func refusal(doing string, err error) error {
	refused := new(pgconn.PgError)
	switch {
	case errors.As(err, &refused) && hints[refused.Code] != "":
		return &shared.RefusedError{Err: err, HintText: hints[refused.Code]}
	}
	return &shared.UnavailableError{Err: fmt.Errorf("%s: %w", doing, err)}
}

// hints say what to do about refusals that do not pass by themselves, by SQLSTATE.
var hints = map[string]string{
	"28000": "let the user connect in pg_hba.conf, or name another user",
	"28P01": "correct user and password in the URL",
	"3D000": "create the database, or name another one in the URL",
	"42501": "GRANT CREATE ON DATABASE to the user, or create the schema as one that the user owns",
}

// Synced asks the server whether what it acknowledges is on its disk. doubt is why that is not known; the error is a
// *shared.UnsafeError if it is not.
func (l *Log) Synced(ctx context.Context) (doubt string, err error) {
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		var value string
		if err := l.pool.QueryRow(ctx, "SELECT current_setting($1)", setting).Scan(&value); err != nil {
			return "", &shared.UnavailableError{Err: err}
		}
		if value == "off" {
			return "", &shared.UnsafeError{Detail: "the database server has " + setting + " off",
				HintText: "set " + setting + " = on in postgresql.conf, or set cluster.durability to relaxed"}
		}
	}
	return "", nil
}

// Close implements shared.Log.
func (l *Log) Close() error {
	l.pool.Close()
	return nil
}

const columns = "number, first, last, before, after, epoch, node"

// Head implements shared.Log.
func (l *Log) Head(ctx context.Context) (shared.Head, error) {
	var r shared.Record
	err := scan(l.pool.QueryRow(ctx, "SELECT "+columns+" FROM "+l.schema+".records ORDER BY number DESC LIMIT 1"), &r)
	if errors.Is(err, pgx.ErrNoRows) {
		return shared.Head{}, nil
	}
	return r.Head(), err
}

// scan reads the columns of a record, then more.
func scan(row pgx.Row, r *shared.Record, more ...any) error {
	var before, after []byte
	err := row.Scan(append([]any{&r.Number, &r.First, &r.Last, &before, &after, &r.Epoch, &r.Node}, more...)...)
	if err == nil && (len(before) != len(r.Before) || len(after) != len(r.After)) {
		err = &shared.UnsoundError{Number: r.Number, Detail: "its hashes do not have 32 bytes"}
	}
	copy(r.Before[:], before)
	copy(r.After[:], after)
	return err
}

// Append implements shared.Log.
func (l *Log) Append(ctx context.Context, r shared.Record) error {
	return shared.Deliver(ctx, transport{l}, r)
}

// transport is a log without repetition.
type transport struct{ *Log }

// Send implements shared.Transport. If the place is being taken by a transaction that has not ended, it waits for that.
func (l transport) Send(ctx context.Context, r shared.Record) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Attempt+time.Duration(len(r.Body)>>20)*l.opts.Attempt/4)
	defer cancel()
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return &shared.UnavailableError{Err: err}
	}
	defer conn.Release()
	l.warnings.take(conn.Conn().PgConn())
	// One round trip: a statement that is prepared first would not be sent while answers are lost.
	done, err := conn.Exec(ctx, "WITH stored AS (INSERT INTO "+l.schema+".records ("+columns+", body) SELECT $1::bigint, $2::bigint, $3::bigint, $4::bytea, $5::bytea, $6::bigint, $7::text, $8::bytea"+
		" WHERE $1::bigint = 1 OR EXISTS (SELECT 1 FROM "+l.schema+".records WHERE number = $1::bigint - 1 AND after = $4::bytea) RETURNING number)"+
		" SELECT pg_notify('"+l.opts.Name+"', number::text) FROM stored",
		pgx.QueryExecModeExec, r.Number, r.First, r.Last, r.Before[:], r.After[:], r.Epoch, r.Node, r.Body)
	refused := new(pgconn.PgError)
	switch {
	case errors.As(err, &refused) && refused.Code == uniqueViolation:
		return shared.ErrPlace
	case errors.As(err, &refused) && refused.Severity == "ERROR":
		if refused.Code == readOnly {
			_ = conn.Conn().Close(ctx) // it has become a standby: the next one finds the primary
		}
		return &shared.UnavailableError{Err: err} // the statement failed as a whole
	case err != nil && pgconn.SafeToRetry(err):
		return &shared.UnavailableError{Err: err} // nothing was sent
	case err != nil:
		return err
	case done.RowsAffected() == 0:
		return shared.ErrPlace
	case l.warnings.take(conn.Conn().PgConn()):
		return errWarned
	}
	return nil
}

const (
	uniqueViolation = "23505"
	readOnly        = "25006"
)

// Head implements shared.Transport, for one try.
func (l transport) Head(ctx context.Context) (shared.Head, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Attempt)
	defer cancel()
	return l.Log.Head(ctx)
}

// Read implements shared.Log.
func (l *Log) Read(ctx context.Context, after int64, limit int) ([]shared.Record, error) {
	rows, err := l.pool.Query(ctx, "SELECT "+columns+", body FROM "+l.schema+".records WHERE number > $1 ORDER BY number LIMIT $2", after, limit)
	if err != nil {
		return nil, err
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r shared.Record, err error) {
		err = scan(row, &r, &r.Body)
		return r, err
	})
	for i := range records {
		if want := after + int64(i) + 1; records[i].Number != want {
			return nil, &shared.UnsoundError{Number: want, Detail: "it is missing from the table"}
		}
	}
	return records, err
}

// Find implements shared.Log.
func (l *Log) Find(ctx context.Context, seq int64) (number int64, err error) {
	err = l.pool.QueryRow(ctx, "SELECT number FROM "+l.schema+".records WHERE last >= $1 ORDER BY last, number LIMIT 1", seq).Scan(&number)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, eventstore.ErrNotFound
	}
	return number, err
}

// lookAgain is how long Watch waits for a notice before it looks by itself.
const lookAgain = time.Second

// Watch implements shared.Log. Notices only wake it: what it passes on, it reads.
func (l *Log) Watch(ctx context.Context, after int64, handle func([]shared.Record) error) error {
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "LISTEN "+l.schema); err != nil {
		return err
	}
	defer func() { _ = conn.Conn().Close(context.WithoutCancel(ctx)) }() // it must not listen for others
	return shared.Poll(ctx, after, handle, l.Read, func(ctx context.Context, _ int64) error {
		brief, cancel := context.WithTimeout(ctx, lookAgain)
		defer cancel()
		_, err := conn.Conn().WaitForNotification(brief)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
			return nil
		}
		return err
	})
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// Redact implements shared.Log. Dead rows keep the payloads until the database vacuums them, its WAL until it is
// recycled.
func (l *Log) Redact(ctx context.Context, seqs []int64) error {
	return shared.Redact(ctx, l, seqs, func(ctx context.Context, without shared.Record, changed bool) error {
		if !changed {
			return nil
		}
		_, err := l.pool.Exec(ctx, "UPDATE "+l.schema+".records SET body = $2 WHERE number = $1", without.Number, without.Body)
		return err
	})
}

// Left implements shared.Leaver.
func (l *Log) Left() shared.Left {
	return shared.Left{Place: "free space and WAL of the database server",
		Hint: "run VACUUM FULL " + l.opts.Name + ".records and CHECKPOINT, and remove WAL archives and backups made before"}
}
