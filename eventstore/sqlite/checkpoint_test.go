package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

// largeLog is a log to which large appends one event of so many bytes.
func largeLog(t *testing.T) (db *DB, large func(bytes int)) {
	t.Helper()
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, func(bytes int) {
		t.Helper()
		data := fmt.Appendf(nil, "{%q:%q}", "text", strings.Repeat("x", bytes))
		if _, err := db.Append(t.Context(), eventstore.StreamAppend{Stream: "s", Events: []eventstore.NewEvent{{Type: "t", AgentID: "a", Data: data}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// whileRead calls do while a reader holds a snapshot, as a backup does.
func whileRead(t *testing.T, db *DB, do func()) {
	t.Helper()
	err := db.View(t.Context(), func(*sql.Tx) error {
		do()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// While a backup runs the WAL cannot be moved. The writer would copy all of it once the backup has ended.
func TestWriterDoesNotMoveWhatABackupHasHeldUp(t *testing.T) {
	t.Parallel()
	db, large := largeLog(t)
	whileRead(t, db, func() {
		for range 4 * fewPages * 4096 / (512 << 10) {
			large(512 << 10)
		}
		db.checks.round()
		if db.checks.nearly.Load() {
			t.Error("the writer is to move what a reader holds up")
		}
	})
	db.checks.round()
	if !db.checks.nearly.Load() {
		t.Error("the rest is not left to the writer")
	}
}
