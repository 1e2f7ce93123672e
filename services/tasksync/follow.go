package tasksync

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
)

var retries = backoff.Backoff{First: time.Second, Most: time.Minute}

// lookEvery is the interval of checking all files, since not every workspace can be watched.
const lookEvery = 10 * time.Minute

// Run synchronizes all files and keeps them so until ctx ends.
func (s *Syncer) Run(ctx context.Context) error {
	s.removeLeftovers()
	ctx, stop := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { s.work(ctx) })
	working.Go(func() { s.scheduleAll(ctx) })
	defer working.Wait()
	defer stop()
	after, tries := int64(-1), 0
	for {
		err := s.follow(ctx, &after, &tries)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, eventstore.ErrClosed):
			return err
		}
		if tries++; tries == 1 {
			s.o.Logger.Error("cannot read the log for task files; will retry", "err", err)
		}
		s.logIs(err)
		if wait.For(ctx, retries.After(tries)) != nil {
			return nil
		}
	}
}

// logIs records why the log cannot be read; nil if it can.
func (s *Syncer) logIs(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unread = ""; err != nil {
		s.unread = err.Error()
	}
}

// follow queues everything at first, and then what events change. after is the last event read, below 0 for none. tries
// counts the consecutive failures.
func (s *Syncer) follow(ctx context.Context, after *int64, tries *int) error {
	const page = 500
	if *after < 0 {
		head, err := s.o.Log.Head(ctx)
		if err != nil {
			return err
		}
		all, err := s.everything(ctx, recentMonths)
		if err != nil {
			return err
		}
		s.agenda.add(head.Seq, all...)
		s.agenda.read(head.Seq)
		*after = head.Seq
	}
	for {
		events, err := s.o.Log.Read(ctx, *after, page)
		if err != nil {
			return err
		}
		for i := range events {
			if id, ok := taskOf(&events[i]); ok {
				s.agenda.add(events[i].Seq, subject{task: id})
			}
		}
		if *tries > 0 {
			*tries = 0
			s.logIs(nil)
			s.o.Logger.Info("the log can be read again for task files")
		}
		if len(events) > 0 {
			*after = events[len(events)-1].Seq
			s.agenda.read(*after)
		}
		if len(events) < page {
			if _, err := s.o.Log.Wait(ctx, *after+1); err != nil {
				return err
			}
		}
	}
}

// taskOf returns the task that an event changes. Events of an imported log change none.
func taskOf(e *eventstore.Event) (id string, ok bool) {
	name, ok := strings.CutPrefix(e.Stream, "task/")
	if !ok || e.Actor == eventstore.ActorImport {
		return "", false
	}
	var data coordination.Context
	if json.Unmarshal(e.Data, &data) == nil && data.TaskID != "" {
		name = data.TaskID // an id that cannot be in a stream name
	}
	return name, true
}

// Check schedules a file of an agent, which may have been edited. name is relative to the agent's workspace.
func (s *Syncer) Check(agent, name string) {
	if subj, ok := subjectOf(agent, name); ok {
		s.agenda.see(subj)
	}
}

// scheduleAll schedules all files from time to time.
func (s *Syncer) scheduleAll(ctx context.Context) {
	for wait.For(ctx, lookEvery) == nil {
		if all, err := s.everything(ctx, recentMonths); err == nil { // else follow reports it
			s.agenda.see(all...)
		}
	}
}

// work synchronizes what is due.
func (s *Syncer) work(ctx context.Context) {
	for ctx.Err() == nil {
		changed := s.agenda.nextChange()
		due, next := s.agenda.due(time.Now())
		for _, subj := range due {
			if ctx.Err() != nil {
				return
			}
			s.settle(ctx, subj)
		}
		if len(due) > 0 {
			continue
		}
		pause := time.Duration(0)
		if !next.IsZero() {
			pause = max(time.Until(next), 1)
		}
		wait.Woken(ctx, changed, pause)
	}
}

// settle synchronizes a subject, or postpones it.
func (s *Syncer) settle(ctx context.Context, subj subject) {
	since, tries := s.agenda.begin(subj)
	_, err := s.sync(ctx, subj, since, false)
	var soon *tooSoonError
	switch {
	case err == nil:
		if tries > 0 {
			s.o.Logger.Info("task files can be written again", "of", subj.String(), "tries", tries)
		}
		s.agenda.done(subj)
		if _, failing := s.agenda.settledTo(); failing == 0 {
			s.updateState(func(state *health.TaskFilesState) { state.Error = "" })
		}
	case ctx.Err() != nil:
		s.agenda.later(subj, time.Now(), false)
	case errors.As(err, &soon):
		s.agenda.later(subj, soon.at, false)
	default:
		if tries == 0 {
			s.o.Logger.Error("cannot write a task file; will retry", "of", subj.String(), "err", err)
		}
		s.updateState(func(state *health.TaskFilesState) { state.Error = err.Error() })
		s.agenda.later(subj, time.Now().Add(retries.After(tries+1)), true)
	}
}
