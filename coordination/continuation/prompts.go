package continuation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Limits of a task's parts in a prompt, in characters; of steps and other tasks, in number.
const (
	mostText  = 2_000
	mostLine  = 300
	mostSteps = 40
	mostTasks = 10
)

// proceedPrompt returns the prompt for each reason to continue.
func proceedPrompt(p *prospect, t *task.Task, d Decision, c Care) string {
	var b strings.Builder
	switch d.Reason {
	case SelfDriving:
		fmt.Fprintf(&b, "[Continue] Your task %s is not finished. Go on with its next step now.\n", t.ID)
	case StepsMissing:
		fmt.Fprintf(&b, "[Define steps] Your task %s has no steps yet. Divide it with task_update (task_id %q, action \"set_steps\", steps), "+
			"then begin with the first one. "+
			"If it is finished already, call task_complete.\n", t.ID, t.ID)
	case SameStep:
		fmt.Fprintf(&b, "[Stuck] You were told to go on with step %s of task %s %d times, and it is still not done.\n%s", d.StepID, t.ID, c.Same, stuckChoices(t))
	case NoProgress:
		fmt.Fprintf(&b, "[No progress] You were told to go on with task %s %d times, and none of it was finished since.\n%s", t.ID, c.Prompts, stuckChoices(t))
	default:
		fmt.Fprintf(&b, "[Continue] Nothing has happened to your task %s for a while. Go on with it now.\n", t.ID)
	}
	describe(&b, t)
	if p.Waiting > 0 {
		fmt.Fprintf(&b, "Tasks in your backlog: %d\n", p.Waiting)
	}
	if d.Kind == Continue && d.Reason != StepsMissing {
		fmt.Fprintf(&b, "\n%s", resumeText(t))
	}
	return b.String()
}

func stuckChoices(t *task.Task) string {
	return fmt.Sprintf("Do one of these now, and say which:\n"+
		"1. Fix it: find out what is in the way, try another approach, or change the steps with task_update.\n"+
		"2. Consult: ask an agent who knows more with sessions_send, or block the task with task_block (task_id %q, reason, unblock_by, unblock_action).\n"+
		"3. Report: tell the one who wants it what is in the way; if it cannot be done, end it with task_cancel (task_id %q, reason).\n", t.ID, t.ID)
}

func resumeText(t *task.Task) string {
	end := fmt.Sprintf("When all of it is done, call task_complete (task_id %q, summary). "+
		"If you cannot go on without another agent, call task_block (task_id %q, reason, unblock_by, unblock_action).\n",
		t.ID, t.ID)
	switch {
	case stepOf(t) != "":
		return fmt.Sprintf("When a step is done, call task_update (task_id %q, action \"complete_step\", step_id). %s", t.ID, end)
	case len(t.Steps) > 0:
		return "All of its steps are done. " + end
	}
	return fmt.Sprintf("Note what you have done with task_update (task_id %q, progress). %s", t.ID, end)
}

func pickPrompt(t *task.Task, waiting int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Backlog] Task %s of your backlog has been started for you. Work on it now.\n", t.ID)
	describe(&b, t)
	if by := t.CreatedBy; by != "" && by != t.Agent {
		fmt.Fprintf(&b, "Asked for by: %s\n", by)
	}
	if t.Backlog.DueDate != "" {
		fmt.Fprintf(&b, "Due: %s\n", t.Backlog.DueDate)
	}
	if waiting > 1 {
		fmt.Fprintf(&b, "Other tasks in your backlog: %d\n", waiting-1)
	}
	fmt.Fprintf(&b, "\n%s", resumeText(t))
	return b.String()
}

// askPrompt is for the helping agent, which may resume the task itself.
func askPrompt(agent string, t *task.Task, d Decision) string {
	var b strings.Builder
	if d.Attempt >= MaxAsks {
		fmt.Fprintf(&b, "[ESCALATION] Agent %s still waits for you: "+
			"this is the last of %d requests. Its lead is told if it stays without an answer.\n", agent, MaxAsks)
	} else {
		fmt.Fprintf(&b, "[Unblock request %d of %d] Agent %s cannot go on with a task, and you can help.\n", d.Attempt, MaxAsks, agent)
	}
	describeBlocked(&b, t)
	fmt.Fprintf(&b, "\nDo what is needed. Then call task_resume (task_id %q): you may, although the task is not yours. "+
		"Or tell %s what it needs to know with sessions_send (agentId %q, message). If you cannot help, say so to %s in the same way, and who can.\n",
		t.ID, agent, agent, agent)
	return b.String()
}

func remindPrompt(t *task.Task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Still blocked?] Your task %s is blocked, and help was asked for %s. See whether what was missing is there now.\n",
		t.ID, times(t.Blocked.Requests))
	describeBlocked(&b, t)
	fmt.Fprintf(&b, "\nIf it is, call task_resume (task_id %q) and go on. If not, leave the task as it is.\n", t.ID)
	return b.String()
}

// stuckPrompt is for the lead and for people.
func stuckPrompt(agent string, t *task.Task, d Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[ESCALATION] Task %s of agent %s stays blocked: %s. No other agent will be asked.\n", t.ID, agent, noHelperText(t, &d))
	describeBlocked(&b, t)
	fmt.Fprintf(&b, "\nFind out who can help, and tell %s with sessions_send (agentId %q, message): "+
		"it then calls task_resume, or task_cancel if the task cannot be done.\n", agent, agent)
	return b.String()
}

