package continuer

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
	"github.com/pronto-lab/openclawd/internal/backoff"
)

const (
	page     = 500         // events read at a time
	maxPages = 20          // number of them above which all agents are checked instead
	maxSleep = time.Minute // longest sleep, since the clock may be set
	minCheck = time.Second // between two checks of all agents

	soonAfter = time.Second // from the first update of a task to the check of its agent
)

// watch is the state of Run, used by one goroutine only.
type watch struct {
	*Service
	started bool
	seq     int64 // position in the log

	all      bool             // all agents have to be checked
	marked   map[string]bool  // agents that have to be checked
	due      map[string]int64 // next check of each agent, ms since 1970
	checked  int64            // last check of all, likewise
	failures map[string]int   // consecutive failures of each agent
}

// round checks the agents that are due and waits for the next one. Errors are the log's.
func (w *watch) round(ctx context.Context) error {
	if err := w.read(ctx); err != nil {
		return err
	}
	if err := w.check(ctx); err != nil {
		return err
	}
	return w.sleep(ctx)
}

// read marks the agents that new events concern.
func (w *watch) read(ctx context.Context) error {
	if !w.started {
		head, err := w.o.Log.Head(ctx)
		if err != nil {
			return err
		}
		w.started, w.seq = true, head.Seq
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
	w.started, w.all = false, true // too many events: the rest is skipped
	return w.read(ctx)
}

// mark marks the agents that an event may make something due for. A task update alone does not: its agent is checked a little later,
// once for all updates until then. now is in ms since 1970.
func (w *watch) mark(e *eventstore.Event, now int64) {
	if e.Actor == eventstore.ActorImport || w.all {
		return
	}
	switch e.Type {
	case coordination.TypeConfigApplied, coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted,
		coordination.TypeTaskCancelled,                              // tasks of others may depend on it
		coordination.TypeFileImported, coordination.TypeFileChanged: // likewise, if it says so
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

// markNamed marks the agent named by a member of an event's data, or all agents if the data cannot be read.
func (w *watch) markNamed(e *eventstore.Event, member string) {
	name := ""
	_ = coordination.EachField(e.Data, func(field string, raw []byte) bool { // data without the member names no agent
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

// check checks the agents that are marked or due. A failure is retried and does not affect the others.
func (w *watch) check(ctx context.Context) error {
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
		at, err := w.Service.checkAgent(ctx, agent)
		switch {
		case err == nil:
			delete(w.failures, agent)
		case ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed):
			return err
		case errors.Is(err, errRestless):
			w.o.Logger.Error("too many continuation steps; waiting for the agent's next event", "agent", agent, "err", err)
		default:
			w.failures[agent]++
			w.o.Logger.Error("cannot check an agent for continuation; will retry", "agent", agent, "err", err)
			at = now + retries.After(w.failures[agent]).Milliseconds()
		}
		w.due[agent] = at
	}
	w.all = false
	clear(w.marked)
	return nil
}

// every returns the interval between checks of all agents, in ms.
func every(conf *config.Config) int64 {
	return max(conf.Defaults.Continuation.CheckInterval, minCheck).Milliseconds()
}

func (w *watch) sleep(ctx context.Context) error {
	inTime, cancel := context.WithTimeout(ctx, w.nap(w.o.Config(), w.o.Now().UnixMilli()))
	defer cancel()
	_, err := w.o.Log.Wait(inTime, w.seq+1)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// nap returns the time until an agent, or the check of all, is due. It forgets agents that are no longer configured.
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

var retries = backoff.Backoff{First: time.Second, Most: maxSleep}
