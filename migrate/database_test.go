package migrate_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

// agentSchema has the columns of an agent's database of 2026.9 that are read.
const agentSchema = `CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, role TEXT, schema_version INTEGER, app_version TEXT) STRICT;
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT) STRICT;
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, created_at INTEGER) STRICT;
CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, event_zstd BLOB, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE session_transcript_active_events (session_id TEXT, active_position INTEGER, event_seq INTEGER) STRICT;
CREATE TABLE session_transcript_archives (session_id TEXT, generation TEXT, session_key TEXT, reason TEXT, encoding TEXT, archive_blob BLOB, created_at INTEGER) STRICT;
CREATE TABLE session_transcript_cold_archives (session_id TEXT, archive_name TEXT) STRICT;
INSERT INTO schema_meta VALUES ('primary', 'agent', 23, '2026.9.6');
`

const edenDatabase = "agents/eden/agent/openclaw-agent.sqlite"

// database opens a database of the source for writing, as OpenClaw has it while it runs: with a write-ahead log.
func (h *home) database(name, schema string) *sql.DB {
	h.t.Helper()
	h.write(name, "")
	db, err := sqlite.OpenPlain(filepath.Join(h.dir, name), 1)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = db.Close() })
	h.exec(db, "PRAGMA wal_autocheckpoint = 0")
	for statement := range strings.SplitSeq(strings.TrimSpace(schema), ";\n") {
		h.exec(db, statement)
	}
	return db
}

func (h *home) exec(db *sql.DB, query string, args ...any) {
	h.t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		h.t.Fatalf("%s: %v", query, err)
	}
}

// events adds entries to a transcript, all of them on the active branch.
func (h *home) events(db *sql.DB, id string, from int, lines ...string) {
	h.t.Helper()
	for i, line := range lines {
		h.exec(db, "INSERT INTO transcript_events VALUES (?, ?, ?, 0, NULL)", id, from+i, strings.TrimSpace(line))
		if from+i > 0 {
			h.exec(db, "INSERT INTO session_transcript_active_events VALUES (?, ?, ?)", id, from+i-1, from+i)
		}
	}
}

func (h *home) edenDatabase() *sql.DB {
	h.t.Helper()
	db := h.database(edenDatabase, agentSchema)
	h.exec(db, `INSERT INTO session_nodes VALUES ('agent:eden:main', 't1', '{"sessionId":"t1","updatedAt":1795888200000,"label":"main one","thinkingLevel":"low"}')`)
	h.exec(db, "INSERT INTO session_windows VALUES ('t1', 'agent:eden:main', 1)")
	h.events(db, "t1", 0, header("t1"), said("a1", "user", "first", 1), `{"type":"reset","id":"r1","timestamp":"2026-11-28T10:00:02.000Z","reason":"new"}`,
		said("a2", "user", "second", 3))
	return db
}

func TestDatabasesAreReadWhileTheyAreWritten(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	db := h.edenDatabase()
	if r := h.migrate(); !r.Complete || r.Era != openclaw.EraDatabase || count(r, migrate.Sessions).New != 2 {
		t.Errorf("report %+v", r)
	}
	h.wantShown("t1", "user: first")
	h.wantShown("t1.r1", "user: second")
	if s := h.session(mainKey); s.ID != "t1.r1" || s.Label != "main one" {
		t.Errorf("session %+v", s)
	}
	before := h.head()
	if h.migrate(); h.head() != before {
		t.Errorf("the second run has added %d events", h.head()-before)
	}
	h.events(db, "t1", 4, said("a3", "assistant", "third", 4), `{"type":"reset","id":"r2","timestamp":"2026-11-28T10:00:05.000Z"}`, said("a4", "user", "fourth", 6))
	h.migrate()
	h.wantShown("t1.r1", "user: second", "assistant: third")
	h.wantShown("t1.r2", "user: fourth")
}

// A lock that OpenClaw holds keeps nothing waiting: what is committed is read, and nothing else.
func TestLockedDatabasesAreReadAsTheyWereCommitted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	db := h.edenDatabase()
	held, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := held.ExecContext(t.Context(), "BEGIN IMMEDIATE; UPDATE session_nodes SET entry_json = '{}'; DELETE FROM transcript_events"); err != nil {
		t.Fatal(err)
	}
	if r := h.migrate(); !r.Complete {
		t.Errorf("report %+v", r)
	}
	h.wantShown("t1.r1", "user: second")
	if _, err := held.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

// A transcript that comes before one that was taken over cannot be put before it.
func TestOlderTranscriptsAreLeft(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	db := h.edenDatabase()
	h.migrate()
	h.exec(db, "INSERT INTO session_windows VALUES ('t0', 'agent:eden:main', 0)")
	h.events(db, "t0", 0, header("t0"), said("z1", "user", "before", 0))
	r := h.migrate()
	wantReason(t, r, migrate.ReasonOlder, false)
	h.wantShown("t1", "user: first")
	h.wantShown("t0")
}

