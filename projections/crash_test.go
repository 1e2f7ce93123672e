package projections_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// crashRounds is how often each crash scenario is killed.
var crashRounds = testscale.Of(2, 20)

// crashLogSize is how many events a log of the crash scenarios gets before the next is started, so that checking stays quick.
var crashLogSize = testscale.Of[int64](100, 600)

// Promise: tables-from-log
func TestCrashWhileProjecting(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, projecting, crashRounds)
}

// Promise: tables-from-log
func TestCrashWhileRebuilding(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, rebuilding, crashRounds)
}

// projecting appends in batches of all sizes.
var projecting = storetest.Scenario{
	Name: "projection",
	Work: func(c *storetest.Child) error {
		return work(c, func(ctx context.Context, db *sqlite.DB, _ *projections.Engine, file string) error {
			return appendTalks(ctx, c, db, file, 4)
		})
	},
	Check: checkLogs,
}

// rebuilding appends while everything is rebuilt in a loop, live and offline in turn.
var rebuilding = storetest.Scenario{
	Name: "rebuild",
	Work: func(c *storetest.Child) error {
		return work(c, func(ctx context.Context, db *sqlite.DB, engine *projections.Engine, file string) error {
			engine.SetPace(50, 50, 100)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				var err error
				for n := 0; err == nil; n++ {
					err = engine.Rebuild(ctx, projections.RebuildOptions{Live: n%3 > 0})
				}
				ended <- err
			}()
			err := appendTalks(ctx, c, db, file, 2)
			cancel()
			if rebuild := <-ended; !errors.Is(rebuild, context.Canceled) {
				err = errors.Join(err, rebuild)
			}
			return err
		})
	},
	Check: checkLogs,
}

func crashLogs(dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "log-*.db"))
	if err != nil {
		panic(err) // the pattern is constant
	}
	return files
}

// work opens the newest log, works on it until it is large enough, and goes on with the next.
func work(c *storetest.Child, on func(ctx context.Context, db *sqlite.DB, engine *projections.Engine, file string) error) error {
	ctx := context.Background()
	for n := max(len(crashLogs(c.Dir)), 1); ; n++ {
		file := fmt.Sprintf("log-%03d.db", n)
		db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(c.Dir, file)})
		if err != nil {
			return err
		}
		engine, err := projections.Start(ctx, db, definitions(), projections.Options{Rules: rules})
		if err != nil {
			return err
		}
		if err := on(ctx, db, engine, file); err != nil {
			return err
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
}

func appendTalks(ctx context.Context, c *storetest.Child, db *sqlite.DB, file string, appenders int) error {
	var (
		working sync.WaitGroup
		mu      sync.Mutex
		failed  error
	)
	first := c.Rand.IntN(1_000)
	for a := range appenders {
		working.Go(func() {
			for i := first + a; ; i += appenders {
				batch := talks(i + 1 + i%7)[i:]
				result, err := db.Append(ctx, eventstore.StreamAppend{Stream: fmt.Sprint("s", a), Events: batch})
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
				for _, s := range result.Events {
					c.Ack(fmt.Sprintf("%s %s", file, s.ID))
				}
				if result.Seq >= crashLogSize {
					return
				}
			}
		})
	}
	working.Wait()
	return failed
}

// checkLogs fails t unless every log is sound and holds what was acknowledged, and the projections of the newest reflect all of it.
func checkLogs(t testing.TB, dir string, acked []string) {
	stored := map[string]bool{}
	files := crashLogs(dir)
	for i, path := range files {
		db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatalf("open what the kill has left: %v", err)
		}
		if _, err := db.Verify(context.Background(), false, nil); err != nil {
			t.Fatalf("verify what the kill has left: %v", err)
		}
		events, err := db.Read(context.Background(), 0, sqlite.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			stored[fmt.Sprintf("%s %s", filepath.Base(path), e.ID)] = true
		}
		if i == len(files)-1 {
			checkProjections(t, db)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if i := slices.IndexFunc(acked, func(ack string) bool { return !stored[ack] }); i >= 0 {
		t.Errorf("acknowledged %s is not stored", acked[i])
	}
}

func checkProjections(t testing.TB, db *sqlite.DB) {
	t.Helper()
	engine, err := projections.Start(context.Background(), db, definitions(), projections.Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range statusesOf(t, db) {
		if s.State != projections.Live || s.Lag != 0 {
			t.Errorf("status of %s is %+v", name, s)
		}
	}
	left := projectiontest.Dump(t, db, definitions()...)
	if err := engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(projectiontest.Dump(t, db, definitions()...), left); diff != "" {
		t.Errorf("tables differ from rebuilt ones (-rebuilt +left):\n%.4000s", diff)
	}
}
