package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
)

// performed is a step that was performed.
type performed struct {
	step    decide.Step // as it was performed: another one, if a run was refused
	appends []eventstore.StreamAppend
	refused *refusedAsk // the first run that was; nil if none was
}

// opening is the flow that a step opens.
func opening(f *decide.Flow, s *decide.Step) *decide.Flow {
	for _, e := range s.Events {
		if created, is := e.Data.(coordination.A2AJobCreated); is {
			return &decide.Flow{A2AJobCreated: created}
		}
	}
	return f
}

// refusedAsk says why a run was not queued.
type refusedAsk struct{ code, text, mend string }

// maxRefused is how many runs of one flow may be refused one after the other: after so many it should have ended.
const maxRefused = 4

// performed performs a step of a flow, in the transaction that read f: its events, the runs that it asks for, and where it ends a flow, what
// follows for others.
func (c *Coordinator) performed(tx eventstore.Tx, f *decide.Flow, s decide.Step, now time.Time) (done performed, err error) {
	if done, err = c.performStep(tx, f, s, now); err != nil || !done.step.Over {
		return done, err
	}
	told, err := c.told(tx, f, &done.step, now)
	if err != nil {
		return done, err
	}
	after, err := c.afterwards(tx, f, now)
	done.appends = append(append(done.appends, told...), after...)
	return done, err
}

// performStep performs a step without what follows for others.
func (c *Coordinator) performStep(tx eventstore.Tx, f *decide.Flow, s decide.Step, now time.Time) (done performed, err error) {
	was := f
	if f.Phase == "" {
		was, f = nil, opening(f, &s)
	}
	var asked []eventstore.StreamAppend
	for refusals := 0; ; refusals++ {
		var refused *refusedAsk
		if asked, refused, err = c.ask(tx, f, s.Asks, now); err != nil {
			return done, err
		}
		if refused == nil {
			break
		}
		if done.refused == nil {
			done.refused = refused
		}
		if refusals == maxRefused {
			return done, fmt.Errorf("flow %s: each run is refused: %s", f.JobID, refused.text)
		}
		s = decide.Refused(was, s, refused.code, refused.text, now.UnixMilli())
	}
	done.step = s
	if done.appends, err = appendsOf(f, s.Events, now); err != nil {
		return done, err
	}
	if was != nil { // else who opens it tells its task
		settled, err := c.settled(tx, f, &s, now)
		if err != nil {
			return done, err
		}
		done.appends = beforeTheEnd(done.appends, settled)
	}
	done.appends = append(done.appends, asked...)
	c.waits.note(f.JobID, &s)
	return done, nil
}

// ask has runs queued. refused is the first one that is not.
func (c *Coordinator) ask(tx eventstore.Tx, f *decide.Flow, asks []run.Ask, now time.Time) (appends []eventstore.StreamAppend, refused *refusedAsk,
	err error) {
	for _, ask := range asks {
		if f.Kind == string(decide.Spawn) {
			if ask, err = ofSubagent(tx, f, ask); err != nil {
				return nil, nil, err
			}
		}
		one, err := c.o.Runs.Ask(tx, ask, now)
		var refusal *run.Refusal
		var busy *run.Busy
		switch {
		case errors.As(err, &refusal):
			return nil, &refusedAsk{refusal.Code, refusal.Text, refusal.Mend}, nil
		case errors.As(err, &busy):
			return nil, &refusedAsk{busy.Code(), busy.Error(), busy.Hint()}, nil
		case err != nil:
			return nil, nil, fmt.Errorf("ask for run %s: %w", ask.RunID, err)
		}
		appends = append(appends, one...)
	}
	return appends, nil, nil
}

// afterwards is what follows from the end of a flow, for others: a sub-agent's session is taken away, and a permit goes on to who waits for
// one. f is how it stood before.
func (c *Coordinator) afterwards(tx eventstore.Tx, f *decide.Flow, now time.Time) ([]eventstore.StreamAppend, error) {
	if f.Kind == string(decide.Spawn) {
		return c.cleanup(f, now)
	}
	if !f.Phase.Holds() {
		return nil, nil
	}
	active, waiting, err := projection.Permits(tx, f.ToAgent)
	if err != nil || waiting == 0 {
		return nil, err
	}
	return c.handOver(tx, f.ToAgent, active-1, nil, now) // what this transaction says of f is not in the table yet
}

