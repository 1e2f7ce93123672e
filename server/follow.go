package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/monitor/push"
)

// followStatus is the read progress of the coordination logs in the state directory, for operators.
type followStatus = ndjson.FollowStatus

// followStatus returns the status as of the last poll; its zero value before the first.
func (p *Program) followStatus() followStatus {
	if p.follower == nil {
		return followStatus{}
	}
	return p.follower.Status()
}

// newFollower reads the logs from where the last server stopped. Where this program's own events are mirrored into them, there is no other
// writer: then they are read once.
func (p *Program) newFollower() *ndjson.Follower {
	logger := p.opts.Logger.With("component", "import")
	return ndjson.NewFollower(ndjson.FollowOptions{
		StateDir: p.opts.StateDir, Positions: database.PositionsFile(p.opts.DB), Import: database.ImportOptions(p.log, logger), Finished: !p.opts.Follow,
		Changed: p.liveLogChanged, Progress: p.importing.took, Now: p.opts.Now, Logger: logger,
	})
}

// catchUpLogs imports unread log lines, or returns that as a job if there are too many to wait for. empty means that the event log is
// empty. Unreadable logs do not prevent serving.
func (p *Program) catchUpLogs(ctx context.Context, empty bool) (later []func(context.Context)) {
	p.follower = p.newFollower()
	bytes, files, err := p.follower.Pending(ctx)
	job := func(ctx context.Context) { p.importLogs(ctx, bytes, files) }
	switch {
	case err != nil:
		p.opts.Logger.Error("cannot read logs", "err", err)
	case bytes == 0:
		p.opts.Logger.Debug("logs unchanged since the last import")
	case bytes < p.limits.importFirstBytes && (empty || bytes < p.limits.reimportFirstBytes):
		job(ctx)
	default:
		return []func(context.Context){job}
	}
	return nil
}

// importLogs reads the logs up to their current ends.
func (p *Program) importLogs(ctx context.Context, bytes int64, files int) {
	start := p.opts.Now()
	p.importing.begin(bytes, throttled(p.opts.Now, func(done, total int64) {
		p.opts.Logger.Info("importing logs", "bytes", done, "of", total)
	}))
	defer p.importing.end()
	total, err := p.follower.Poll(ctx)
	switch {
	case err == nil:
		p.opts.Logger.Info("imported logs", "files", files, "lines", total.Lines, "new", total.New, "duplicates", total.Duplicates,
			"rejected", total.RejectedLines(), "took", p.opts.Now().Sub(start))
	case ctx.Err() == nil && p.opts.Follow:
		p.opts.Logger.Error("import interrupted; following the logs continues it", "err", err)
	case ctx.Err() == nil:
		p.opts.Logger.Error("import interrupted; the next start continues it", "err", err)
	}
}

// followLogs continues reading logs that another gateway writes.
func (p *Program) followLogs(ctx context.Context) error {
	<-p.caughtUp
	defer p.follower.Close()
	if !p.opts.Follow {
		return nil
	}
	changed := make(chan struct{}, 1)
	dir := ndjson.LogDir(p.opts.StateDir)
	p.watcher.Path(dir, changed)
	defer p.watcher.Forget(dir, changed)
	return p.follower.Run(ctx, changed)
}

// liveLogChanged notifies all connected clients.
func (p *Program) liveLogChanged(event string) {
	if p.monitor != nil { // no client is connected before
		p.monitor.Publish(push.Message{Type: "event_log", Data: map[string]string{"event": event, "file": ndjson.LiveLog}})
	}
}

// importState is the progress of a log import, in bytes. The API shows it during an import.
type importState struct {
	done, total atomic.Int64
	tell        func(done, total int64) // during an import
}

func (s *importState) begin(total int64, tell func(done, total int64)) {
	s.tell = tell
	s.done.Store(0)
	s.total.Store(total)
}

func (s *importState) end() {
	s.total.Store(0)
	s.tell = nil
}

func (s *importState) took(bytes int64) {
	if s.tell != nil {
		s.tell(s.done.Add(bytes), s.total.Load())
	}
}

func (s *importState) progress() (done, total int64, running bool) {
	total = s.total.Load()
	return min(s.done.Load(), total), total, total > 0
}

// throttled limits calls to one per two seconds.
func throttled(now func() time.Time, tell func(done, total int64)) func(done, total int64) {
	const pause = 2 * time.Second
	last := now()
	return func(done, total int64) {
		if at := now(); at.Sub(last) >= pause {
			last = at
			tell(done, total)
		}
	}
}
