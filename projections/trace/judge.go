package trace

import (
	"cmp"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// States of a conversation or thread.
const (
	stateOpen = "open"
	stateOver = "over"
)

// judge determines the state and durations of all nodes, and counts them.
func (t *Trace) judge() {
	w := &tally{Trace: t}
	// A tree may be deep: it is walked without recursion, parents before children.
	for level := t.Roots; len(level) > 0; {
		var next []*Node
		for _, n := range level {
			n.play()
			w.count(n)
			next = append(next, n.Children...)
		}
		level = next
	}
	if t.Open > 0 {
		t.LastAt = t.Now
	}
	t.DurationMs = max(t.LastAt-t.StartedAt, 0)
}

type tally struct {
	*Trace
	started bool
}

func (t *tally) count(n *Node) {
	switch n.Kind {
	case Run:
		t.Runs++
		n.judgeRun(t.Now)
	case Flow:
		t.Flows++
		n.judgeFlow(t.Now)
	case Conversation, Thread:
		t.Conversations++
		n.judgeConversation(t.Now)
	}
	if n.Open {
		t.Open++
	}
	if n.Late {
		t.Late++
	}
	for _, h := range n.own.heard {
		n.Messages = append(n.Messages, h.TracedMessage)
	}
	slices.SortStableFunc(n.Messages, func(a, b TracedMessage) int { return cmp.Compare(a.Seq, b.Seq) })
	t.Messages += len(n.Messages)
	last := max(n.EndedAt, n.At)
	for _, m := range n.Messages {
		last = max(last, m.At)
	}
	if !t.started || n.At < t.StartedAt {
		t.StartedAt = n.At
	}
	if !t.started || last > t.LastAt {
		t.LastAt = last
	}
	t.started = true
	slices.SortStableFunc(n.Children, func(a, b *Node) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seq, b.Seq)) })
}

// judgeRun separates the waiting time of a run from its running time, and detects a late answer.
func (n *Node) judgeRun(now int64) {
	end := cmp.Or(n.EndedAt, now)
	started := cmp.Or(n.StartedAt, end)
	if flow := n.flow(); flow != nil {
		n.judgeInFlow(flow)
	}
	n.QueueMs = max(started-n.At-n.BackoffMs, 0)
	n.DurationMs = max(end-n.At, 0)
	if n.StartedAt != 0 {
		n.RunMs = max(end-n.StartedAt, 0)
	}
	if n.Open {
		n.Since = cmp.Or(n.StartedAt, n.At)
	}
	n.Code = coordination.ReasonOfRun(n.State, n.ErrorClass, n.Reason)
}

// runOK is the state of a run that ended normally.
const runOK = "ok"

func (n *Node) judgeInFlow(flow *Node) {
	if n.Role == RoleRetry {
		for _, h := range flow.own.heard {
			if h.Type == coordination.TypeA2ARetry && h.retry.Attempt == n.Attempt-1 {
				n.Retry, n.BackoffMs = &h.retry, h.retry.BackoffMs
			}
		}
	}
	if n.Role != RoleResult && n.State == runOK && !flow.Open && n.own.overSeq > flow.own.overSeq {
		n.Late, n.LateMs = true, max(n.EndedAt-flow.EndedAt, 0)
	}
}

// flow returns the flow that a run answers in, directly or as the retry of an interrupted one; nil if none.
func (n *Node) flow() *Node {
	above := n.parent
	if n.Role == RoleRepeat && above != nil {
		above = above.parent
	}
	if above == nil || above.Kind != Flow {
		return nil
	}
	return above
}

// judgeFlow computes how long a flow has waited for a permit: until its first run was queued.
func (n *Node) judgeFlow(now int64) {
	end := cmp.Or(n.EndedAt, now)
	n.DurationMs = max(end-n.At, 0)
	if !n.Open {
		n.Since, n.Code = 0, n.flowFailure()
	}
	switch first := slices.IndexFunc(n.Children, func(c *Node) bool { return c.Kind == Run && c.ID == n.ID }); {
	case first >= 0:
		n.PermitMs = max(n.Children[first].At-n.At, 0)
	case len(n.Children) == 0:
		n.PermitMs = n.DurationMs
	}
}

// flowFailure is the code of a failed flow: its messages know it more precisely than its outcome.
func (n *Node) flowFailure() coordination.ReasonCode {
	code := coordination.ReasonOfFlow(n.Outcome, n.Reason)
	if code == "" {
		return ""
	}
	for _, h := range n.own.heard {
		if h.step.Affects && h.Code != "" && h.Code != coordination.ReasonOther {
			code = h.Code
		}
	}
	return code
}

// judgeConversation folds its messages by time, as lists of threads do.
func (n *Node) judgeConversation(now int64) {
	list := slices.Clone(n.own.heard)
	slices.SortStableFunc(list, func(a, b *messageEvent) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.Seq, b.Seq)) })
	var outcome coordination.Outcome
	for i, h := range list {
		if i == 0 {
			n.At, n.From, n.To = h.At, h.From, h.To
		}
		n.EndedAt = h.At
		n.Label, n.Task = cmp.Or(n.Label, h.label), cmp.Or(n.Task, h.task)
		n.Intent, n.Payload = cmp.Or(n.Intent, h.intent), cmp.Or(n.Payload, h.payload)
		if !h.step.Affects {
			continue
		}
		failed := outcome == coordination.OutcomeBlocked || outcome == coordination.OutcomeNoReply
		if n.Open, n.Since = h.step.Open, h.At; failed && h.step.Outcome == coordination.OutcomeDone {
			continue
		}
		outcome, n.Reason, n.Code = h.step.Outcome, h.step.Reason, h.step.Code
	}
	if n.Outcome, n.State = string(outcome), stateOver; n.Open {
		n.State, n.DurationMs = stateOpen, max(now-n.At, 0)
		n.EndedAt = 0
		return
	}
	n.Since, n.DurationMs = 0, max(n.EndedAt-n.At, 0)
}
