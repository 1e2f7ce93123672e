package messenger_test

import (
	"context"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

func TestMain(m *testing.M) { storetest.CrashMain(m, talking, broadcasting) }

func openLog(path string) (*sqlite.DB, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) { return openLog(path) },
	append(a2atest.Definitions(), tasks.Definition())...))

// setup makes a team.
func setup(t testing.TB, set a2atest.Setting) *a2atest.Team {
	t.Helper()
	set.Open = func(path string) (a2atest.Store, error) {
		db, err := openLog(path)
		return newCounted(db), err
	}
	set.Empty = emptyLog
	return a2atest.New(t, set)
}

// counted is a log that counts its decisions.
type counted struct {
	*sqlite.DB

	mu      sync.Mutex
	changed *sync.Cond
	decided int
}

func newCounted(db *sqlite.DB) *counted {
	c := &counted{DB: db}
	c.changed = sync.NewCond(&c.mu)
	return c
}

func (c *counted) Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	result, err := c.DB.Decide(ctx, decide)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.decided++
	c.changed.Broadcast()
	return result, err
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.decided
}

// until waits until there were so many.
func (c *counted) until(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.decided < n {
		c.changed.Wait()
	}
}
