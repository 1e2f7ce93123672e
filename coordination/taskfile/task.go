package taskfile

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Defaults for missing values.
const (
	DefaultStatus      = "pending"
	DefaultPriority    = "medium"
	DefaultDescription = "(no description)"
)

// Task is the content of a task file. Its JSON is the original Task-Monitor's, with additional members from CreatedBySessionKey on.
// Values are not validated: a status may be any word, a time any text.
type Task struct {
	ID                    string   `json:"id"`
	Status                string   `json:"status"`
	Priority              string   `json:"priority"`
	Description           string   `json:"description"`
	Context               string   `json:"context,omitempty"`
	Source                string   `json:"source,omitempty"`
	WorkSessionID         string   `json:"workSessionId,omitempty"`
	PreviousWorkSessionID string   `json:"previousWorkSessionId,omitempty"`
	Created               string   `json:"created"`      // "" if missing
	LastActivity          string   `json:"lastActivity"` // likewise
	Progress              []string `json:"progress"`

	BlockedReason          string   `json:"blockedReason,omitempty"`
	UnblockedBy            []string `json:"unblockedBy,omitempty"`
	UnblockedAction        string   `json:"unblockedAction,omitempty"`
	UnblockRequestCount    *float64 `json:"unblockRequestCount,omitempty"`
	EscalationState        string   `json:"escalationState,omitempty"`
	LastUnblockerIndex     *float64 `json:"lastUnblockerIndex,omitempty"`
	LastUnblockRequestAt   string   `json:"lastUnblockRequestAt,omitempty"`
	UnblockRequestFailures *float64 `json:"unblockRequestFailures,omitempty"`

	CreatedBy       string   `json:"createdBy,omitempty"`
	Assignee        string   `json:"assignee,omitempty"`
	DependsOn       []string `json:"dependsOn,omitempty"`
	EstimatedEffort string   `json:"estimatedEffort,omitempty"`
	StartDate       string   `json:"startDate,omitempty"`
	DueDate         string   `json:"dueDate,omitempty"`

	Outcome       json.RawMessage `json:"outcome,omitempty"` // an object with kind
	Steps         []Step          `json:"steps,omitempty"`
	StepsProgress *StepsProgress  `json:"stepsProgress,omitempty"`

	CreatedBySessionKey string          `json:"createdBySessionKey,omitempty"`
	Simple              bool            `json:"simple,omitempty"`
	MilestoneID         string          `json:"milestoneId,omitempty"`
	MilestoneItemID     string          `json:"milestoneItemId,omitempty"`
	ReassignCount       *float64        `json:"reassignCount,omitempty"`
	Delegations         json.RawMessage `json:"delegations,omitempty"`       // an array
	DelegationEvents    json.RawMessage `json:"delegationEvents,omitempty"`  // an array
	DelegationSummary   json.RawMessage `json:"delegationSummary,omitempty"` // an object
}

// Parse parses a task file; id is its name without ".md". An empty file, and one with "*(No task)*", has no task.
func Parse(id, text string) (Task, bool) {
	if trim(text) == "" || strings.Contains(text, "*(No task)*") {
		return Task{}, false
	}
	t := Task{ID: id, Status: DefaultStatus, Priority: DefaultPriority, Progress: []string{}}
	var description, context []string
	for _, s := range Sections(text) {
		content := s.content()
		switch s.Name() {
		case "metadata":
			t.readMetadata(content)
		case "description":
			description = append(description, readLines(content)...)
		case "context":
			context = append(context, readLines(content)...)
		case "steps":
			t.readSteps(content)
		case "progress":
			t.Progress = append(t.Progress, items(content)...)
		case "last activity":
			if len(content) > 0 {
				t.LastActivity = unfoldLines(readLine(content[len(content)-1]))
			}
		case "blocking":
			eachObject(content, t.readBlocking)
		case "backlog":
			eachObject(content, t.readBacklog)
		case "outcome":
			eachObject(content, t.readOutcome)
		case "delegations":
			eachObject(content, t.readDelegations)
		}
	}
	t.Description, t.Context = strings.Join(description, "\n"), strings.Join(context, "\n")
	if len(description) == 0 {
		t.Description = DefaultDescription
	}
	return t, true
}

// Title is the first line of the description.
func (t *Task) Title() string {
	title, _, _ := strings.Cut(t.Description, "\n")
	return title
}

// At fills in missing times: created now, last active when created.
func (t Task) At(now string) Task {
	if t.Created == "" {
		t.Created = now
	}
	if t.LastActivity == "" {
		t.LastActivity = t.Created
	}
	return t
}

func (t *Task) readMetadata(lines []string) {
	for _, line := range lines {
		key, value, ok := field(line)
		if !ok {
			continue
		}
		value = readItem(value)
		switch strings.ToLower(key) {
		case "status":
			t.Status = value
		case "priority":
			t.Priority = value
		case "created":
			t.Created = value
		case "source":
			t.Source = value
		case "work session":
			t.WorkSessionID = value
		case "previous work session":
			t.PreviousWorkSessionID = value
		case "blocked reason":
			t.BlockedReason = value
		case "unblocked by":
			t.UnblockedBy = words(value)
		case "unblocked action":
			t.UnblockedAction = value
		case "unblock request count":
			t.UnblockRequestCount = whole(value, 0)
		case "escalation state":
			t.EscalationState = value
		case "last unblocker index":
			t.LastUnblockerIndex = whole(value, -1<<31)
		case "last unblock request at":
			t.LastUnblockRequestAt = value
		case "created by session":
			t.CreatedBySessionKey = value
		case "simple":
			t.Simple = strings.EqualFold(value, "true")
		}
	}
}

// words splits a list at commas.
func words(value string) (list []string) {
	for word := range strings.SplitSeq(value, ",") {
		if word = trim(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// whole parses an integer of at least least, or returns nil.
func whole(value string, least int64) *float64 {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < least {
		return nil
	}
	number := float64(n)
	return &number
}
