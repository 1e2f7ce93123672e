package continuation

import (
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Explained is an agent's next continuation step.
type Explained struct {
	Decision
	Text        string // the same as text
	State       State
	Seq         int64 // of the log, at the time of reading
	At          int64 // ms since 1970
	RestartedAt int64 // likewise; 0: no restart is known
}

// Explain describes the decision made at now: what happens, why, and when it is checked again.
func Explain(d Decision, now int64) string {
	var b strings.Builder
	if d.Kind == Nothing {
		fmt.Fprintf(&b, "Nothing is due for %s: %s.", d.Agent, whyNot(&d))
		if d.LookAgainAt == 0 {
			b.WriteString(" Only an event can change that.")
		} else {
			fmt.Fprintf(&b, " The next check is in %s, at %s, or after any event before that.", span(d.LookAgainAt-now), clock(d.LookAgainAt))
		}
		return b.String()
	}
	b.WriteString(what(&d) + ": " + why(&d) + ".")
	if d.Prompt != "" && d.To == "" {
		b.WriteString(" There is no agent to notify, so people are notified.")
	} else if d.Visible {
		b.WriteString(" People see it, too.")
	}
	return b.String()
}

func what(d *Decision) string {
	switch d.Kind {
	case Continue:
		return fmt.Sprintf("%s is prompted to continue task %s", d.Agent, d.TaskID)
	case Pick:
		return fmt.Sprintf("Backlog task %s is started for %s", d.TaskID, d.Agent)
	case Ask:
		return fmt.Sprintf("%s is asked to unblock task %s of %s", d.To, d.TaskID, d.Agent)
	case Remind:
		return fmt.Sprintf("%s is asked whether task %s is still blocked", d.Agent, d.TaskID)
	case Recover:
		if d.Action == coordination.ZombieEscalated {
			return fmt.Sprintf("Task %s of %s is interrupted, and %s is notified", d.TaskID, d.Agent, decisionText(d))
		}
		return fmt.Sprintf("Task %s of %s returns to the backlog", d.TaskID, d.Agent)
	case Escalate:
		if d.To == d.Agent {
			return fmt.Sprintf("%s is asked what prevents task %s", d.Agent, d.TaskID)
		}
		if d.Reason == DependencyGone {
			return fmt.Sprintf("%s is notified that backlog task %s of %s can never start", decisionText(d), d.TaskID, d.Agent)
		}
		return fmt.Sprintf("%s is notified that task %s of %s stays blocked", decisionText(d), d.TaskID, d.Agent)
	case Reset:
		return fmt.Sprintf("The main session of %s is reset", d.Agent)
	default:
		return fmt.Sprintf("%s is prompted about its tasks after the restart", d.Agent)
	}
}

func decisionText(d *Decision) string {
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
		return "its last run succeeded, and steps remain"
	case StepsMissing:
		return "its last run succeeded, and the task has no steps"
	case FromBacklog:
		return "it has no task in progress"
	case UnblockRequest:
		return fmt.Sprintf("request %d of %d", d.Attempt, MaxAsks)
	case StillBlocked:
		return "other agents were asked to help"
	case Zombie:
		return fmt.Sprintf("it had no progress for %.0f h, for the %s time", d.AgeHours, ordinal(d.Attempt))
	case SameStep:
		return "it is at the same step again and again"
	case NoProgress:
		return "it makes no progress"
	case NoAnswer:
		return "the agents that were asked did not help"
	case NotDelivered:
		return "the agents that can help could not be reached"
	case NobodyToAsk:
		return "no agent may be asked for help"
	case DependencyGone:
		return deadDependency(d)
	case Overflow:
		return fmt.Sprintf("its context was too long %d times in a row", MaxOverflows)
	default:
		return "the gateway was restarted, and it has open tasks"
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
		return "a run is queued or running"
	case InBackoff:
		return "prompts pause after a failure"
	case Cooldown:
		return "it was prompted for this task recently"
	case NotIdle:
		return "it was active recently"
	case Blocked:
		return "its task is blocked, and the next request or reminder is not due"
	case NotYet:
		return "its backlog tasks cannot start yet"
	case Told:
		return "its task stays blocked or can never start, and that was reported"
	case Interrupted:
		return "its tasks were interrupted and must be resumed or cancelled"
	default:
		return "it has no open task"
	}
}

// span formats a duration, to the second.
func span(ms int64) string {
	return max(time.Duration(ms)*time.Millisecond, time.Second).Round(time.Second).String()
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
