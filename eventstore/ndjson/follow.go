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
)

// Defaults of FollowOptions.
const (
	DefaultFollowSave     = time.Second
	DefaultFollowRetry    = 100 * time.Millisecond
	DefaultFollowMaxRetry = 10 * time.Second
)

// FollowOptions say which logs a Follower reads and what it does with their lines. StateDir, Positions, Now and what Options requires are
// required.
type FollowOptions struct {
	StateDir  string  // of OpenClaw; neither it nor its directory of logs need exist
	Positions string  // path of the file that remembers how far the logs were read
	Import    Options // where the lines go, and as what; Progress belongs to the follower
	// Finished says that nobody writes the logs any more: a last line without a line feed is taken if it is whole, as Import does.
	Finished bool
	// Changed is called when the live log was added, changed or removed ("add", "change", "unlink"), before its lines are stored. It must
	// not block, and may be nil.
	Changed func(event string)
	// Progress is called after each append with how many bytes it took. It must not block, and may be nil.
	Progress func(bytes int64)

	Now      func() time.Time
	Save     time.Duration // how often the positions are saved at most
	Retry    time.Duration // pause after a first error; it doubles with each further one,
	MaxRetry time.Duration // up to this
	Logger   *slog.Logger
}

// Follower brings the coordination logs of a state directory into an event log, archives first, and goes on as they grow: each complete
// line once, in order. An unfinished last line waits for its line feed. When a newer log has something to read, nobody will finish it any
// more: then it is taken if it is whole, and rejected as Unfinished otherwise.
//
// It survives rotation by renaming, by copying and truncating, several ones between two looks, and restarts at any moment. Where what it
// finds is not what it has read with more at the end, it reads all logs again from the beginning, which adds only what is new: then, as
// with Importer, lines that are equal to the letter are told apart by nothing but their number in the files that are there.
//
// What it cannot see: a change in the middle of what was read that leaves size, first and last 4 KiB as they were; lines that the
// producer itself loses because it writes between the copying and the truncating.
//
// Only regular files are logs. An archive that is none is warned about, once, and left alone; a live log that is none is the status's
// LastError until it is one.
type Follower struct {
	opts     FollowOptions
	reading  sync.Mutex // is held by Look, Pending, Close and Blank
	importer *Importer
	opened   bool       // the positions were looked at
	known    []*tracked // oldest first
	live     *tracked   // that of known which is, or was last, the live log; may be nil
	settled  bool       // all logs were read to their ends once, so that no line to come is stored already
	unsaved  bool       // known has changed since it was saved
	saved    time.Time
	part     FileReport // what is stored of the lines that are being read
	looking  bool       // there was a look
	seen     entry      // the live log at the last one
	warned   map[string]bool
	odd      error // what lies where the live log should be is none

	mu     sync.Mutex
	status FollowStatus
	cause  string // of status.LastError
}

// NewFollower returns a follower that has not touched anything yet.
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

// Run follows until ctx ends, and then returns nil. It looks at once, whenever wake gives something, and again as long as there is
// something new. Errors are logged once, and tried again after a pause.
func (f *Follower) Run(ctx context.Context, wake <-chan struct{}) error {
	defer f.Close()
	pause := f.opts.Retry
	for ctx.Err() == nil {
		report, err := f.Look(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			f.failed(ctx, err)
			wait(ctx, nil, pause)
			pause = min(2*pause, f.opts.MaxRetry)
			continue
		case report.Lines > 0: // there may be more already
		case f.unsaved:
			wait(ctx, wake, f.opts.Save)
		default:
			wait(ctx, wake, 0)
		}
		pause = f.opts.Retry
	}
	return nil
}

// wait ends when wake gives something, after the pause unless that is 0, and with ctx.
func wait(ctx context.Context, wake <-chan struct{}, pause time.Duration) {
	var over <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-wake:
	case <-over:
	case <-ctx.Done():
	}
}

// Close saves the positions and gives back the open file. It does not need to be called for the sake of exactness, and may be called more
// than once; Look goes on after it.
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

// maxLooks bounds how often one Look begins anew because the logs are being rotated.
const maxLooks = 20

// Look reads what the logs have, up to their sizes of this moment, and reports on it. After an error, everything reported is stored, and
// the next Look goes on from there.
func (f *Follower) Look(ctx context.Context) (total FileReport, err error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	if err := f.open(ctx); err != nil {
		return total, err
	}
	for range maxLooks {
		err = f.look(ctx, &total)
		if !errors.Is(err, errMoving) && !errors.Is(err, errChanged) {
			break
		}
	}
	if f.settled = err == nil; err != nil {
		return total, fmt.Errorf("follow: %w", err) // also what has failed may be stored
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

// Pending tells how many bytes a Look would read now, from how many files.
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

// open goes on from the saved positions, if they are of this event log.
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
		f.opts.Logger.InfoContext(ctx, "positions not used: all logs are read again, which adds only what is new", "err", err)
		f.opened = true
		return nil
	}
	sound, err := positions.holdIn(ctx, f.opts.Import.Log)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	if f.opened = true; !sound {
		f.opts.Logger.InfoContext(ctx, "positions not used: they were taken of another event log", "file", f.opts.Positions)
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

// startOver forgets how far the logs were read. They are read again from the beginning.
func (f *Follower) startOver(ctx context.Context, why string) {
	f.opts.Logger.InfoContext(ctx, "reading all logs again, which adds only what is new", "why", why)
	for _, t := range f.known {
		t.release()
	}
	f.importer.Resume(0)
	f.known, f.live, f.settled = nil, nil, false
}

// save notes how far the logs were read. From then on only what comes later has to be remembered to tell equal lines apart.
func (f *Follower) save(ctx context.Context) {
	f.saved = f.opts.Now()
	head, err := f.opts.Import.Log.Head(context.WithoutCancel(ctx))
	if err != nil {
		f.opts.Logger.WarnContext(ctx, "positions not saved: a restart reads more again", "err", err)
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
		f.opts.Logger.WarnContext(ctx, "positions not saved: a restart reads more again", "err", err)
		return
	}
	f.unsaved = false
}
