package gateway

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/session"
)

// Bounds of what is shown of a transcript.
const (
	maxShownText     = 12_000    // of a text, in UTF-16 units, as the original counts
	maxShownMessage  = 128 << 10 // bytes of a message
	maxShownMessages = 6 << 20   // bytes of all messages of an answer
)

// What stands where something was left out.
const (
	cutMark        = "\n...(truncated)..."
	oversizedText  = "[chat.history omitted: message too large]"
	redactedText   = "[redacted]"
	archivedText   = "[archived: openclawd events show has the text]"
	reasonOversize = "oversized"
	reasonRedacted = "redacted"
	reasonArchived = "archived"
)

// shownMessage is a message as clients are told of it.
type shownMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // a list of blocks
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	IsError    *bool           `json:"isError,omitempty"` // of tool messages
	Timestamp  int64           `json:"timestamp"`
	StopReason string          `json:"stopReason,omitempty"`
	Error      string          `json:"errorMessage,omitempty"`
	Usage      *shownUsage     `json:"usage,omitempty"`
	API        string          `json:"api,omitempty"`
	Provider   string          `json:"provider,omitempty"`
	Model      string          `json:"model,omitempty"`
	Mark       *mark           `json:"__openclaw,omitempty"`
}

// mark says of a message why it is not shown, if it is not, and which one it is, to those who know of that.
type mark struct {
	Truncated bool   `json:"truncated,omitempty"`
	Reason    string `json:"reason,omitempty"`
	place
}

// place says which message it is, and where in its transcript it stands. It is the same in an event and in a history: by it a page tells that
// it has a message already.
type place struct {
	ID  string `json:"id,omitempty"`
	Seq int64  `json:"seq,omitempty"` // from 1; 0: not known
	Key string `json:"idempotencyKey,omitempty"`
}

// placeOfMessage is the place of a message that is the seq-th of its transcript. By Key a client knows what it has sent itself.
func placeOfMessage(m *session.Message, seq int64) *place {
	p := &place{ID: m.ID(), Seq: seq}
	if m.Data.Author == authorUser && m.Data.RunID != "" {
		p.Key = sentKey(m.Data.RunID)
	}
	return p
}

// sentKey is the key of the message with which a run began.
func sentKey(runID string) string { return runID + ":user" }

// textBlock is a block of a message.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textContent(text string) (json.RawMessage, error) { return encoded([]textBlock{{"text", text}}) }

// shown makes messages ready to be told: what is long is cut, what is too large is replaced, and of all that is too much the oldest are
// left out. What was counted and what it cost is not told. last is the place of the last one in its transcript, 0 for those who know of no places.
func shown(messages []session.Message, last int64) ([]json.RawMessage, error) {
	encodedOnes := make([]json.RawMessage, len(messages))
	total, first := 2, len(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		var at *place
		if last > 0 {
			at = placeOfMessage(&messages[i], last-messages[i].After)
		}
		one, err := showMessage(&messages[i], at)
		if err != nil {
			return nil, err
		}
		if total += len(one) + 1; total > maxShownMessages {
			break
		}
		encodedOnes[i], first = one, i
	}
	return encodedOnes[first:], nil
}

// showMessage is a message as clients are told of it, with its place if one is given.
func showMessage(m *session.Message, at *place) (json.RawMessage, error) {
	switch {
	case m.Archived:
		return placeholder(authorSystem, m.At, archivedText, reasonArchived, at)
	case m.Redacted:
		return placeholder(authorSystem, m.At, redactedText, reasonRedacted, at)
	}
	content, err := showContent(&m.Data)
	if err != nil {
		return nil, err
	}
	one := shownMessage{Role: m.Data.Author, Content: content, Timestamp: m.At}
	switch m.Data.Author {
	case authorAssistant:
		one.API, one.Provider, one.Model, one.StopReason, one.Error = m.Data.API, m.Data.Provider, m.Data.Model, m.Data.StopReason, m.Data.Error
	case authorTool:
		one.Role, one.ToolCallID, one.ToolName, one.IsError = "toolResult", m.Data.ToolCallID, m.Data.ToolName, &m.Data.IsError
	}
	if at != nil {
		one.Mark = &mark{place: *at}
	}
	body, err := encoded(one)
	if err != nil {
		return nil, err
	}
	if len(body) > maxShownMessage {
		return placeholder(one.Role, m.At, oversizedText, reasonOversize, at)
	}
	return body, nil
}

