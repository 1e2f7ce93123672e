package watch_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What the system reports needs no look every time, but one now and then, and none where the system reports nothing.
func TestLooksRarelyAtWhatIsReported(t *testing.T) {
	t.Parallel()
	const looks, interval = 30, 40 * time.Millisecond
	w := run(t, interval)
	dir := t.TempDir()
	usual, rare, foreign := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	w.Path(filepath.Join(dir, "usual"), usual)
	w.PathRarely(filepath.Join(dir, "rare"), rare)
	w.PathRarely("/proc/self", foreign)
	seen := map[<-chan struct{}]int{}
	for seen[usual] < looks {
		select {
		case <-usual:
			seen[usual]++
		case <-rare:
			seen[rare]++
		case <-foreign:
			seen[foreign]++
		}
	}
	if n := seen[rare]; n == 0 || n > looks/3 {
		t.Errorf("%d looks at what is reported, beside %d at another path", n, looks)
	}
	if n := seen[foreign]; n < looks/2 {
		t.Errorf("%d looks at what is not reported, beside %d at another path", n, looks)
	}
}

func TestRarePathsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	w := run(t, time.Hour)
	path := filepath.Join(t.TempDir(), "tasks")
	changed := make(chan struct{}, 1)
	w.PathRarely(path, changed)
	for _, step := range []func() error{
		func() error { return os.Mkdir(path, 0o700) },
		func() error { return os.WriteFile(filepath.Join(path, "a"), nil, 0o600) },
		func() error { return os.RemoveAll(path) },
		func() error { return os.Mkdir(path, 0o700) },
		func() error { return os.WriteFile(filepath.Join(path, "b"), nil, 0o600) },
	} {
		drain(changed)
		if err := step(); err != nil {
			t.Fatal(err)
		}
		await(t, changed)
	}
	w.Forget(path, changed)
}
