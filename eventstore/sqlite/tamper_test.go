package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Promise: append-only
func TestTriggersKeepTheLogAppendOnly(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	for i := range 4 {
		mustAppend(t, db, send(i))
	}
	if err := db.Redact(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	plain, err := sqlite.OpenPlain(db.Path(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	// Without this a foreign connection may replace rows; the chain detects that.
	if _, err := plain.ExecContext(t.Context(), "PRAGMA recursive_triggers = ON"); err != nil {
		t.Fatal(err)
	}
	const columns = `seq, id, stream_id, version, type, ver, agent_id, ts, recorded_at, correlation_id, causation_id, actor, data, original,
 salt, data_hash, hash`
	for _, statement := range []string{
		"DELETE FROM events WHERE seq = 2",
		"DELETE FROM events",
		"UPDATE events SET data = '{}' WHERE seq = 2",
		"UPDATE events SET type = 'x' WHERE seq = 2",
		"UPDATE events SET data = NULL WHERE seq = 2",
		"UPDATE events SET data = NULL, original = NULL, salt = NULL, ts = 1 WHERE seq = 2",
		"UPDATE events SET seq = 9 WHERE seq = 4",
		"UPDATE events SET data = '{}', salt = x'00' WHERE seq = 4",
		"INSERT OR REPLACE INTO events (" + columns + ") SELECT " + columns + " FROM events WHERE seq = 2",
		"REPLACE INTO events (" + columns + ") SELECT seq + 10, id, stream_id, version + 10" + columns[len("seq, id, stream_id, version"):] +
			" FROM events WHERE seq = 2",
	} {
		if _, err := plain.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s: was allowed", statement)
		}
	}
	if _, err := plain.ExecContext(t.Context(), "UPDATE events SET data = NULL, original = NULL, salt = NULL WHERE seq = 2"); err != nil {
		t.Errorf("blanking is forbidden: %v", err)
	}
	verify(t, db, 4)
}

func TestRedactionOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	if err := db.Redact(t.Context(), 1); err == nil {
		t.Error("an event that does not exist was redacted")
	}
}

// Promise: append-only
func TestVerifyNamesTheEventThatWasChanged(t *testing.T) {
	t.Parallel()
	const dropped = "DROP TRIGGER events_are_never_deleted; DROP TRIGGER events_are_only_blanked;"
	log := sound(t)
	for _, tt := range []struct {
		name string
		sql  string
		seq  int64 // 0: nothing is wrong
	}{
		{"nothing", "SELECT 1", 0},
		{"triggers gone", dropped, 100},
		{"one trigger gone", "DROP TRIGGER events_are_only_blanked", 100},
		{"trigger that does nothing", `DROP TRIGGER events_are_never_deleted;
			CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events BEGIN SELECT 1; END`, 100},
		{"trigger added", "CREATE TRIGGER more AFTER INSERT ON events BEGIN DELETE FROM projections; END", 100},
		{"index added", "CREATE INDEX more ON events (ts)", 0},
		{"index that lies", `PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET sql = replace(sql, '(stream_id, version)', '(version, stream_id)') WHERE name = 'events_by_stream'`, 100},
		{"payload", dropped + `UPDATE events SET data = '{"forged":1}' WHERE seq = 7`, 7},
		{"payload of the first", dropped + `UPDATE events SET data = '{"forged":1}' WHERE seq = 1`, 1},
		{"salt", dropped + "UPDATE events SET salt = zeroblob(16) WHERE seq = 7", 7},
		{"parts of the payload moved about", dropped + "UPDATE events SET salt = CAST(salt || data AS BLOB), data = '{}' WHERE seq = 7", 7},
		{"salt of another length", dropped + "UPDATE events SET salt = zeroblob(17) WHERE seq = 7", 7},
		{"original added", dropped + "UPDATE events SET original = '{}' WHERE seq = 7", 7},
		{"blanked in part", dropped + "UPDATE events SET data = NULL WHERE seq = 7", 7},
		{"payload given back to a blanked one", dropped + "UPDATE events SET data = '{}', salt = zeroblob(16) WHERE seq = 5", 5},
		{"id", dropped + "UPDATE events SET id = zeroblob(16) WHERE seq = 7", 7},
		{"type", dropped + "UPDATE events SET type = 'forged' WHERE seq = 7", 7},
		{"agent", dropped + "UPDATE events SET agent_id = 'forged' WHERE seq = 7", 7},
		{"time", dropped + "UPDATE events SET ts = ts + 1 WHERE seq = 7", 7},
		{"recorded", dropped + "UPDATE events SET recorded_at = recorded_at - 1 WHERE seq = 7", 7},
		{"actor", dropped + "UPDATE events SET actor = 'human' WHERE seq = 7", 7},
		{"correlation", dropped + "UPDATE events SET correlation_id = 'forged' WHERE seq = 7", 7},
		{"version", dropped + "UPDATE events SET version = version + 1000 WHERE seq = 7", 7},
		{"data hash", dropped + "UPDATE events SET data_hash = zeroblob(32) WHERE seq = 5", 5},
		{"hash", dropped + "UPDATE events SET hash = zeroblob(32) WHERE seq = 7", 7},
		{"name of the stream", "UPDATE streams SET name = 'forged' WHERE id = 2", 2},
		{"row gone", dropped + "DELETE FROM events WHERE seq = 7", 8},
		{"first row gone", dropped + "DELETE FROM events WHERE seq = 1", 2},
		{"stream gone", "DELETE FROM streams WHERE id = 3", 4},
		{"stream of the last event gone", "DELETE FROM streams WHERE name = 'last'", 100},
		{"rows swapped", dropped + `UPDATE events SET seq = 1000 WHERE seq = 7; UPDATE events SET seq = 7 WHERE seq = 8;
			UPDATE events SET seq = 8 WHERE seq = 1000`, 7},
		{"row forged at the end", `INSERT INTO events SELECT 101, zeroblob(16), stream_id, version + 1000, type, ver, agent_id, ts, recorded_at,
			correlation_id, causation_id, actor, data, original, salt, data_hash, hash FROM events WHERE seq = 99`, 101},
		{"payload and all that SQLite enforces", dropped + `UPDATE events SET data = '{"forged":1}' WHERE seq = 7;
			CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events BEGIN SELECT 1; END;
			CREATE TRIGGER events_are_only_blanked BEFORE UPDATE ON events BEGIN SELECT 1; END`, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := tampered(t, log, tt.sql)
			for _, opts := range []sqlite.Options{{Path: path, ReadOnly: true}, {Path: path}} {
				db, err := sqlite.Open(t.Context(), opts)
				if err != nil { // the last events are looked at already at the start
					wantHint(t, err)
					continue
				}
				_, err = db.Verify(t.Context(), false, nil)
				closeLog(t, db)
				if tt.seq == 0 {
					if err != nil {
						t.Errorf("verify: %v", err)
					}
					continue
				}
				if found := wantAs[*sqlite.TamperError](t, err); found.Seq != tt.seq || found.Hint() == "" {
					t.Errorf("event %d is named (%v), want %d", found.Seq, found, tt.seq)
				}
			}
		})
	}
}

