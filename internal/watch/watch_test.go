package watch_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, interval time.Duration) *watch.Watcher {
	t.Helper()
	w := watch.New(interval, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

// await fails the test by its timeout if nothing is reported.
func await(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-t.Context().Done():
	case <-time.After(testscale.Patience):
		t.Fatal("no change was reported")
	}
}

// An interval of an hour leaves everything to the system's reports.
func TestChangesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := run(t, time.Hour)
	path := filepath.Join(dir, "late", "logs", "file")
	changed := make(chan struct{}, 1)
	w.Path(path, changed)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	await(t, changed)
	for _, step := range []func() error{
		func() error { return os.WriteFile(path, []byte("a"), 0o600) },
		func() error { return os.WriteFile(path, []byte("ab"), 0o600) },
		func() error {
			return errors.Join(os.WriteFile(path+".new", []byte("abc"), 0o600), os.Rename(path+".new", path))
		},
		func() error { return os.Remove(path) },
	} {
		drain(changed)
		if err := step(); err != nil {
			t.Fatal(err)
		}
		await(t, changed)
	}
}

func TestDirectoriesReportTheirEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := run(t, time.Hour)
	changed := make(chan struct{}, 1)
	w.Path(dir, changed)
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, changed)
}

func TestLooksWithoutBeingTold(t *testing.T) {
	t.Parallel()
	w := run(t, time.Millisecond)
	changed := make(chan struct{}, 1)
	path := filepath.Join(t.TempDir(), "file")
	w.Path(path, changed)
	await(t, changed)
	await(t, changed)
	w.Forget(path, changed)
	drain(changed)
	other := make(chan struct{}, 1)
	w.Path(path, other)
	await(t, other)
	await(t, other)
	select {
	case <-changed:
		t.Error("a forgotten path was reported")
	default:
	}
}

func drain(changed <-chan struct{}) {
	for {
		select {
		case <-changed:
		default:
			return
		}
	}
}
