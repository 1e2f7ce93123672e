package taskfile

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
)

// object is a JSON object of a section. Its readers take non-empty values of the expected type; later objects override earlier ones.
type object map[string]json.RawMessage

// eachObject reads the JSON objects of a section: one per line, as the tools write them, or one over all lines, as people do. A code
// fence around them is ignored.
func eachObject(lines []string, read func(o object, text string)) {
	found := false
	body := make([]string, 0, len(lines))
	for _, line := range lines {
		if strings.HasPrefix(line, "```") {
			continue
		}
		body = append(body, line)
		if strings.HasPrefix(line, "{") && strings.HasSuffix(line, "}") {
			found = parseObject(line, read) || found
		}
	}
	if !found {
		parseObject(strings.Join(body, "\n"), read)
	}
}

func parseObject(text string, read func(o object, text string)) bool {
	var o object
	if json.Unmarshal([]byte(text), &o) != nil || o == nil {
		return false
	}
	read(o, text)
	return true
}

func (t *Task) readBlocking(o object, _ string) {
	o.text("blockedReason", &t.BlockedReason)
	o.texts("unblockedBy", &t.UnblockedBy)
	o.text("unblockedAction", &t.UnblockedAction)
	o.text("escalationState", &t.EscalationState)
	o.text("lastUnblockRequestAt", &t.LastUnblockRequestAt)
	o.number("unblockRequestCount", &t.UnblockRequestCount)
	o.number("lastUnblockerIndex", &t.LastUnblockerIndex)
	o.number("unblockRequestFailures", &t.UnblockRequestFailures)
}

func (t *Task) readBacklog(o object, _ string) {
	o.text("createdBy", &t.CreatedBy)
	o.text("assignee", &t.Assignee)
	o.texts("dependsOn", &t.DependsOn)
	o.text("estimatedEffort", &t.EstimatedEffort)
	o.text("startDate", &t.StartDate)
	o.text("dueDate", &t.DueDate)
	o.text("milestoneId", &t.MilestoneID)
	o.text("milestoneItemId", &t.MilestoneItemID)
	o.number("reassignCount", &t.ReassignCount)
}

func (t *Task) readOutcome(o object, text string) {
	var kind string
	if o.text("kind", &kind); kind != "" {
		t.Outcome = compact([]byte(text))
	}
}

func (t *Task) readDelegations(o object, _ string) {
	o.raw("delegations", '[', &t.Delegations)
	o.raw("events", '[', &t.DelegationEvents)
	o.raw("summary", '{', &t.DelegationSummary)
}

func (o object) text(key string, into *string) {
	var text string
	if json.Unmarshal(o[key], &text) == nil && text != "" {
		*into = text
	}
}

func (o object) texts(key string, into *[]string) {
	var values []any
	if json.Unmarshal(o[key], &values) != nil {
		return
	}
	var list []string
	for _, v := range values {
		if text, ok := v.(string); ok && text != "" {
			list = append(list, text)
		}
	}
	if len(list) > 0 {
		*into = list
	}
}

func (o object) number(key string, into **float64) {
	var number *float64
	if json.Unmarshal(o[key], &number) == nil && number != nil && !math.IsInf(*number, 0) {
		*into = number
	}
}

// raw takes a value that begins with bracket.
func (o object) raw(key string, bracket byte, into *json.RawMessage) {
	if value := bytes.TrimSpace(o[key]); len(value) > 0 && value[0] == bracket {
		*into = compact(value)
	}
}

func compact(value []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return nil
	}
	return b.Bytes()
}
