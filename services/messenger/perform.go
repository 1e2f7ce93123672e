package messenger

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
)

// stepResult is a step after it was performed.
type stepResult struct {
	step    a2a.Step // replaced if a run was refused
	appends []eventstore.StreamAppend
	refused *queueRefusal // first refused run; nil for none
}

// opening is the flow that a step opens.
func opening(f *a2a.Flow, s *a2a.Step) *a2a.Flow {
	for _, e := range s.Events {
		if created, is := e.Data.(coordination.A2AJobCreated); is {
			return &a2a.Flow{A2AJobCreated: created}
		}
	}
	return f
}

type queueRefusal struct{ code, text, hint string }

// maxRefused bounds the consecutive refused runs of one flow; by then it should have ended.
const maxRefused = 4

// performed performs a step of a flow in the transaction that read f: its events, its runs, and at the end of a flow the consequences
// for others.
func (s *Service) performed(tx eventstore.Tx, f *a2a.Flow, step a2a.Step, now time.Time) (done stepResult, err error) {
	if done, err = s.performStep(tx, f, step, now); err != nil || !done.step.Over {
		return done, err
	}
	told, err := s.notifyRequester(tx, f, &done.step, now)
	if err != nil {
		return done, err
	}
	after, err := s.consequences(tx, f, now)
	done.appends = append(append(done.appends, told...), after...)
	return done, err
}

// performStep performs a step without the consequences for others.
func (s *Service) performStep(tx eventstore.Tx, f *a2a.Flow, step a2a.Step, now time.Time) (done stepResult, err error) {
	was := f
	if f.Phase == "" {
		was, f = nil, opening(f, &step)
	}
	var asked []eventstore.StreamAppend
	for refusals := 0; ; refusals++ {
		var refused *queueRefusal
		if asked, refused, err = s.ask(tx, f, step.Asks, now); err != nil {
			return done, err
		}
		if refused == nil {
			break
		}
		if done.refused == nil {
			done.refused = refused
		}
		if refusals == maxRefused {
			return done, fmt.Errorf("flow %s: every run is refused: %s", f.JobID, refused.text)
		}
		step = a2a.Refused(was, step, refused.code, refused.text, now.UnixMilli())
	}
	done.step = step
	if done.appends, err = appendsOf(f, step.Events, now); err != nil {
		return done, err
	}
	if was != nil { // else the caller that opens it reports to the task
		settled, err := s.settled(tx, f, &step, now)
		if err != nil {
			return done, err
		}
		done.appends = insertBeforeEnd(done.appends, settled)
	}
	done.appends = append(done.appends, asked...)
	s.waits.noteAnswer(f.JobID, &step)
	return done, nil
}

// ask queues runs. refused is the first one that is refused.
func (s *Service) ask(tx eventstore.Tx, f *a2a.Flow, asks []run.Ask, now time.Time) (appends []eventstore.StreamAppend, refused *queueRefusal,
	err error) {
	for _, ask := range asks {
		if f.Kind == string(a2a.Spawn) {
			if ask, err = ofSubagent(tx, f, ask); err != nil {
				return nil, nil, err
			}
		}
		one, err := s.o.Queue.Ask(tx, ask, now)
		var refusal *run.Refusal
		var busy *run.Busy
		switch {
		case errors.As(err, &refusal):
			return nil, &queueRefusal{refusal.Reason, refusal.Text, refusal.HintText}, nil
		case errors.As(err, &busy):
			return nil, &queueRefusal{busy.Code(), busy.Error(), busy.Hint()}, nil
		case err != nil:
			return nil, nil, fmt.Errorf("queue run %s: %w", ask.RunID, err)
		}
		appends = append(appends, one...)
	}
	return appends, nil, nil
}

// consequences returns the consequences of the end of a flow for others: a sub-agent's session is deleted, and a permit passes to a
// waiting flow. f is the flow before the step.
func (s *Service) consequences(tx eventstore.Tx, f *a2a.Flow, now time.Time) ([]eventstore.StreamAppend, error) {
	if f.Kind == string(a2a.Spawn) {
		return s.cleanup(f, now)
	}
	if !f.Phase.Holds() {
		return nil, nil
	}
	active, waiting, err := flows.Permits(tx, f.ToAgent)
	if err != nil || waiting == 0 {
		return nil, err
	}
	return s.handOver(tx, f.ToAgent, active-1, nil, now) // the table does not have the changes of this transaction yet
}

// maxHandOver bounds the waiting flows considered in one transaction. The rest follow at the end of another flow, or at their own time.
const maxHandOver = 32

// handOver gives free permits of a target to due, the flow that is due (nil for none), and then to the flows that have waited longest.
// active is the number of permits in use. Of flows answered in one session only one gets a permit at a time, since the second would not
// see that the first begins the session; the others overtake it.
func (s *Service) handOver(tx eventstore.Tx, target string, active int, due *a2a.Flow, now time.Time) (appends []eventstore.StreamAppend,
	err error) {
	var had []string
	sessions := map[string]bool{}
	for most := s.maxFlows(); active < most && len(had) < maxHandOver; {
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
		done, err := s.performed(tx, f, a2a.Dispatch(f, now.UnixMilli()), now)
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

// longestWaiting returns the flow that has waited longest for a permit of a target, except the given ones; nil for none.
func longestWaiting(tx eventstore.Tx, target string, except []string) (*a2a.Flow, error) {
	next, err := flows.Next(tx, target, except...)
	if err != nil || next == "" {
		return nil, err
	}
	f, found, err := flows.Load(tx, next)
	if err == nil && !found {
		err = fmt.Errorf("flow %s waits for a permit but has no job event", next)
	}
	return f, err
}

// maxFlows returns the configured permits of an agent.
func (s *Service) maxFlows() int { return max(s.o.Config().Defaults.A2A.MaxFlows, 1) }

// appendsOf assigns the events of a step to their streams, in order.
func appendsOf(f *a2a.Flow, events []a2a.Event, now time.Time) (appends []eventstore.StreamAppend, err error) {
	for i := range events {
		e := &events[i]
		stream := streamOf(f, e)
		if n := len(appends); n == 0 || appends[n-1].Stream != stream {
			appends = append(appends, eventstore.StreamAppend{Stream: stream})
		}
		event := eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: actorOf(e.Type), CorrelationID: f.ConversationID}
		if err := appends[len(appends)-1].Add(event, e.Data, now.UnixMilli()); err != nil {
			return nil, err
		}
	}
	return appends, nil
}

// causedBy sets the causing event where none is set yet; "" for an unknown one.
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

// streamOf returns the job's stream for events of the job, and the conversation's for messages.
func streamOf(f *a2a.Flow, e *a2a.Event) string {
	switch e.Type {
	case coordination.TypeA2AJobCreated, coordination.TypeA2AJobRunning, coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed,
		coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobResumed, coordination.TypeA2AJobCancelled:
		return coordination.JobStream(f.JobID)
	}
	return coordination.StreamOf(&coordination.Record{Type: e.Type, AgentID: e.AgentID, Facts: coordination.Facts{ConversationID: f.ConversationID}})
}

// actorOf returns the actor of an event: the agent for messages, else the program.
func actorOf(typ string) eventstore.Actor {
	switch typ {
	case coordination.TypeA2ASend, coordination.TypeA2AResponse, coordination.TypeA2ASpawn:
		return eventstore.ActorAgent
	}
	return eventstore.ActorSystem
}
