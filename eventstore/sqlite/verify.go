package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Verification is the result of Verify.
type Verification struct {
	Events     int64           `json:"events"`
	Redacted   int64           `json:"redacted"`
	Archived   int64           `json:"archived"` // their payloads were read from archives
	Streams    int64           `json:"streams"`
	Head       eventstore.Hash `json:"head"`
	ChainOnly  bool            `json:"chainOnly"`
	QuickCheck bool            `json:"quickCheck"` // SQLite's own structural check passed
}

// TamperError names the first event at which the log differs from what was appended.
type TamperError struct {
	Path string
	Seq  int64
	What string
}

func (e *TamperError) Error() string { return fmt.Sprintf("%s: event %d: %s", e.Path, e.Seq, e.What) }
func (e *TamperError) Code() string  { return "tampered" }
func (e *TamperError) Hint() string {
	return "the log was changed by another program; restore a backup made before the change, and compare with openclawd events show"
}

// Verify reads the whole log and checks that it is gapless, that recorded times never decrease, that stream versions
// count 1, 2, 3, that every payload matches its hash and every hash links to the previous one. Unless chainOnly, it
// also checks that the append-only triggers and the tables are unchanged and that SQLite finds its structure intact.
// progress may be nil. The error is a *TamperError or *CorruptError, or an *eventstore.ArchivedError for archived
// payloads that are unavailable.
func (db *DB) Verify(ctx context.Context, chainOnly bool, progress func(done, total int64)) (Verification, error) {
	proof := Verification{ChainOnly: chainOnly}
	leave, err := db.held.enter()
	if err != nil {
		return proof, err
	}
	defer leave()
	var head int64 // from the bare table: an event whose stream row is missing cannot be read otherwise
	if err := db.read.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&head); err != nil {
		return proof, db.translate("read", err)
	}
	versions := map[string]int64{}
	var prev eventstore.Event
	for {
		events, blank, err := db.readToVerify(ctx, prev.Seq)
		if err != nil {
			return proof, err
		}
		for i := range events {
			e := &events[i]
			if err := checkLink(&prev, e); err != nil {
				return proof, &TamperError{Path: db.path, Seq: e.Seq, What: err.Error()}
			}
			if versions[e.Stream]++; versions[e.Stream] != e.Version {
				return proof, &TamperError{Path: db.path, Seq: e.Seq,
					What: fmt.Sprintf("is version %d of %s, but %d comes next", e.Version, e.Stream, versions[e.Stream])}
			}
			proof.Events++
			if e.Redacted() {
				proof.Redacted++
				blank--
			}
			prev = *e
		}
		proof.Archived += blank
		if progress != nil {
			progress(prev.Seq, head)
		}
		if len(events) < 1000 {
			break
		}
	}
	if prev.Seq < head {
		return proof, &TamperError{Path: db.path, Seq: prev.Seq + 1, What: "is missing, or its stream is"}
	}
	proof.Streams, proof.Head = int64(len(versions)), prev.Hash
	if err := db.checkTail(ctx, prev.Seq); err != nil {
		return proof, err
	}
	if chainOnly {
		return proof, nil
	}
	if err := db.checkGuards(ctx, prev.Seq); err != nil {
		return proof, err
	}
	if err := db.QuickCheck(ctx); err != nil {
		return proof, err
	}
	proof.QuickCheck = true
	return proof, nil
}

// readToVerify reads the next events, and returns how many of their payloads are not in the file.
func (db *DB) readToVerify(ctx context.Context, after int64) (events []eventstore.Event, blank int64, err error) {
	if events, err = db.rows(ctx, selectEvents+" WHERE e.seq > ? ORDER BY e.seq LIMIT ?", after, 1000); err != nil {
		return nil, 0, err
	}
	for i := range events {
		if events[i].Redacted() {
			blank++
		}
	}
	return events, blank, fillAll(ctx, db.opts.Payloads, ofLog{db}, events)
}

// QuickCheck makes SQLite check the structure of the whole file, which takes seconds for a large one. The error is a
// *CorruptError.
func (db *DB) QuickCheck(ctx context.Context) error { return db.check(ctx, "PRAGMA quick_check(1)") }

// IntegrityCheck is QuickCheck that also checks every index against its table.
func (db *DB) IntegrityCheck(ctx context.Context) error {
	return db.check(ctx, "PRAGMA integrity_check(1)")
}

