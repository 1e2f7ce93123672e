package ndjson

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Defaults of MirrorOptions.
const (
	DefaultMirrorBytes = 10 << 20 // the original gateway rotates its log at this size too
	DefaultMirrorLook  = 5 * time.Second
	DefaultMirrorRetry = time.Second
)

// MirrorOptions state what a mirror writes, and where. Log and StateDir are required.
type MirrorOptions struct {
	Log      eventstore.Reader
	StateDir string // OpenClaw's state directory; its log directory is created when there is something to write
	// Internal names the types that are internal bookkeeping and not written. nil leaves nothing out.
	Internal func(typ string) bool
	// Mark is a file that stores how far the mirror has come, so that a start need not search the logs. Losing it
	// costs only time. "" keeps none.
	Mark string
	// Wrote is called after lines have been synced to the log. It may be nil, and must not block for long.
	Wrote func(file string, lines int)

	MaxBytes int64         // the log is archived before the next line when it reaches this size
	Look     time.Duration // how often an idle mirror checks for another writer of the log
	Retry    time.Duration // pause after an error
	Logger   *slog.Logger
}

// MirrorStatus is the state of a mirror.
type MirrorStatus struct {
	File  string // the live log
	Seq   int64  // all events up to here that belong in the files are on disk
	Lines int64  // written since the start
	// Error says why the mirror makes no progress; it retries. "" if it does.
	Error string
	// Foreign reports that another process changed the log while we were writing it: two gateways use one state
	// directory.
	Foreign bool
}

// Mirror continues the coordination log of a state directory for its readers: one line for each event that we
// produced, in the order of the log, {"type","agentId","ts","data","id"}. Imported events, which already have a line
// there, and types in Internal are not written.
//
// Each event is in the files exactly once, even across crashes: a line is written after its event is on disk, and a
// start continues after the last line whose id names an event of ours. If there is no such line, it begins with the
// first of our events. A truncated last line is completed: with its own rest if it is the beginning of the next line,
// else, as it belongs to another program, with a line feed. Nothing is ever removed from a file.
//
// Before the first event of another month (UTC, by when the events were stored), and at MaxBytes, the live log becomes
// an archive, named as the original gateway names them. No archive is overwritten; each sorts after the existing ones.
//
// Logs must be regular files. While anything else has the log's name, including a symbolic link, the mirror waits and
// reports it (MirrorStatus.Error).
//
// A mirror reads the log from its own cursor, so it never delays an append.
type Mirror struct {
	opts MirrorOptions
	live *liveLog
	seq  int64      // read up to here
	last mirrorMark // hash of that event, once one has been read
	mark int64      // what Mark contains

	mu      sync.Mutex
	status  MirrorStatus
	changed chan struct{} // closed and replaced when the status changes
}

// NewMirror returns a mirror. It touches no file until Run.
func NewMirror(o MirrorOptions) *Mirror {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMirrorBytes)
	o.Look = cmp.Or(o.Look, DefaultMirrorLook)
	o.Retry = cmp.Or(o.Retry, DefaultMirrorRetry)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Mirror{opts: o, live: &liveLog{dir: filepath.Join(o.StateDir, logDir)}, changed: make(chan struct{})}
	m.status.File = m.live.path()
	return m
}

// Status may be called at any time.
func (m *Mirror) Status() MirrorStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status
}

// Wait returns the first status for which is reports true, or, when ctx ends, the current one and the error of ctx.
func (m *Mirror) Wait(ctx context.Context, is func(MirrorStatus) bool) (MirrorStatus, error) {
	for {
		m.mu.Lock()
		status, changed := m.status, m.changed
		m.mu.Unlock()
		if is(status) {
			return status, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return status, ctx.Err()
		}
	}
}

// change changes the status and tells those who wait.
func (m *Mirror) change(to func(s *MirrorStatus)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to(&m.status)
	close(m.changed)
	m.changed = make(chan struct{})
}

// Run mirrors until ctx ends or the log is closed, and then returns nil. Other errors are logged and retried. It is
// called once.
func (m *Mirror) Run(ctx context.Context) error {
	defer m.remember(1)
	for {
		err := m.mirror(ctx)
		m.live.close()
		if ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed) {
			return nil
		}
		m.failed(ctx, err)
		if wait.For(ctx, m.opts.Retry) != nil {
			return nil
		}
	}
}

