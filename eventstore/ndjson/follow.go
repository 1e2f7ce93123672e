package ndjson

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Defaults of FollowOptions.
const (
	DefaultFollowSave     = time.Second
	DefaultFollowRetry    = 100 * time.Millisecond
	DefaultFollowMaxRetry = 10 * time.Second
)

// FollowOptions select which logs a Follower reads and what it does with their lines. StateDir, Positions, Now and
// what Options requires are required.
type FollowOptions struct {
	StateDir  string  // OpenClaw's state directory; neither it nor its log directory need exist
	Positions string  // file that stores how far the logs were read
	Import    Options // where the lines go and how; Progress is set by the follower
	// Finished states that the logs have no writer any more: a last line without a line feed is imported if it is
	// complete, as Import does.
	Finished bool
	// Changed is called when the live log was added, changed or removed ("add", "change", "unlink"), before its lines are stored. It must
	// not block, and may be nil.
	Changed func(event string)
	// Progress is called after each append with how many bytes it took. It must not block, and may be nil.
	Progress func(bytes int64)

	Now      func() time.Time
	Save     time.Duration // minimum interval between saving the positions
	Retry    time.Duration // pause after the first error; it doubles with each further one
	MaxRetry time.Duration // up to this
	Logger   *slog.Logger
}

// Follower imports the coordination logs of a state directory into an event log, archives first, and continues as they
// grow: each complete line once, in order. An unfinished last line waits for its line feed. Once a newer log has
// content, the line will never be completed: it is imported if it is complete JSON, and rejected as Unfinished
// otherwise.
//
// It survives rotation by renaming, by copying and truncating, several rotations between two checks, and restarts at
// any moment. If a log is not what was read plus additions at the end, it reads all logs again from the beginning,
// which adds only what is new: then, as with Importer, identical lines are distinguished only by their number in the
// files present.
//
// It cannot detect a change in the middle of what was read that leaves size, first and last 4 KiB unchanged, nor lines
// that the producer itself loses by writing between copying and truncating.
//
// Only regular files are read as logs. An archive of another kind is logged once and skipped; a live log of another
// kind is reported in the status's LastError until it is a regular file.
type Follower struct {
	opts     FollowOptions
	reading  sync.Mutex // held by Poll, Pending, Close and Blank
	importer *Importer
	opened   bool       // the positions file was read
	known    []*tracked // oldest first
	live     *tracked   // the entry of known that is, or was last, the live log; may be nil
	settled  bool       // all logs were read to their ends once, so no later line is stored already
	unsaved  bool       // known has changed since it was last saved
	saved    time.Time
	part     FileReport // what is stored of the lines being read
	looking  bool       // Poll was called before
	seen     entry      // the live log at the last check
	warned   map[string]bool
	odd      error // the live log's path is not a regular file

	mu     sync.Mutex
	status FollowStatus
	cause  string // when status.LastError began
}

// NewFollower returns a follower. It touches no file until it is used.
func NewFollower(o FollowOptions) *Follower {
	o.Save = cmp.Or(o.Save, DefaultFollowSave)
	o.Retry = cmp.Or(o.Retry, DefaultFollowRetry)
	o.MaxRetry = cmp.Or(o.MaxRetry, DefaultFollowMaxRetry)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Follower{opts: o, warned: map[string]bool{}}
	f.status.File, f.status.Positions = filepath.Join(o.StateDir, logDir, LiveLog), o.Positions
	f.opts.Import.Progress = f.took
	f.importer = New(f.opts.Import)
	return f
}

// Run follows until ctx ends, and then returns nil. It checks the logs at once, whenever wake delivers, and again
// while there is new content. An error is logged once and retried after a pause.
func (f *Follower) Run(ctx context.Context, wake <-chan struct{}) error {
	defer f.Close()
	for failures := 0; ctx.Err() == nil; {
		report, err := f.Poll(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			f.failed(ctx, err)
			failures++
			_ = wait.For(ctx, backoff.Backoff{First: f.opts.Retry, Most: f.opts.MaxRetry}.After(failures))
			continue
		case report.Lines > 0: // there may be more already
		case f.unsaved:
			wait.Woken(ctx, wake, f.opts.Save)
		default:
			wait.Woken(ctx, wake, 0)
		}
		failures = 0
	}
	return nil
}

