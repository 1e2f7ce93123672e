package tasktools

import (
	"errors"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// taskAnswer is part of every answer to a change.
type taskAnswer struct {
	Success               bool   `json:"success"`
	TaskID                string `json:"taskId"`
	Status                string `json:"status"`
	WorkSessionID         string `json:"workSessionId,omitempty"`
	PreviousWorkSessionID string `json:"previousWorkSessionId,omitempty"`
	Version               int64  `json:"version"`             // of the task; the next change may expect it
	Duplicate             bool   `json:"duplicate,omitempty"` // repetition of an earlier call; the answer is the task's current state
}

func (done *changeResult) answer() taskAnswer {
	return taskAnswer{Success: true, TaskID: done.ID, Status: done.Status, WorkSessionID: done.WorkSessionID,
		PreviousWorkSessionID: done.PreviousWorkSessionID, Version: done.Version, Duplicate: done.Again}
}

type refused struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Hint    string `json:"hint,omitempty"`
	TaskID  string `json:"taskId,omitempty"`
	Version *int64 `json:"version,omitempty"` // current version of the task, on a conflict and from the stop guard, which increments it

	// Of the stop guard.
	BlockedBy    string           `json:"blocked_by,omitempty"`
	Remaining    []task.Remaining `json:"remaining_steps,omitempty"`
	Instructions []string         `json:"instructions,omitempty"`
}

// afterStopGuard tells an agent what to do about a task that is not done.
func afterStopGuard() []string {
	return []string{
		"Do what remains, and report each step: task_update with action complete_step and its step_id.",
		"Skip a step that is no longer needed: task_update with action skip_step and its step_id.",
		"To end the task all the same: task_complete with force_complete true. What remains is recorded.",
	}
}

// refuse returns the output for a *task.Refusal, with the task if it is known. Other errors are not for agents.
func refuse(err error, t *task.Task) (tool.Output, error) {
	why, is := errors.AsType[*task.Refusal](err)
	if !is {
		return tool.Output{}, err
	}
	answer := refused{Error: why.Text, Code: why.Reason, Field: why.Field, Hint: why.HintText}
	if t != nil {
		answer.TaskID = t.ID
	}
	if t != nil && (why.Reason == task.CodeConflict || why.Reason == task.CodeStopGuard) {
		answer.Version = &t.Version
	}
	if why.Reason == task.CodeStopGuard {
		answer.BlockedBy, answer.Remaining, answer.Instructions = task.CodeStopGuard, slices.Clone(why.Details.Remaining), afterStopGuard()
		for i := range answer.Remaining {
			answer.Remaining[i].Content = brief(answer.Remaining[i].Content)
		}
	}
	return tools.Refuse(answer)
}

// historyOf returns the history file, relative to the workspace, of a task that ended at that time.
func historyOf(endedMs int64) string {
	return "task-history/" + time.UnixMilli(endedMs).UTC().Format("2006-01") + ".md"
}

const (
	taskIDProperties = `"task_id":{"type":"string","maxLength":200,"description":"Id of the task."},
		"taskId":{"type":"string","maxLength":200,"description":"Alias of task_id."}`
	activeIDProperties = `"task_id":{"type":"string","maxLength":200,"description":"Id of the task. Default: your active task."},
		"taskId":{"type":"string","maxLength":200,"description":"Alias of task_id."}`
	versionProperty = `"version":{"type":"integer","minimum":0,
		"description":"Expected version of the task, from the last answer; the call is refused if the task has changed since. Default: any version."}`
	stepsProperty = `"steps":{"type":"array","maxItems":200,"description":"The steps of the task, in order.","items":{"type":"object",
		"additionalProperties":false,"required":["content"],"properties":{
			"content":{"type":"string","minLength":1,"description":"What to do in the step."},
			"status":{"type":"string","enum":["pending","in_progress","done","skipped"],"description":"Status of the step. Default pending."}}}}`
	priorityProperty    = `"priority":{"type":"string","maxLength":64,"description":"low, medium (the default), high or urgent."}`
	workSessionProperty = `"workSessionId":{"type":"string","maxLength":200,"description":"Work session of the task. Default: a new one."}`
)
