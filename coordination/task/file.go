package task

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// FromFile returns the task in a task file, and its lines of progress. at, ms since 1970, replaces missing times. ok is false for an
// unknown state, and for a file with neither a description nor a start time. Delegations are not read: no flow here could end them.
func FromFile(agent string, f *taskfile.Task, at int64) (t Task, progress []string, ok bool) {
	if !isFileState(f.Status) || f.Description == taskfile.DefaultDescription && f.Created == "" {
		return Task{}, nil, false
	}
	created := timeOr(f.Created, at)
	t = Task{
		ID: f.ID, Agent: agent, Status: f.Status, Priority: priority(f.Priority),
		Description: f.Description, Background: f.Context, Source: f.Source, Simple: f.Simple, SessionKey: f.CreatedBySessionKey, CreatedBy: f.CreatedBy,
		WorkSessionID: f.WorkSessionID, PreviousWorkSessionID: f.PreviousWorkSessionID,
		CreatedAt: created, ActiveAt: timeOr(f.LastActivity, created),
		ProgressCount: len(f.Progress), Progress: lastOf(f.Progress),
		Blocked: fileBlocked(f),
		Backlog: Backlog{Assignee: f.Assignee, DependsOn: slices.Clone(f.DependsOn), Effort: f.EstimatedEffort, StartDate: f.StartDate, DueDate: f.DueDate,
			MilestoneID: f.MilestoneID, MilestoneItemID: f.MilestoneItemID, Reassigned: wholeOr(f.ReassignCount, 0)},
	}
	if t.Terminal() {
		t.EndedAt = t.ActiveAt
	}
	for _, s := range f.Steps {
		t.Steps = append(t.Steps, coordination.TaskStep(s))
	}
	if len(f.Outcome) > 0 {
		_ = json.Unmarshal(f.Outcome, &t.Outcome) // values of the wrong JSON type are dropped
	}
	return t, f.Progress, true
}

// isFileState reports whether a task file can have a state.
func isFileState(status string) bool {
	switch status {
	case coordination.StatePending, coordination.StatePendingApproval, coordination.StateInProgress, coordination.StateBlocked, coordination.StateBacklog,
		coordination.StateCompleted, coordination.StateCancelled, coordination.StateAbandoned, coordination.StateInterrupted:
		return true
	}
	return false
}

// fileBlocked returns what a blocked task waits for; the zero value for others.
func fileBlocked(f *taskfile.Task) Blocked {
	b := Blocked{Reason: f.BlockedReason, By: slices.Clone(f.UnblockedBy), Action: f.UnblockedAction, Requests: wholeOr(f.UnblockRequestCount, 0),
		LastAskedAt: timeOr(f.LastUnblockRequestAt, 0), Escalation: f.EscalationState, Failures: wholeOr(f.UnblockRequestFailures, 0)}
	if f.Status == coordination.StateBlocked || len(b.By) > 0 {
		b.LastIndex = min(wholeOr(f.LastUnblockerIndex, -1), len(b.By)-1)
	}
	return b
}

