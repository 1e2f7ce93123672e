package sessiontools

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/tools"
)

const (
	maxText     = 4_000    // characters of a text
	readAhead   = 16       // ratio of bytes read to bytes shown, since texts are cut and left out
	maxScanned  = 1_000    // messages read, including tool messages that may be left out
	maxRowBytes = 16 << 10 // for the messages of a session in a list
)

// Marks of what was left out.
const (
	cutMark       = "\n…(truncated)…"
	oversizedText = "[sessions_history omitted: message too large]"
	redactedText  = "[redacted]"
	archivedText  = "[archived]"
)

// transcript is a shown transcript, oldest message first.
type transcript struct {
	Messages  []json.RawMessage `json:"messages"`
	Truncated bool              `json:"truncated"`        // anything was cut or left out
	Dropped   bool              `json:"droppedMessages"`  // older messages were left out to stay within the bytes
	Cut       bool              `json:"contentTruncated"` // texts were cut
	Masked    bool              `json:"contentRedacted"`  // secrets are masked
	Bytes     int               `json:"bytes"`            // size of the messages
}

type message struct {
	Role       string `json:"role"`
	Content    []any  `json:"content"` // blocks
	Timestamp  int64  `json:"timestamp"`
	ToolCallID string `json:"toolCallId,omitempty"`
	ToolName   string `json:"toolName,omitempty"`
	IsError    *bool  `json:"isError,omitempty"` // of tool messages
	Provider   string `json:"provider,omitempty"`
	Model      string `json:"model,omitempty"`
	StopReason string `json:"stopReason,omitempty"`
	Error      string `json:"errorMessage,omitempty"`
	FromAgent  string `json:"fromAgent,omitempty"`
}

// read reads the newest messages of a transcript, at most limit and maxBytes, but at least one. Thinking is left out, and so are tool
// calls and their results unless requested.
func read(ctx context.Context, tx *sql.Tx, id string, limit int, tooled bool, maxBytes int) (t transcript, err error) {
	t.Messages = []json.RawMessage{}
	if id == "" {
		return t, nil
	}
	scanned := limit
	if !tooled {
		scanned = maxScanned
	}
	all, err := sessions.Newest(ctx, tx, id, scanned, readAhead*maxBytes)
	if err != nil {
		return t, err
	}
	for i := len(all) - 1; i >= 0 && len(t.Messages) < limit; i-- {
		m := t.show(&all[i], tooled)
		if m == nil {
			continue
		}
		text, err := tools.Encode(m)
		if err != nil {
			return t, err
		}
		if len(text) > maxBytes {
			t.Cut = true
			if text, err = tools.Encode(placeholder(m.Role, m.Timestamp, oversizedText)); err != nil {
				return t, err
			}
		}
		if t.Bytes+len(text) > maxBytes && len(t.Messages) > 0 {
			t.Dropped = true
			break
		}
		t.Bytes += len(text)
		t.Messages = append(t.Messages, text)
	}
	slices.Reverse(t.Messages)
	t.Truncated = t.Dropped || t.Cut
	return t, nil
}

// Authors of messages, as the log names them.
const (
	authorAssistant = "assistant"
	authorTool      = "tool"
)

// show converts a message, nil for one that is left out.
func (t *transcript) show(m *sessions.Message, tooled bool) *message {
	switch {
	case m.Archived:
		return placeholder("system", m.At, archivedText)
	case m.Redacted:
		return placeholder("system", m.At, redactedText)
	case m.Data.Author == authorTool && !tooled:
		return nil
	}
	one := &message{Role: m.Data.Author, Timestamp: m.At, Content: t.content(&m.Data, tooled), FromAgent: m.Data.FromAgent}
	switch m.Data.Author {
	case authorAssistant:
		one.Provider, one.Model, one.StopReason, one.Error = m.Data.Provider, m.Data.Model, m.Data.StopReason, t.text(m.Data.Error)
		if len(one.Content) == 0 && one.Error == "" {
			return nil
		}
	case authorTool:
		one.Role, one.ToolCallID, one.ToolName, one.IsError = "toolResult", m.Data.ToolCallID, m.Data.ToolName, &m.Data.IsError
	}
	return one
}

func placeholder(role string, at int64, text string) *message {
	return &message{Role: role, Timestamp: at, Content: []any{textBlock(text)}}
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func (t *transcript) content(m *coordination.SessionMessage, tooled bool) []any {
	shown := []any{}
	var blocks []map[string]any
	d := json.NewDecoder(bytes.NewReader(m.Content))
	d.UseNumber()
	if len(m.Content) == 0 || d.Decode(&blocks) != nil {
		if m.Text != "" {
			shown = append(shown, textBlock(t.text(m.Text)))
		}
		return shown
	}
	for _, block := range blocks {
		switch block["type"] {
		case "thinking", "redacted_thinking":
			continue
		case "toolCall", "tool_use", "toolUse":
			if !tooled {
				continue
			}
		case "image":
			shown = append(shown, omittedImage(block))
			continue
		}
		delete(block, "thinkingSignature")
		shown = append(shown, t.clean(block))
	}
	return shown
}

// omittedImage describes an image in place of its data.
func omittedImage(block map[string]any) map[string]any {
	data, _ := block["data"].(string)
	source, _ := block["source"].(map[string]any)
	if inner, is := source["data"].(string); is {
		data = inner
	}
	return map[string]any{"type": "image", "omitted": true, "bytes": len(data)}
}

// clean shortens and masks every text in a block.
func (t *transcript) clean(value any) any {
	switch v := value.(type) {
	case string:
		return t.text(v)
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			clean[name] = t.member(name, member)
		}
		return clean
	case []any:
		for i := range v {
			v[i] = t.clean(v[i])
		}
	}
	return value
}

// member cleans a member of an object, masking values whose names mark them as secret.
func (t *transcript) member(name string, value any) any {
	text, is := value.(string)
	if !is {
		return t.clean(value)
	}
	if prefix := name + ": "; coordination.Mask(prefix+`"`+text+`"`) != prefix+`"`+text+`"` && coordination.Mask(text) == text {
		t.Masked = true
		return "***"
	}
	return t.text(text)
}

// text masks secrets in a text and then shortens it: half a secret would not be recognized.
func (t *transcript) text(text string) string {
	masked := coordination.Mask(text)
	t.Masked = t.Masked || masked != text
	if utf8.RuneCountInString(masked) <= maxText {
		return masked
	}
	t.Cut = true
	at := 0
	for range maxText {
		_, size := utf8.DecodeRuneInString(masked[at:])
		at += size
	}
	return masked[:at] + cutMark
}

func sizeOf(v any) (int, error) {
	text, err := tools.Encode(v)
	return len(text), err
}
