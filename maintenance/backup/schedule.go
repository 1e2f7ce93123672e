package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Schedule backs up a log periodically. All fields are required unless they say otherwise.
type Schedule struct {
	Log     Source
	File    string // of the log; its size tells how much space a copy needs
	Dir     string
	Every   time.Duration // from the start of one backup to the start of the next; 0: never
	Keep    int           // verified backups to keep; at least 1
	Now     func() time.Time
	Version string
	Logger  *slog.Logger

	unlisted string // why the backups could not be listed last time

	mu    sync.Mutex
	state State
}

// State of the backups of a server.
type State struct {
	Dir       string    `json:"dir"`
	Every     string    `json:"every"` // "" if no backups are scheduled
	Running   bool      `json:"running"`
	Last      *Backup   `json:"last"` // newest verified backup; null if there is none
	Next      time.Time `json:"next,omitzero"`
	Failed    int64     `json:"failed"`          // since the start of the server
	Error     string    `json:"error,omitempty"` // error of the newest run, if it failed
	ErrorCode string    `json:"errorCode,omitempty"`
}

const (
	// startDelay gives a server that has just started time to import, or to shut down again.
	startDelay = 10 * time.Minute
	// retryDelay is the pause between a failed backup and the next attempt.
	retryDelay = time.Hour
	// refreshInterval is how often the directory is read: backups are also made and removed by others.
	refreshInterval = time.Minute
	// spaceFactor is the free space that a copy needs, in sizes of the log: the copy, and the WAL that grows
	// meanwhile.
	spaceFactor = 1.5
)

// State returns the state of the backups. It may be called at any time.
func (s *Schedule) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	if state.Dir = s.Dir; s.Every > 0 {
		state.Every = s.Every.String()
	}
	return state
}

// Overdue reports whether the newest backup is older than two intervals. It is false before the first backup was due.
func (s *Schedule) Overdue() bool {
	state := s.State()
	return s.Every > 0 && !state.Running && state.Last != nil && s.Now().Sub(state.Last.Time) > 2*s.Every
}

// Run makes backups until ctx ends. The time of the last backup is read from the directory, so that a restart
// changes nothing. Failures are logged, shown by State, and retried.
func (s *Schedule) Run(ctx context.Context) error {
	s.refresh()
	if s.Every <= 0 {
		for wait.For(ctx, refreshInterval) == nil {
			s.refresh()
		}
		return nil
	}
	next := s.first()
	for {
		s.change(func(state *State) { state.Next = next.UTC().Truncate(time.Second) })
		if !s.wait(ctx, next) {
			return nil
		}
		start := s.Now()
		next = start.Add(s.Every)
		if err := s.once(ctx); err != nil && ctx.Err() == nil {
			next = start.Add(min(retryDelay, s.Every))
			s.Logger.Error("backup failed", "dir", s.Dir, "retry_at", next.UTC().Format(time.RFC3339), "err", err)
		}
	}
}

// wait waits until the next backup is due, false if ctx ends before, and refreshes the state meanwhile.
func (s *Schedule) wait(ctx context.Context, next time.Time) bool {
	for {
		left := next.Sub(s.Now())
		if err := wait.For(ctx, min(left, refreshInterval)); err != nil || left <= refreshInterval {
			return err == nil
		}
		s.refresh()
	}
}

// first returns when the first backup of this process is due.
func (s *Schedule) first() time.Time {
	now := s.Now()
	settled := now.Add(startDelay)
	last := s.State().Last
	if last == nil {
		return settled
	}
	due := last.Time.Add(s.Every)
	switch {
	case due.Add(s.Every).Before(now):
		return now // overdue by more than an interval: do not wait, the process may be too short-lived
	case due.Before(settled):
		return settled
	}
	return due
}

// once makes one backup and removes the oldest ones.
func (s *Schedule) once(ctx context.Context) (err error) {
	s.change(func(state *State) { state.Running = true })
	defer func() {
		s.refresh()
		s.change(func(state *State) {
			state.Running, state.Error, state.ErrorCode = false, "", ""
			if err != nil && ctx.Err() == nil {
				state.Failed++
				state.Error, state.ErrorCode = err.Error(), codeOf(err)
			}
		})
	}()
	if _, err := s.Make(ctx); err != nil {
		return err
	}
	removed, err := Prune(s.Dir, max(s.Keep, 1))
	for _, file := range removed {
		s.Logger.Info("removed an old backup", "file", file)
	}
	return err
}

// Make makes one backup, and removes none. It may be called at any time. Errors: *eventstore.LockedError while another one is being made,
// *NoRoomError, and those of Create.
func (s *Schedule) Make(ctx context.Context) (*Backup, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the backup directory: %w", err)
	}
	if err := checkSpace(s.Dir, s.File); err != nil {
		return nil, err
	}
	start := s.Now()
	b, err := Create(ctx, CreateOptions{Log: s.Log, Dir: s.Dir, Now: s.Now, Version: s.Version})
	if err != nil {
		return nil, err
	}
	s.Logger.Info("backed up", "file", b.File, "seq", b.Seq, "bytes", b.Bytes, "took", s.Now().Sub(start))
	return b, nil
}

// refresh reads from the directory which backup is the newest.
func (s *Schedule) refresh() {
	newest, err := Newest(s.Dir)
	why := ""
	if err != nil {
		if why = err.Error(); why != s.unlisted {
			s.Logger.Warn("cannot list backups", "dir", s.Dir, "err", err)
		}
	}
	s.unlisted = why
	s.change(func(state *State) { state.Last = newest })
}

func (s *Schedule) change(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// NoRoomError says that a volume has too little free space for a copy.
type NoRoomError struct {
	Dir        string
	Free, Need int64 // bytes
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%s: %d bytes are free, a backup needs %d", e.Dir, e.Free, e.Need)
}
func (e *NoRoomError) Code() string { return "no_room" }
func (e *NoRoomError) Hint() string {
	return "free space, keep fewer backups (--backup-keep), or name a directory on another volume (--backup-dir)"
}

// checkSpace refuses to start a copy that would fill the volume.
func checkSpace(dir, file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was deleted; save what the server still has open as far as there is space
	}
	if err != nil {
		return fmt.Errorf("stat the log: %w", err)
	}
	need := int64(spaceFactor * float64(info.Size()))
	if free, known := Free(dir); known && free < need {
		return &NoRoomError{Dir: filepath.Clean(dir), Free: free, Need: need}
	}
	return nil
}

// codeOf returns the stable code of an error, "failed" if it has none.
func codeOf(err error) string {
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return "failed"
}
