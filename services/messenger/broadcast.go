package messenger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Broadcast is one message to several agents: a flow to each of them, all in one work session.
type Broadcast struct {
	Request          // without Target, ConversationID, ParentConversationID and Payload
	Targets []string // agent ids, at most MaxTargets; duplicates are ignored
	Team    string   // instead of Targets: a role, or TeamAll
}

// TeamAll is the team of all agents; the other teams are roles.
const TeamAll = "all"

// MaxTargets bounds the targets of a message.
const MaxTargets = 50

// BroadcastResult is the state of a broadcast when the call returned. It is also the answer of sessions_broadcast.
type BroadcastResult struct {
	Status        string         `json:"status"` // ok: all have answered; accepted: without waiting; timeout, partial, error, forbidden
	Error         string         `json:"error,omitempty"`
	Code          string         `json:"code,omitempty"`
	Hint          string         `json:"hint,omitempty"`
	WorkSessionID string         `json:"workSessionId,omitempty"`
	TaskID        string         `json:"taskId,omitempty"`
	Sent          int            `json:"sent"`     // number of targets that got it
	Answered      int            `json:"answered"` // number of targets that have answered
	Refused       int            `json:"refused"`  // number of targets that did not get it
	Results       []TargetResult `json:"results"`  // in the order of Targets
	Duplicate     bool           `json:"duplicate,omitempty"`
}

// TargetResult is the result for one agent.
type TargetResult struct {
	AgentID string `json:"agentId"`
	Result
}

// Broadcast sends one message to several agents, in one transaction: after a crash it is sent to all permitted targets or to none. It
// waits for all of them together; the end of ctx only ends the waiting.
//
// An objection to one target is in its result, and the others get the message; an objection to the message is in the result of all, and
// no target gets it. A repetition under the same key reaches only targets that did not get it, in the same work session. Errors are the
// log's.
func (s *Service) Broadcast(ctx context.Context, b Broadcast) (BroadcastResult, error) {
	asker, err := s.askerOf(ctx, b.From.RunID)
	if err != nil {
		return BroadcastResult{}, err
	}
	op, refused := s.newBroadcastOperation(&b, asker)
	if refused != nil {
		return refusedBroadcast(refused), nil
	}
	if b.Wait > 0 {
		left := s.waits.enter(asker.Lane)
		defer left()
		for _, one := range op.sends {
			one.join()
			defer one.leave()
		}
	}
	if _, err := s.o.Log.Decide(ctx, op.decide); err != nil {
		return BroadcastResult{}, err
	}
	if op.refused != nil {
		return refusedBroadcast(op.refused), nil
	}
	return op.await(ctx)
}

// broadcastOperation is a message to several agents that is being appended.
type broadcastOperation struct {
	service *Service
	b       *Broadcast
	sends   []*sendOperation // one per target

	belongs workContext // requested context
	refused *refusal    // objection of the log, for any target
}

// newBroadcastOperation prepares the decision. refused is an objection that holds regardless of log and target.
func (s *Service) newBroadcastOperation(b *Broadcast, asker run.Result) (op *broadcastOperation, refused *refusal) {
	targets, refused := targetsOf(s.o.Config(), b)
	if refused != nil {
		return nil, refused
	}
	op = &broadcastOperation{service: s, b: b}
	for _, agent := range targets {
		r := b.Request
		r.Target, r.Payload, r.ConversationID, r.ParentConversationID = coordination.MainKey(agent), "", "", ""
		if b.Key != "" {
			r.Key = derivedID("broadcast", b.Key, agent)
		}
		one := s.newSendOperation(&r, asker)
		switch {
		case one.invalid != nil && one.invalid.code == codeInvalid:
			return nil, one.invalid
		case one.agent == one.fromAgent:
			one.invalid = &refusal{StatusError, codeInvalid, "a broadcast does not go to the agent that sends it", "leave " + agent + " out"}
		}
		op.sends = append(op.sends, one)
	}
	op.belongs = op.sends[0].belongs
	op.belongs.session = "" // a broadcast continues no conversation of two agents
	return op, nil
}

// targetsOf returns the targets of a message, each once.
func targetsOf(conf *config.Config, b *Broadcast) (targets []string, refused *refusal) {
	invalid := func(text, hint string) ([]string, *refusal) {
		return nil, &refusal{StatusError, codeInvalid, text, hint}
	}
	names := b.Targets
	switch {
	case len(names) > 0 && b.Team != "":
		return invalid("agents and team are both given", "give one of them")
	case len(b.Key) > MaxKey:
		return invalid(fmt.Sprintf("idempotencyKey has %d bytes, must have at most %d", len(b.Key), MaxKey), "give a shorter one")
	case len(names) == 0 && b.Team == "":
		return invalid("there is no target", "give agents or team")
	case b.Team != "":
		if names = teamOf(conf, b.Team, b.From.AgentID); len(names) == 0 {
			return nil, &refusal{StatusError, codeEmptyTeam, fmt.Sprintf("team %s has no agent but you", b.Team),
				"agents_list shows the agents; name them in agents"}
		}
	}
	for i, name := range names {
		id := coordination.NormalizeAgentID(name)
		if id == "" {
			return invalid(fmt.Sprintf("agents[%d] is not a valid agent id", i), "agents_list shows the agents")
		}
		if !slices.Contains(targets, id) {
			targets = append(targets, id)
		}
		if len(targets) > MaxTargets {
			return invalid(fmt.Sprintf("these are more than %d agents", MaxTargets), "name those that have to know, and send it to the others with another call")
		}
	}
	return targets, nil
}

