package coordination

import (
	"fmt"
)

// Rules names a set of classification rules. It is also an event's categoryVersion.
type Rules string

const (
	RulesV1 Rules = "v1" // the reference Task-Monitor's, kept for comparing with recorded answers
	RulesV2 Rules = "v2" // ours
)

// ParseRules accepts the name of a set of rules.
func ParseRules(s string) (Rules, error) {
	switch rules := Rules(s); rules {
	case RulesV1, RulesV2:
		return rules, nil
	}
	return "", fmt.Errorf("coordination: unknown classification rules %q: valid are %q and %q", s, RulesV1, RulesV2)
}

// Facts is the part of an event's data used by classification and projections. Strings are trimmed; a missing one, or one of another
// JSON type, is "".
type Facts struct {
	FromAgent, ToAgent             string
	SenderAgentID, TargetAgentID   string
	ConversationID                 string
	ParentConversationID           string
	WorkSessionID                  string
	PreviousWorkSessionID          string
	TaskID, RootTaskID             string
	RunID, ParentRunID             string
	PlanID, JobID, TopicID         string
	ThreadID                       string
	EventRole                      string
	FromSessionType, ToSessionType string
	TargetSessionKey               string
	SourceSessionKey               string
	RequesterSessionKey            string
	SessionKey                     string

	Message, ReplyPreview                         string
	Label, Description, Summary, Reason, Title    string
	CollabIntent, CollabCategory, CategoryVersion string
	Status, Error, Outcome, WaitStatus, WaitError string
	ErrorClass, ErrorCode                         string
	MessageIntent, Action, Origin                 string

	SubTags []string // collabSubTags: the first five that are not blank

	Depth, Hop       float64
	HasDepth, HasHop bool // nil is missing, unlike 0

	RequiresApproval   bool
	ConcurrencyBlocked bool
	ManualOverride     bool // categoryManualOverride
}

// maxSubTags limits a producer's own sub-tags.
const maxSubTags = 5

// Sources of a Record's Time.
const (
	TimeFromEvent    = "event"
	TimeFromRecorded = "recorded"
)

// Record is an event as its readers see it.
type Record struct {
	Type    string
	AgentID string // "" when the event names none
	Status  string // beside data, as in a few old task events; Facts.Status is the one in data

	// Time is when it happened, in ms since 1970 with fractions; TimeSource is its source.
	Time       float64
	TimeSource string

	Facts
}

// ReadRecord reads an event. data is a JSON object; anything else counts as an empty one. ts and recordedAt are ms.
//
// original is nil, or the whole imported line where type, agentId, ts and data cannot reproduce it: its agentId, times, top-level status
// and non-object data then take precedence over the arguments.
//
// An event without a usable time has recordedAt under RulesV2 and 1970 under RulesV1.
func ReadRecord(rules Rules, typ, agentID string, ts, recordedAt int64, data, original []byte) Record {
	r := Record{Type: TrimJS(typ), AgentID: TrimJS(agentID), Time: float64(ts), TimeSource: TimeFromEvent}
	if original != nil {
		data = r.readLine(rules, data, original)
	}
	if r.Time == 0 && rules == RulesV2 {
		r.Time, r.TimeSource = float64(recordedAt), TimeFromRecorded
	}
	if isObject(data) {
		r.Facts.read(data)
	}
	return r
}

// From is the sender: data.fromAgent, else data.senderAgentId, else the event's own agent.
func (r *Record) From() string {
	switch {
	case r.FromAgent != "":
		return r.FromAgent
	case r.SenderAgentID != "":
		return r.SenderAgentID
	}
	return r.AgentID
}

// To is the recipient: data.toAgent, else data.targetAgentId. It is "" for most types.
func (r *Record) To() string {
	if r.ToAgent != "" {
		return r.ToAgent
	}
	return r.TargetAgentID
}

// delegated reports whether the event has a trace of delegation: a parent conversation, a depth or a hop, even 0.
func (r *Record) delegated() bool {
	return r.ParentConversationID != "" || r.HasDepth || r.HasHop
}

