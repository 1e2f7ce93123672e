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
)

// Schedule backs a log up again and again. All fields are required unless they say otherwise.
type Schedule struct {
	Log     Source
	File    string // of the log: how large it is says how much room a copy needs
	Dir     string
	Every   time.Duration // from the start of one backup to that of the next; 0: never
	Keep    int           // proved backups to keep; at least 1
	Now     func() time.Time
	Version string
	Logger  *slog.Logger

	unlisted string // why the backups could not be listed at the last look

	mu    sync.Mutex
	state State
}

// State is how the backups of a server stand.
type State struct {
	Dir       string    `json:"dir"`
	Every     string    `json:"every"` // "" if none is scheduled
	Running   bool      `json:"running"`
	Last      *Backup   `json:"last"` // the newest that was proved; null if there is none
	Next      time.Time `json:"next,omitzero"`
	Failed    int64     `json:"failed"`          // runs since the start of the server
	Error     string    `json:"error,omitempty"` // of the newest run, if it failed
	ErrorCode string    `json:"errorCode,omitempty"`
}

const (
	// settleTime is left to a server that has just begun: it may be importing, and may be on its way down again.
	settleTime = 10 * time.Minute
	// retryTime lies between a backup that failed and the next attempt.
	retryTime = time.Hour
	// lookTime is how often the directory is looked at: others make backups too, and remove them.
	lookTime = time.Minute
	// roomFactor is how much room there must be for a copy, in sizes of the log: the copy, and the WAL that grows meanwhile.
	roomFactor = 1.5
)

// State says how the backups stand. It may be called at any time.
func (s *Schedule) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	if state.Dir = s.Dir; s.Every > 0 {
		state.Every = s.Every.String()
	}
	return state
}

// Overdue reports whether the newest backup is older than two of the pauses in which they are to be made. It is never so before the
// first one was due.
func (s *Schedule) Overdue() bool {
	state := s.State()
	return s.Every > 0 && !state.Running && state.Last != nil && s.Now().Sub(state.Last.Time) > 2*s.Every
}

// Run backs up until ctx ends. When the last backup was made is read from the directory, so that a restart changes nothing. What goes
// wrong is logged, shown by State, and tried again.
func (s *Schedule) Run(ctx context.Context) error {
	s.look()
	if s.Every <= 0 {
		s.rest(ctx, nil)
		return nil
	}
	next := s.first()
	for {
		s.change(func(state *State) { state.Next = next.UTC().Truncate(time.Second) })
		timer := time.NewTimer(next.Sub(s.Now()))
		if !s.rest(ctx, timer.C) {
			timer.Stop()
			return nil
		}
		begun := s.Now()
		next = begun.Add(s.Every)
		if err := s.once(ctx); err != nil && ctx.Err() == nil {
			next = begun.Add(min(retryTime, s.Every))
			s.Logger.Error("backup failed", "dir", s.Dir, "again", next.UTC().Format(time.RFC3339), "err", err)
		}
	}
}

// rest waits for the next backup to be due, false if ctx ends before, and keeps an eye on the directory.
func (s *Schedule) rest(ctx context.Context, due <-chan time.Time) bool {
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return true
		case <-look.C:
			s.look()
		}
	}
}

// first is when the first backup of this process is due.
func (s *Schedule) first() time.Time {
	now := s.Now()
	settled := now.Add(settleTime)
	last := s.State().Last
	if last == nil {
		return settled
	}
	due := last.Time.Add(s.Every)
	switch {
	case due.Add(s.Every).Before(now):
		return now // overdue by more than a whole pause: it may never come to settle
	case due.Before(settled):
		return settled
	}
	return due
}

// once makes one backup and removes the oldest ones.
func (s *Schedule) once(ctx context.Context) (err error) {
	s.change(func(state *State) { state.Running = true })
	defer func() {
		s.look()
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
		return nil, fmt.Errorf("make the directory of the backups: %w", err)
	}
	if err := checkRoom(s.Dir, s.File); err != nil {
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

// look reads from the directory what the newest backup is.
func (s *Schedule) look() {
	newest, err := Newest(s.Dir)
	why := ""
	if err != nil {
		if why = err.Error(); why != s.unlisted {
			s.Logger.Warn("backups cannot be listed", "dir", s.Dir, "err", err)
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

// NoRoomError says that a volume has too little room for a copy.
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

// checkRoom refuses to begin a copy that would fill the volume.
func checkRoom(dir, file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was removed, and what the server has open is to be saved as far as there is room
	}
	if err != nil {
		return fmt.Errorf("look at the log: %w", err)
	}
	need := int64(roomFactor * float64(info.Size()))
	if free, known := Free(dir); known && free < need {
		return &NoRoomError{Dir: filepath.Clean(dir), Free: free, Need: need}
	}
	return nil
}

// codeOf is the stable code of an error, "failed" if it has none.
func codeOf(err error) string {
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return "failed"
}
