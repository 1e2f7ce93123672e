package taskfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// signature ends files written by the task tools, without a newline.
const signature = "---\n*Managed by task tools*"

// Format returns the text of a task's file. Parse reads it as the same task, whatever its texts contain, and formatting that again
// yields the same bytes.
func Format(t *Task) string {
	var b strings.Builder
	b.WriteString("# Task: " + t.ID + "\n\n## Metadata\n")
	t.writeMetadata(&b)
	b.WriteString("\n## Description\n" + writeText(t.Description, isTaskPart) + "\n\n")
	if t.Context != "" {
		b.WriteString("## Context\n" + writeText(t.Context, isTaskPart) + "\n\n")
	}
	t.writeSteps(&b)
	b.WriteString("## Progress\n")
	for _, item := range t.Progress {
		b.WriteString("- " + writeItem(item) + "\n")
	}
	b.WriteString("\n## Last Activity\n")
	if t.LastActivity != "" {
		b.WriteString(writeText(foldLines(t.LastActivity), isTaskPart) + "\n")
	}
	b.WriteString("\n")
	t.writeBlocks(&b)
	b.WriteString(signature)
	return b.String()
}

func (t *Task) writeMetadata(b *strings.Builder) {
	simple := ""
	if t.Simple {
		simple = "true"
	}
	for _, f := range [...]struct{ key, value string }{
		{"Status", t.Status},
		{"Priority", t.Priority},
		{"Created", t.Created},
		{"Source", t.Source},
		{"Work Session", t.WorkSessionID},
		{"Previous Work Session", t.PreviousWorkSessionID},
		{"Created By Session", t.CreatedBySessionKey},
		{"Simple", simple},
	} {
		if f.value != "" {
			b.WriteString("- **" + f.key + ":** " + writeItem(f.value) + "\n")
		}
	}
}

func (t *Task) writeSteps(b *strings.Builder) {
	if len(t.Steps) == 0 {
		return
	}
	b.WriteString("## Steps\n")
	for _, s := range slices.SortedStableFunc(slices.Values(t.Steps), func(a, b Step) int { return cmp.Compare(a.Order, b.Order) }) {
		b.WriteString("- [" + stepMark(s.Status) + "] (" + s.ID + ") " + writeItem(s.Content) + "\n")
	}
	b.WriteString("\n")
}

// Sections that are one JSON object, in the order of their members.
type (
	blocking struct {
		BlockedReason          string   `json:"blockedReason,omitempty"`
		UnblockedBy            []string `json:"unblockedBy,omitempty"`
		UnblockedAction        string   `json:"unblockedAction,omitempty"`
		UnblockRequestCount    *float64 `json:"unblockRequestCount,omitempty"`
		LastUnblockerIndex     *float64 `json:"lastUnblockerIndex,omitempty"`
		LastUnblockRequestAt   string   `json:"lastUnblockRequestAt,omitempty"`
		EscalationState        string   `json:"escalationState,omitempty"`
		UnblockRequestFailures *float64 `json:"unblockRequestFailures,omitempty"`
	}
	backlog struct {
		CreatedBy       string   `json:"createdBy,omitempty"`
		Assignee        string   `json:"assignee,omitempty"`
		DependsOn       []string `json:"dependsOn,omitempty"`
		EstimatedEffort string   `json:"estimatedEffort,omitempty"`
		StartDate       string   `json:"startDate,omitempty"`
		DueDate         string   `json:"dueDate,omitempty"`
		MilestoneID     string   `json:"milestoneId,omitempty"`
		MilestoneItemID string   `json:"milestoneItemId,omitempty"`
		ReassignCount   *float64 `json:"reassignCount,omitempty"`
	}
	// Delegated is a task's delegation data.
	Delegated struct {
		Delegations json.RawMessage `json:"delegations,omitempty"`
		Events      json.RawMessage `json:"events,omitempty"`
		Summary     json.RawMessage `json:"summary,omitempty"`
	}
)

func (t *Task) writeBlocks(b *strings.Builder) {
	writeBlock(b, "Blocking", t.Status == "blocked", blocking{t.BlockedReason, t.UnblockedBy, t.UnblockedAction, t.UnblockRequestCount,
		t.LastUnblockerIndex, t.LastUnblockRequestAt, t.EscalationState, t.UnblockRequestFailures})
	writeBlock(b, "Backlog", t.Status == "backlog", backlog{t.CreatedBy, t.Assignee, t.DependsOn, t.EstimatedEffort, t.StartDate, t.DueDate,
		t.MilestoneID, t.MilestoneItemID, t.ReassignCount})
	if len(t.Outcome) > 0 {
		writeBlock(b, "Outcome", false, t.Outcome)
	}
	writeBlock(b, "Delegations", false, Delegated{t.Delegations, t.DelegationEvents, t.DelegationSummary})
}

// writeBlock writes an object section. An empty one is omitted unless wanted, and so is a value that cannot be marshalled.
func writeBlock(b *strings.Builder, heading string, wanted bool, value any) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return
	}
	text := strings.TrimSuffix(line.String(), "\n")
	if text == "{}" && !wanted {
		return
	}
	b.WriteString("## " + heading + "\n```json\n" + spaced(text) + "\n```\n\n")
}

// spaced adds a space after each comma and colon of compact JSON, and escapes noTask in it.
func spaced(line string) string {
	var b strings.Builder
	inText := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		b.WriteByte(c)
		switch {
		case inText && c == '\\':
			i++
			b.WriteByte(line[i])
		case c == '"':
			inText = !inText
		case !inText && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return strings.ReplaceAll(b.String(), "*(No task)", `*\u0028No task)`)
}