// readLine reads an imported line's own fields, and returns the data to go on with.
func (r *Record) readLine(rules Rules, data, line []byte) []byte {
	var (
		agentID, status            string
		timestampMs, ts, timestamp float64
		own                        = data
	)
	err := EachField(line, func(key string, raw []byte) bool {
		switch key {
		case "agentId":
			agentID, _ = StringValue(raw)
		case "status":
			status, _ = StringValue(raw)
		case "timestampMs":
			timestampMs = milliseconds(rules, raw)
		case "ts":
			ts = milliseconds(rules, raw)
		case "timestamp":
			text, _ := StringValue(raw)
			timestamp, _ = ParseTime(text)
		case "data":
			if !isObject(raw) {
				own = nil
			}
		}
		return true
	})
	if err != nil {
		return data
	}
	r.AgentID, r.Status = agentID, status
	r.Time = firstNonZero(timestampMs, ts, timestamp)
	return own
}

func milliseconds(rules Rules, raw []byte) float64 {
	if ms, ok := NumberValue(raw); ok {
		return ms
	}
	if text, ok := StringValue(raw); ok && rules == RulesV2 {
		ms, _ := NumberValue([]byte(text))
		return ms
	}
	return 0
}

func firstNonZero(values ...float64) float64 {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}

func (f *Facts) read(data []byte) {
	// Malformed data yields the facts before the fault: an event already in the log must never fail.
	_ = EachField(data, func(key string, raw []byte) bool {
		if text := f.text(key); text != nil {
			*text, _ = StringValue(raw)
			return true
		}
		switch key {
		case "collabSubTags":
			f.SubTags = subTags(raw)
		case "depth":
			f.Depth, f.HasDepth = NumberValue(raw)
		case "hop":
			f.Hop, f.HasHop = NumberValue(raw)
		case "requiresApproval":
			f.RequiresApproval = isTrue(raw)
		case "concurrencyBlocked":
			f.ConcurrencyBlocked = isTrue(raw)
		case "categoryManualOverride":
			f.ManualOverride = isTrue(raw)
		}
		return true
	})
}

// subTags returns the strings of a JSON array.
func subTags(raw []byte) []string {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var tags []string
	for i := skipSpace(raw, 1); i < len(raw) && raw[i] != ']' && len(tags) < maxSubTags; {
		end := skipValue(raw, i)
		if end < 0 {
			break
		}
		if tag, ok := StringValue(raw[i:end]); ok {
			tags = append(tags, tag)
		}
		if i = skipSpace(raw, end); i < len(raw) && raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return tags
}

// text returns where to store a string member, or nil for an unused one.
func (f *Facts) text(key string) *string {
	switch key {
	case "fromAgent":
		return &f.FromAgent
	case "toAgent":
		return &f.ToAgent
	case "senderAgentId":
		return &f.SenderAgentID
	case "targetAgentId":
		return &f.TargetAgentID
	case "conversationId":
		return &f.ConversationID
	case "parentConversationId":
		return &f.ParentConversationID
	case "workSessionId":
		return &f.WorkSessionID
	case "previousWorkSessionId":
		return &f.PreviousWorkSessionID
	case "taskId":
		return &f.TaskID
	case "rootTaskId":
		return &f.RootTaskID
	case "runId":
		return &f.RunID
	case "parentRunId":
		return &f.ParentRunID
	case "planId":
		return &f.PlanID
	case "jobId":
		return &f.JobID
	case "topicId":
		return &f.TopicID
	case "threadId":
		return &f.ThreadID
	case "eventRole":
		return &f.EventRole
	case "fromSessionType":
		return &f.FromSessionType
	case "toSessionType":
		return &f.ToSessionType
	case "targetSessionKey":
		return &f.TargetSessionKey
	case "sourceSessionKey":
		return &f.SourceSessionKey
	case "requesterSessionKey":
		return &f.RequesterSessionKey
	case "sessionKey":
		return &f.SessionKey
	case "message":
		return &f.Message
	case "replyPreview":
		return &f.ReplyPreview
	case "label":
		return &f.Label
	case "description":
		return &f.Description
	case "summary":
		return &f.Summary
	case "reason":
		return &f.Reason
	case "title":
		return &f.Title
	case "collabIntent":
		return &f.CollabIntent
	case "collabCategory":
		return &f.CollabCategory
	case "categoryVersion":
		return &f.CategoryVersion
	case "status":
		return &f.Status
	case "error":
		return &f.Error
	case "outcome":
		return &f.Outcome
	case "waitStatus":
		return &f.WaitStatus
	case "waitError":
		return &f.WaitError
	case "errorClass":
		return &f.ErrorClass
	case "errorCode":
		return &f.ErrorCode
	case "messageIntent":
		return &f.MessageIntent
	case "action":
		return &f.Action
	case "origin":
		return &f.Origin
	}
	return nil
}
