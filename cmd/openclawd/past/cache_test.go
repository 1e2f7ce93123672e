package past_test

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

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// cacheBundle is a cache of states of a log of ten events. What it makes of a state is the state.
type cacheBundle struct {
	*past.Cache[*past.State]
	dir  string
	now  atomic.Int64 // ms
	free atomic.Int64

	mu    sync.Mutex
	made  []int64 // seqs, in the order in which they were made
	dress func(context.Context, *past.State) error
}

// setupCache has the cache make states until the test ends.
func setupCache(t *testing.T, change ...func(*past.CacheOptions[*past.State])) *cacheBundle {
	t.Helper()
	b := &cacheBundle{dir: filepath.Join(t.TempDir(), "past")}
	b.free.Store(1 << 30)
	log := tenEvents(t)
	opts := past.CacheOptions[*past.State]{
		Options: past.Options{Log: log, Dir: b.dir, Rules: coordination.RulesV2},
		Now:     func() time.Time { return time.UnixMilli(b.now.Load()) }, Make: b.make,
		Room: func() (int64, bool) { return b.free.Load(), true }, Spare: 1_000,
	}
	for _, c := range change {
		c(&opts)
	}
	b.Cache = past.NewCache(opts)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, b.Close()); err != nil {
			t.Error(err)
		}
		if files := b.files(t); len(files) > 0 {
			t.Errorf("closed, there are still %v", files)
		}
	})
	return b
}

