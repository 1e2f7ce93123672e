package asof_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// A kill while a state is kept, merged or removed leaves nothing from which other tables are made than from the first event.
func TestCrashWhileKeepingStates(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, keepingStates, testscale.Of(3, 20))
}

// crashedLogSize is how many events the log gets, about.
const crashedLogSize = 400

// keepingStates has states of a growing log kept, merged and forgotten while earlier events are asked for. Each
// acknowledgement is an event as of which there was an answer.
var keepingStates = storetest.Scenario{
	Name: "states",
	Prepare: func(t testing.TB, dir string) {
		projectiontest.Copy(t, crashedPath(dir), database.Projections(rules)...)
		log := openCrashed(t, dir)
		projectiontest.Tell(t, log, began).Team()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	},
	Work:  keepStates,
	Check: checkStates,
}

func crashedPath(dir string) string { return filepath.Join(dir, database.Name) }

func openCrashed(t testing.TB, dir string) *sqlite.DB {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: crashedPath(dir)})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func keepStates(c *storetest.Child) error {
	ctx := context.Background()
	log, err := sqlite.Open(ctx, sqlite.Options{Path: crashedPath(c.Dir)})
	if err != nil {
		return err
	}
	cache := asof.NewCache(asof.CacheOptions[*asof.State]{
		Options: asof.Options{Log: log, Dir: asof.Dir(log.Path()), Rules: rules},
		Keeping: asof.Keeping{MaxBytes: func() int64 { return enough }, Every: 5, States: 6},
		Now:     time.Now, Make: func(_ context.Context, s *asof.State) (*asof.State, error) { return s, nil },
		Hold: testscale.Patience,
	})
	ended := make(chan error, 1)
	go func() { ended <- cache.Run(ctx) }()
	for {
		select {
		case err := <-ended:
			return errors.Join(errors.New("the cache has ended"), err)
		default:
		}
		head, err := log.Head(ctx)
		if err != nil {
			return err
		}
		if head.Seq < crashedLogSize {
			for n := range 1 + c.Rand.IntN(8) {
				if _, err := log.Append(ctx, eventstore.StreamAppend{Stream: "test/own", Events: []eventstore.NewEvent{{Type: coordination.TypeA2ASend,
					AgentID: "main", Data: fmt.Appendf(nil, `{"toAgent":"ruda","workSessionId":"ws_%d_%d"}`, head.Seq, n)}}}); err != nil {
					return err
				}
			}
		}
		if c.Rand.IntN(4) == 0 {
			if err := cache.Forget(ctx, 1+c.Rand.Int64N(head.Seq)); err != nil {
				return err
			}
		}
		seq := 1 + c.Rand.Int64N(head.Seq)
		_, release, _, ready, err := cache.At(ctx, seq)
		if err != nil {
			return err
		}
		if ready {
			release()
			c.Ack(fmt.Sprint(seq))
		}
	}
}

// checkStates fails t unless snapshots that are made from what is left equal the tables folded from the first event.
func checkStates(t testing.TB, dir string, _ []string) {
	log := openCrashed(t, dir)
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := keep(t, log, func(o *asof.CacheOptions[*asof.State]) { o.Keeping.Every, o.Keeping.States = 5, 6 })
	for _, seq := range []int64{head.Seq / 3, head.Seq - 3, head.Seq} {
		want, err := asof.Open(t.Context(), asof.Options{Log: log, Dir: t.TempDir(), Rules: rules}, seq, nil)
		if err != nil {
			t.Fatal(err)
		}
		k.wantAt(t, seq, dump(t, want))
		wantClosed(t, want)
	}
	k.end()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
