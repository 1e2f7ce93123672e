package ndjson_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// running is a fixture whose follower runs in a bubble of its own time.
type running struct {
	*fixture
	store *moodyStore
	wake  chan struct{}
	logs  *buffer
}

func follow(t *testing.T, change func(*ndjson.FollowOptions), test func(*running)) {
	t.Helper()
	state := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &running{fixture: fixtureIn(t, state), wake: make(chan struct{}, 1), logs: &buffer{}}
		r.store = &moodyStore{Model: r.log}
		r.options.Import.Log = r.store
		r.options.Logger = slog.New(slog.NewTextHandler(r.logs, nil))
		r.options.Now = time.Now
		if change != nil {
			change(&r.options)
		}
		r.follower = ndjson.NewFollower(r.options)
		ctx, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() {
			if err := r.follower.Run(ctx, r.wake); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		synctest.Wait()
		test(r)
		stop()
		ended.Wait()
	})
}

// awaken wakes the follower and waits until it is idle again.
func (r *running) awaken() {
	r.wake <- struct{}{}
	synctest.Wait()
}

func TestFollowRunReadsWhenWoken(t *testing.T) {
	t.Parallel()
	follow(t, nil, func(r *running) {
		r.want()
		r.write(lines("1", "2") + event("3"))
		synctest.Wait()
		r.want()
		r.awaken()
		r.want("1", "2")
		r.write("\n")
		r.awaken()
		r.want("1", "2", "3")
		if s := r.follower.Status(); s.Lines != 3 || s.LastLine.IsZero() || s.LastLook.IsZero() || s.LastError != "" || s.File != r.live() {
			t.Errorf("status %+v", s)
		}
	})
}

// The positions are written at most once a second, and also when nothing more comes.
func TestFollowRunSavesPositionsWhileIdle(t *testing.T) {
	t.Parallel()
	follow(t, nil, func(r *running) {
		saved := func() int64 {
			p, err := ndjson.ReadPositions(r.options.Positions)
			if err != nil || len(p.Files) != 1 {
				t.Fatalf("positions %+v, %v", p, err)
			}
			return p.Files[0].Lines
		}
		r.write(lines("1"))
		r.awaken()
		if n := saved(); n != 1 {
			t.Errorf("%d lines are noted", n)
		}
		r.write(lines("2"))
		r.awaken()
		if n := saved(); n != 1 {
			t.Errorf("%d lines are noted at once", n)
		}
		<-time.After(2 * ndjson.DefaultFollowSave)
		synctest.Wait()
		if n := saved(); n != 2 {
			t.Errorf("%d lines are noted when idle", n)
		}
	})
}

// Trouble is logged once when it begins and once when it ends, and costs no line.
func TestFollowRunGoesOnAfterTrouble(t *testing.T) {
	t.Parallel()
	follow(t, nil, func(r *running) {
		logs := filepath.Dir(r.live())
		r.must(os.WriteFile(logs, nil, 0o600)) // in place of the directory
		r.awaken()
		<-time.After(time.Minute)
		if s := r.follower.Status(); s.LastError == "" || s.FailingAt.IsZero() {
			t.Errorf("status %+v", s)
		}
		r.must(os.Remove(logs))
		<-time.After(time.Minute)
		if s := r.follower.Status(); s.LastError != "" || !s.FailingAt.IsZero() {
			t.Errorf("status %+v", s)
		}
		r.store.refuse(4, false)
		r.write(lines("1", "2"))
		r.awaken()
		r.want()
		<-time.After(time.Minute)
		synctest.Wait()
		r.want("1", "2")
		text := r.logs.String()
		if n := strings.Count(text, "cannot follow coordination logs"); n != 2 {
			t.Errorf("trouble is logged %d times:\n%s", n, text)
		}
		if n := strings.Count(text, "following coordination logs again"); n != 2 {
			t.Errorf("its end is logged %d times:\n%s", n, text)
		}
	})
}

// Pauses grow up to their limit, to spare disk and log.
func TestFollowRunBacksOff(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	var start time.Time
	change := func(o *ndjson.FollowOptions) {
		o.Retry, o.MaxRetry = time.Second, 4*time.Second
		start = time.Now()
	}
	follow(t, change, func(r *running) {
		r.store.refuse(6, false)
		r.store.refused = func() { at = append(at, time.Since(start)) }
		r.write(lines("1"))
		r.awaken()
		<-time.After(time.Minute)
	})
	want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 11 * time.Second, 15 * time.Second}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("tries (-want +got):\n%s", diff)
	}
}

// buffer may be written and read by different goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
