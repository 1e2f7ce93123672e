package continuation

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	page     = 500         // events that are read at a time
	maxPages = 20          // of them, before all agents are looked at instead
	maxSleep = time.Minute // how long nobody looks at the clock, which somebody may set
	minCheck = time.Second // between two looks at all agents

	soonAfter = time.Second // how long after the first update of a task its agent is looked at
)

// watch is the state of Run, which nobody else touches.
type watch struct {
	*Executor
	begun bool
	seq   int64 // of the log, up to which events are known

	all      bool             // agents are to be looked at
	marked   map[string]bool  // these are
	due      map[string]int64 // when these are, ms since 1970
	checked  int64            // when all were looked at last, likewise
	failures map[string]int   // how often in a row these could not be looked at
}

// round looks at those who are to be looked at, and waits until somebody may be. Errors are the log's.
func (w *watch) round(ctx context.Context) error {
	if err := w.read(ctx); err != nil {
		return err
	}
	if err := w.look(ctx); err != nil {
		return err
	}
	return w.sleep(ctx)
}

// read marks the agents that the events concern which have come since.
func (w *watch) read(ctx context.Context) error {
	if !w.begun {
		head, err := w.o.Log.Head(ctx)
		if err != nil {
			return err
		}
		w.begun, w.seq = true, head.Seq
		return nil
	}
	for range maxPages {
		events, err := w.o.Log.Read(ctx, w.seq, page)
		if err != nil {
			return err
		}
		now := w.o.Now().UnixMilli()
		for i := range events {
			w.mark(&events[i], now)
			w.seq = events[i].Seq
		}
		if len(events) < page {
			return nil
		}
	}
	w.begun, w.all = false, true // too many have come: the rest is passed over
	return w.read(ctx)
}

// mark marks the agents about which something else may be to be done after an event. An update of a task alone makes nothing due at once: its agent
// is looked at soon, and once for all that come until then. now is ms since 1970.
func (w *watch) mark(e *eventstore.Event, now int64) {
	if e.Actor == eventstore.ActorImport || w.all {
		return
	}
	switch e.Type {
	case coordination.TypeConfigApplied, coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted,
		coordination.TypeTaskCancelled,                              // tasks of others may depend on it
		coordination.TypeFileImported, coordination.TypeFileChanged: // likewise, if it says that
		w.all = true
		return
	case coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut:
		w.marked[strings.ToLower(e.AgentID)] = true
		return
	case coordination.TypeTaskUpdated:
		agent := strings.ToLower(e.AgentID)
		if at, soon := w.due[agent], now+soonAfter.Milliseconds(); at == 0 || soon < at {
			w.due[agent] = soon
		}
		return
	case coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
		w.markNamed(e, "fromAgent")
		return
	}
	switch family, _, _ := strings.Cut(e.Type, "."); family {
	case "task", "plan", "backlog", "zombie", "unblock", "continuation", "resume_reminder":
		w.marked[strings.ToLower(e.AgentID)] = true
		if e.Type == coordination.TypeTaskBacklogAdded {
			w.markNamed(e, "assignee")
		}
	}
}

// markNamed marks the agent that a member of an event's data names, all where it cannot be read.
func (w *watch) markNamed(e *eventstore.Event, member string) {
	name := ""
	_ = coordination.EachField(e.Data, func(field string, raw []byte) bool { // without any it names none
		if field == member {
			_ = json.Unmarshal(raw, &name)
			return false
		}
		return true
	})
	if name == "" {
		w.all = true
		return
	}
	w.marked[strings.ToLower(name)] = true
}

// look looks at the agents that are marked, or due. What cannot be looked at is tried again, and harms no other.
func (w *watch) look(ctx context.Context) error {
	conf, now := w.o.Config(), w.o.Now().UnixMilli()
	if now >= w.checked+every(conf) || now < w.checked {
		w.all = true
	}
	if w.all {
		w.checked = now
	}
	for _, agent := range conf.Workers() {
		if due := w.due[agent]; !w.all && !w.marked[agent] && (due == 0 || now < due) {
			continue
		}
		at, err := w.Executor.look(ctx, agent)
		switch {
		case err == nil:
			delete(w.failures, agent)
		case ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed):
			return err
		case errors.Is(err, errRestless):
			w.o.Logger.Error("an agent is left alone until something happens to it", "agent", agent, "err", err)
		default:
			w.failures[agent]++
			w.o.Logger.Error("an agent is not kept going for now", "agent", agent, "err", err)
			at = now + retryAfter(w.failures[agent]).Milliseconds()
		}
		w.due[agent] = at
	}
	w.all = false
	clear(w.marked)
	return nil
}

// every is how long it is between two looks at all agents, in ms.
func every(conf *config.Config) int64 {
	return max(conf.Defaults.Continuation.CheckInterval, minCheck).Milliseconds()
}

// sleep waits for the next event, or until somebody is due.
func (w *watch) sleep(ctx context.Context) error {
	inTime, cancel := context.WithTimeout(ctx, w.nap(w.o.Config(), w.o.Now().UnixMilli()))
	defer cancel()
	_, err := w.o.Log.Wait(inTime, w.seq+1)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// nap is how long it is until somebody is due, or all are. Agents that there are no more are forgotten.
func (w *watch) nap(conf *config.Config, now int64) time.Duration {
	agents, first := conf.Workers(), w.checked+every(conf)
	for agent, at := range w.due {
		if !slices.Contains(agents, agent) {
			delete(w.due, agent)
		} else if at > 0 {
			first = min(first, at)
		}
	}
	return min(max(time.Duration(first-now)*time.Millisecond, 0), maxSleep)
}

// retryAfter is how long to wait before something is tried again, for the first time, the second, and so on.
func retryAfter(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 10), maxSleep)
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
