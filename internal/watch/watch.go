// Package watch signals when files may have changed: at once where the operating system reports it, and by polling
// in any case, because network and container mounts report nothing, and nothing reports what a link leads to.
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

	mu      sync.Mutex
	asked   map[string][]chan<- struct{} // by cleaned absolute path
	placed  map[string]bool              // directories and files that the system watches for us
	patient map[string]bool              // paths that only PathRarely was called for; true while the system reports their changes
	polls   int
}

// New returns a Watcher that polls at least once per interval while Run runs; 0 means DefaultInterval.
func New(interval time.Duration, logger *slog.Logger) *Watcher {
	if interval == 0 {
		interval = DefaultInterval
	}
	w := &Watcher{interval: interval, logger: logger, asked: map[string][]chan<- struct{}{}, placed: map[string]bool{}, patient: map[string]bool{}}
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
	delete(w.patient, path)
	w.asked[path] = append(w.asked[path], changed)
	w.place(path)
}

// rarely is how many intervals pass between two polls of a path that the system reports.
const rarely = 10

// PathRarely is Path for one of many paths: where the system reports all changes, as it does on local file systems,
// the path is polled every tenth time only.
func (w *Watcher) PathRarely(path string, changed chan<- struct{}) {
	path = absolute(path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked[path]) == 0 {
		w.patient[path] = false
	}
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
		delete(w.patient, path)
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
			w.poll()
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
func (w *Watcher) place(asked string) {
	if w.system == nil {
		return
	}
	path := asked
	for before := ""; ; {
		if isDir(path) {
			w.add(path)
		}
		above := filepath.Dir(path)
		for !isDir(above) && above != filepath.Dir(above) {
			above = filepath.Dir(above)
		}
		if above == before {
			if _, is := w.patient[asked]; is {
				w.patient[asked] = w.reports(above) && (!isDir(path) || w.reports(path))
			}
			return
		}
		w.add(above)
		before = above
	}
}

// reports returns whether the system reports all changes in a directory.
func (w *Watcher) reports(dir string) bool { return w.placed[dir] && isLocal(dir) }

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

// poll wakes everyone, but those who wait for what the system reports only every tenth time.
func (w *Watcher) poll() {
	if w.polls++; w.polls%rarely == 0 {
		w.wakeAll()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, list := range w.asked {
		if !w.patient[path] {
			w.place(path)
			send(list)
		}
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
