package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// service is something that goes on while the program serves. run returns nil when its context ends; an error ends the program. What can
// go wrong and right again (a file that cannot be read, a peer that does not answer) is logged and tried again, never returned.
type service struct {
	name string
	run  func(context.Context) error
}

// services lists what goes on beside answering requests. It is called when the log is open and its tables are live.
func (p *Program) services() []service {
	return []service{
		{"watch", p.watcher.Run},
		{"supervisor", p.supervise},
		{"monitor", p.monitor.Run},
		{"gateway", p.runGateway},
		{"gateway token", p.followToken},
		{"work", p.runWork},
		{"continuation", p.keepGoing},
		{"discord", p.runDiscord},
		{"discord places", p.releasePlaces},
		{"notify", p.tellPeople},
		{"search", p.feedSearch},
		{"past", p.runPast},
		{"follow", p.followLogs},
		{"workspaces", p.watchWorkspaces},
		{"backups", p.backups.Run},
		{"redactions", p.runRedactions},
		{"verify", p.verifyChain},
		{"category overrides", p.overrides.Run},
		{"configuration", p.followConfig},
	}
}

// writers lists what writes files after the log. They outlive the services, whose last events have to be in the files too when the program ends.
func (p *Program) writers() []service {
	return []service{
		{"task files", p.runTaskFiles},
		{"mirror", p.runMirror},
	}
}

// runServices runs the services until ctx ends or one of them fails, and the writers until their files have what the services did last.
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
	for late := range broken { // after the services had ended
		err = errors.Join(err, late)
	}
	return err
}

// mostPathsTold is how many paths of files that are behind a line of the log has.
const mostPathsTold = 20

// fileDrainTime is how long files may take to have the log's last events, once nothing is appended to it any more.
const fileDrainTime = 5 * time.Second

// drainFiles waits until the files of tasks and the mirror are as the log says, but for what cannot be written now: the next start writes it.
func (p *Program) drainFiles(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, fileDrainTime)
	defer stop()
	err := p.drainTaskFiles(ctx)
	if err == nil {
		err = p.drainMirror(ctx)
	}
	if err != nil {
		p.opts.Logger.Warn("files are behind the log at the end; the next start writes what is missing", "after", fileDrainTime, "err", err)
	}
}

func (p *Program) drainTaskFiles(ctx context.Context) error {
	head, err := p.log.Head(ctx)
	if err != nil || p.taskFiles == nil {
		return err
	}
	behind, err := p.taskFiles.keeper.Drained(ctx, head.Seq)
	if len(behind) > 0 {
		p.opts.Logger.Warn("files of tasks are not as the log says at the end; make their places writable, the next start writes them",
			"files", len(behind), "paths", behind[:min(len(behind), mostPathsTold)])
	}
	if err != nil {
		return fmt.Errorf("write the files of tasks: %w", err)
	}
	return nil
}

func (p *Program) drainMirror(ctx context.Context) error {
	head, err := p.log.Head(ctx) // files of tasks have appended what they wrote
	if err != nil || p.mirror == nil {
		return err
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		if s := p.mirror.Status(); s.Seq >= head.Seq || s.Error != "" {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("mirror the log: %w", ctx.Err())
		}
	}
}
