package continuation

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Next decides what to do about an agent at now, ms since 1970. The same situation has the same decision; nothing is changed.
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

// prospect is a situation at a moment, sorted.
type prospect struct {
	*Situation
	now int64

	open     int // tasks that are not over
	focus    *task.Task
	working  []*task.Task // in progress, those that have stood still for longest first
	blocked  []*task.Task // those that have been so for longest first
	approves bool         // what it would be at waits for approval: what is in focus for that of its plan, or nothing is in progress and something waits

	reason Reason // of nothing, so far
	lookAt int64  // the earliest time at which that may change; 0 never
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

// order is that in which reasons of Nothing count.
var order = [...]Reason{Disabled, Approval, Busy, InBackoff, Cooldown, NotIdle, Blocked, NotYet, Told, Interrupted, Done}

// wait notes a reason for doing nothing, and when it is over by itself; 0 never.
func (p *prospect) wait(reason Reason, until int64) {
	if slices.Index(order[:], reason) < slices.Index(order[:], p.reason) {
		p.reason = reason
	}
	if until > p.now && (p.lookAt == 0 || until < p.lookAt) {
		p.lookAt = until
	}
}

// until notes a reason that holds until a time, and reports whether that is still to come.
func (p *prospect) until(reason Reason, at int64) bool {
	if !p.ahead(at) {
		return false
	}
	p.wait(reason, at)
	return true
}

// ahead reports whether a time is still to come. One that is further away than anything waits was noted by a clock that has been set back since:
// it is over.
func (p *prospect) ahead(at int64) bool {
	return p.now < at && at <= p.now+ms(max(longestPause, p.Policy.Idle, p.Policy.Pick)+setBack)
}

// latest is the last of some times that are still to come, 0 if all are over.
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

// act is a decision about a task, nil for none.
func (p *prospect) act(kind Kind, reason Reason, t *task.Task) Decision {
	d := Decision{Kind: kind, Reason: reason, Agent: p.Agent, Key: "continuation:" + p.Agent + ":" + strconv.FormatInt(p.State.Decided, 10) + ":" + string(kind)}
	if t != nil {
		d.TaskID, d.StepID, d.Measured = t.ID, stepOf(t), measure(t)
	}
	return d
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

// approval only notes that what the agent would be at waits for approval; what becomes of its other tasks does not depend on it.
func (p *prospect) approval() (Decision, bool) {
	if p.approves {
		p.wait(Approval, 0)
	}
	return Decision{}, false
}

// busy waits for the end of a run. A prompt whose run nobody has seen yet counts as one for a while.
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

// zombie takes away what nobody has worked at for longer than ZombieTTL, but for what nobody may work at.
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

// lead is whom to tell what cannot be helped, "" for people only.
func (p *prospect) lead() string {
	if p.Lead == p.Agent {
		return ""
	}
	return p.Lead
}

// reset has the session start over whose context was too long again and again.
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

// restart tells the agent once what it was at, unless it has done something since.
func (p *prospect) restart() (Decision, bool) {
	at, st := p.RestartedAt, &p.State
	switch {
	case at == 0, p.focus == nil && len(p.blocked) == 0, p.approves:
		return Decision{}, false
	case st.SummaryAt > 0 && at < st.SummaryAt+ms(SummaryPause), st.Prompt.At >= at, st.Ended.At >= at && !st.Ended.BrokenOff:
		return Decision{}, false
	case p.focus != nil && p.focus.ActiveAt >= at: // it was begun, or gone on with, since
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

// pick begins a task of the backlog where none is in progress.
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