// mirror finds where to continue, and mirrors until something fails.
func (m *Mirror) mirror(ctx context.Context) error {
	if err := m.recover(ctx); err != nil {
		return fmt.Errorf("mirror: find last mirrored event: %w", err)
	}
	m.advanced(0)
	const page = 256
	for {
		events, err := m.opts.Log.Read(ctx, m.seq, page)
		if err != nil {
			return fmt.Errorf("mirror after seq %d: %w", m.seq, err)
		}
		if err := m.write(events); err != nil {
			return fmt.Errorf("mirror after seq %d: %w", m.seq, err)
		}
		if len(events) == page {
			continue
		}
		m.remember(markEvery)
		if err := m.wait(ctx); err != nil {
			return err
		}
	}
}

// wait returns when there are further events, and checks the log meanwhile.
func (m *Mirror) wait(ctx context.Context) error {
	for {
		if err := m.checkLive(); err != nil {
			return fmt.Errorf("mirror: check the log: %w", err)
		}
		looking, stop := context.WithTimeout(ctx, m.opts.Look)
		_, err := m.opts.Log.Wait(looking, m.seq+1)
		stop()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// maxMirrorWrite bounds one write in bytes, unless a single line is longer.
const maxMirrorWrite = 1 << 20

// write writes the lines of events to disk. They are synced once, and wherever a log is archived.
func (m *Mirror) write(events []eventstore.Event) error {
	if err := m.checkLive(); err != nil {
		return err
	}
	var (
		text  []byte
		lines int
	)
	flush := func(until int64) error {
		if len(text) > 0 {
			if err := m.live.append(text); err != nil {
				return err
			}
		}
		m.seq = until
		m.advanced(lines)
		text, lines = text[:0], 0
		return nil
	}
	for i := range events {
		e := &events[i]
		if !m.ours(e) {
			continue
		}
		month, line := monthOf(e.RecordedAt), append(appendID(appendRecord(nil, e), e.ID), '\n')
		before, line, begins := m.live.settle(line)
		text = append(text, before...)
		if begins && m.live.due(month, len(text), m.opts.MaxBytes) {
			if err := flush(e.Seq - 1); err != nil {
				return err
			}
			if err := m.live.archive(month, e.RecordedAt); err != nil {
				return err
			}
		}
		m.live.month = month
		text, lines = append(text, line...), lines+1
		if len(text) >= maxMirrorWrite {
			if err := flush(e.Seq); err != nil {
				return err
			}
		}
	}
	if len(events) == 0 {
		return nil
	}
	last := &events[len(events)-1]
	if err := flush(last.Seq); err != nil {
		return err
	}
	m.last = mirrorMark{last.Seq, last.Hash}
	return nil
}

// ours reports whether this mirror writes a line for the event.
func (m *Mirror) ours(e *eventstore.Event) bool {
	return e.Actor != eventstore.ActorImport && (m.opts.Internal == nil || !m.opts.Internal(e.Type))
}

// checkLive checks that the log is as we left it. If it is not, another process writes it; that is logged once, and
// our lines are appended after theirs.
func (m *Mirror) checkLive() error {
	changed, err := m.live.check()
	if err != nil || !changed {
		return err
	}
	told := m.Status().Foreign
	m.change(func(s *MirrorStatus) { s.Foreign = true })
	if !told {
		m.opts.Logger.Error("another gateway writes this log: stop it, or start openclawd with --follow; only one producer per state directory",
			"file", m.live.path())
	}
	return nil
}

// advanced records that all lines up to m.seq are on disk.
func (m *Mirror) advanced(lines int) {
	if m.Status().Error != "" {
		m.opts.Logger.Info("mirror resumed", "file", m.live.path(), "seq", m.seq)
	}
	m.change(func(s *MirrorStatus) {
		s.Seq, s.Error = m.seq, ""
		s.Lines += int64(lines)
	})
	if lines > 0 && m.opts.Wrote != nil {
		m.opts.Wrote(m.live.path(), lines)
	}
}

// failed records an error, and logs it unless it repeats.
func (m *Mirror) failed(ctx context.Context, err error) {
	news := m.Status().Error != err.Error()
	m.change(func(s *MirrorStatus) { s.Error = err.Error() })
	if news {
		m.opts.Logger.ErrorContext(ctx, "mirror stopped; will retry", "file", m.live.path(), "retry_in", m.opts.Retry, "err", err)
	}
}
