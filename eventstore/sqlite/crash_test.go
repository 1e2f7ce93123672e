package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/migrations"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// migrationRounds is how often a migration is killed.
var migrationRounds = testscale.Of(2, 20)

// crashRounds is how often appending is killed.
var crashRounds = testscale.Of(2, 20)

// crashLogSize is how many events a log of the crash scenarios gets before the next is started, so that checking stays quick.
var crashLogSize = testscale.Of[int64](200, 1_000)

// Promise: acknowledged
func TestCrashWhileAppending(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, appending, crashRounds)
}

func TestCrashWhileMigrating(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, migrating, migrationRounds)
}

// appending has several goroutines append pairs of events, each pair to two streams at once, and now and then the same pair again.
var appending = storetest.Scenario{
	Name: "append",
	Work: func(c *storetest.Child) error {
		ctx := context.Background()
		files := logsIn(c.Dir)
		for n := max(len(files), 1); ; n++ {
			name := fmt.Sprintf("log-%03d.db", n)
			db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(c.Dir, name)})
			if err != nil {
				return err
			}
			if _, err := projections.Start(ctx, db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
				return err
			}
			if err := appendPairs(ctx, c, db, name); err != nil {
				return err
			}
			if err := db.Close(); err != nil {
				return err
			}
		}
	},
	Check: func(t testing.TB, dir string, acked []string) {
		ofFile := map[string][]string{}
		for _, ack := range acked {
			file, pair, _ := strings.Cut(ack, " ")
			ofFile[file] = append(ofFile[file], pair)
		}
		files := logsIn(dir)
		for file := range ofFile {
			if !slices.Contains(files, filepath.Join(dir, file)) {
				t.Errorf("%s is gone", file)
			}
		}
		for i, path := range files {
			db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
			if err != nil {
				t.Fatalf("open what the kill has left: %v", err)
			}
			checkPairs(t, db, ofFile[filepath.Base(path)])
			if i == len(files)-1 {
				checkTables(t, db)
			}
			closeLog(t, db)
		}
	},
}

func logsIn(dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "log-*.db"))
	if err != nil {
		panic(err) // the pattern is constant
	}
	return files
}

// appendPairs appends until the log is large enough.
func appendPairs(ctx context.Context, c *storetest.Child, db *sqlite.DB, file string) error {
	var (
		working sync.WaitGroup
		mu      sync.Mutex
		failed  error
	)
	round := c.Rand.Uint32()
	for w := range 4 {
		working.Go(func() {
			for n := 0; ; n++ {
				pair := fmt.Sprintf("%08x.%d.%d", round, w, n)
				stored, err := db.Append(ctx, half(pair, "left"), half(pair, "right"))
				if err == nil && n%5 == 0 {
					var again eventstore.Result
					if again, err = db.Append(ctx, half(pair, "left"), half(pair, "right")); err == nil && !again.Events[0].Duplicate {
						err = fmt.Errorf("%s was stored twice", pair)
					}
				}
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
				c.Ack(file + " " + pair)
				if stored.Seq >= crashLogSize {
					return
				}
			}
		})
	}
	working.Wait()
	return failed
}

// half is one of the two events of a pair. Its id follows from its name.
func half(pair, side string) eventstore.StreamAppend {
	e := message(len(pair))
	e.ID = halfID(pair, side)
	e.Data = object(map[string]any{"pair": pair, "workSessionId": "ws_" + pair[:8], "conversationId": "c" + pair[9:10], "fromAgent": "main",
		"toAgent": "ruda"})
	return to(side, e)
}

func halfID(pair, side string) eventstore.ID {
	return eventstore.DerivedID(epoch, eventstore.PayloadHash([]byte(pair), []byte(side), nil))
}

