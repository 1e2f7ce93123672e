package tasks

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// carry encodes a file's delegation data as JSON, "" if none. It is not ours, and stays in the file unchanged.
func carry(f *taskfile.Task) string {
	if f.Delegations == nil && f.DelegationEvents == nil && f.DelegationSummary == nil {
		return ""
	}
	text, err := json.Marshal(taskfile.Delegated{Delegations: f.Delegations, Events: f.DelegationEvents, Summary: f.DelegationSummary})
	if err != nil {
		return "" // not valid JSON
	}
	return string(text)
}

// onto adds the carried data of a task to its delegations.
func onto(f *taskfile.Task, text string) {
	var c taskfile.Delegated
	if text == "" || json.Unmarshal([]byte(text), &c) != nil {
		return
	}
	if f.Delegations == nil && f.DelegationEvents == nil {
		f.Delegations, f.DelegationEvents, f.DelegationSummary = c.Delegations, c.Events, c.Summary
		return
	}
	f.Delegations, f.DelegationEvents = joined(c.Delegations, f.Delegations), joined(c.Events, f.DelegationEvents)
	f.DelegationSummary = added(c.Summary, f.DelegationSummary)
}

// joined concatenates two arrays.
func joined(a, b json.RawMessage) json.RawMessage {
	var first, second []json.RawMessage
	if json.Unmarshal(a, &first) != nil {
		return b
	}
	if json.Unmarshal(b, &second) != nil {
		return a
	}
	text, _ := json.Marshal(append(first, second...)) // they came from JSON
	return text
}

// added is the sum of two summaries.
func added(a, b json.RawMessage) json.RawMessage {
	var x, y task.Summary
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return b
	}
	text, _ := json.Marshal(task.Summary{Total: x.Total + y.Total, Completed: x.Completed + y.Completed, Verified: x.Verified + y.Verified,
		Failed: x.Failed + y.Failed, Running: x.Running + y.Running, AllSettled: (x.AllSettled || x.Total == 0) && y.AllSettled}) // numbers always marshal
	return text
}
