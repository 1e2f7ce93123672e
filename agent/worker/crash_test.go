package worker_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// crashLogSize is how many events a log of the crash scenario gets before the next is started, so that checking stays quick.
var crashLogSize = testscale.Of[int64](100, 600)

// crashRounds is how many kills the crash scenario has to survive, unless the environment says otherwise.
var crashRounds = testscale.Of(3, 20)

// Whatever was asked for is done after any kill, in order per key, with one end; only what a kill met under way is done once more.
func TestCrashWhileWorking(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, tasks, crashRounds)
}

// tasks asks for effects, whose deeds are lines of a file beside the log: "<effect> <attempt>". Each acknowledgement is "<log> <effect>".
var tasks = storetest.Scenario{
	Name: "tasks",
	Work: func(c *storetest.Child) error {
		for n := max(len(crashLogs(c.Dir)), 1); ; n++ {
			path := filepath.Join(c.Dir, fmt.Sprintf("log-%03d.db", n))
			l, err := open(path)
			if err != nil {
				return err
			}
			stop, err := deeds(l, path)
			if err != nil {
				return err
			}
			if err := errors.Join(askUntilLarge(c, l, path), idle(l), stop(), l.Close()); err != nil {
				return err
			}
		}
	},
	Check: checkCrashLogs,
}

func crashLogs(dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "log-*.db"))
	if err != nil {
		panic(err) // the pattern is constant
	}
	return files
}

// deeds runs a worker on a log until stop is called.
func deeds(l *log, path string) (stop func() error, err error) {
	file, err := os.OpenFile(path+".deeds", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	do := func(_ context.Context, item workqueue.Item) error {
		_, err := fmt.Fprintf(file, "%s %d\n", item.EffectID, item.Attempt)
		return err
	}
	w := worker.New(worker.Options{Log: l, Handlers: task(worker.Policy{MaxAttempts: 1000}, do), Pools: func() map[string]int { return map[string]int{"p": 3} }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, file.Close())
	}, nil
}

// askUntilLarge has a few askers with keys of their own.
func askUntilLarge(c *storetest.Child, l *log, path string) error {
	const askers = 4
	var asking sync.WaitGroup
	errs := make([]error, askers)
	for a := range askers {
		key := fmt.Sprintf("%x", c.Rand.Uint64())
		asking.Go(func() {
			for n := 0; errs[a] == nil; n++ {
				w := effect(fmt.Sprintf("%s.%d", key, n), key)
				w.Owner = fmt.Sprint("agent", a)
				asked, err := worker.Schedule(w)
				if err == nil {
					_, err = l.Append(context.Background(), asked)
				}
				if errs[a] = err; err != nil {
					return
				}
				c.Ack(filepath.Base(path) + " " + w.EffectID)
				if head, err := l.Head(context.Background()); err != nil || head.Seq > crashLogSize {
					errs[a] = err
					return
				}
			}
		})
	}
	asking.Wait()
	return errors.Join(errs...)
}

// idle waits until nothing is left in the queue.
func idle(l *log) error {
	ctx := context.Background()
	for {
		head, err := l.Head(ctx)
		if err != nil {
			return err
		}
		var left []workqueue.Lane
		if err := l.View(ctx, func(tx *sql.Tx) (err error) {
			left, err = workqueue.Lanes(ctx, tx)
			return err
		}); err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		if _, err := l.Wait(ctx, head.Seq+1); err != nil {
			return err
		}
	}
}

func checkCrashLogs(t testing.TB, dir string, acked []string) {
	ended := map[string]bool{}
	files := crashLogs(dir)
	for i, path := range files {
		l := openAt(t, path)
		if i == len(files)-1 {
			finish(t, l, path)
		}
		for _, id := range checkDeeds(t, l, path) {
			ended[filepath.Base(path)+" "+id] = true
		}
		l.close(t)
	}
	if i := slices.IndexFunc(acked, func(ack string) bool { return !ended[ack] }); i >= 0 {
		t.Errorf("acknowledged %s was not done", acked[i])
	}
}

// finish does what the kill has left, and checks the tables.
func finish(t testing.TB, l *log, path string) {
	t.Helper()
	if _, err := l.Verify(context.Background(), false, nil); err != nil {
		t.Fatalf("verify what the kill has left: %v", err)
	}
	left := projectiontest.Dump(t, l, workqueue.Definition())
	if err := l.engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(projectiontest.Dump(t, l, workqueue.Definition()), left); diff != "" {
		t.Errorf("tables differ from rebuilt ones (-rebuilt +left):\n%.4000s", diff)
	}
	stop, err := deeds(l, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(idle(l), stop()); err != nil {
		t.Fatal(err)
	}
}

// checkDeeds compares a log with the deeds beside it, and lists the effects that have ended.
func checkDeeds(t testing.TB, l *log, path string) (ended []string) {
	t.Helper()
	text, err := os.ReadFile(path + ".deeds")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	deeds, firsts := map[string]int{}, map[string][]string{} // how often by effect; effects in order by key
	for line := range strings.Lines(string(text)) {
		id, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		key, _, _ := strings.Cut(id, ".")
		if deeds[id]++; deeds[id] == 1 {
			firsts[key] = append(firsts[key], id)
		}
	}
	events, err := l.Read(context.Background(), 0, sqlite.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	type tally struct{ leased, restarts, ends int }
	counts := map[string]*tally{}
	order := map[string][]string{} // ends by key
	for _, e := range events {
		id := strings.TrimPrefix(e.Stream, "work/")
		c := counts[id]
		if c == nil {
			c = &tally{}
			counts[id] = c
		}
		switch change, _ := work.Of(e.Type, e.AgentID, e.Data); change.Step {
		case work.Lease:
			c.leased++
		case work.Return:
			c.restarts++
		case work.Remove, work.Park:
			c.ends++
			key, _, _ := strings.Cut(id, ".")
			order[key] = append(order[key], id)
			if e.Type != coordination.TypeWorkCompleted {
				t.Errorf("%s ended with %s", id, e.Type)
			}
			ended = append(ended, id)
		}
	}
	for id, c := range counts {
		if c.ends != 1 || c.leased != c.restarts+1 {
			t.Errorf("%s has %d ends, was leased %d times and taken back %d times", id, c.ends, c.leased, c.restarts)
		}
		if n := deeds[id]; n < 1 || n > c.leased {
			t.Errorf("%s was done %d times, but leased %d times", id, n, c.leased)
		}
	}
	for key, ids := range firsts {
		for n, id := range ids {
			if id != fmt.Sprintf("%s.%d", key, n) {
				t.Errorf("%s was done as number %d", id, n)
			}
		}
		if !slices.Equal(order[key], ids) {
			t.Errorf("key %s ended in the order %v", key, order[key])
		}
	}
	return ended
}
