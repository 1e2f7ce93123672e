package debugger

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

const rules = coordination.RulesV2

var noon = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

// newLog is an empty log with its tables.
func newLog(t testing.TB) *sqlite.DB {
	t.Helper()
	log, _ := projectiontest.New(t, sqlite.Options{Now: func() time.Time { return noon }, Random: rand.NewChaCha8([32]byte{1})}, database.Projections(rules)...)
	return log
}

// golden is a log of an earlier release.
func golden(t testing.TB, name string) *sqlite.DB {
	t.Helper()
	log := newLog(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := database.NewImporter(log, slog.New(slog.DiscardHandler), nil).Import(t.Context(), bytes.NewReader(text), name); err != nil {
		t.Fatal(err)
	}
	return log
}

// team is a log in which three agents work together.
func team(t testing.TB) *sqlite.DB {
	t.Helper()
	log := newLog(t)
	projectiontest.Tell(t, log, noon.UnixMilli()).Team()
	return log
}

func headOf(t testing.TB, log eventstore.Reader) int64 {
	t.Helper()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

// machineOn returns a machine at an event of a log.
func machineOn(t testing.TB, opts Options, at int64) *Machine {
	t.Helper()
	opts.Rules, opts.Dir = rules, t.TempDir()
	m := New(opts)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := m.Goto(t.Context(), at, nil); err != nil {
		t.Fatalf("go to %d: %v", at, err)
	}
	return m
}