// Authors of messages.
const (
	authorUser      = "user"
	authorAssistant = "assistant"
	authorTool      = "tool"
	authorSystem    = "system"
)

func placeholder(role string, ts int64, text, reason string, at *place) (json.RawMessage, error) {
	content, err := textContent(text)
	if err != nil {
		return nil, err
	}
	why := &mark{Truncated: true, Reason: reason}
	if at != nil {
		why.place = *at
	}
	return encoded(shownMessage{Role: role, Content: content, Timestamp: ts, Mark: why})
}

// showContent gives the blocks of a message. One that has none, such as an answer that failed, has an empty list.
func showContent(m *coordination.SessionMessage) (json.RawMessage, error) {
	blocks := blocksOf(m)
	if blocks == nil {
		if m.Text == "" && m.Author == authorAssistant {
			return json.RawMessage("[]"), nil
		}
		return textContent(cutText(m.Text, maxShownText, cutMark))
	}
	for i, block := range blocks {
		var err error
		if blocks[i], err = showBlock(block); err != nil {
			return nil, err
		}
	}
	return encoded(blocks)
}

// blocksOf are the blocks of a message, nil where it is its Text and nothing else.
func blocksOf(m *coordination.SessionMessage) (blocks []json.RawMessage) {
	if len(m.Content) == 0 || json.Unmarshal(m.Content, &blocks) != nil {
		return nil
	}
	return blocks
}

// showBlock cuts the texts of a block, and leaves out signatures and the bytes of images.
func showBlock(block json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(block, &members) != nil || members == nil {
		return block, nil
	}
	changed := false
	for _, name := range [...]string{"text", "thinking", "partialJson", "arguments"} {
		var text string
		if raw, has := members[name]; !has || len(raw) <= maxShownText || json.Unmarshal(raw, &text) != nil {
			continue
		}
		short, err := encoded(cutText(text, maxShownText, cutMark))
		if err != nil {
			return nil, err
		}
		members[name], changed = short, true
	}
	if _, has := members["thinkingSignature"]; has {
		delete(members, "thinkingSignature")
		changed = true
	}
	if string(members["type"]) == `"image"` {
		var err error
		if changed, err = leaveOutImage(members, changed); err != nil {
			return nil, err
		}
	}
	if !changed {
		return block, nil
	}
	return encoded(members)
}

// leaveOutImage says how many bytes an image had instead of showing them. They are counted as they were written, in base64. Some write
// them in a member source.
func leaveOutImage(members map[string]json.RawMessage, changed bool) (bool, error) {
	var data string
	if raw, has := members["data"]; has && json.Unmarshal(raw, &data) == nil {
		delete(members, "data")
	} else {
		var source map[string]json.RawMessage
		if json.Unmarshal(members["source"], &source) != nil || json.Unmarshal(source["data"], &data) != nil {
			return changed, nil
		}
		delete(source, "data")
		rest, err := encoded(source)
		if err != nil {
			return changed, err
		}
		members["source"] = rest
	}
	size, err := encoded(len(data))
	members["omitted"], members["bytes"] = json.RawMessage("true"), size
	return true, err
}

// cutText shortens text to at most limit UTF-16 units and puts mark behind it. No character is parted.
func cutText(text string, limit int, mark string) string {
	if len(text) <= limit {
		return text
	}
	units := 0
	for i, r := range text {
		if units++; r > 0xFFFF {
			units++
		}
		if units > limit {
			return text[:i] + mark
		}
	}
	return text
}
