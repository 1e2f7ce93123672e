package files

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// How long what has failed waits before it is tried again: twice as long each time.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// lookEvery is how often files are looked at although nothing was heard of them: not every workspace is watched.
const lookEvery = 10 * time.Minute

// Run makes all files what they should be, and keeps them so until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	k.removeLeftovers()
	ctx, stop := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { k.work(ctx) })
	working.Go(func() { k.lookAround(ctx) })
	defer working.Wait()
	defer stop()
	after, tries := int64(-1), 0
	for {
		err := k.follow(ctx, &after, &tries)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, eventstore.ErrClosed):
			return err
		}
		if tries++; tries == 1 {
			k.o.Logger.Error("the log cannot be read for the files of tasks; it is tried again", "err", err)
		}
		k.logIs(err)
		if !rest(ctx, retryAfter(tries)) {
			return nil
		}
	}
}

// logIs notes why the log cannot be read; nil: it can.
func (k *Keeper) logIs(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unread = ""; err != nil {
		k.unread = err.Error()
	}
}

// follow puts on the agenda what has to be looked at at the beginning, and then what events change. after is the last event that was read;
// below 0 nothing was. tries is how often it could not be read in a row.
func (k *Keeper) follow(ctx context.Context, after *int64, tries *int) error {
	const page = 500
	if *after < 0 {
		head, err := k.o.Log.Head(ctx)
		if err != nil {
			return err
		}
		all, err := k.everything(ctx, recentMonths)
		if err != nil {
			return err
		}
		k.agenda.add(head.Seq, all...)
		k.agenda.read(head.Seq)
		*after = head.Seq
	}
	for {
		events, err := k.o.Log.Read(ctx, *after, page)
		if err != nil {
			return err
		}
		for i := range events {
			if id, ok := taskOf(&events[i]); ok {
				k.agenda.add(events[i].Seq, subject{task: id})
			}
		}
		if *tries > 0 {
			*tries = 0
			k.logIs(nil)
			k.o.Logger.Info("the log can be read again for the files of tasks")
		}
		if len(events) > 0 {
			*after = events[len(events)-1].Seq
			k.agenda.read(*after)
		}
		if len(events) < page {
			if _, err := k.o.Log.Wait(ctx, *after+1); err != nil {
				return err
			}
		}
	}
}

// taskOf is the task that an event changes. Those of an imported log change none.
func taskOf(e *eventstore.Event) (id string, ok bool) {
	name, ok := strings.CutPrefix(e.Stream, "task/")
	if !ok || e.Actor == eventstore.ActorImport {
		return "", false
	}
	var data coordination.Context
	if json.Unmarshal(e.Data, &data) == nil && data.TaskID != "" {
		name = data.TaskID // where it cannot stand in the name of a stream
	}
	return name, true
}

// Check has a file of an agent looked at again, which somebody may have edited. name is relative to the agent's workspace.
func (k *Keeper) Check(agent, name string) {
	if s, ok := subjectOf(agent, name); ok {
		k.agenda.see(s)
	}
}

// lookAround has all files looked at from time to time.
func (k *Keeper) lookAround(ctx context.Context) {
	for rest(ctx, lookEvery) {
		if all, err := k.everything(ctx, recentMonths); err == nil { // else follow tells
			k.agenda.see(all...)
		}
	}
}

// work looks at what is due.
func (k *Keeper) work(ctx context.Context) {
	for ctx.Err() == nil {
		changed := k.agenda.changed()
		due, next := k.agenda.due(time.Now())
		for _, s := range due {
			if ctx.Err() != nil {
				return
			}
			k.settle(ctx, s)
		}
		if len(due) > 0 {
			continue
		}
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer:
		}
	}
}

// settle makes the files of a subject what they should be, or puts it off.
func (k *Keeper) settle(ctx context.Context, s subject) {
	since, tries := k.agenda.begin(s)
	_, err := k.keep(ctx, s, since, false)
	var soon *soonError
	switch {
	case err == nil:
		if tries > 0 {
			k.o.Logger.Info("files of tasks can be written again", "of", s.String(), "tries", tries)
		}
		k.agenda.done(s)
		if _, failing := k.agenda.settledTo(); failing == 0 {
			k.note(func(s *State) { s.LastError = "" })
		}
	case ctx.Err() != nil:
		k.agenda.later(s, time.Now(), false)
	case errors.As(err, &soon):
		k.agenda.later(s, soon.at, false)
	default:
		if tries == 0 {
			k.o.Logger.Error("a file of tasks cannot be written; it is tried again", "of", s.String(), "err", err)
		}
		k.note(func(s *State) { s.LastError = err.Error() })
		k.agenda.later(s, time.Now().Add(retryAfter(tries+1)), true)
	}
}

func retryAfter(tries int) time.Duration {
	return min(firstRetry<<min(tries-1, 10), lastRetry)
}

// rest waits, and reports whether it was not told to end.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