// maxHandOver is how many flows that wait for a permit are looked at in one transaction. The end of another flow, or their own time, brings
// those behind them in.
const maxHandOver = 32

// handOver gives the permits of a target that are free to due, the flow whose time has come, nil for none, and to those who have waited longest.
// active is how many are not free. Of those that answer in one session it is one at a time, for the second would not see that the first begins
// it; the others go past it.
func (c *Coordinator) handOver(tx eventstore.Tx, target string, active int, due *decide.Flow, now time.Time) (appends []eventstore.StreamAppend,
	err error) {
	var had []string
	sessions := map[string]bool{}
	for most := c.maxFlows(); active < most && len(had) < maxHandOver; {
		f := due
		if f == nil || len(had) > 0 {
			if f, err = longestWaiting(tx, target, had); f == nil || err != nil {
				return appends, err
			}
		}
		had = append(had, f.JobID)
		if sessions[f.TargetSessionKey] {
			continue
		}
		done, err := c.performed(tx, f, decide.Dispatch(f, now.UnixMilli()), now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, done.appends...)
		if !done.step.Over { // else its run was refused, and the permit is free again
			active++
			sessions[f.TargetSessionKey] = true
		}
	}
	return appends, nil
}

// longestWaiting is the flow that has waited longest for a permit of a target, those left out that are named; nil is none.
func longestWaiting(tx eventstore.Tx, target string, except []string) (*decide.Flow, error) {
	next, err := projection.Next(tx, target, except...)
	if err != nil || next == "" {
		return nil, err
	}
	f, found, err := projection.Load(tx, next)
	if err == nil && !found {
		err = fmt.Errorf("flow %s waits for a permit, but nobody has asked for it", next)
	}
	return f, err
}

// maxFlows is how many flows an agent may have at a time by the configuration in force.
func (c *Coordinator) maxFlows() int { return max(c.o.Config().Defaults.A2A.MaxFlows, 1) }

// appendsOf puts the events of a step where they belong, in their order.
func appendsOf(f *decide.Flow, events []decide.Event, now time.Time) (appends []eventstore.StreamAppend, err error) {
	for i := range events {
		e := &events[i]
		data, err := json.Marshal(e.Data)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", e.Type, err)
		}
		stream := streamOf(f, e)
		if n := len(appends); n == 0 || appends[n-1].Stream != stream {
			appends = append(appends, eventstore.StreamAppend{Stream: stream})
		}
		last := &appends[len(appends)-1]
		last.Events = append(last.Events, eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: actorOf(e.Type), Data: data,
			CorrelationID: f.ConversationID}.WithTS(now.UnixMilli()))
	}
	return appends, nil
}

// causedBy names the event that has caused others, where none is named yet. "" is not known.
func causedBy(id string, appends []eventstore.StreamAppend) []eventstore.StreamAppend {
	for _, a := range appends {
		for i := range a.Events {
			if a.Events[i].CausationID == "" {
				a.Events[i].CausationID = id
			}
		}
	}
	return appends
}

// streamOf is that of the job for what becomes of the job, and that of the conversation for what is said in it.
func streamOf(f *decide.Flow, e *decide.Event) string {
	switch e.Type {
	case coordination.TypeA2AJobCreated, coordination.TypeA2AJobRunning, coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed,
		coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobResumed, coordination.TypeA2AJobCancelled:
		return coordination.JobStream(f.JobID)
	}
	return coordination.StreamOf(&coordination.Record{Type: e.Type, AgentID: e.AgentID, Facts: coordination.Facts{ConversationID: f.ConversationID}})
}

// actorOf is who does what an event tells: agents speak, and the program does the rest.
func actorOf(typ string) eventstore.Actor {
	switch typ {
	case coordination.TypeA2ASend, coordination.TypeA2AResponse, coordination.TypeA2ASpawn:
		return eventstore.ActorAgent
	}
	return eventstore.ActorSystem
}
