package a2a

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Broadcast is one message to several agents: a flow to each of them, all in one work session.
type Broadcast struct {
	Request          // Target, ConversationID, ParentConversationID and Payload are not used
	Targets []string // ids of agents; at most MaxTargets. One that is named twice gets it once
}

// MaxTargets is how many agents a message goes to at most.
const MaxTargets = 50

// BroadcastResult is what became of a broadcast until it returned. It is also what sessions_broadcast answers.
type BroadcastResult struct {
	Status        string         `json:"status"` // ok: all have answered; accepted: nobody waited; timeout, partial, error, forbidden
	Error         string         `json:"error,omitempty"`
	Code          string         `json:"code,omitempty"`
	Mend          string         `json:"mend,omitempty"`
	WorkSessionID string         `json:"workSessionId,omitempty"`
	TaskID        string         `json:"taskId,omitempty"`
	Sent          int            `json:"sent"`     // to how many it went
	Answered      int            `json:"answered"` // how many have answered
	Refused       int            `json:"refused"`  // to how many it did not go
	Results       []TargetResult `json:"results"`  // in the order of Targets
	Duplicate     bool           `json:"duplicate,omitempty"`
}

// TargetResult is what became of it for one agent.
type TargetResult struct {
	AgentID string `json:"agentId"`
	Result
}

// Broadcast sends one message to several agents, in one transaction: a crash leaves it sent to all who may get it, or to none. Where it waits,
// it waits for all of them together, and the end of ctx ends the waiting alone.
//
// What stands against one target is told by its result, and the others get it; what stands against the message itself, by the result of all,
// and nobody gets it. Who sends it again under the same key sends it to those alone who have not had it, in the work session that they have it in.
// Errors are the log's.
func (c *Coordinator) Broadcast(ctx context.Context, b Broadcast) (BroadcastResult, error) {
	asker, err := c.askerOf(ctx, b.From.RunID)
	if err != nil {
		return BroadcastResult{}, err
	}
	s, refused := c.broadcasting(&b, asker)
	if refused != nil {
		return refusedBroadcast(refused), nil
	}
	if b.Wait > 0 {
		left := c.waits.enter(asker.Lane)
		defer left()
		for _, one := range s.sends {
			one.join()
			defer one.leave()
		}
	}
	if _, err := c.o.Log.Decide(ctx, s.decide); err != nil {
		return BroadcastResult{}, err
	}
	if s.refused != nil {
		return refusedBroadcast(s.refused), nil
	}
	return s.await(ctx)
}

// broadcasting is a message on its way into the log, to several agents.
type broadcasting struct {
	c     *Coordinator
	b     *Broadcast
	sends []*sending // one for each target

	belongs belonging // what it is said to belong to
	refused *refusal  // what the log says against it, whoever is to get it
}

// broadcasting prepares what is decided. refused says what stands against it whatever the log says, whoever is to get it.
func (c *Coordinator) broadcasting(b *Broadcast, asker run.Result) (s *broadcasting, refused *refusal) {
	targets, refused := targetsOf(b)
	if refused != nil {
		return nil, refused
	}
	s = &broadcasting{c: c, b: b}
	for _, agent := range targets {
		r := b.Request
		r.Target, r.Payload, r.ConversationID, r.ParentConversationID = coordination.MainKey(agent), "", "", ""
		if b.Key != "" {
			r.Key = derivedID("broadcast", b.Key, agent)
		}
		one := c.sending(&r, asker)
		switch {
		case one.invalid != nil && one.invalid.code == codeInvalid:
			return nil, one.invalid
		case one.agent == one.fromAgent:
			one.invalid = &refusal{statusError, codeInvalid, "a broadcast does not go to the agent that sends it", "leave " + agent + " out"}
		}
		s.sends = append(s.sends, one)
	}
	s.belongs = s.sends[0].belongs
	s.belongs.session = "" // what goes to many goes on with no conversation of two
	return s, nil
}

// targetsOf are the agents that a message is for, each once.
func targetsOf(b *Broadcast) (targets []string, refused *refusal) {
	invalid := func(text, mend string) ([]string, *refusal) {
		return nil, &refusal{statusError, codeInvalid, text, mend}
	}
	for i, name := range b.Targets {
		id := coordination.NormalizeAgentID(name)
		if id == "" {
			return invalid(fmt.Sprintf("agents[%d] is no id of an agent", i), "agents_list tells which there are")
		}
		if !slices.Contains(targets, id) {
			targets = append(targets, id)
		}
		if len(targets) > MaxTargets {
			return invalid(fmt.Sprintf("these are more than %d agents", MaxTargets), "name those that have to know, and send it to the others by another call")
		}
	}
	switch {
	case len(targets) == 0:
		return invalid("nobody is named to write to", "name an agent at least")
	case len(b.Key) > MaxKey:
		return invalid(fmt.Sprintf("idempotencyKey has %d bytes, must have at most %d", len(b.Key), MaxKey), "give a shorter one")
	}
	return targets, nil
}

