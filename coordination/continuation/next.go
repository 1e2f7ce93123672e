package continuation

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Next decides what to do about an agent at now, ms since 1970. The result depends only on the arguments, which are
// not changed.
func Next(s *Situation, now int64) Decision {
	p := prospect{Situation: s, now: now, reason: Done}
	if !s.Policy.Enabled {
		return p.nothing(Disabled)
	}
	p.sort()
	if p.open == 0 {
		return p.nothing(Done)
	}
	for _, look := range []func() (Decision, bool){p.approval, p.busy, p.zombie, p.reset, p.backoff, p.unblock, p.restart, p.remind, p.proceed, p.pick,
		p.stuck} {
		if d, decided := look(); decided {
			return d
		}
	}
	return p.nothing(p.reason)
}

// prospect is a situation at a moment, with its tasks sorted.
type prospect struct {
	*Situation
	now int64

	open     int // open tasks
	focus    *task.Task
	working  []*task.Task // in progress, longest unchanged first
	blocked  []*task.Task // longest unchanged first
	approves bool         // the next work waits for approval: the plan of the focused task, or a task while none is in progress

	reason Reason // of Nothing, so far
	lookAt int64  // next time that may change; 0 for never
}

func (p *prospect) sort() {
	waits, interrupted := false, false
	for i := range p.Tasks {
		t := &p.Tasks[i]
		switch t.Status {
		case coordination.StateInProgress:
			p.working = append(p.working, t)
			if p.focus == nil || t.Focus > p.focus.Focus || t.Focus == p.focus.Focus && t.ID < p.focus.ID {
				p.focus = t
			}
		case coordination.StateBlocked:
			p.blocked = append(p.blocked, t)
		case coordination.StatePendingApproval:
			waits = true
		case coordination.StateInterrupted:
			interrupted = true
		default:
			continue
		}
		p.open++
	}
	if p.Pickable != nil || p.PickableAt > 0 || p.Waiting > 0 {
		p.open++
	}
	p.approves = waits && p.focus == nil || p.focus != nil && slices.Contains(p.Planned, p.focus.ID)
	if interrupted {
		p.reason = Interrupted
	}
	byAge := func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(a.ActiveAt, b.ActiveAt), cmp.Compare(a.ID, b.ID))
	}
	slices.SortFunc(p.working, byAge)
	slices.SortFunc(p.blocked, byAge)
}

// order is the precedence of the reasons of Nothing.
var order = [...]Reason{Disabled, Approval, Busy, InBackoff, Cooldown, NotIdle, Blocked, NotYet, Told, Interrupted, Done}

// wait adds a reason for Nothing, and when it ends by itself; 0 for never.
func (p *prospect) wait(reason Reason, until int64) {
	if slices.Index(order[:], reason) < slices.Index(order[:], p.reason) {
		p.reason = reason
	}
	if until > p.now && (p.lookAt == 0 || until < p.lookAt) {
		p.lookAt = until
	}
}

// until adds a reason that holds until a time, and reports whether that is in the future.
func (p *prospect) until(reason Reason, at int64) bool {
	if !p.ahead(at) {
		return false
	}
	p.wait(reason, at)
	return true
}

// ahead reports whether a time is in the future. One further away than any wait was written before the clock was set back and counts as
// past.
func (p *prospect) ahead(at int64) bool {
	return p.now < at && at <= p.now+ms(max(longestPause, p.Policy.Idle, p.Policy.Pick)+setBack)
}

// latest returns the latest of the times that are in the future, 0 for none.
func (p *prospect) latest(times ...int64) (at int64) {
	for _, t := range times {
		if p.ahead(t) {
			at = max(at, t)
		}
	}
	return at
}

func (p *prospect) nothing(reason Reason) Decision {
	d := Decision{Kind: Nothing, Reason: reason, Agent: p.Agent, LookAgainAt: p.lookAt}
	switch {
	case p.focus != nil:
		d.TaskID = p.focus.ID
	case (reason == Blocked || reason == Told) && len(p.blocked) > 0:
		d.TaskID = p.blocked[0].ID
	}
	return d
}

