package continuation

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// Statuses of a step.
const (
	stepPending    = "pending"
	stepInProgress = "in_progress"
	stepDone       = "done"
	stepSkipped    = "skipped"
)

// stepOf is the step that a task is at: that in progress, else the next one; "" if there is none.
func stepOf(t *task.Task) string {
	next := ""
	for _, s := range t.Steps {
		switch {
		case s.Status == stepInProgress:
			return s.ID
		case s.Status == stepPending && next == "":
			next = s.ID
		}
	}
	return next
}

// proceed tells the agent to go on with the task that it has in focus.
func (p *prospect) proceed() (Decision, bool) {
	if p.focus == nil || p.approves {
		return Decision{}, false
	}
	t, c := p.focus, p.State.care(p.focus.ID).come(measure(p.focus), stepOf(p.focus))
	reason, driven := p.driven(t, c)
	if driven && p.until(Cooldown, p.stands(c)) || !driven && p.rests(t, c) {
		return Decision{}, false
	}
	kind := Continue
	if stuck, is := stalled(t, c); is {
		kind, reason = Escalate, stuck
	}
	d := p.act(kind, reason, t)
	d.To, d.Prompt = p.Agent, proceedPrompt(p, t, d, c)
	return d, true
}

// Pause is how long the next prompt waits after so many in a row that have brought nothing: each of them is paid for.
func Pause(prompts int) time.Duration {
	if prompts <= 0 {
		return 0
	}
	return min(FirstPause<<min(prompts-1, 16), longestPause)
}

// stands is until when the agent is left alone after prompts that have brought nothing, be it that it has just run.
func (p *prospect) stands(c Care) int64 {
	pause := ms(Pause(c.Prompts))
	if pause == 0 {
		return 0
	}
	return max(c.At, p.latest(p.State.Ended.At+pause)-pause) + pause
}

// driven reports whether the agent goes on by itself: its last run has ended well, nothing has come after it, and steps remain or are to be defined.
func (p *prospect) driven(t *task.Task, c Care) (Reason, bool) {
	end := &p.State.Ended
	if !end.OK || end.RunID == p.State.Answered || end.At < t.CreatedAt || c.Prompts >= MaxDriven {
		return Idle, false
	}
	switch {
	case stepOf(t) != "":
		return SelfDriving, true
	case len(t.Steps) == 0 && !t.Simple && c.Defines < MaxDefines:
		return StepsMissing, true
	}
	return Idle, false
}

// rests notes why the agent is not told to go on yet. After a failure the back-off takes the place of the pause between prompts.
func (p *prospect) rests(t *task.Task, c Care) bool {
	cool := c.At
	if cool > 0 {
		cool += ms(max(SameTask, Pause(c.Prompts)))
	}
	if p.State.Failures > 0 {
		cool = 0
	}
	idle := p.latest(p.State.Ended.At+ms(p.Policy.Idle), t.ActiveAt+ms(p.Policy.Idle))
	if p.ahead(cool) {
		return p.until(Cooldown, max(cool, idle))
	}
	return p.until(NotIdle, idle)
}

// stalled reports whether the next prompt asks what is wrong rather than to go on.
func stalled(t *task.Task, c Care) (Reason, bool) {
	step, nth := stepOf(t), c.Prompts+1
	same := 1
	if step == c.StepID {
		same += c.Same
	}
	if c.EscalatedAt > 0 && nth-c.EscalatedAt < StalledLimit {
		return "", false
	}
	switch {
	case step != "" && same >= SameStepLimit:
		return SameStep, true
	case nth >= StalledLimit:
		return NoProgress, true
	}
	return "", false
}

// remind asks the agent whether what others were asked to help with is still in its way.
func (p *prospect) remind() (Decision, bool) {
	for _, t := range p.blocked {
		c := p.State.care(t.ID)
		if t.Blocked.Requests == 0 || c.Told || t.Blocked.Escalation == escalationFailed {
			continue
		}
		if p.approves {
			p.wait(Approval, 0)
			continue
		}
		at := max(t.Blocked.LastAskedAt, c.RemindedAt) + ms(RemindPause)<<min(c.Reminders, 4)
		if p.until(Blocked, p.latest(at, p.State.Ended.At+ms(p.Policy.Idle))) {
			continue
		}
		d := p.act(Remind, StillBlocked, t)
		d.To, d.Prompt = p.Agent, remindPrompt(t)
		return d, true
	}
	return Decision{}, false
}
