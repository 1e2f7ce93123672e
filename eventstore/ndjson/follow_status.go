package ndjson

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// FollowStatus is the progress of a Follower, as of its last check.
type FollowStatus struct {
	File      string    `json:"file"`                // path of the live log
	Present   bool      `json:"present"`             // whether it exists
	Offset    int64     `json:"offset"`              // offset up to which its lines are stored
	Size      int64     `json:"size"`                // its size in bytes
	Behind    int64     `json:"behind"`              // bytes of all logs not stored yet, including an unfinished last line
	Lines     int64     `json:"lines"`               // lines stored since the start of the process, known ones included
	LastLine  time.Time `json:"lastLine,omitzero"`   // when the last one was stored; zero if none
	LastLook  time.Time `json:"lastLook,omitzero"`   // last check without an error
	LastError string    `json:"lastError,omitempty"` // why it makes no progress; empty if it does
	FailingAt time.Time `json:"failingAt,omitzero"`  // since when
	Positions string    `json:"positions"`           // path of the positions file
}

// Status returns the progress. It may be called at any time.
func (f *Follower) Status() FollowStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// looked records the result of a check.
func (f *Follower) looked(s *snapshot, logs []*tracked) {
	var offset, size, behind int64
	for _, t := range logs {
		behind += t.behind()
	}
	if s.live != nil {
		size = s.entries[len(s.entries)-1].size
		if f.live != nil && f.live.now.path == f.status.File {
			offset, size = f.live.mark.Offset, f.live.now.size
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Present, f.status.Offset, f.status.Size, f.status.Behind = s.live != nil, offset, size, behind
	f.status.LastLook = f.opts.Now()
}

// took records what an append has stored of the current part.
func (f *Follower) took(at Progress) {
	bytes, lines := at.Bytes-f.part.Bytes, at.Lines-f.part.Lines
	f.part = at.FileReport
	if f.opts.Progress != nil {
		f.opts.Progress(bytes)
	}
	if lines == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Lines += lines
	f.status.LastLine = f.opts.Now()
}

// failed records an error, and logs it unless it repeats the last one.
func (f *Follower) failed(ctx context.Context, err error) {
	cause := err
	for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
		cause = next
	}
	f.mu.Lock()
	known := f.cause == cause.Error()
	f.cause = cause.Error()
	f.status.LastError = err.Error()
	if f.status.FailingAt.IsZero() {
		f.status.FailingAt = f.opts.Now()
	}
	f.mu.Unlock()
	if !known {
		f.opts.Logger.ErrorContext(ctx, "cannot follow coordination logs; will retry, no line is lost", "err", err)
	}
}

// recovered records a check that completed.
func (f *Follower) recovered(ctx context.Context) {
	f.mu.Lock()
	since := f.status.FailingAt
	f.cause, f.status.LastError, f.status.FailingAt = "", "", time.Time{}
	f.mu.Unlock()
	if !since.IsZero() {
		f.opts.Logger.InfoContext(ctx, "following coordination logs again", "after", f.opts.Now().Sub(since))
	}
}

// warn logs archives that are not regular files, each once, and returns an error if the live log is not one.
func (f *Follower) warn(ctx context.Context, odd []string) (live error) {
	for _, path := range odd {
		switch {
		case filepath.Base(path) == LiveLog:
			live = refusedLog(path)
		case !f.warned[path]:
			f.warned[path] = true
			f.opts.Logger.WarnContext(ctx, "not followed: logs must be regular files; move the log itself here", "path", path)
		}
	}
	return live
}

// logLiveChange reports that the live log was added, changed or removed since the last check. The first check only records its
// state.
func (f *Follower) logLiveChange(s *snapshot) {
	var now entry
	if n := len(s.entries); n > 0 && filepath.Base(s.entries[n-1].path) == LiveLog {
		now = s.entries[n-1]
	}
	before, first := f.seen, !f.looking
	f.seen, f.looking = now, true
	if first || f.opts.Changed == nil || now == before {
		return
	}
	switch {
	case before.path == "":
		f.opts.Changed("add")
	case now.path == "":
		f.opts.Changed("unlink")
	default:
		f.opts.Changed("change")
	}
}