// gonePrompt is for the same. number counts the agent's backlog tasks that can never start.
func gonePrompt(agent string, t *task.Task, d *Decision, number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[ESCALATION] Task %s in the backlog of agent %s can never start: %s.\n", t.ID, agent, noHelperText(t, d))
	describe(&b, t)
	if number > 1 {
		fmt.Fprintf(&b, "Other tasks of its backlog that can never start: %d\n", number-1)
	}
	fmt.Fprintf(&b, "\nDecide what becomes of it, and tell %s with sessions_send (agentId %q, message): it can end it with task_cancel (task_id %q, reason) "+
		"and, if it is still wanted, add it again with task_backlog_add without that dependency.\n", agent, agent, t.ID)
	return b.String()
}

func zombiePrompt(agent string, t *task.Task, d Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[ESCALATION] Task %s of agent %s has been interrupted after %.0f hours without progress, for the %s time.\n",
		t.ID, agent, d.AgeHours, ordinal(d.Attempt))
	describe(&b, t)
	fmt.Fprintf(&b, "\nDecide what becomes of it, and tell %s with sessions_send (agentId %q, message): "+
		"it can go on after task_resume (task_id %q), or end it with task_cancel (task_id %q, reason).\n",
		agent, agent, t.ID, t.ID)
	return b.String()
}

// restartPrompt is one prompt about all open tasks of the agent.
func restartPrompt(p *prospect) string {
	var b strings.Builder
	b.WriteString("[Restart] The gateway was restarted. What you were doing may have been broken off: see what is really done before you go on.\n")
	if p.focus != nil {
		describe(&b, p.focus)
	}
	var others []*task.Task
	for _, t := range slices.Concat(p.working, p.blocked) {
		if t != p.focus {
			others = append(others, t)
		}
	}
	if len(others) > 0 {
		b.WriteString("Your other tasks:\n")
	}
	for i, t := range others {
		if i == mostTasks {
			fmt.Fprintf(&b, "- and %d more: task_list shows them\n", len(others)-mostTasks)
			break
		}
		fmt.Fprintf(&b, "- %s (%s): %s", t.ID, t.Status, line(t.Description))
		if t.Status == coordination.StateBlocked {
			fmt.Fprintf(&b, "; waits for %s: %s", strings.Join(t.Blocked.By, ", "), line(t.Blocked.Reason))
		}
		b.WriteString("\n")
	}
	if p.focus != nil {
		fmt.Fprintf(&b, "\n%s", resumeText(p.focus))
	} else {
		b.WriteString("\nIf what one of them waits for is there, call task_resume (task_id) and go on with it.\n")
	}
	return b.String()
}

// describe writes the facts of a task.
func describe(b *strings.Builder, t *task.Task) {
	fmt.Fprintf(b, "\nTask: %s\nPriority: %s\nDescription: %s\n", t.ID, t.Priority, coordination.Head(t.Description, mostText))
	if t.Background != "" {
		fmt.Fprintf(b, "Context: %s\n", coordination.Head(t.Background, mostText))
	}
	steps(b, t)
	if t.Progress != "" {
		fmt.Fprintf(b, "Latest progress: %s\n", line(t.Progress))
	}
}

// steps lists steps with the marks of task files, and the current one. Of many, the earliest are omitted first.
func steps(b *strings.Builder, t *task.Task) {
	if len(t.Steps) == 0 {
		return
	}
	at := stepOf(t)
	first := max(0, min(slices.IndexFunc(t.Steps, func(s coordination.TaskStep) bool { return s.ID == at })-mostSteps/2, len(t.Steps)-mostSteps))
	last := min(first+mostSteps, len(t.Steps))
	fmt.Fprintf(b, "Steps (%d of %d done):\n", measure(t), len(t.Steps))
	if first > 0 {
		fmt.Fprintf(b, "... %d before\n", first)
	}
	current := ""
	for i, s := range t.Steps {
		if s.ID == at {
			current = line(s.Content)
		}
		if i >= first && i < last {
			fmt.Fprintf(b, "- [%s] (%s) %s\n", mark(s.Status), s.ID, line(s.Content))
		}
	}
	if last < len(t.Steps) {
		fmt.Fprintf(b, "... %d more\n", len(t.Steps)-last)
	}
	if at != "" {
		fmt.Fprintf(b, "Current step: (%s) %s\n", at, current)
	}
}

func mark(status string) string {
	switch status {
	case stepDone:
		return "x"
	case stepInProgress:
		return ">"
	case stepSkipped:
		return "-"
	}
	return " "
}

func describeBlocked(b *strings.Builder, t *task.Task) {
	fmt.Fprintf(b, "\nTask: %s\nDescription: %s\nBlocked because: %s\n",
		t.ID, coordination.Head(t.Description, mostText), coordination.Head(t.Blocked.Reason, mostText))
	if t.Blocked.Action != "" {
		fmt.Fprintf(b, "What is needed: %s\n", coordination.Head(t.Blocked.Action, mostText))
	}
	if len(t.Blocked.By) > 0 {
		fmt.Fprintf(b, "Who can help: %s\n", strings.Join(t.Blocked.By, ", "))
	}
	if t.Progress != "" {
		fmt.Fprintf(b, "Latest progress: %s\n", line(t.Progress))
	}
}

// noHelperText explains why no other agent is asked.
func noHelperText(t *task.Task, d *Decision) string {
	switch d.Reason {
	case DependencyGone:
		return deadDependency(d)
	case NoAnswer:
		return "help was asked for " + times(t.Blocked.Requests) + ", and it was not unblocked"
	case NotDelivered:
		return "those who could help could not be reached"
	default:
		return "no agent may be asked for help"
	}
}

// line shortens a text to one line.
func line(text string) string {
	return coordination.Head(strings.Join(strings.Fields(text), " "), mostLine)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}