// codeEmptyTeam refuses a message to a team without another agent.
const codeEmptyTeam = "empty_team"

// teamOf returns the agents of a team in configured order, without the sender and utility agents.
func teamOf(conf *config.Config, team, sender string) (ids []string) {
	for i := range conf.Agents {
		a := &conf.Agents[i]
		id := strings.ToLower(a.ID)
		if (team == TeamAll || team == a.Role) && id != sender && !a.IsUtility() {
			ids = append(ids, id)
		}
	}
	return ids
}

// decide begins a flow to each target that has none yet. Permitted targets come first, so that no work session begins with a refusal.
func (s *broadcastOperation) decide(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
	s.refused = nil
	belongs := s.belongs
	var open, denied []*sendOperation
	for _, one := range s.sends {
		was, err := one.askedBefore(tx)
		switch {
		case err != nil:
			return nil, err
		case one.refused != nil: // the key belongs to another message
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
		if belongs.explicit, belongs.taskID, err = s.service.workSession(tx, &belongs); err != nil {
			return nil, err
		}
	}
	started := 0
	for _, one := range open {
		one.belongs = belongs
		sent, err := one.send(tx, belongs.explicit, belongs.taskID, started)
		if err != nil {
			return nil, err
		}
		if one.created.JobID != "" {
			started++
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

// await waits for the first answers of all targets, up to the sender's timeout, except targets that wait for the sender.
func (s *broadcastOperation) await(ctx context.Context) (BroadcastResult, error) {
	inTime, cancel := context.WithTimeout(ctx, s.b.Wait)
	defer cancel()
	results, err := s.results(context.WithoutCancel(ctx)) // results from before the wait
	if err != nil {
		return BroadcastResult{}, err
	}
	var waited []*sendOperation
	for i, one := range s.sends {
		if results[i].Status != statusAccepted || !one.waitsForAnswer() {
			continue
		}
		if s.b.From.RunID != "" {
			left, may := s.service.waits.between(waitPair{asks: one.from.String(), answers: one.answers})
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

func (s *broadcastOperation) results(ctx context.Context) (list []TargetResult, err error) {
	err = s.service.o.Log.View(ctx, func(tx *sql.Tx) error {
		for _, one := range s.sends {
			var r Result
			switch {
			case one.refused != nil:
				r = one.refusal()
			case one.known == "" && !one.waitsForAnswer():
				r = one.accepted()
			default:
				var err error
				if r, err = one.readResult(ctx, tx); err != nil {
					return err
				}
			}
			list = append(list, TargetResult{AgentID: one.agent, Result: r})
		}
		return nil
	})
	return list, err
}

func (s *broadcastOperation) result(list []TargetResult) BroadcastResult {
	r := BroadcastResult{Results: list}
	late, again := 0, 0
	for i, one := range s.sends {
		at := &list[i].Result
		if at.WorkSessionID != "" {
			r.WorkSessionID, r.TaskID = at.WorkSessionID, at.TaskID
		}
		if one.refused != nil || at.Status == StatusError && at.Delivery != nil && at.Delivery.Status == deliveryBlocked {
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

// statusPartial is the status of a broadcast that only some have answered or got.
const statusPartial = "partial"

// sum sets the overall status. late is the number of targets that got it and may still answer.
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
	case r.Refused == all && !has(StatusError):
		r.Status = StatusForbidden
	default:
		r.Status = StatusError
	}
	says := []string{fmt.Sprintf("%d of %d have answered", r.Answered, all)}
	for _, part := range [...]struct {
		n    int
		text string
	}{{late, "may still answer, do not send it to them again"}, {failed, "got it and will not answer"}, {r.Refused, "did not get it"}} {
		if part.n > 0 {
			says = append(says, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	r.Error = strings.Join(says, "; ")
	if first := r.Results[0].Code; r.Refused == all && !slices.ContainsFunc(r.Results, func(one TargetResult) bool { return one.Code != first }) {
		r.Code, r.Hint = first, r.Results[0].Hint
	}
}

// refusedBroadcast returns the result of a message that no target gets.
func refusedBroadcast(why *refusal) BroadcastResult {
	return BroadcastResult{Status: why.status, Code: why.code, Error: coordination.Mask(why.reason), Hint: coordination.Mask(why.hint),
		Results: []TargetResult{}}
}
