package asof_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/snapshot"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// cacheBundle is a cache of snapshots of a log of ten events. The value of a snapshot is the snapshot itself.
type cacheBundle struct {
	*asof.Cache[*asof.State]
	dir  string
	now  atomic.Int64 // ms
	free atomic.Int64

	mu    sync.Mutex
	made  []int64 // seqs, in the order of building
	dress func(context.Context, *asof.State) error
}

// setupCache runs a cache until the test ends.
func setupCache(t *testing.T, change ...func(*asof.CacheOptions[*asof.State])) *cacheBundle {
	t.Helper()
	b := &cacheBundle{dir: filepath.Join(t.TempDir(), "past")}
	b.free.Store(1 << 30)
	log := tenEvents(t)
	opts := asof.CacheOptions[*asof.State]{
		Options: asof.Options{Log: log, Dir: b.dir, Rules: coordination.RulesV2},
		Now:     func() time.Time { return time.UnixMilli(b.now.Load()) }, Make: b.make,
		Keep:      3,
		FreeSpace: func() (int64, bool) { return b.free.Load(), true }, MinFree: 1_000,
	}
	for _, c := range change {
		c(&opts)
	}
	b.Cache = asof.NewCache(opts)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, b.Close()); err != nil {
			t.Error(err)
		}
		if files := b.files(t); len(files) > 0 {
			t.Errorf("after Close there are still %v", files)
		}
	})
	return b
}