// checkPairs fails t unless the log is sound, holds what was acknowledged, and no half of a pair.
func checkPairs(t testing.TB, db *sqlite.DB, acked []string) {
	t.Helper()
	h, err := db.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	verify(t, db, h.Seq)
	events, err := db.Read(context.Background(), 0, sqlite.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[eventstore.ID]bool{}
	for _, e := range events {
		stored[e.ID] = true
	}
	if len(stored) != len(events) {
		t.Errorf("%d events have %d ids", len(events), len(stored))
	}
	for _, pair := range acked {
		if !stored[halfID(pair, "left")] || !stored[halfID(pair, "right")] {
			t.Fatalf("acknowledged pair %s is not stored", pair)
		}
	}
	for i, e := range events {
		if i%2 == 1 && string(e.Data) != string(events[i-1].Data) {
			t.Fatalf("event %d stands without its other half", e.Seq)
		}
	}
	if len(events)%2 != 0 {
		t.Errorf("%d events are stored of pairs", len(events))
	}
}

// checkTables fails t unless the projections reflect the whole log.
func checkTables(t testing.TB, db *sqlite.DB) {
	t.Helper()
	engine := project(t, db)
	live := projectiontest.Dump(t, db, definitions()...)
	if stale, err := engine.Stale(context.Background()); err != nil || len(stale) > 0 {
		t.Fatalf("projections %v are stale, %v", stale, err)
	}
	if err := engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(projectiontest.Dump(t, db, definitions()...), live); diff != "" {
		t.Fatalf("tables differ from rebuilt ones (-rebuilt +left):\n%s", diff)
	}
}

// oldEvents is the number of events to migrate.
const oldEvents = 200

// migrating opens copies of a file of schema 1, one after the other.
var migrating = storetest.Scenario{
	Name: "migration",
	Work: func(c *storetest.Child) error {
		seed := filepath.Join(c.Dir, "seed.db")
		if _, err := os.Stat(seed); err != nil {
			if err := makeOld(c.Dir, seed); err != nil {
				return err
			}
		}
		old, err := os.ReadFile(seed)
		if err != nil {
			return err
		}
		round := c.Rand.Uint32()
		for n := range 1_000 {
			path := filepath.Join(c.Dir, fmt.Sprintf("log-%08x-%d.db", round, n))
			if err := os.WriteFile(path+".new", old, 0o600); err != nil {
				return err
			}
			if err := os.Rename(path+".new", path); err != nil {
				return err
			}
			for range 2 { // the second time there is nothing left to do
				db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Now: atEpoch})
				if err != nil {
					return err
				}
				c.Ack(filepath.Base(path))
				if err := db.Close(); err != nil {
					return err
				}
			}
			if n > 0 { // one of the finished is enough to look at
				if err := removeWith(filepath.Join(c.Dir, fmt.Sprintf("log-%08x-%d.db", round, n-1))); err != nil {
					return err
				}
			}
		}
		return nil
	},
	Check: func(t testing.TB, dir string, acked []string) {
		for _, path := range logsIn(dir) {
			if version := migrated(t, path); version < newest(t) && slices.Contains(acked, filepath.Base(path)) {
				t.Errorf("%s was migrated, and has schema %d", path, version)
			}
			for _, path := range append(backupsOf(t, path), path) {
				if strings.Contains(path, ".part") {
					continue // the kill came before it was a backup
				}
				db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Now: atEpoch})
				if err != nil {
					t.Fatalf("open what the kill has left: %v", err)
				}
				verify(t, db, oldEvents)
				closeLog(t, db)
			}
			if err := removeWith(path); err != nil {
				t.Fatal(err)
			}
		}
	},
}

// removeWith removes a log and what lies beside it.
func removeWith(path string) error {
	files, err := filepath.Glob(path + "*")
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}

func makeOld(dir, seed string) error {
	making, err := os.MkdirTemp(dir, "making")
	if err != nil {
		return err
	}
	path := filepath.Join(making, "seed.db")
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Now: atEpoch, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		return err
	}
	for i := range oldEvents / 10 {
		var events []eventstore.NewEvent
		for j := range 10 {
			events = append(events, message(10*i+j))
		}
		if _, err := db.Append(context.Background(), to("log", events...)); err != nil {
			return err
		}
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := withGoose(path, func(p *goose.Provider) error { _, err := p.DownTo(context.Background(), 1); return err }); err != nil {
		return err
	}
	return os.Rename(path, seed)
}

// newest is the schema version of this code: there is a file for each.
func newest(t testing.TB) int64 {
	t.Helper()
	files, err := migrations.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(files))
}