// sound is the file of a closed log of 100 events, of which the fifth is blanked.
func sound(t *testing.T) []byte {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Now: atEpoch})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 33 {
		mustAppend(t, db, send(i), send(i+1), send(i+2))
	}
	mustAppend(t, db, to("last", message(99)))
	if err := db.Redact(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	closeLog(t, db)
	return read(t, db.Path())
}

// tampered is the file of a closed log after the statements were run on it.
func tampered(t *testing.T, log []byte, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	write(t, path, log)
	alter(t, path, statements)
	return path
}

func TestVerifySaysHowFarItIs(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{Path: tampered(t, sound(t), "SELECT 1"), Now: atEpoch})
	var done, total int64
	proof, err := db.Verify(t.Context(), true, func(d, t int64) { done, total = d, t })
	if err != nil {
		t.Fatal(err)
	}
	want := sqlite.Verification{Events: 100, Redacted: 1, Streams: 4, ChainOnly: true}
	h, err := db.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want.Head = h.Hash; proof != want {
		t.Errorf("proof is %+v, want %+v", proof, want)
	}
	if done != 100 || total != 100 {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	if want.Head == (eventstore.Hash{}) {
		t.Error("the head has no hash")
	}
}

// Appends during the read are no tampering.
func TestVerifyBesideAppends(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	project(t, db)
	reader := open(t, sqlite.Options{Path: db.Path(), ReadOnly: true})
	stop := make(chan struct{})
	appended := make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				appended <- nil
				return
			default:
			}
			if _, err := db.Append(t.Context(), send(i)); err != nil {
				appended <- err
				return
			}
		}
	}()
	for i := range 25 {
		for name, log := range map[string]*sqlite.DB{"the writer": db, "a reader": reader} {
			if _, err := log.Verify(t.Context(), i%2 == 0, nil); err != nil {
				t.Errorf("verify by %s: %v", name, err)
			}
		}
	}
	close(stop)
	if err := <-appended; err != nil {
		t.Error(err)
	}
}

func TestLogThatLostItsEndIsNotSound(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 20)
	alter(t, path, "DROP TRIGGER events_are_never_deleted", "DELETE FROM events WHERE seq > 17")
	for _, opts := range []sqlite.Options{{Path: path, ReadOnly: true}, {Path: path}} {
		db, err := sqlite.Open(t.Context(), opts)
		if err != nil {
			wantHint(t, err)
			continue
		}
		_, err = db.Verify(t.Context(), true, nil)
		closeLog(t, db)
		if found := wantAs[*sqlite.TamperError](t, err); found.Seq != 18 {
			t.Errorf("event %d is named (%v), want 18", found.Seq, found)
		}
	}
}
