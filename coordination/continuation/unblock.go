package continuation

import (
	"slices"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// escalationFailed is the task.Blocked.Escalation of a task for which no agent is asked any more.
const escalationFailed = "failed"

// unblock asks the agents that can help with a blocked task, one after the other, and escalates after the last.
func (p *prospect) unblock() (Decision, bool) {
	for _, t := range p.blocked {
		c := p.State.care(t.ID)
		if c.Told {
			p.wait(Told, 0)
			continue
		}
		at, hopeless := p.askAt(t, c)
		if p.until(Blocked, at) {
			continue
		}
		if hopeless != "" {
			return p.giveUp(t, hopeless), true
		}
		d := p.act(Ask, UnblockRequest, t)
		d.To, d.Attempt = p.helper(t), t.Blocked.Requests+1
		d.Visible = d.Attempt >= MaxAsks
		d.Prompt = askPrompt(p.Agent, t, d)
		return d, true
	}
	return Decision{}, false
}

// askAt returns when to act on a blocked task, and the reason to escalate it; "" to ask another agent.
func (p *prospect) askAt(t *task.Task, c Care) (at int64, hopeless Reason) {
	b := &t.Blocked
	if b.Requests > 0 {
		at = b.LastAskedAt + ms(AskPause)
	}
	if c.AskFailedAt > 0 {
		at = p.latest(at, c.AskFailedAt+ms(AskAgain))
	}
	if b.Requests == 0 && c.AskFailedAt == 0 {
		at = t.ActiveAt + ms(p.Policy.Idle)
	}
	switch {
	case b.Failures >= MaxAskFailures:
		return 0, NotDelivered
	case b.Requests >= MaxAsks:
		return at, NoAnswer
	case p.helper(t) == "":
		return at, NobodyToAsk
	}
	return at, ""
}

// helper returns the next agent to ask, in rotation after the last one asked; "" for none.
func (p *prospect) helper(t *task.Task) string {
	by, n := t.Blocked.By, len(t.Blocked.By)
	first := t.Blocked.LastIndex + 1
	if t.Blocked.LastIndex < 0 || t.Blocked.LastIndex >= n {
		first = 0
	}
	for i := range n {
		if agent := by[(first+i)%n]; agent != "" && agent != p.Agent && !slices.Contains(p.Barred, agent) {
			return agent
		}
	}
	return ""
}

// giveUp escalates a blocked task to the lead and to people.
func (p *prospect) giveUp(t *task.Task, why Reason) Decision {
	d := p.act(Escalate, why, t)
	d.To, d.Visible, d.Attempt = p.lead(), true, t.Blocked.Requests
	d.Prompt = stuckPrompt(p.Agent, t, d)
	return d
}