func tenEvents(t *testing.T) *sqlite.DB {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	if _, err := projections.Start(t.Context(), log, database.Projections(coordination.RulesV2), projections.Options{Rules: coordination.RulesV2, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "test/own", Events: []eventstore.NewEvent{
			{Type: coordination.TypeA2ASend, AgentID: "main", Data: fmt.Appendf(nil, `{"toAgent":"ruda","workSessionId":"ws_%d"}`, i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

func (b *cacheBundle) make(ctx context.Context, s *past.State) (*past.State, error) {
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

// dressing sets what is done to each state from now on before it is given out.
func (b *cacheBundle) dressing(do func(context.Context, *past.State) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dress = do
}

// wantMade wants states to have been made in this order, ever.
func (b *cacheBundle) wantMade(t *testing.T, seqs ...int64) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.made, seqs) {
		t.Errorf("made %v, want %v", b.made, seqs)
	}
}

// hold waits for a state, and holds it.
func (b *cacheBundle) hold(t *testing.T, seq int64) (s *past.State, release func()) {
	t.Helper()
	for {
		changed := b.Changed()
		s, release, _, ready, err := b.At(seq)
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

// files are the names of the files of states, without what SQLite keeps beside them.
func (b *cacheBundle) files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".db") {
			names = append(names, e.Name())
		}
	}
	return names
}

// wantFiles waits until there are so many states on disk.
func (b *cacheBundle) wantFiles(t *testing.T, n int, want string) {
	t.Helper()
	late := time.After(time.Minute)
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

func wantEvents(t *testing.T, s *past.State, want int64) {
	t.Helper()
	var events, sessions int64
	err := s.View(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRow("SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM sessions)").Scan(&events, &sessions)
	})
	if err != nil || events != want {
		t.Errorf("state %d holds %d events (%v), want %d", s.Until(), events, err, want)
	}
}

func TestStateIsMadeOnceForAllWhoAsk(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	if _, _, progress, ready, err := b.At(7); ready || err != nil || progress != (past.Progress{Total: 7}) {
		t.Fatalf("the first one gets %+v, ready %t, %v", progress, ready, err)
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
	b.wantFiles(t, 3, "want three")
}

func TestStateInUseIsNotClosed(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	s, release := b.hold(t, 1)
	for seq := int64(2); seq <= 4; seq++ {
		b.touch(t, seq)
	}
	wantEvents(t, s, 1)
	b.wantFiles(t, 4, "want three and the one in use")
	release()
	release() // again, which means nothing
	b.wantFiles(t, 3, "want three")
	b.touch(t, 1)
	b.wantMade(t, 1, 2, 3, 4, 1)
}

// blocks has the next state that is made wait until it is let go, or told to end.
func (b *cacheBundle) blocks() (begun chan int64, letGo chan struct{}) {
	begun, letGo = make(chan int64, 10), make(chan struct{})
	b.dressing(func(ctx context.Context, s *past.State) error {
		begun <- s.Until()
		select {
		case <-letGo:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return begun, letGo
}

func TestForgettingLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	b.touch(t, 1)
	b.touch(t, 2)
	s, release := b.hold(t, 1)
	begun, letGo := b.blocks()
	if _, _, _, ready, err := b.At(3); ready || err != nil {
		t.Fatal(ready, err)
	}
	<-begun
	forgotten := make(chan error, 1)
	go func() { forgotten <- b.Forget(context.Background()) }()
	if again := <-begun; again != 3 { // what was being made is made anew
		t.Errorf("%d is made, want 3", again)
	}
	wantEvents(t, s, 1)
	select {
	case err := <-forgotten:
		t.Fatalf("forgotten (%v) while a state is in use", err)
	default:
	}
	release()
	if err := <-forgotten; err != nil {
		t.Fatal(err)
	}
	b.wantFiles(t, 1, "want what is made anew alone")
	close(letGo)
	b.touch(t, 3)
	b.touch(t, 2)
	b.wantMade(t, 1, 2, 3, 3, 2)
	ctx, stop := context.WithCancel(t.Context())
	_, release = b.hold(t, 2)
	stop()
	if err := b.Forget(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("forgetting what is in use, told to end: %v", err)
	}
	release()
	if err := b.Forget(t.Context()); err != nil {
		t.Error(err)
	}
	b.wantFiles(t, 0, "want none")
}

func TestFewStatesWait(t *testing.T) {
	t.Parallel()
	b := setupCache(t, func(o *past.CacheOptions[*past.State]) { o.Waiting = 2 })
	begun, letGo := b.blocks()
	want := func(seq int64, before int, busy bool) {
		t.Helper()
		_, _, progress, ready, err := b.At(seq)
		if ready || progress.Before != before || errors.Is(err, past.ErrBusy) != busy {
			t.Errorf("asked for %d: %+v, ready %t, %v; want %d before it, busy %t", seq, progress, ready, err, before, busy)
		}
	}
	want(1, 0, false)
	<-begun
	want(2, 1, false)
	want(3, 2, false)
	want(4, 0, true)
	want(3, 2, false)
	// Nobody asks for 2 any more.
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
	if _, _, _, ready, err := b.At(1); ready || !errors.As(err, &full) {
		t.Errorf("with too little room: ready %t, %v", ready, err)
	}
	b.free.Store(1_000)
	b.touch(t, 1)
	b.dressing(func(context.Context, *past.State) error {
		return &eventstore.DiskFullError{Path: b.dir, Err: os.ErrInvalid}
	})
	if err := b.fails(t, 2); !errors.As(err, &full) {
		t.Errorf("when the disk fills up: %v", err)
	}
	b.free.Store(0)
	b.touch(t, 1) // what is there is shown
	b.wantFiles(t, 1, "want one")
}

// fails waits until a state cannot be made.
func (b *cacheBundle) fails(t *testing.T, seq int64) error {
	t.Helper()
	for {
		changed := b.Changed()
		_, _, _, ready, err := b.At(seq)
		if ready {
			t.Fatalf("state %d is made", seq)
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
	b.dressing(func(context.Context, *past.State) error { return defect })
	if err := b.fails(t, 5); !errors.Is(err, defect) {
		t.Errorf("fails with %v", err)
	}
	b.dressing(nil)
	b.touch(t, 5)
	b.wantMade(t, 5, 5)
	var point *past.PointError
	if err := b.fails(t, 11); !errors.As(err, &point) {
		t.Errorf("an event that is not there: %v", err)
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
	b := setupCache(t, func(o *past.CacheOptions[*past.State]) { o.Dir = dir })
	b.dir = dir
	s, release := b.hold(t, 3)
	if files := b.files(t); len(files) != 1 || files[0] == "left.db" {
		t.Errorf("there are %v, want nothing that another process has left", files)
	}
	b.touch(t, 2)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, s, 3)
	if _, _, _, _, err := b.At(2); !errors.Is(err, eventstore.ErrClosed) {
		t.Errorf("asked when it is closed: %v", err)
	}
	release()
	b.wantFiles(t, 0, "want none")
}
