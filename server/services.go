package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// service is a part that runs while the program serves. run returns nil when its context ends; an error stops the program. Transient
// failures (an unreadable file, a peer that does not answer) are logged and retried, never returned.
type service struct {
	name string
	run  func(context.Context) error
}

// services lists the services that run beside answering requests. It is called when the log is open and its tables are
// live.
func (p *Program) services() []service {
	return []service{
		{"watch", p.watcher.Run},
		{"supervisor", p.supervise},
		{"monitor", p.monitor.Run},
		{"ui", p.runUI},
		{"gateway", p.runGateway},
		{"gateway token", p.followToken},
		{"work", p.runWork},
		{"continuation", p.runContinuation},
		{"sample work", p.runSampleWork},
		{"schedules", p.runSchedules},
		{"bots", p.followBots},
		{"discord", p.runChannel(func(a *agents) *channelSide { return a.discord })},
		{"telegram", p.runChannel(func(a *agents) *channelSide { return a.telegram })},
		{"slack", p.runChannel(func(a *agents) *channelSide { return a.slack.channelSide })},
		{"notify", p.notifyPeople},
		{"search", p.feedSearch},
		{"past", p.runPast},
		{"follow", p.followLogs},
		{"workspaces", p.watchWorkspaces},
		{"backups", p.backups.Run},
		{"files of messages", p.expireFiles},
		{"redactions", p.runRedactions},
		{"verify", p.verifyChain},
		{"category overrides", p.runOverrides},
		{"configuration", p.followConfig},
	}
}

// writers lists the services that write files from the log. They outlive the other services, whose last events must
// reach the files too.
func (p *Program) writers() []service {
	return []service{
		{"task files", p.runTaskFiles},
		{"mirror", p.runMirror},
	}
}

// runServices runs the services until ctx ends or one of them fails, then the writers until their files have the
// services' last events.
func (p *Program) runServices(ctx context.Context, services, writers []service) error {
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	var ended sync.WaitGroup
	broken := make(chan error, len(writers))
	for _, w := range writers {
		ended.Go(func() {
			if err := w.run(writing); err != nil {
				broken <- fmt.Errorf("%s: %w", w.name, err)
			}
		})
	}
	group.Go(func() error {
		select {
		case err := <-broken:
			return err
		case <-ctx.Done():
			return nil
		}
	})
	for _, s := range services {
		group.Go(func() error {
			if err := s.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			return nil
		})
	}
	err := group.Wait()
	p.drainFiles(writing)
	stop()
	ended.Wait()
	close(broken)
	for late := range broken { // after the services ended
		err = errors.Join(err, late)
	}
	return err
}

// mostPathsTold is the maximum number of lagging files named in a log line.
const mostPathsTold = 20

// fileDrainTime is how long files may take to receive the last events during shutdown.
const fileDrainTime = 5 * time.Second

// drainFiles waits until the task files and the mirror match the log, except for what cannot be written now: the next
// start writes that.
func (p *Program) drainFiles(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, fileDrainTime)
	defer stop()
	err := p.drainTaskFiles(ctx)
	if err == nil {
		err = p.drainMirror(ctx)
	}
	if err != nil {
		p.opts.Logger.Warn("task files or mirror are behind the log at shutdown; the next start updates them", "after", fileDrainTime, "err", err)
	}
}

func (p *Program) drainTaskFiles(ctx context.Context) error {
	head, err := p.log.Head(ctx)
	if err != nil || p.taskFiles == nil {
		return err
	}
	behind, err := p.taskFiles.syncer.Drained(ctx, head.Seq)
	if len(behind) > 0 {
		p.opts.Logger.Warn("task files do not match the log at shutdown; make their directories writable, the next start writes them",
			"files", len(behind), "paths", behind[:min(len(behind), mostPathsTold)])
	}
	if err != nil {
		return fmt.Errorf("write task files: %w", err)
	}
	return nil
}

func (p *Program) drainMirror(ctx context.Context) error {
	head, err := p.log.Head(ctx) // writing task files appends events
	if err != nil || p.mirror == nil {
		return err
	}
	if _, err := p.mirror.Wait(ctx, func(s ndjson.MirrorStatus) bool { return s.Seq >= head.Seq || s.Error != "" }); err != nil {
		return fmt.Errorf("mirror the log: %w", err)
	}
	return nil
}
