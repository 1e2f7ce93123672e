package continuation

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/internal/backoff"
)

const (
	stepPending    = "pending"
	stepInProgress = "in_progress"
	stepDone       = "done"
	stepSkipped    = "skipped"
)

// stepOf returns the step in progress, else the next one; "" for none.
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

// proceed prompts the agent to continue the task in focus.
func (p *prospect) proceed() (Decision, bool) {
	if p.focus == nil || p.approves {
		return Decision{}, false
	}
	t, c := p.focus, p.State.care(p.focus.ID).come(measure(p.focus), stepOf(p.focus))
	reason, driven := p.driven(t, c)
	if driven && p.until(Cooldown, p.stalledUntil(c)) || !driven && p.rests(t, c) {
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

// Pause is the wait after a number of prompts in a row without progress, since each prompt costs money.
func Pause(prompts int) time.Duration {
	if prompts <= 0 {
		return 0
	}
	return backoff.Backoff{First: FirstPause, Most: longestPause}.After(prompts)
}

// stalledUntil is until when a task without progress gets no prompts, even after a run.
func (p *prospect) stalledUntil(c Care) int64 {
	pause := ms(Pause(c.Prompts))
	if pause == 0 {
		return 0
	}
	return max(c.At, p.latest(p.State.Ended.At+pause)-pause) + pause
}

// driven reports whether the agent may continue at once: its last run succeeded, nothing followed, and steps remain or are undefined.
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

// rests adds the reason against a prompt now. After a failure the back-off replaces the pause between prompts.
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

// stalled reports whether the next prompt asks what is wrong.
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

// remind asks the agent whether its task is still blocked after requests for help.
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