func lastOf(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// timeOr parses a time as ms since 1970.
func timeOr(text string, otherwise int64) int64 {
	if ms, ok := coordination.ParseTime(text); ok {
		return int64(ms)
	}
	return otherwise
}

// wholeOr returns a count, limited to -1..MaxInt32, or otherwise for nil.
func wholeOr(number *float64, otherwise int) int {
	if number == nil {
		return otherwise
	}
	return int(max(-1, min(*number, math.MaxInt32)))
}

// File returns the content of a task's file. Delegations may be nil; events are those of the task's stream.
func File(t *Task, progress []string, delegations []Delegation, events []DelegationEvent) taskfile.Task {
	f := taskfile.Task{
		ID: t.ID, Status: t.Status, Priority: t.Priority, Description: t.Description, Context: t.Background, Source: t.Source,
		WorkSessionID: t.WorkSessionID, PreviousWorkSessionID: t.PreviousWorkSessionID, Created: coordination.FormatTime(t.CreatedAt), LastActivity: coordination.FormatTime(t.ActiveAt),
		Progress: append([]string{}, progress...), CreatedBySessionKey: t.SessionKey, Simple: t.Simple,

		BlockedReason: t.Blocked.Reason, UnblockedBy: slices.Clone(t.Blocked.By), UnblockedAction: t.Blocked.Action, EscalationState: t.Blocked.Escalation,

		CreatedBy: t.CreatedBy, Assignee: t.Backlog.Assignee, DependsOn: slices.Clone(t.Backlog.DependsOn), EstimatedEffort: t.Backlog.Effort,
		StartDate: t.Backlog.StartDate, DueDate: t.Backlog.DueDate, MilestoneID: t.Backlog.MilestoneID, MilestoneItemID: t.Backlog.MilestoneItemID,
	}
	if t.Status == coordination.StateBlocked || t.Blocked.Requests > 0 {
		f.UnblockRequestCount = number(t.Blocked.Requests)
	}
	if len(t.Blocked.By) > 0 && t.Blocked.LastIndex >= 0 {
		f.LastUnblockerIndex = number(t.Blocked.LastIndex)
	}
	if t.Blocked.LastAskedAt != 0 {
		f.LastUnblockRequestAt = coordination.FormatTime(t.Blocked.LastAskedAt)
	}
	if t.Blocked.Failures > 0 {
		f.UnblockRequestFailures = number(t.Blocked.Failures)
	}
	if t.Backlog.Reassigned > 0 {
		f.ReassignCount = number(t.Backlog.Reassigned)
	}
	for _, s := range t.Steps {
		f.Steps = append(f.Steps, taskfile.Step(s))
	}
	f.StepsProgress = taskfile.CountSteps(f.Steps)
	if t.Outcome.Kind != "" {
		f.Outcome = encoded(t.Outcome)
	}
	if len(delegations) > 0 {
		f.Delegations = encoded(delegationFiles(delegations))
		f.DelegationEvents = encoded(append([]DelegationEvent{}, events...))
		f.DelegationSummary = encoded(Summarize(delegations))
	}
	return f
}

// delegationFile is a delegation in a task file.
type delegationFile struct {
	ID          string        `json:"delegationId"`
	Status      string        `json:"status"`
	RetryCount  int           `json:"retryCount"`
	MaxRetries  int           `json:"maxRetries"`
	Label       string        `json:"label,omitempty"`
	RunID       string        `json:"runId,omitempty"`
	AgentID     string        `json:"targetAgentId"`
	Work        string        `json:"task"`
	CreatedAt   string        `json:"createdAt"`
	CompletedAt string        `json:"completedAt,omitempty"`
	Snapshot    *fileSnapshot `json:"snapshot,omitempty"`
	Errors      []string      `json:"errors,omitempty"`
}

// fileSnapshot is the result of a delegation in a task file.
type fileSnapshot struct {
	Content       string `json:"content"`
	OutcomeStatus string `json:"outcomeStatus"`
	CapturedAt    string `json:"capturedAt"`
}

func delegationFiles(list []Delegation) []delegationFile {
	files := make([]delegationFile, 0, len(list))
	for _, d := range list {
		f := delegationFile{ID: d.ID, Status: d.Status, RetryCount: d.Retries, MaxRetries: d.Most, Label: d.Label, RunID: d.RunID, AgentID: d.Agent,
			Work: d.Work, CreatedAt: coordination.FormatTime(d.CreatedAt), CompletedAt: coordination.FormatTime(d.EndedAt)}
		if d.Snapshot != "" {
			f.Snapshot = &fileSnapshot{Content: d.Snapshot, OutcomeStatus: "ok", CapturedAt: coordination.FormatTime(d.EndedAt)}
		}
		if d.Error != "" {
			f.Errors = []string{d.Error}
		}
		files = append(files, f)
	}
	return files
}

// encoded marshals a value for which that cannot fail.
func encoded(value any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSpace(b.Bytes())
}

func number(n int) *float64 {
	f := float64(n)
	return &f
}

// isoTime formats ms since 1970; "" for 0.

// DelegationEvent is an event of a delegation in a task file.
type DelegationEvent struct {
	Type         string `json:"type"` // e.g. delegation_spawned
	DelegationID string `json:"delegationId"`
	At           string `json:"timestamp"` // ISO
	Note         string `json:"note,omitempty"`
}