// Close saves the positions and closes the open file. Exactness does not depend on it, and it may be called more than
// once; Poll may be called after it.
func (f *Follower) Close() {
	f.reading.Lock()
	defer f.reading.Unlock()
	if f.settled && f.unsaved {
		f.save(context.Background())
	}
	for _, t := range f.known {
		t.release()
	}
}

// maxLooks bounds how often one Poll restarts because the logs are being rotated.
const maxLooks = 20

// Poll imports the content of the logs up to their current sizes, and reports on it. After an error, everything
// reported is stored, and the next Poll continues from there.
func (f *Follower) Poll(ctx context.Context) (total FileReport, err error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	if err := f.open(ctx); err != nil {
		return total, err
	}
	for range maxLooks {
		err = f.pollOnce(ctx, &total)
		if !errors.Is(err, errMoving) && !errors.Is(err, errChanged) {
			break
		}
	}
	if f.settled = err == nil; err != nil {
		return total, fmt.Errorf("follow: %w", err) // the failed part may be stored too
	}
	if f.unsaved && f.opts.Now().Sub(f.saved) >= f.opts.Save {
		f.save(ctx)
	}
	if f.odd != nil {
		f.failed(ctx, f.odd)
	} else {
		f.recovered(ctx)
	}
	return total, nil
}

// Pending returns how many bytes a Poll would read now, from how many files.
func (f *Follower) Pending(ctx context.Context) (bytes int64, files int, err error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	if err := f.open(ctx); err != nil {
		return 0, 0, err
	}
	for range maxLooks {
		var s snapshot
		if s, err = takeSnapshot(f.opts.StateDir); err == nil {
			var logs []*tracked
			if logs, _, err = match(&s, f.known); errors.Is(err, errChanged) {
				logs, _, err = match(&s, nil)
			}
			s.close()
			for _, t := range logs {
				if behind := t.behind(); behind > 0 {
					bytes, files = bytes+behind, files+1
				}
			}
		}
		if !errors.Is(err, errMoving) {
			break
		}
	}
	return bytes, files, err
}

// open continues from the saved positions, if they belong to this event log.
func (f *Follower) open(ctx context.Context) error {
	if f.opened {
		return nil
	}
	positions, err := ReadPositions(f.opts.Positions)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.opened = true
		return nil
	case err != nil:
		f.opts.Logger.InfoContext(ctx, "positions not used; reading all logs again, which adds only new lines", "err", err)
		f.opened = true
		return nil
	}
	sound, err := positions.holdIn(ctx, f.opts.Import.Log)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	if f.opened = true; !sound {
		f.opts.Logger.InfoContext(ctx, "positions not used: they belong to another event log", "file", f.opts.Positions)
		return nil
	}
	f.importer.Resume(positions.Seq)
	for _, m := range positions.Files {
		f.known = append(f.known, &tracked{mark: m})
	}
	if n := len(f.known); n > 0 && filepath.Base(f.known[n-1].mark.Path) == LiveLog {
		f.live = f.known[n-1]
	}
	return nil
}

// startOver discards the positions, so that all logs are read again from the beginning.
func (f *Follower) startOver(ctx context.Context, why string) {
	f.opts.Logger.InfoContext(ctx, "reading all logs again, which adds only new lines", "why", why)
	for _, t := range f.known {
		t.release()
	}
	f.importer.Resume(0)
	f.known, f.live, f.settled = nil, nil, false
}

// save stores how far the logs were read. From then on only later lines have to be remembered to distinguish equal
// lines.
func (f *Follower) save(ctx context.Context) {
	f.saved = f.opts.Now()
	head, err := f.opts.Import.Log.Head(context.WithoutCancel(ctx))
	if err != nil {
		f.opts.Logger.WarnContext(ctx, "cannot save positions; a restart will read more lines again", "err", err)
		return
	}
	f.importer.Resume(head.Seq)
	p := Positions{Seq: head.Seq, Hash: head.Hash}
	for _, t := range f.known {
		if t.touched() {
			p.Files = append(p.Files, t.mark)
		}
	}
	if err := p.save(f.opts.Positions); err != nil {
		f.opts.Logger.WarnContext(ctx, "cannot save positions; a restart will read more lines again", "err", err)
		return
	}
	f.unsaved = false
}
