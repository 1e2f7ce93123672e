package coordination

import (
	"encoding/json"
	"strings"
)

// About returns what an event of a task, a plan or an agent's care for its tasks is about, for people, where the event has no Words: the title
// of the task or plan, and what its agent said: why it is blocked, what was done, what came out. Which type of event it is is left to the
// reader. titleOf returns the title of a task, "" if unknown. Other events are about nothing.
func About(r *Record, data []byte, roster *Roster, titleOf func(taskID string) string) (title, said string) {
	switch family, _, _ := strings.Cut(r.Type, "."); family {
	case "task", "backlog", "zombie", "resume_reminder":
		said = firstText(r.Reason, r.Summary)
	case "plan":
		title, said = TaskTitle(r.Title, roster), r.Reason
	case "continuation", "unblock", "milestone":
		said = r.Error // reasons are codes
	default:
		return "", ""
	}
	switch r.Type {
	case TypeTaskUpdated:
		said = firstText(progressIn(data), said)
	case TypeTaskBacklogAdded, TypeTaskStarted:
		title, said = TaskTitle(firstText(r.Title, r.Description), roster), ""
	}
	if title == "" && r.TaskID != "" {
		title = titleOf(r.TaskID)
	}
	return title, collapseSpace(ForPeople(said, roster).Text)
}

// progressIn is the line of progress in the data of task.updated. Where openclawd wrote it, since the agent only changed steps, it is the
// step, with ✓ if it is done, or all steps that were defined: the line itself is made for agents.
func progressIn(data []byte) string {
	var d TaskUpdated
	_ = json.Unmarshal(data, &d) // imported data may be of any shape, and redacted data is none
	if d.StepID == "" && d.Action != "" && strings.HasPrefix(d.Progress, "Steps ") {
		var contents []string
		for _, step := range d.Steps {
			contents = append(contents, step.Content)
		}
		return strings.Join(contents, " · ")
	}
	for _, step := range d.Steps {
		if step.ID == d.StepID && step.ID != "" && strings.HasPrefix(d.Progress, "["+d.StepID+"] ") {
			if step.Status == "done" {
				return "✓ " + step.Content
			}
			return step.Content
		}
	}
	return d.Progress
}