// act returns a decision about a task, nil for none.
func (p *prospect) act(kind Kind, reason Reason, t *task.Task) Decision {
	d := Decision{Kind: kind, Reason: reason, Agent: p.Agent, Key: "continuation:" + p.Agent + ":" + strconv.FormatInt(p.State.Decided, 10) + ":" + string(kind)}
	if t != nil {
		d.TaskID, d.StepID, d.Measured = t.ID, stepOf(t), measure(t)
	}
	return d
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

// approval only adds its reason: other tasks are decided independently.
func (p *prospect) approval() (Decision, bool) {
	if p.approves {
		p.wait(Approval, 0)
	}
	return Decision{}, false
}

// busy waits for the end of a run. A prompt counts for a while as one that is not visible yet.
func (p *prospect) busy() (Decision, bool) {
	sent := &p.State.Prompt
	onItsWay := sent.RunID != "" && !sent.Over && p.ahead(sent.At+ms(SameTask))
	if !p.Busy && !onItsWay {
		return Decision{}, false
	}
	if !p.Busy {
		p.wait(Busy, sent.At+ms(SameTask))
	}
	p.wait(Busy, 0)
	return p.nothing(p.reason), true
}

// zombie handles tasks without progress for longer than ZombieTTL, except those that wait for approval of a plan.
func (p *prospect) zombie() (Decision, bool) {
	if p.Policy.ZombieTTL <= 0 {
		return Decision{}, false
	}
	for _, t := range p.working {
		if slices.Contains(p.Planned, t.ID) {
			continue
		}
		over := t.ActiveAt + ms(p.Policy.ZombieTTL)
		if p.now <= over {
			p.wait(p.reason, over+1)
			continue
		}
		d := p.act(Recover, Zombie, t)
		d.Attempt, d.Action = t.Backlog.Reassigned+1, coordination.ZombieMovedToBacklog
		d.AgeHours = float64(p.now-t.ActiveAt) / float64(ms(time.Hour))
		if d.Attempt >= MaxReassigned {
			d.Action = coordination.ZombieEscalated
			d.To, d.Visible, d.Prompt = p.lead(), true, zombiePrompt(p.Agent, t, d)
		}
		return d, true
	}
	return Decision{}, false
}

// lead is the agent to escalate to, "" for people only.
func (p *prospect) lead() string {
	if p.Lead == p.Agent {
		return ""
	}
	return p.Lead
}

// reset resets the session after repeated context overflows.
func (p *prospect) reset() (Decision, bool) {
	if p.State.Overflows < MaxOverflows {
		return Decision{}, false
	}
	return p.act(Reset, Overflow, nil), true
}

func (p *prospect) backoff() (Decision, bool) {
	if p.until(InBackoff, p.State.BackoffUntil) {
		return p.nothing(p.reason), true
	}
	return Decision{}, false
}

// restart prompts the agent once after a restart, unless it was active since.
func (p *prospect) restart() (Decision, bool) {
	at, st := p.RestartedAt, &p.State
	switch {
	case at == 0, p.focus == nil && len(p.blocked) == 0, p.approves:
		return Decision{}, false
	case st.SummaryAt > 0 && at < st.SummaryAt+ms(SummaryPause), st.Prompt.At >= at, st.Ended.At >= at && !st.Ended.BrokenOff:
		return Decision{}, false
	case p.focus != nil && p.focus.ActiveAt >= at: // started or resumed since
		return Decision{}, false
	}
	first := p.focus
	if first == nil {
		first = p.blocked[0]
	}
	d := p.act(Restart, GatewayRestarted, first)
	d.To, d.Prompt = p.Agent, restartPrompt(p)
	return d, true
}

// pick starts a backlog task if none is in progress.
func (p *prospect) pick() (Decision, bool) {
	switch {
	case p.focus != nil || p.approves:
		return Decision{}, false
	case p.Pickable == nil:
		if p.PickableAt > 0 || p.Waiting > p.Stuck.Number {
			p.wait(NotYet, p.PickableAt)
		}
		return Decision{}, false
	case p.until(NotIdle, p.State.Ended.At+ms(p.Policy.Pick)):
		return Decision{}, false
	}
	d := p.act(Pick, FromBacklog, p.Pickable)
	d.To, d.Prompt = p.Agent, pickPrompt(p.Pickable, p.Waiting)
	return d, true
}