func (db *DB) check(ctx context.Context, pragma string) error {
	giveBack, err := db.held.hold()
	if err != nil {
		return err
	}
	defer giveBack()
	var verdict string
	if err := db.read.QueryRowContext(ctx, pragma).Scan(&verdict); err != nil {
		return db.translate("check", err)
	}
	if verdict != "ok" {
		return db.damaged(verdict, errors.New(verdict), "restore the newest backup")
	}
	return nil
}

// checkGuards compares the definitions of the log's tables, indexes and triggers with those of the migrations.
// Additional indexes are harmless, additional triggers are not.
func (db *DB) checkGuards(ctx context.Context, head int64) error {
	want, err := newestGuards()
	if err != nil {
		return err
	}
	found, err := definitions(ctx, db.read)
	if err != nil {
		return db.translate("check", err)
	}
	for name, ddl := range want {
		if found[name] == ddl || found[name] == "" && laterTriggers[name] {
			continue
		}
		what := "the definition of " + name + " was changed"
		if trigger, ok := strings.CutPrefix(name, triggerKind); ok {
			what = "the append-only triggers are missing or changed (" + trigger + ")"
		}
		return &TamperError{Path: db.path, Seq: head, What: what + ": another program had the file open for writing"}
	}
	for name := range found {
		if _, ours := want[name]; !ours && strings.HasPrefix(name, triggerKind) {
			return &TamperError{Path: db.path, Seq: head, What: name + " was added: another program had the file open for writing"}
		}
	}
	return nil
}

const triggerKind = "trigger "

// laterTriggers guard nothing: they keep the table unsettled. Files of earlier versions, such as old backups, lack them.
var laterTriggers = map[string]bool{triggerKind + "events_open": true, triggerKind + "events_settle": true}

// newestGuards are the definitions of a freshly migrated in-memory database, by kind and name. Those that guard the log never change.
var newestGuards = sync.OnceValues(func() (map[string]string, error) {
	ctx := context.Background()
	fresh, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return nil, err
	}
	defer fresh.Close()
	fresh.SetMaxOpenConns(1) // another connection would be another database
	p, err := provider(fresh)
	if err != nil {
		return nil, err
	}
	if _, err := p.Up(ctx); err != nil {
		return nil, fmt.Errorf("create the schema to compare with: %w", err)
	}
	return definitions(ctx, fresh)
})

func definitions(ctx context.Context, pool *sql.DB) (map[string]string, error) {
	rows, err := pool.QueryContext(ctx,
		"SELECT type, name, sql FROM sqlite_schema WHERE tbl_name IN ('events', 'streams') AND sql IS NOT NULL")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ddl := map[string]string{}
	for rows.Next() {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return nil, err
		}
		ddl[kind+" "+name] = text
	}
	return ddl, rows.Err()
}

// checkTail detects that the newest events are missing: a projection reflects more than the log has. head may be
// outdated.
func (db *DB) checkTail(ctx context.Context, head int64) error {
	var name string
	var seq int64
	err := db.read.QueryRowContext(ctx, `SELECT name, seq FROM projections
 WHERE seq > (SELECT coalesce(max(seq), 0) FROM events) ORDER BY seq DESC LIMIT 1`).Scan(&name, &seq)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return db.translate("check", err)
	}
	return &TamperError{Path: db.path, Seq: head + 1, What: fmt.Sprintf("is missing: projection %s reflects the log up to %d", name, seq)}
}

// checkLink returns an error if e cannot be the event that follows prev. prev is the zero Event for the first.
func checkLink(prev, e *eventstore.Event) error {
	switch {
	case e.Seq != prev.Seq+1:
		return fmt.Errorf("comes after %d: events are missing", prev.Seq)
	case e.Redacted() && (e.Original != nil || e.Salt != nil):
		return fmt.Errorf("redacted only in part")
	case e.RecordedAt < prev.RecordedAt:
		return fmt.Errorf("recorded at %d, before the previous event", e.RecordedAt)
	case !e.Redacted() && len(e.Salt) != eventstore.SaltBytes:
		return fmt.Errorf("salt has %d bytes, not %d: the parts of its payload were moved", len(e.Salt), eventstore.SaltBytes)
	case !e.Redacted() && eventstore.PayloadHash(e.Salt, e.Data, e.Original) != e.DataHash:
		return fmt.Errorf("payload differs from the one appended")
	case eventstore.ChainHash(prev.Hash, e) != e.Hash:
		return fmt.Errorf("hash does not link to the previous event: a column or an earlier event was changed")
	}
	return nil
}
