package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

// A text is prepared once for each connection, and yet may be asked within itself, fail, and find another schema.
func TestKeptStatements(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	mustAppend(t, db, says("a"))
	mustAppend(t, db, says("b"))
	const query = "SELECT seq FROM events WHERE seq >= ? ORDER BY seq"
	view := func(ctx context.Context, read func(*sql.Tx) error) {
		t.Helper()
		if err := db.View(ctx, read); err != nil {
			t.Error(err)
		}
	}
	seqsFrom := func(tx *sql.Tx, from int64, each func()) (seqs []int64) {
		rows, err := tx.QueryContext(t.Context(), query, from)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var seq int64
			if err := rows.Scan(&seq); err != nil {
				t.Fatal(err)
			}
			each()
			seqs = append(seqs, seq)
		}
		return seqs
	}
	for range 3 {
		view(t.Context(), func(tx *sql.Tx) error {
			inner := 0
			if outer := seqsFrom(tx, 1, func() { inner += len(seqsFrom(tx, 2, func() {})) }); len(outer) != 2 || inner != 2 {
				t.Errorf("%d events, and within each %d together; want 2 and 2", len(outer), inner)
			}
			return nil
		})
		// A failure and a cancelled read leave a statement that can be used.
		view(t.Context(), func(tx *sql.Tx) error {
			var n int64
			if err := tx.QueryRowContext(t.Context(), "SELECT abs(?)", int64(-5)).Scan(&n); err != nil {
				t.Error(err)
			}
			if err := tx.QueryRowContext(t.Context(), "SELECT abs(?)", int64(-1<<63)).Scan(&n); err == nil {
				t.Error("an overflow is no error")
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		err := db.View(ctx, func(tx *sql.Tx) error {
			rows, err := tx.QueryContext(ctx, query, 0)
			if err != nil {
				return err
			}
			cancel()
			return errors.Join(rows.Close(), ctx.Err())
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled read: %v", err)
		}
	}
	added := "ALTER TABLE projections ADD COLUMN extra TEXT DEFAULT 'x'"
	for i, columns := range []int{0, 1} {
		view(t.Context(), func(tx *sql.Tx) error {
			rows, err := tx.QueryContext(t.Context(), "SELECT * FROM projections")
			if err != nil {
				return err
			}
			names, err := rows.Columns()
			if got := strings.Count(strings.Join(names, ","), "extra"); got != columns {
				t.Errorf("%d new columns, want %d", got, columns)
			}
			return errors.Join(err, rows.Close())
		})
		if i == 0 {
			if err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error { _, err := tx.Exec(added); return err }, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Many texts are asked through few connections, and those that are too long to be kept.
func TestMoreStatementsThanAreKept(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	mustAppend(t, db, says("a"))
	for i := range 600 {
		text := "SELECT seq FROM events WHERE seq = ?" + strings.Repeat(" ", i) + strings.Repeat(" ", 10*max(0, i-200))
		if err := db.View(t.Context(), func(tx *sql.Tx) error {
			var seq int64
			return tx.QueryRowContext(t.Context(), text, 1).Scan(&seq)
		}); err != nil {
			t.Fatalf("text %d: %v", i, err)
		}
	}
}

// A statement with a bound LIMIT is used as it was prepared, by readers and by decisions. If SQLite had prepared it again,
// the number would be part of it.
func TestBoundLimitsAreNotPreparedAgain(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	const query, limit = "EXPLAIN SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT ?", 7_777
	check := func(by, opcode string, p1 int64) {
		if opcode == "Integer" && p1 == limit {
			t.Errorf("prepared again for %s", by)
		}
	}
	err := db.View(t.Context(), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(t.Context(), query, 0, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var at, p1 int64
			var opcode string
			var rest any
			if err := rows.Scan(&at, &opcode, &p1, &rest, &rest, &rest, &rest, &rest); err != nil {
				return err
			}
			check("a reader", opcode, p1)
		}
		return rows.Err()
	})
	if err != nil {
		t.Error(err)
	}
	_, err = db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		return nil, tx.Query(query, []any{0, limit}, func(r eventstore.Row) error {
			check("a decision", r.Text(1), r.Int(2))
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}
