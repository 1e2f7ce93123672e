package migrate

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// entry is a line of a transcript of OpenClaw.
type entry struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Timestamp json.RawMessage `json:"timestamp"` // text, or ms since 1970
	Reason    string          `json:"reason"`    // of a reset
	Summary   string          `json:"summary"`   // of a compaction
	Message   *said           `json:"message"`
}

// said is a message.
type said struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // text, or a list of blocks
	Timestamp  json.RawMessage `json:"timestamp"`
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	IsError    bool            `json:"isError"`
	API        string          `json:"api"`
	Provider   string          `json:"provider"`
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason"`
	Error      string          `json:"errorMessage"`
	Usage      *struct {
		Input      float64 `json:"input"`
		Output     float64 `json:"output"`
		CacheRead  float64 `json:"cacheRead"`
		CacheWrite float64 `json:"cacheWrite"`
		Total      float64 `json:"totalTokens"`
	} `json:"usage"`
	Provenance *struct {
		Kind             string `json:"kind"`
		SourceSessionKey string `json:"sourceSessionKey"`
	} `json:"provenance"`
}

// timeOf reads a time of an entry, ms since 1970; 0 for none.
func timeOf(raw json.RawMessage) int64 {
	if ms, ok := coordination.NumberValue(raw); ok {
		return int64(ms)
	}
	text, _ := coordination.StringValue(raw)
	ms, _ := coordination.ParseTime(text)
	return int64(ms)
}

// at is the time of the entry: of its message, which is when it was said, otherwise of when it was written.
func (e *entry) at() int64 {
	if e.Message != nil {
		if ms := timeOf(e.Message.Timestamp); ms != 0 {
			return ms
		}
	}
	return timeOf(e.Timestamp)
}

// compacted is what people are shown at the place of a compaction.
const compacted = "Compaction"

// message converts the entry, nil for one that says nothing to people or agents.
func (e *entry) message() *coordination.SessionMessage {
	switch {
	case e.Message != nil:
		return e.Message.convert(e.ID)
	case e.Type == "compaction":
		text := compacted
		if e.Summary != "" {
			text += ": " + e.Summary
		}
		return &coordination.SessionMessage{MessageID: e.ID, Author: "system", Text: text}
	}
	return nil
}

// authors maps roles. Other roles are notes of the program.
var authors = map[string]string{"user": "user", "assistant": "assistant", "toolResult": "tool"}

// client is who injected messages that no model wrote.
const client = "openclaw"

func (s *said) convert(id string) *coordination.SessionMessage {
	m := &coordination.SessionMessage{MessageID: id, Author: authors[s.Role], ToolCallID: s.ToolCallID, ToolName: s.ToolName, IsError: s.IsError}
	if m.Author == "" {
		m.Author = "system"
	}
	m.Text, m.Content = s.texts()
	switch m.Author {
	case "user":
		if p := s.Provenance; p != nil && (p.Kind == "external_user" || p.Kind == "inter_session" || p.Kind == "internal_system") {
			m.Provenance = p.Kind
			if from, err := coordination.ParseSessionKey(p.SourceSessionKey); err == nil && p.Kind == "inter_session" {
				m.FromAgent = from.Agent
			}
		}
	case "assistant":
		m.API, m.Provider, m.Model, m.StopReason, m.Error = s.API, s.Provider, s.Model, s.StopReason, s.Error
		if u := s.Usage; u != nil {
			m.Usage = &coordination.SessionUsage{Input: int64(u.Input + u.CacheRead + u.CacheWrite), Output: int64(u.Output), Total: int64(u.Total)}
		}
		if s.Provider == "openclaw" { // gateway-injected, delivery-mirror
			m.By = client
		}
	}
	return m
}

// stamp is the time that OpenClaw puts before what people write, for the model. People are not shown it.
var stamp = regexp.MustCompile(`^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d{2}-\d{2} \d{2}:\d{2}(?: [^\]\s]{1,32})?\]\s*`)

// texts returns the text of a message, and its blocks if they are more than that.
func (s *said) texts() (text string, content json.RawMessage) {
	if text, is := plainText(s.Content); is {
		return s.unstamped(text), nil
	}
	var blocks []json.RawMessage
	if json.Unmarshal(s.Content, &blocks) != nil {
		return "", nil
	}
	var parts []string
	only := true
	for i, raw := range blocks {
		var b map[string]json.RawMessage
		if json.Unmarshal(raw, &b) != nil {
			only = false
			continue
		}
		said, isText := plainText(b["text"])
		if kind, _ := coordination.StringValue(b["type"]); kind != "text" || !isText {
			only = false
			continue
		}
		if short := s.unstamped(said); short != said && i == 0 {
			b["text"], _ = json.Marshal(short) // texts always marshal
			blocks[i], _ = json.Marshal(b)
			said = short
		}
		parts = append(parts, said)
	}
	text = strings.Join(parts, "\n\n")
	if only && len(blocks) == 1 || len(blocks) == 0 {
		return text, nil
	}
	content, _ = json.Marshal(blocks) // they were valid
	return text, content
}

func (s *said) unstamped(text string) string {
	if s.Role != "user" {
		return text
	}
	return strings.TrimPrefix(text, stamp.FindString(text))
}

// plainText decodes a JSON string as it is.
func plainText(raw json.RawMessage) (text string, is bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// parse reads an entry. A member of an unexpected type is blank.
func parse(text []byte) (*entry, error) {
	var e entry
	err := json.Unmarshal(text, &e)
	if _, is := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !is {
		return nil, err
	}
	return &e, nil
}