func tenEvents(t *testing.T) *sqlite.DB {
	t.Helper()
	log, _ := projectiontest.New(t, sqlite.Options{}, database.Projections(coordination.RulesV2)...)
	for i := range 10 {
		if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "test/own", Events: []eventstore.NewEvent{
			{Type: coordination.TypeA2ASend, AgentID: "main", Data: fmt.Appendf(nil, `{"toAgent":"ruda","workSessionId":"ws_%d"}`, i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

func (b *cacheBundle) make(ctx context.Context, s *asof.State) (*asof.State, error) {
	b.mu.Lock()
	b.made = append(b.made, s.Until())
	dress := b.dress
	b.mu.Unlock()
	if dress != nil {
		if err := dress(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// dressing sets what Make does with each snapshot from now on.
func (b *cacheBundle) dressing(do func(context.Context, *asof.State) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dress = do
}

// wantMade checks which snapshots were built so far, in this order.
func (b *cacheBundle) wantMade(t *testing.T, seqs ...int64) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.made, seqs) {
		t.Errorf("made %v, want %v", b.made, seqs)
	}
}

// hold waits for a snapshot, and holds it.
func (b *cacheBundle) hold(t *testing.T, seq int64) (s *asof.State, release func()) {
	t.Helper()
	for {
		changed := b.Changed()
		s, release, _, ready, err := b.At(t.Context(), seq)
		if err != nil {
			t.Fatalf("state %d: %v", seq, err)
		}
		if ready {
			return s, release
		}
		<-changed
	}
}

func (b *cacheBundle) touch(t *testing.T, seq int64) {
	t.Helper()
	_, release := b.hold(t, seq)
	release()
}

// files returns the names of snapshot files, without companions.
func (b *cacheBundle) files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// wantFiles waits until there are so many snapshots on disk.
func (b *cacheBundle) wantFiles(t *testing.T, n int, want string) {
	t.Helper()
	late := time.After(testscale.Patience)
	for {
		changed := b.Changed()
		files := b.files(t)
		if len(files) == n {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("there are %v, %s", files, want)
		}
	}
}

// wantOpen waits until so many snapshots are open.
func (b *cacheBundle) wantOpen(t *testing.T, n int, want string) {
	t.Helper()
	late := time.After(testscale.Patience)
	for {
		changed := b.Changed()
		open := b.Status().Snapshots
		if open == n {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%d are open, %s", open, want)
		}
	}
}

func wantEvents(t *testing.T, s *asof.State, want int64) {
	t.Helper()
	var events, sessions int64
	err := s.View(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRow("SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM sessions)").Scan(&events, &sessions)
	})
	if err != nil || events != want {
		t.Errorf("snapshot %d holds %d events (%v), want %d", s.Until(), events, err, want)
	}
}

func TestStateIsMadeOnceForAllWhoAsk(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	if _, _, progress, ready, err := b.At(t.Context(), 7); ready || err != nil || progress != (snapshot.Progress{Total: 7}) {
		t.Fatalf("the first request: %+v, ready %t, %v", progress, ready, err)
	}
	var askers sync.WaitGroup
	for range 8 {
		askers.Go(func() {
			s, release := b.hold(t, 7)
			defer release()
			wantEvents(t, s, 7)
		})
	}
	askers.Wait()
	b.wantMade(t, 7)
	s, release := b.hold(t, 0)
	defer release()
	wantEvents(t, s, 0)
}

func TestThreeStatesAreKeptThoseThatWereAskedForLast(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	for _, seq := range []int64{1, 2, 3, 1, 4, 1, 3, 2} {
		b.touch(t, seq)
	}
	b.wantMade(t, 1, 2, 3, 4, 2)
	b.wantOpen(t, 3, "want three")
}

func TestStateInUseIsNotClosed(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	s, release := b.hold(t, 1)
	for seq := int64(2); seq <= 4; seq++ {
		b.touch(t, seq)
	}
	wantEvents(t, s, 1)
	b.wantOpen(t, 4, "want three and the one in use")
	release()
	release() // again, which must be harmless
	b.wantOpen(t, 3, "want three")
	b.touch(t, 1)
	b.wantMade(t, 1, 2, 3, 4, 1)
}

// blocks makes the next build wait until it is released or cancelled.
func (b *cacheBundle) blocks() (started chan int64, letGo chan struct{}) {
	started, letGo = make(chan int64, 10), make(chan struct{})
	b.dressing(func(ctx context.Context, s *asof.State) error {
		started <- s.Until()
		select {
		case <-letGo:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return started, letGo
}

func TestForgettingLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	b.touch(t, 1)
	b.touch(t, 2)
	s, release := b.hold(t, 1)
	started, letGo := b.blocks()
	if _, _, _, ready, err := b.At(t.Context(), 3); ready || err != nil {
		t.Fatal(ready, err)
	}
	<-started
	forgotten := make(chan error, 1)
	go func() { forgotten <- b.Forget(context.Background(), 1) }()
	if again := <-started; again != 3 { // the build that was running is repeated
		t.Errorf("%d was built, want 3", again)
	}
	wantEvents(t, s, 1)
	select {
	case err := <-forgotten:
		t.Fatalf("forgotten (%v) while a snapshot is in use", err)
	default:
	}
	release()
	if err := <-forgotten; err != nil {
		t.Fatal(err)
	}
	b.wantOpen(t, 0, "want none while one is rebuilt")
	close(letGo)
	b.touch(t, 3)
	b.touch(t, 2)
	b.wantMade(t, 1, 2, 3, 3, 2)
	ctx, stop := context.WithCancel(t.Context())
	_, release = b.hold(t, 2)
	stop()
	if err := b.Forget(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Forget with one in use, cancelled: %v", err)
	}
	release()
	if err := b.Forget(t.Context(), 1); err != nil {
		t.Error(err)
	}
	b.wantFiles(t, 0, "want none")
}

func TestFewStatesWait(t *testing.T) {
	t.Parallel()
	b := setupCache(t, func(o *asof.CacheOptions[*asof.State]) { o.Waiting = 2 })
	started, letGo := b.blocks()
	want := func(seq int64, before int, busy bool) {
		t.Helper()
		_, _, progress, ready, err := b.At(t.Context(), seq)
		if ready || progress.Before != before || errors.Is(err, snapshot.ErrBusy) != busy {
			t.Errorf("request for %d: %+v, ready %t, %v; want %d before it, busy %t", seq, progress, ready, err, before, busy)
		}
	}
	want(1, 0, false)
	<-started
	want(2, 1, false)
	want(3, 2, false)
	want(4, 0, true)
	want(3, 2, false)
	// 2 is not requested any more.
	b.now.Add(20_000)
	want(3, 2, false)
	b.now.Add(15_000)
	want(4, 2, false)
	want(3, 1, false)
	close(letGo)
	b.touch(t, 4)
	b.wantMade(t, 1, 3, 4)
}

func TestFullDiskIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	var full *eventstore.DiskFullError
	b.free.Store(999)
	if _, _, _, ready, err := b.At(t.Context(), 1); ready || !errors.As(err, &full) {
		t.Errorf("with too little room: ready %t, %v", ready, err)
	}
	b.free.Store(1_000)
	b.touch(t, 1)
	b.dressing(func(context.Context, *asof.State) error {
		return &eventstore.DiskFullError{Path: b.dir, Err: os.ErrInvalid}
	})
	if err := b.fails(t, 2); !errors.As(err, &full) {
		t.Errorf("when the disk fills up: %v", err)
	}
	b.free.Store(0)
	b.touch(t, 1) // existing ones are still returned
	b.wantOpen(t, 1, "want one")
}

// fails waits until building a snapshot fails.
func (b *cacheBundle) fails(t *testing.T, seq int64) error {
	t.Helper()
	for {
		changed := b.Changed()
		_, _, _, ready, err := b.At(t.Context(), seq)
		if ready {
			t.Fatalf("snapshot %d was built", seq)
		}
		if err != nil {
			return err
		}
		<-changed
	}
}

func TestFailureIsToldOnceAndTriedAgain(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	defect := errors.New("defect")
	b.dressing(func(context.Context, *asof.State) error { return defect })
	if err := b.fails(t, 5); !errors.Is(err, defect) {
		t.Errorf("fails with %v", err)
	}
	b.dressing(nil)
	b.touch(t, 5)
	b.wantMade(t, 5, 5)
	var point *asof.PointError
	if err := b.fails(t, 11); !errors.As(err, &point) {
		t.Errorf("an event that does not exist: %v", err)
	}
}

func TestStatesEndWithTheProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "past")
	if err := os.MkdirAll(filepath.Join(dir, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"left.db", "left.db-wal", "x/y"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := setupCache(t, func(o *asof.CacheOptions[*asof.State]) { o.Dir = dir })
	b.dir = dir
	s, release := b.hold(t, 3)
	for _, file := range b.files(t) {
		if !strings.HasPrefix(file, "layer-") {
			t.Errorf("there is %s, want no files of another process", file)
		}
	}
	b.touch(t, 2)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, s, 3)
	if _, _, _, _, err := b.At(t.Context(), 2); !errors.Is(err, eventstore.ErrClosed) {
		t.Errorf("At after Close: %v", err)
	}
	release()
	b.wantFiles(t, 0, "want none")
}
