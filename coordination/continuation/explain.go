package continuation

import (
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Explain tells in words what is done about the agent at now, why, and when it is looked at again. now is that of the decision.
func Explain(d Decision, now int64) string {
	var b strings.Builder
	if d.Kind == Nothing {
		fmt.Fprintf(&b, "Nothing is done about %s: %s.", d.Agent, whyNot(&d))
		if d.LookAgainAt == 0 {
			b.WriteString(" Time alone does not change that: an event does.")
		} else {
			fmt.Fprintf(&b, " It is looked at again in %s, at %s, and after each event before that.", span(d.LookAgainAt-now), clock(d.LookAgainAt))
		}
		return b.String()
	}
	b.WriteString(what(&d) + ": " + why(&d) + ".")
	if d.Prompt != "" && d.To == "" {
		b.WriteString(" No agent is there to be told: people are.")
	} else if d.Visible {
		b.WriteString(" People see it too.")
	}
	return b.String()
}

func what(d *Decision) string {
	switch d.Kind {
	case Continue:
		return fmt.Sprintf("%s is told to go on with task %s", d.Agent, d.TaskID)
	case Pick:
		return fmt.Sprintf("Task %s of the backlog is begun for %s", d.TaskID, d.Agent)
	case Ask:
		return fmt.Sprintf("%s is asked to unblock task %s of %s", d.To, d.TaskID, d.Agent)
	case Remind:
		return fmt.Sprintf("%s is asked whether task %s is still blocked", d.Agent, d.TaskID)
	case Recover:
		if d.Action == coordination.ZombieEscalated {
			return fmt.Sprintf("Task %s of %s is interrupted, and %s is told", d.TaskID, d.Agent, told(d))
		}
		return fmt.Sprintf("Task %s of %s goes back to the backlog", d.TaskID, d.Agent)
	case Escalate:
		if d.To == d.Agent {
			return fmt.Sprintf("%s is asked what is in the way of task %s", d.Agent, d.TaskID)
		}
		if d.Reason == DependencyGone {
			return fmt.Sprintf("It is told to %s that task %s in the backlog of %s can never begin", told(d), d.TaskID, d.Agent)
		}
		return fmt.Sprintf("It is told to %s that task %s of %s stays blocked", told(d), d.TaskID, d.Agent)
	case Reset:
		return fmt.Sprintf("The main session of %s starts over", d.Agent)
	default:
		return fmt.Sprintf("%s is told of the restart, and what it was at", d.Agent)
	}
}

func told(d *Decision) string {
	if d.To == "" {
		return "people"
	}
	return d.To
}

func why(d *Decision) string {
	switch d.Reason {
	case Idle:
		return "nothing has happened for a while"
	case SelfDriving:
		return "its last run has ended well, and steps remain"
	case StepsMissing:
		return "its last run has ended well, and the task has no steps"
	case FromBacklog:
		return "it has nothing in progress"
	case UnblockRequest:
		return fmt.Sprintf("request %d of %d", d.Attempt, MaxAsks)
	case StillBlocked:
		return "others were asked to help"
	case Zombie:
		return fmt.Sprintf("nobody worked at it for %.0f h, for the %s time", d.AgeHours, ordinal(d.Attempt))
	case SameStep:
		return "it is at the same step again and again"
	case NoProgress:
		return "it does not come on"
	case NoAnswer:
		return "those who were asked have not helped"
	case NotDelivered:
		return "those who can help could not be reached"
	case NobodyToAsk:
		return "there is nobody who may be asked for help"
	case DependencyGone:
		return inVain(d)
	case Overflow:
		return fmt.Sprintf("its context was too long %d times in a row", MaxOverflows)
	default:
		return "the gateway was restarted, and it has tasks that are not over"
	}
}

func whyNot(d *Decision) string {
	switch d.Reason {
	case Disabled:
		return "agents.defaults.taskContinuation.enabled is false"
	case Approval:
		if d.TaskID != "" {
			return "the plan for its task waits for approval"
		}
		return "its task waits for approval"
	case Busy:
		return "a run is queued or under way"
	case InBackoff:
		return "prompts have failed, and pause"
	case Cooldown:
		return "it was told to go on with this task not long ago"
	case NotIdle:
		return "it was at work not long ago"
	case Blocked:
		return "its task is blocked, and the next request or reminder is not due"
	case NotYet:
		return "the tasks of its backlog cannot begin yet"
	case Told:
		return "its task stays blocked, or can never begin, and those who can decide were told"
	case Interrupted:
		return "its tasks were interrupted: somebody has to resume or cancel them"
	default:
		return "it has no task that is not over"
	}
}

// span is a time in words, to the second.
func span(ms int64) string {
	return max(time.Duration(ms)*time.Millisecond, time.Second).Round(time.Second).String()
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
