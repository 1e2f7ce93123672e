package ndjson

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// FollowStatus is how far a Follower has come, as of its last look.
type FollowStatus struct {
	File      string    `json:"file"`                // path of the live log
	Present   bool      `json:"present"`             // whether it is there
	Offset    int64     `json:"offset"`              // up to where its lines are stored
	Size      int64     `json:"size"`                // bytes it has
	Behind    int64     `json:"behind"`              // bytes of all logs that are not stored yet, an unfinished last line included
	Lines     int64     `json:"lines"`               // stored since the start of the process, those that were known included
	LastLine  time.Time `json:"lastLine,omitzero"`   // when the last one was stored; zero if none was
	LastLook  time.Time `json:"lastLook,omitzero"`   // when the logs were last looked at without an error
	LastError string    `json:"lastError,omitempty"` // why it does not get on; empty if it does
	FailingAt time.Time `json:"failingAt,omitzero"`  // since when
	Positions string    `json:"positions"`           // path of the positions file
}

// Status tells how far it has come. It may be called at any time.
func (f *Follower) Status() FollowStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// looked notes what a look has come to.
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

// took notes what an append has stored of the part under way.
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

// failed notes an error, and logs it unless it is the one of the last look.
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
		f.opts.Logger.ErrorContext(ctx, "logs cannot be followed; this is tried again, and no line is lost", "err", err)
	}
}

// recovered notes that a look came to its end.
func (f *Follower) recovered(ctx context.Context) {
	f.mu.Lock()
	since := f.status.FailingAt
	f.cause, f.status.LastError, f.status.FailingAt = "", "", time.Time{}
	f.mu.Unlock()
	if !since.IsZero() {
		f.opts.Logger.InfoContext(ctx, "logs are followed again", "after", f.opts.Now().Sub(since))
	}
}

// warn names archives that are no regular files, each once, and returns an error if the live log is none.
func (f *Follower) warn(ctx context.Context, odd []string) (live error) {
	for _, path := range odd {
		switch {
		case filepath.Base(path) == LiveLog:
			live = refusedLog(path)
		case !f.warned[path]:
			f.warned[path] = true
			f.opts.Logger.WarnContext(ctx, "not followed: only a regular file is a log; move the log itself here", "path", path)
		}
	}
	return live
}

// tell says that the live log was added, changed or removed since the last look. The first look only gets to know it.
func (f *Follower) tell(s *snapshot) {
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
