package task

import (
	"errors"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// told is what each answer to a change says.
type told struct {
	Success               bool   `json:"success"`
	TaskID                string `json:"taskId"`
	Status                string `json:"status"`
	WorkSessionID         string `json:"workSessionId,omitempty"`
	PreviousWorkSessionID string `json:"previousWorkSessionId,omitempty"`
	Version               int64  `json:"version"`             // of the task: what the next change may expect
	Duplicate             bool   `json:"duplicate,omitempty"` // the same call has made the change before; the answer is how the task stands now
}

func (done *changed) told() told {
	return told{Success: true, TaskID: done.ID, Status: done.Status, WorkSessionID: done.WorkSessionID,
		PreviousWorkSessionID: done.PreviousWorkSessionID, Version: done.Version, Duplicate: done.Again}
}

// refused is the answer to what cannot be done.
type refused struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Mend    string `json:"mend,omitempty"`
	TaskID  string `json:"taskId,omitempty"`
	Version *int64 `json:"version,omitempty"` // that the task has, of a conflict and of the stop guard, which counts it up

	// Of the stop guard.
	BlockedBy    string           `json:"blocked_by,omitempty"`
	Remaining    []task.Remaining `json:"remaining_steps,omitempty"`
	Instructions []string         `json:"instructions,omitempty"`
}

// afterStopGuard is what an agent can do whose task is not done.
func afterStopGuard() []string {
	return []string{
		"Do what remains, and say so for each step: task_update with action complete_step and its step_id.",
		"A step that is not needed any more is left out: task_update with action skip_step and its step_id.",
		"If the task is to end all the same: task_complete with force_complete true. What remains is recorded.",
	}
}

// refuse is the output for an error: what a *task.Refusal says, of a task if it is known. Other errors are not for agents.
func refuse(err error, t *task.Task) (tool.Output, error) {
	why, is := errors.AsType[*task.Refusal](err)
	if !is {
		return tool.Output{}, err
	}
	answer := refused{Error: why.Text, Code: why.Reason, Field: why.Field, Mend: why.Mend}
	if t != nil {
		answer.TaskID = t.ID
	}
	if t != nil && (why.Reason == task.CodeConflict || why.Reason == task.CodeStopGuard) {
		answer.Version = &t.Version
	}
	if why.Reason == task.CodeStopGuard {
		answer.BlockedBy, answer.Remaining, answer.Instructions = task.CodeStopGuard, slices.Clone(why.Remaining), afterStopGuard()
		for i := range answer.Remaining {
			answer.Remaining[i].Content = brief(answer.Remaining[i].Content)
		}
	}
	return tools.Refuse(answer)
}

// iso is a time, ms since 1970, as answers have it; "" for none.
func iso(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(isoLayout)
}

const isoLayout = "2006-01-02T15:04:05.000Z"

// historyOf is the file of an agent's workspace that a task which has ended at that time is added to.
func historyOf(endedMs int64) string {
	return "task-history/" + time.UnixMilli(endedMs).UTC().Format("2006-01") + ".md"
}

// Properties that several tools have.
const (
	taskIDProperties = `"task_id":{"type":"string","maxLength":200,"description":"The task, by its id."},
		"taskId":{"type":"string","maxLength":200,"description":"The same as task_id."}`
	activeIDProperties = `"task_id":{"type":"string","maxLength":200,"description":"The task, by its id; your active one if absent."},
		"taskId":{"type":"string","maxLength":200,"description":"The same as task_id."}`
	versionProperty = `"version":{"type":"integer","minimum":0,
		"description":"The version that the task must have, as the last answer told it; the call is refused if somebody has changed it since. Any if absent."}`
	stepsProperty = `"steps":{"type":"array","maxItems":200,"description":"The steps of the task, in order.","items":{"type":"object",
		"additionalProperties":false,"required":["content"],"properties":{
			"content":{"type":"string","minLength":1,"description":"What is done in the step."},
			"status":{"type":"string","enum":["pending","in_progress","done","skipped"],"description":"How it stands; pending if absent."}}}}`
	priorityProperty    = `"priority":{"type":"string","maxLength":64,"description":"low, medium (the default), high or urgent."}`
	workSessionProperty = `"workSessionId":{"type":"string","maxLength":200,"description":"The work session that the task joins; a new one if absent."}`
)
