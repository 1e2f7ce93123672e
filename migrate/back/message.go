package back

import (
	"cmp"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// chain links the entries of a transcript: each names the one before it, and their ids differ.
type chain struct {
	last *string
	used map[string]bool
}

type entry struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	ParentID  *string `json:"parentId"`
	Timestamp string  `json:"timestamp"`
	Message   said    `json:"message"`
}

// said is a message. Members are those of OpenClaw's transcripts.
type said struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	IsError    *bool           `json:"isError,omitempty"`
	API        string          `json:"api,omitempty"`
	Provider   string          `json:"provider,omitempty"`
	Model      string          `json:"model,omitempty"`
	Usage      *usage          `json:"usage,omitempty"`
	StopReason string          `json:"stopReason,omitempty"`
	Error      string          `json:"errorMessage,omitempty"`
	Provenance *provenance     `json:"provenance,omitempty"`
	Timestamp  int64           `json:"timestamp"`
}

type provenance struct {
	Kind string `json:"kind"`
}

type usage struct {
	Input      int64                  `json:"input"` // without those of the cache
	Output     int64                  `json:"output"`
	CacheRead  int64                  `json:"cacheRead"`
	CacheWrite int64                  `json:"cacheWrite"`
	Total      int64                  `json:"totalTokens"`
	Cost       coordination.UsageCost `json:"cost"`
}

// entry converts a message. Two messages of one id cannot be in one transcript: the later one has that of its event.
func (c *chain) entry(m *sessions.Message, content json.RawMessage) entry {
	id := m.ID()
	if c.used[id] {
		id = m.Event.String()
	}
	c.used[id] = true
	e := entry{Type: "message", ID: id, ParentID: c.last, Timestamp: isoTime(m.At), Message: convert(&m.Data, content, m.At)}
	c.last = &id
	return e
}

// convert converts a message with these blocks. Notes of the system are messages of the agent that no model wrote, as OpenClaw's own injected ones.
func convert(m *coordination.SessionMessage, content json.RawMessage, at int64) said {
	s := said{Role: "assistant", Content: content, Timestamp: at}
	if len(s.Content) == 0 {
		s.Content, _ = json.Marshal([]map[string]string{{"type": "text", "text": m.Text}}) // texts always marshal
	}
	switch m.Author {
	case "user":
		s.Role = m.Author
		if m.Provenance != "" {
			s.Provenance = &provenance{m.Provenance}
		}
		return s
	case "tool":
		s.Role, s.ToolCallID, s.ToolName, s.IsError = "toolResult", m.ToolCallID, m.ToolName, &m.IsError
		return s
	}
	s.API, s.Provider, s.Model = cmp.Or(m.API, "openai-completions"), m.Provider, m.Model
	if s.Model == "" {
		s.Provider, s.Model = "openclaw", "gateway-injected"
	}
	s.StopReason, s.Error = cmp.Or(m.StopReason, "stop"), m.Error
	s.Usage = &usage{}
	if u := m.Usage; u != nil {
		*s.Usage = usage{Input: u.Input - u.CacheRead - u.CacheWrite, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Total: u.Total}
		if u.Cost != nil {
			s.Usage.Cost = *u.Cost
		}
	}
	return s
}