func TestCompressedEntriesBranchesAndArchives(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	db := h.edenDatabase()
	pack, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pack.Close()
	h.exec(db, "INSERT INTO transcript_events VALUES ('t1', 4, ?, 0, NULL)", said("a3", "user", "taken back", 4))
	h.exec(db, "INSERT INTO transcript_events VALUES ('t1', 5, NULL, 0, ?)", pack.EncodeAll([]byte(said("a4", "user", "packed", 5)), nil))
	h.exec(db, "INSERT INTO session_transcript_active_events VALUES ('t1', 4, 5)")
	h.exec(db, "INSERT INTO session_transcript_archives VALUES ('t0', 'g', 'agent:eden:gone', 'deleted', 'zstd', ?, 1)",
		pack.EncodeAll([]byte(header("t0")+said("z1", "user", "long ago", 0)), nil))
	h.exec(db, "INSERT INTO session_transcript_cold_archives VALUES ('t9', 't9.jsonl.zst')")
	r := h.migrate()
	h.wantShown("t1.r1", "user: second", "user: packed")
	h.wantShown("t0", "user: long ago")
	if r.Complete || r.Reasons[openclaw.ReasonAside] != 1 || r.Reasons[openclaw.ReasonCold] != 1 || len(r.Reasons) != 2 {
		t.Errorf("report %+v", r)
	}
}

func TestDatabasesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func(*home)
		reason string
		detail string
	}{
		"newer schema": {func(h *home) {
			h.exec(h.edenDatabase(), "UPDATE schema_meta SET schema_version = 99, app_version = '2027.1.1'")
		}, openclaw.ReasonSchema, "schema 99, of OpenClaw 2027.1.1; schemas up to 23 (2026.9.6) are known"},
		"half migrated": {func(h *home) { h.exec(h.edenDatabase(), "DROP TABLE session_windows") }, openclaw.ReasonSchema, "has no session_windows.session_key"},
		"no schema":     {func(h *home) { h.database(edenDatabase, "CREATE TABLE x (y TEXT) STRICT") }, openclaw.ReasonSchema, "does not say which schema"},
		"another file":  {func(h *home) { h.write(edenDatabase, strings.Repeat("not a database ", 1_000)) }, openclaw.ReasonInvalid, "not a database"},
		"locked": {func(h *home) {
			h.edenDatabase()
			h.write(edenDatabase+"-journal", "a transaction is under way")
		}, openclaw.ReasonBusy, "while it was copied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c.make(h)
			r := h.migrate()
			wantReason(t, r, c.reason, false)
			if len(r.Left) > 0 && !strings.Contains(r.Left[0].Detail, c.detail) {
				t.Errorf("detail %q", r.Left[0].Detail)
			}
			if h.head() != 0 {
				t.Errorf("%d events", h.head())
			}
		})
	}
}

// Copies of a run that was killed are removed by the next, and its own at its end.
func TestCopiesAreRemoved(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.edenDatabase()
	o := h.options()
	if err := os.Mkdir(filepath.Join(o.Scratch, "openclawd-migrate-123"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := migrate.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(o.Scratch)
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", fmt.Sprint(left), err)
	}
}

// An archive is read as a stream: its size costs no memory.
func TestLargeArchivesAreRead(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	db := h.edenDatabase()
	var packed bytes.Buffer
	pack, err := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(pack, header("t0")+said("z1", "user", "long ago", 0))
	blank := make([]byte, 1<<20)
	for range 300 { // one long line, which is left; more than was ever read at once
		if err == nil {
			_, err = pack.Write(blank)
		}
	}
	if err == nil {
		_, err = io.WriteString(pack, "\n"+said("z2", "user", "the end", 1))
	}
	if err = errors.Join(err, pack.Close()); err != nil {
		t.Fatal(err)
	}
	h.exec(db, "INSERT INTO session_transcript_archives VALUES ('t0', 'g', 'agent:eden:gone', 'deleted', 'zstd', ?, 1)", packed.Bytes())
	h.exec(db, "INSERT INTO session_transcript_archives VALUES ('t8', 'g', 'agent:eden:gone', 'deleted', 'zstd', ?, 2)", packed.Bytes()[:packed.Len()/2])
	r := h.migrate()
	h.wantShown("t0", "user: long ago", "user: the end")
	if r.Complete || r.Reasons[openclaw.ReasonTooLong] != 1 || r.Reasons[openclaw.ReasonUnreadable] != 1 {
		t.Errorf("report %+v", r)
	}
	h.wantShown("t8", "user: long ago")
}
