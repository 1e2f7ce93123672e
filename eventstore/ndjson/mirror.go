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
)

// Defaults of MirrorOptions.
const (
	DefaultMirrorBytes = 10 << 20 // where the original gateway cuts its log too
	DefaultMirrorLook  = 5 * time.Second
	DefaultMirrorRetry = time.Second
)

// MirrorOptions say what a mirror writes, and where. Log and StateDir are required.
type MirrorOptions struct {
	Log      eventstore.Reader
	StateDir string // of OpenClaw; the directory of logs is made when there is something to write
	// Internal names the types that are our own book-keeping and not written. nil leaves nothing out.
	Internal func(typ string) bool
	// Mark is a file that remembers how far the mirror has come, so that a start need not look for it in the logs. Losing it costs time
	// only. "" keeps none.
	Mark string
	// Wrote is called after lines have been synced to the log. It may be nil, and must not block for long.
	Wrote func(file string, lines int)

	MaxBytes int64         // a log that has come to this size is archived before the next line
	Look     time.Duration // how often an idle mirror looks whether somebody else writes the log
	Retry    time.Duration // pause after an error
	Logger   *slog.Logger
}

// MirrorStatus says how a mirror is doing.
type MirrorStatus struct {
	File  string // the live log
	Seq   int64  // everything up to here that belongs in the files is there, and on disk
	Lines int64  // written since the start
	// Error says what keeps the mirror from going on; it is tried again. "" if nothing does.
	Error string
	// Foreign says that somebody else changed the log while we wrote it: two gateways on one state directory.
	Foreign bool
}

// Mirror goes on with the coordination log of a state directory for those who read that: one line for each event that we produced, in
// the order of the log, {"type","agentId","ts","data","id"}. Imported events are not written, they have a line there already, nor is
// what Internal names.
//
// Each event stands in the files exactly once, whenever the process is killed: a line is written after its event is on disk, and a start
// goes on after the last line whose id names an event of ours. If no line does, it begins with the first of our events. A last line that
// was cut off is completed: with its own rest if it is the beginning of the line that comes next, else, being somebody else's, with a
// line feed. Nothing is ever taken away from a file.
//
// Before the first event of another month (UTC, by when the events were stored), and at MaxBytes, the live log becomes an archive,
// named as the original gateway names them. No archive is overwritten; each sorts after those that were there before.
//
// Only a regular file is a log. While something else has its name, a symbolic link too, the mirror waits and says so (MirrorStatus.Error).
//
// A mirror reads the log from its own cursor, so it never holds up an append.
type Mirror struct {
	opts MirrorOptions
	live *liveLog
	seq  int64      // read up to here
	last mirrorMark // of that event, once one has been read
	mark int64      // what Mark says

	mu     sync.Mutex
	status MirrorStatus
}

// NewMirror returns a mirror that has not touched anything yet.
func NewMirror(o MirrorOptions) *Mirror {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMirrorBytes)
	o.Look = cmp.Or(o.Look, DefaultMirrorLook)
	o.Retry = cmp.Or(o.Retry, DefaultMirrorRetry)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Mirror{opts: o, live: &liveLog{dir: filepath.Join(o.StateDir, logDir)}}
	m.status.File = m.live.path()
	return m
}

// Status may be asked at any time.
func (m *Mirror) Status() MirrorStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status
}

// Run mirrors until ctx ends or the log is closed, and returns nil then. Whatever else goes wrong is logged and tried again. It is
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
		timer := time.NewTimer(m.opts.Retry)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// mirror finds out where to go on, and does, until something goes wrong.
func (m *Mirror) mirror(ctx context.Context) error {
	if err := m.recover(ctx); err != nil {
		return fmt.Errorf("mirror: find where to go on: %w", err)
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

// wait returns when there are further events, and looks after the log meanwhile.
func (m *Mirror) wait(ctx context.Context) error {
	for {
		if err := m.checkLive(); err != nil {
			return fmt.Errorf("mirror: look after the log: %w", err)
		}
		looking, stop := context.WithTimeout(ctx, m.opts.Look)
		_, err := m.opts.Log.Wait(looking, m.seq+1)
		stop()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// maxMirrorWrite is how many bytes of lines are written at once, unless a single line is longer.
const maxMirrorWrite = 1 << 20

// write brings the lines of events to disk. They are synced once, and wherever a log is archived.
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

// ours says whether an event has a line in the files because of us.
func (m *Mirror) ours(e *eventstore.Event) bool {
	return e.Actor != eventstore.ActorImport && (m.opts.Internal == nil || !m.opts.Internal(e.Type))
}

// checkLive makes sure that the log is as we left it. If it is not, somebody else writes it; that is said once, and ours goes on behind.
func (m *Mirror) checkLive() error {
	changed, err := m.live.check()
	if err != nil || !changed {
		return err
	}
	m.mu.Lock()
	told := m.status.Foreign
	m.status.Foreign = true
	m.mu.Unlock()
	if !told {
		m.opts.Logger.Error("another gateway writes this log: stop it, or start openclawd with --follow; one producer per state directory",
			"file", m.live.path())
	}
	return nil
}

// advanced says that all lines up to m.seq are on disk.
func (m *Mirror) advanced(lines int) {
	m.mu.Lock()
	if m.status.Error != "" {
		m.opts.Logger.Info("mirror goes on", "file", m.status.File, "seq", m.seq)
	}
	m.status.Seq, m.status.Error = m.seq, ""
	m.status.Lines += int64(lines)
	m.mu.Unlock()
	if lines > 0 && m.opts.Wrote != nil {
		m.opts.Wrote(m.live.path(), lines)
	}
}

// failed says what went wrong, and logs it where it is news.
func (m *Mirror) failed(ctx context.Context, err error) {
	m.mu.Lock()
	news := m.status.Error != err.Error()
	m.status.Error = err.Error()
	m.mu.Unlock()
	if news {
		m.opts.Logger.ErrorContext(ctx, "mirror stopped; trying again", "file", m.live.path(), "every", m.opts.Retry, "err", err)
	}
}
