package task

import (
	"encoding/json"

	decide "github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// carried is what the file of a task had on delegations: it is not ours, and stays in the file as it was.
type carried struct {
	Delegations json.RawMessage `json:"delegations,omitempty"`
	Events      json.RawMessage `json:"events,omitempty"`
	Summary     json.RawMessage `json:"summary,omitempty"`
}

// carry is what a file has on delegations as JSON, "" for nothing.
func carry(f *taskfile.Task) string {
	if f.Delegations == nil && f.DelegationEvents == nil && f.DelegationSummary == nil {
		return ""
	}
	text, err := json.Marshal(carried{f.Delegations, f.DelegationEvents, f.DelegationSummary})
	if err != nil {
		return "" // it is no JSON
	}
	return string(text)
}

// onto adds what a task has carried along to what there is of its delegations.
func onto(f *taskfile.Task, text string) {
	var c carried
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

// joined is the elements of two arrays.
func joined(a, b json.RawMessage) json.RawMessage {
	var first, second []json.RawMessage
	if json.Unmarshal(a, &first) != nil {
		return b
	}
	if json.Unmarshal(b, &second) != nil {
		return a
	}
	text, _ := json.Marshal(append(first, second...)) // they were JSON
	return text
}

// added is the sum of two summaries.
func added(a, b json.RawMessage) json.RawMessage {
	var x, y decide.Summary
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return b
	}
	text, _ := json.Marshal(decide.Summary{Total: x.Total + y.Total, Completed: x.Completed + y.Completed, Verified: x.Verified + y.Verified,
		Failed: x.Failed + y.Failed, Running: x.Running + y.Running, AllSettled: (x.AllSettled || x.Total == 0) && y.AllSettled}) // numbers can always be written
	return text
}
