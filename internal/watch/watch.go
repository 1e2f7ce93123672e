// Package watch signals when files may have changed: at once where the operating system reports it, and by polling
// in any case, because network and container mounts report nothing.
package watch

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// DefaultInterval is how often a Watcher polls.
const DefaultInterval = time.Second

// Watcher signals changes of paths. It never says what has changed, only that the path should be checked: one value
// stands for any number of changes, and there may be values without a change.
type Watcher struct {
	interval time.Duration
	logger   *slog.Logger
	system   *fsnotify.Watcher // nil if the system cannot report changes

	mu     sync.Mutex
	asked  map[string][]chan<- struct{} // by cleaned absolute path
	placed map[string]bool              // directories and files that the system watches for us
}

// New returns a Watcher that polls at least once per interval while Run runs; 0 means DefaultInterval.
func New(interval time.Duration, logger *slog.Logger) *Watcher {
	if interval == 0 {
		interval = DefaultInterval
	}
	w := &Watcher{interval: interval, logger: logger, asked: map[string][]chan<- struct{}{}, placed: map[string]bool{}}
	var err error
	if w.system, err = fsnotify.NewWatcher(); err != nil {
		logger.Warn("the system does not report file changes; polling instead", "every", interval, "err", err)
	}
	return w
}

// Path makes changed receive a value whenever the file at path, or something directly in the directory there, may
// have changed, appeared or disappeared. The path need not exist yet. changed needs room for one value; further
// ones are dropped.
func (w *Watcher) Path(path string, changed chan<- struct{}) {
	path = absolute(path)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[path] = append(w.asked[path], changed)
	w.place(path)
}

// Forget undoes Path.
func (w *Watcher) Forget(path string, changed chan<- struct{}) {
	path = absolute(path)
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.asked[path][:0]
	for _, c := range w.asked[path] {
		if c != changed {
			kept = append(kept, c)
		}
	}
	if w.asked[path] = kept; len(kept) == 0 {
		delete(w.asked, path)
	}
}

// Run watches until ctx ends, and then releases the system's resources. It is called once.
func (w *Watcher) Run(ctx context.Context) error {
	var (
		events   <-chan fsnotify.Event
		failures <-chan error
	)
	if w.system != nil {
		defer w.system.Close()
		events, failures = w.system.Events, w.system.Errors
	}
	look := time.NewTicker(w.interval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			w.wakeAll()
		case e, open := <-events:
			if !open {
				events = nil
				continue
			}
			w.wake(e)
		case err, open := <-failures:
			if !open {
				failures = nil
				continue
			}
			w.logger.Debug("watching files", "err", err)
			w.wakeAll() // reports were lost
		}
	}
}

// place asks the system to report changes of path: of the directory there, and of the nearest one above it. What
// appears meanwhile would not be reported, hence the second check.
func (w *Watcher) place(path string) {
	if w.system == nil {
		return
	}
	for before := ""; ; {
		if isDir(path) {
			w.add(path)
		}
		above := filepath.Dir(path)
		for !isDir(above) && above != filepath.Dir(above) {
			above = filepath.Dir(above)
		}
		if above == before {
			return
		}
		w.add(above)
		before = above
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (w *Watcher) add(dir string) {
	if w.placed[dir] {
		return
	}
	err := w.system.Add(dir)
	switch {
	case err == nil:
		w.placed[dir] = true
	case !errors.Is(err, fs.ErrNotExist):
		w.logger.Debug("the system does not report changes below this directory; polling it", "dir", dir, "err", err)
	}
}

func (w *Watcher) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, list := range w.asked {
		w.place(path)
		send(list)
	}
}

// wake signals those who watch the path that the system reports, its directory, or something below it.
func (w *Watcher) wake(e fsnotify.Event) {
	if e.Op == fsnotify.Chmod {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		delete(w.placed, e.Name)
	}
	dir := filepath.Dir(e.Name)
	for path, list := range w.asked {
		switch {
		case path == e.Name, path == dir:
		case strings.HasPrefix(path, e.Name+string(filepath.Separator)):
		default:
			continue
		}
		w.place(path)
		send(list)
	}
}

func send(list []chan<- struct{}) {
	for _, changed := range list {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}
