package gateway

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Limits of a transcript in answers.
const (
	maxShownText     = 12_000    // per text, in UTF-16 units like the original
	maxShownMessage  = 128 << 10 // bytes per message
	maxShownMessages = 6 << 20   // bytes of all messages of an answer
)

// Placeholders for omitted content.
const (
	cutMark        = "\n...(truncated)..."
	oversizedText  = "[chat.history omitted: message too large]"
	redactedText   = "[redacted]"
	archivedText   = "[archived: openclawd events show has the text]"
	reasonOversize = "oversized"
	reasonRedacted = "redacted"
	reasonArchived = "archived"
)

type shownMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // a list of blocks
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	IsError    *bool           `json:"isError,omitempty"` // tool messages only
	Timestamp  int64           `json:"timestamp"`
	StopReason string          `json:"stopReason,omitempty"`
	Error      string          `json:"errorMessage,omitempty"`
	Usage      *shownUsage     `json:"usage,omitempty"`
	API        string          `json:"api,omitempty"`
	Provider   string          `json:"provider,omitempty"`
	Model      string          `json:"model,omitempty"`
	Mark       *mark           `json:"__openclaw,omitempty"`
}

// mark adds to a message why it is not shown, if so, and its identity for clients that know it.
type mark struct {
	Truncated bool   `json:"truncated,omitempty"`
	Reason    string `json:"reason,omitempty"`
	messagePosition
	// Who said a message of the user, if no person did: another agent, or this program (internal_system).
	FromAgent  string `json:"fromAgent,omitempty"`
	Provenance string `json:"provenance,omitempty"`
	// RunID is the run of an agent's message, by which pages recognize a text that they have seen grow.
	RunID string `json:"runId,omitempty"`
}

// messagePosition identifies a message and its position in the transcript. It is the same in events and histories, so that pages
// recognize a message they already have.
type messagePosition struct {
	ID  string `json:"id,omitempty"`
	Seq int64  `json:"seq,omitempty"` // from 1; 0: unknown
	Key string `json:"idempotencyKey,omitempty"`
}

// placeOfMessage is the place of the seq-th message of its transcript. Clients recognize their own messages by Key.
func placeOfMessage(m *sessions.Message, seq int64) *messagePosition {
	p := &messagePosition{ID: m.ID(), Seq: seq}
	if m.Data.Author == authorUser && m.Data.RunID != "" {
		p.Key = sentKey(m.Data.RunID)
	}
	return p
}

// sentKey is the request key of a run's first message.
func sentKey(runID string) string { return runID + ":user" }

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textContent(text string) (json.RawMessage, error) { return encoded([]textBlock{{"text", text}}) }

// shown prepares messages for clients: long texts are cut, too large messages replaced, and the oldest dropped if the
// total is too large. Usage is for clients with positions. last is the position of the last message in its transcript, 0 for
// clients without positions.
func (c *shownCache) shown(messages []sessions.Message, last int64) ([]json.RawMessage, error) {
	encodedOnes := make([]json.RawMessage, len(messages))
	total, first := 2, len(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		var at *messagePosition
		if last > 0 {
			at = placeOfMessage(&messages[i], last-messages[i].After)
		}
		one, err := c.show(&messages[i], at)
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

// show is showMessage with what is kept.
func (c *shownCache) show(m *sessions.Message, at *messagePosition) (json.RawMessage, error) {
	if m.Redacted {
		return showMessage(m, at)
	}
	key := shownKey{seq: m.Seq}
	if at != nil {
		key.position = at.Seq
	}
	if text := c.find(key); text != nil {
		return text, nil
	}
	text, err := showMessage(m, at)
	if err == nil {
		c.keep(key, text)
	}
	return text, err
}

func showMessage(m *sessions.Message, at *messagePosition) (json.RawMessage, error) {
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
		one.Mark = &mark{messagePosition: *at}
		switch m.Data.Author {
		case authorUser:
			one.Mark.FromAgent, one.Mark.Provenance = m.Data.FromAgent, m.Data.Provenance
		case authorAssistant:
			one.Mark.RunID = m.Data.RunID
			one.Usage = usageShown(m.Data.Usage)
		}
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

// usageShown is the usage of an answer, nil if it is unknown.
func usageShown(u *coordination.SessionUsage) *shownUsage {
	if u == nil {
		return nil
	}
	shown := &shownUsage{Input: u.Input - u.CacheRead - u.CacheWrite, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, TotalTokens: u.Total}
	if u.Cost != nil {
		shown.Cost = shownCost(*u.Cost)
	}
	return shown
}

// Roles of messages.
const (
	authorUser      = "user"
	authorAssistant = "assistant"
	authorTool      = "tool"
	authorSystem    = "system"
)

func placeholder(role string, ts int64, text, reason string, at *messagePosition) (json.RawMessage, error) {
	content, err := textContent(text)
	if err != nil {
		return nil, err
	}
	why := &mark{Truncated: true, Reason: reason}
	if at != nil {
		why.messagePosition = *at
	}
	return encoded(shownMessage{Role: role, Content: content, Timestamp: ts, Mark: why})
}

// showContent returns a message's blocks; an empty list if it has none, such as a failed answer.
func showContent(m *coordination.SessionMessage) (json.RawMessage, error) {
	blocks := blocksOf(m)
	if blocks == nil {
		if m.Text == "" && m.Author == authorAssistant {
			return json.RawMessage("[]"), nil
		}
		text := m.Text
		if m.Author == authorAssistant {
			text = delivery.ShowMedia(text)
		}
		return textContent(cutText(text, maxShownText, cutMark))
	}
	for i, block := range blocks {
		var err error
		if blocks[i], err = showBlock(block); err != nil {
			return nil, err
		}
	}
	return encoded(blocks)
}

// blocksOf returns a message's blocks, nil if it is only its Text.
func blocksOf(m *coordination.SessionMessage) (blocks []json.RawMessage) {
	if len(m.Content) == 0 || json.Unmarshal(m.Content, &blocks) != nil {
		return nil
	}
	return blocks
}

// showBlock cuts a block's texts and drops signatures and image data.
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

// leaveOutImage replaces an image's data by its size in bytes of base64. Some images have their data in a member
// source.
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

// cutText shortens text to at most limit UTF-16 units plus mark. It does not split characters.
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