// decide begins a flow to each target that has none yet, those first that nothing stands against: a work session does not begin with a refusal.
func (s *broadcasting) decide(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
	s.refused = nil
	belongs := s.belongs
	var open, denied []*sending
	for _, one := range s.sends {
		was, err := one.askedBefore(tx)
		switch {
		case err != nil:
			return nil, err
		case one.refused != nil: // the key is that of another message
			s.refused = one.refused
			return nil, nil
		case was != nil && was.WorkSessionID != "":
			belongs.explicit, belongs.taskID = was.WorkSessionID, was.TaskID
		case was != nil:
		case one.against() != nil:
			denied = append(denied, one)
		default:
			open = append(open, one)
		}
	}
	if len(open) > 0 {
		if belongs.explicit, belongs.taskID, err = s.c.workSession(tx, &belongs); err != nil {
			return nil, err
		}
	}
	begun := 0
	for _, one := range open {
		one.belongs = belongs
		sent, err := one.send(tx, belongs.explicit, belongs.taskID, begun)
		if err != nil {
			return nil, err
		}
		if one.created.JobID != "" {
			begun++
		}
		appends = append(appends, sent...)
	}
	for _, one := range denied {
		one.belongs = belongs
		told, err := one.refuse(tx, one.against())
		if err != nil {
			return nil, err
		}
		appends = append(appends, told...)
	}
	return appends, nil
}

// await waits for the first answers of all, as long as the sender wants to, but for those who wait for the sender.
func (s *broadcasting) await(ctx context.Context) (BroadcastResult, error) {
	inTime, cancel := context.WithTimeout(ctx, s.b.Wait)
	defer cancel()
	results, err := s.results(context.WithoutCancel(ctx)) // what came before it was waited for
	if err != nil {
		return BroadcastResult{}, err
	}
	var waited []*sending
	for i, one := range s.sends {
		if results[i].Status != statusAccepted || !one.waits() {
			continue
		}
		if s.b.From.RunID != "" {
			left, may := s.c.waits.between(pair{asks: one.from.String(), answers: one.answers})
			if !may {
				continue
			}
			defer left()
		}
		waited = append(waited, one)
	}
	if len(waited) == 0 {
		return s.result(results), nil
	}
	for _, one := range waited {
		select {
		case <-one.waiting.done:
		case <-inTime.Done():
		}
		one.waited = true
	}
	if results, err = s.results(context.WithoutCancel(ctx)); err != nil {
		return BroadcastResult{}, err
	}
	return s.result(results), nil
}

// results are how it stands with each target.
func (s *broadcasting) results(ctx context.Context) (list []TargetResult, err error) {
	err = s.c.o.Log.View(ctx, func(tx *sql.Tx) error {
		for _, one := range s.sends {
			var r Result
			switch {
			case one.refused != nil:
				r = one.refusal()
			case one.known == "" && !one.waits():
				r = one.accepted()
			default:
				var err error
				if r, err = one.standing(ctx, tx); err != nil {
					return err
				}
			}
			list = append(list, TargetResult{AgentID: one.agent, Result: r})
		}
		return nil
	})
	return list, err
}

// result is what became of all of them.
func (s *broadcasting) result(list []TargetResult) BroadcastResult {
	r := BroadcastResult{Results: list}
	late, again := 0, 0
	for i, one := range s.sends {
		at := &list[i].Result
		if at.WorkSessionID != "" {
			r.WorkSessionID, r.TaskID = at.WorkSessionID, at.TaskID
		}
		if one.refused != nil || at.Status == statusError && at.Delivery != nil && at.Delivery.Status == deliveryBlocked {
			r.Refused++
			continue
		}
		r.Sent++
		switch at.Status {
		case statusOK:
			r.Answered++
		case statusAccepted, statusTimeout:
			late++
		}
		if at.Duplicate {
			again++
		}
	}
	r.Duplicate = r.Sent > 0 && again == r.Sent
	r.sum(late)
	return r
}

// statusPartial is that of a broadcast that some have answered, or got, and some not.
const statusPartial = "partial"

// sum says how it stands with all together. late is how many have got it and may answer yet.
func (r *BroadcastResult) sum(late int) {
	all, failed := len(r.Results), r.Sent-r.Answered-late
	has := func(status string) bool {
		return slices.ContainsFunc(r.Results, func(one TargetResult) bool { return one.Status == status })
	}
	switch {
	case r.Answered == all:
		r.Status = statusOK
		return
	case late == all && !has(statusTimeout):
		r.Status = statusAccepted
		return
	case late == all:
		r.Status = statusTimeout
	case r.Answered > 0 || late > 0:
		r.Status = statusPartial
	case r.Refused == all && !has(statusError):
		r.Status = statusForbidden
	default:
		r.Status = statusError
	}
	says := []string{fmt.Sprintf("%d of %d have answered", r.Answered, all)}
	for _, part := range [...]struct {
		n    int
		text string
	}{{late, "may answer yet, do not send it to them again"}, {failed, "got it and will not answer"}, {r.Refused, "did not get it"}} {
		if part.n > 0 {
			says = append(says, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	r.Error = strings.Join(says, "; ")
	if first := r.Results[0].Code; r.Refused == all && !slices.ContainsFunc(r.Results, func(one TargetResult) bool { return one.Code != first }) {
		r.Code, r.Mend = first, r.Results[0].Mend
	}
}

// refusedBroadcast is the result of a message that nobody gets.
func refusedBroadcast(why *refusal) BroadcastResult {
	return BroadcastResult{Status: why.status, Code: why.code, Error: coordination.Mask(why.reason), Mend: coordination.Mask(why.mend),
		Results: []TargetResult{}}
}
