package migrate

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/jsoncheck"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

// entry is a line of a transcript of OpenClaw. What is raw belongs to the line.
type entry struct {
	Type      string
	ID        string
	Timestamp []byte // text, or ms since 1970
	Reason    string // of a reset
	Summary   string // of a compaction
	Message   *said
}

// said is a message.
type said struct {
	Role         string
	Content      []byte // text, or a list of blocks
	Timestamp    []byte
	ToolCallID   string
	ToolName     string
	IsError      bool
	API          string
	Provider     string
	Model        string
	StopReason   string
	Error        string
	Usage        *coordination.SessionUsage
	ProvenanceOf string // kind
	SourceKey    string // session that it came from
}

// parse reads an entry. A member of an unexpected type is blank.
func parse(text []byte) (*entry, error) {
	if !jsoncheck.Valid(text) {
		return nil, openclaw.ErrNotJSON
	}
	e := &entry{}
	eachField(text, func(name string, raw []byte) {
		switch name {
		case "type":
			setText(&e.Type, raw)
		case "id":
			setText(&e.ID, raw)
		case "timestamp":
			e.Timestamp = raw
		case "reason":
			setText(&e.Reason, raw)
		case "summary":
			setText(&e.Summary, raw)
		case "message":
			if raw[0] == '{' {
				e.Message = &said{}
				eachField(raw, e.Message.set)
			}
		}
	})
	return e, nil
}

// set sets a member of the message.
func (s *said) set(name string, raw []byte) {
	switch name {
	case "role":
		setText(&s.Role, raw)
	case "content":
		s.Content = raw
	case "timestamp":
		s.Timestamp = raw
	case "toolCallId":
		setText(&s.ToolCallID, raw)
	case "toolName":
		setText(&s.ToolName, raw)
	case "isError":
		s.IsError = string(raw) == "true"
	case "api":
		setText(&s.API, raw)
	case "provider":
		setText(&s.Provider, raw)
	case "model":
		setText(&s.Model, raw)
	case "stopReason":
		setText(&s.StopReason, raw)
	case "errorMessage":
		setText(&s.Error, raw)
	case "usage":
		s.Usage = usageOf(raw)
	case "provenance":
		eachField(raw, func(name string, raw []byte) {
			switch name {
			case "kind":
				setText(&s.ProvenanceOf, raw)
			case "sourceSessionKey":
				setText(&s.SourceKey, raw)
			}
		})
	}
}

// usageOf reads the usage of an answer, nil if there is none.
func usageOf(raw []byte) *coordination.SessionUsage {
	if raw[0] != '{' {
		return nil
	}
	var u coordination.SessionUsage
	total := false
	eachField(raw, func(name string, raw []byte) {
		n, _ := coordination.NumberValue(raw)
		switch name {
		case "input":
			u.Input = tokens(n)
		case "cacheRead":
			u.CacheRead = tokens(n)
		case "cacheWrite":
			u.CacheWrite = tokens(n)
		case "output":
			u.Output = tokens(n)
		case "totalTokens", "total":
			u.Total, total = tokens(n), true
		case "cost":
			u.Cost = costOf(raw)
		}
	})
	u.Input += u.CacheRead + u.CacheWrite
	if !total {
		u.Total = u.Input + u.Output
	}
	return &u
}

// tokens is a number of tokens. One that cannot be is none.
func tokens(n float64) int64 {
	if n > 0 && n < 1<<53 {
		return int64(n)
	}
	return 0
}

// costOf reads what an answer has cost, nil if it does not say so.
func costOf(raw []byte) *coordination.UsageCost {
	var c coordination.UsageCost
	total := -1.0
	eachField(raw, func(name string, raw []byte) {
		n, is := coordination.NumberValue(raw)
		switch {
		case !is || n < 0:
		case name == "input":
			c.Input = n
		case name == "output":
			c.Output = n
		case name == "cacheRead":
			c.CacheRead = n
		case name == "cacheWrite":
			c.CacheWrite = n
		case name == "total":
			total = n
		}
	})
	if c.Total = total; total < 0 {
		return nil
	}
	return &c
}

// eachField visits the members of an object in valid JSON. Something else has none.
func eachField(raw []byte, visit func(name string, raw []byte)) {
	_ = coordination.EachField(raw, func(name string, raw []byte) bool { // it is valid, or no object
		visit(name, raw)
		return true
	})
}

func setText(to *string, raw []byte) { *to, _ = coordination.TextValue(raw) }

// timeOf reads a time of an entry, ms since 1970; 0 for none.
func timeOf(raw []byte) int64 {
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
		if kind := s.ProvenanceOf; kind == "external_user" || kind == "inter_session" || kind == "internal_system" {
			m.Provenance = kind
			if from, err := coordination.ParseSessionKey(s.SourceKey); err == nil && kind == "inter_session" {
				m.FromAgent = from.Agent
			}
		}
	case "assistant":
		m.API, m.Provider, m.Model, m.StopReason, m.Error = s.API, s.Provider, s.Model, s.StopReason, s.Error
		m.Usage = s.Usage
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
	if text, is := coordination.TextValue(s.Content); is {
		return s.unstamped(text), nil
	}
	var blocks []json.RawMessage
	var parts []string
	only, stamped := true, ""
	_ = coordination.EachElement(s.Content, func(raw []byte) bool { // it is valid, or no list
		said, isText := blockText(raw)
		if only = only && isText; isText {
			if short := s.unstamped(said); short != said && len(blocks) == 0 {
				said, stamped = short, short
			}
			parts = append(parts, said)
		}
		blocks = append(blocks, raw)
		return true
	})
	text = strings.Join(parts, "\n\n")
	if only && len(blocks) <= 1 {
		return text, nil
	}
	if stamped != "" {
		blocks[0] = withText(blocks[0], stamped)
	}
	content, _ = json.Marshal(blocks) // they were valid
	return text, content
}

// blockText returns the text of a block that is nothing else.
func blockText(block []byte) (text string, is bool) {
	kind := ""
	eachField(block, func(name string, raw []byte) {
		switch name {
		case "type":
			setText(&kind, raw)
		case "text":
			text, is = coordination.TextValue(raw)
		}
	})
	return text, is && kind == "text"
}

// withText returns a block with another text.
func withText(block json.RawMessage, text string) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(block, &members) // it is an object
	members["text"], _ = json.Marshal(text)
	block, _ = json.Marshal(members)
	return block
}

// program is what OpenClaw 2026.5 and later put before what a person writes in one of its own programs, for the model: which program it is.
// The same of people in channels stays, since it says who spoke.
var program = regexp.MustCompile("^Sender \\(untrusted metadata\\):\n```json\n\\{\n  \"label\": \"[^\"\n]*\",\n" +
	"  \"id\": \"(?:cli|webchat(?:-ui)?|gateway-client|openclaw-[a-z-]+)\"\n\\}\n```\n+")

func (s *said) unstamped(text string) string {
	if s.Role != "user" {
		return text
	}
	text = strings.TrimPrefix(text, program.FindString(text))
	return strings.TrimPrefix(text, stamp.FindString(text))
}
