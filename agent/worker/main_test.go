package worker_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func TestMain(m *testing.M) {
	testscale.Checks(2, 20)
	storetest.CrashMain(m, tasks)
}

// log is a log with the queue in it.
type log struct {
	*sqlite.DB
	engine *projections.Engine
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, workqueue.Definition()))

func open(path string) (*log, error) {
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		return nil, err
	}
	engine, err := projections.Start(context.Background(), db, []projections.Definition{workqueue.Definition()}, projections.Options{Rules: coordination.RulesV2})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &log{db, engine}, nil
}

func openAt(t testing.TB, path string) *log {
	t.Helper()
	l, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// emptyAt puts an empty log into a directory.
func emptyAt(t testing.TB, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "log.db")
	storetest.Copy(t, emptyLog, path)
	return path
}

func (l *log) close(t testing.TB) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// inBubble runs a test with a log of its own and a clock that moves when everybody waits.
func inBubble(t *testing.T, test func(t *testing.T, l *log)) {
	path := emptyAt(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l := openAt(t, path)
		defer l.close(t)
		test(t, l)
	})
}

// pass lets time go by.
func pass(d time.Duration) { <-time.After(d) }

// hands is a worker at work.
type hands struct {
	*worker.Worker
	stop    context.CancelFunc
	stopped chan error
	logged  *lines
}

// start runs a worker with what Options lack: pools "p" for 2 and "q" for 1, a logger.
func (l *log) start(t testing.TB, opts worker.Options) *hands {
	t.Helper()
	h := &hands{stopped: make(chan error, 1), logged: &lines{}}
	if opts.Log == nil {
		opts.Log = l
	}
	if opts.Pools == nil {
		opts.Pools = func() map[string]int { return map[string]int{"p": 2, "q": 1} }
	}
	opts.Logger = slog.New(slog.NewTextHandler(h.logged, nil))
	if opts.Jitter == nil {
		opts.Jitter = func() float64 { return 0 }
	}
	h.Worker = worker.New(opts)
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() { h.stopped <- h.Run(ctx) }()
	return h
}

func (h *hands) end(t testing.TB) {
	t.Helper()
	h.stop()
	if err := <-h.stopped; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// lines keeps what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// ask asks for effects "<key>/<n>" of a kind.
func (l *log) ask(t testing.TB, what ...coordination.WorkScheduled) {
	t.Helper()
	var appends []eventstore.StreamAppend
	for _, w := range what {
		a, err := worker.Schedule(w)
		if err != nil {
			t.Fatal(err)
		}
		appends = append(appends, a)
	}
	if _, err := l.Append(context.Background(), appends...); err != nil {
		t.Fatal(err)
	}
}

func effect(id, key string) coordination.WorkScheduled {
	return coordination.WorkScheduled{EffectID: id, Kind: "k", Key: key, Pool: "p", Owner: "eden"}
}

// history lists the types of an effect's events, without "work." and with what tells attempts apart.
func (l *log) history(t testing.TB, effectID string) (types []string) {
	t.Helper()
	events, err := l.ReadStream(context.Background(), work.Stream(effectID), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		var data coordination.WorkAttempt
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		line := strings.TrimPrefix(e.Type, "work.")
		for _, more := range []string{data.Reason, data.By, data.Error} {
			if more != "" {
				line += " " + more
			}
		}
		if data.DueAtMs > 0 && e.Type != coordination.TypeWorkScheduled {
			line += fmt.Sprint(" in ", time.Duration(data.DueAtMs-e.TS)*time.Millisecond)
		}
		types = append(types, line)
	}
	return types
}

func (l *log) list(t testing.TB, q workqueue.Query) (ids []string) {
	t.Helper()
	err := l.View(context.Background(), func(tx *sql.Tx) error {
		items, err := workqueue.List(context.Background(), tx, q)
		for _, i := range items {
			ids = append(ids, i.EffectID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// handler is made of functions; what is nil is as a task has it.
type handler struct {
	begin func(item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error)
	do    func(ctx context.Context, item workqueue.Item) error
	lost  func(item workqueue.Item, why string) ([]eventstore.StreamAppend, error)
}

func (h *handler) Begin(_ eventstore.Tx, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	if h.begin != nil {
		return h.begin(item, now)
	}
	return one(item.EffectID, coordination.TypeWorkLeased, "{}"), nil
}

func (h *handler) Do(ctx context.Context, item workqueue.Item) error { return h.do(ctx, item) }

func (h *handler) Lost(_ eventstore.Tx, item workqueue.Item, why string, _ time.Time) ([]eventstore.StreamAppend, error) {
	if h.lost != nil {
		return h.lost(item, why)
	}
	return one(item.EffectID, coordination.TypeWorkCancelled, `{"reason":"`+why+`"}`), nil
}

func one(effectID, typ, data string) []eventstore.StreamAppend {
	return []eventstore.StreamAppend{{Stream: work.Stream(effectID), Events: []eventstore.NewEvent{{Type: typ, Data: json.RawMessage(data)}}}}
}

// kinds is one kind "k".
func kinds(h worker.Handler) map[string]worker.Handler { return map[string]worker.Handler{"k": h} }

// task is a task without a result.
func task(policy worker.Policy, do func(ctx context.Context, item workqueue.Item) error) map[string]worker.Handler {
	return kinds(worker.Task(policy, func(ctx context.Context, item workqueue.Item, _ *coordination.WorkScheduled) (json.RawMessage, error) {
		return nil, do(ctx, item)
	}))
}
