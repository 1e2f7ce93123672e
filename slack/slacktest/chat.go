package slacktest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of messages.
const (
	MaxText    = 40000 // characters; the rest of a post is cut
	MaxEdit    = 4000  // characters of chat.update
	MaxSection = 3000
	MaxButton  = 75
	MaxBlocks  = 50
)

// draft is what an app writes.
type draft struct {
	text     string
	blocks   []json.RawMessage
	attached []json.RawMessage
	metadata *Metadata
	threadTS string
	also     bool // in the channel too
}

// draft reads a message of a request.
func (c *call) draft() (draft, *Error) {
	d := draft{text: c.text("text"), threadTS: c.text("thread_ts"), also: c.flag("reply_broadcast")}
	for name, v := range map[string]any{"blocks": &d.blocks, "attachments": &d.attached, "metadata": &d.metadata} {
		if refusal := c.object(name, v); refusal != nil {
			return d, refusal
		}
	}
	return d, d.check()
}

func (d *draft) check() *Error {
	if strings.TrimSpace(d.text) == "" && len(d.blocks) == 0 && len(d.attached) == 0 {
		return refuse("no_text")
	}
	if utf8.RuneCountInString(d.text) > MaxText {
		d.text = string([]rune(d.text)[:MaxText])
	}
	if d.metadata != nil && (d.metadata.EventType == "" || len(d.metadata.Payload) == 0 || d.metadata.Payload[0] != '{') {
		return refuse("invalid_metadata_format")
	}
	return checkBlocks(d.blocks)
}

func checkBlocks(blocks []json.RawMessage) *Error {
	invalid := func(why string, at int) *Error {
		return &Error{Code: "invalid_blocks", Details: []string{fmt.Sprintf("[ERROR] %s [json-pointer:/blocks/%d]", why, at)}}
	}
	if len(blocks) > MaxBlocks {
		return invalid("no more than 50 items allowed", MaxBlocks)
	}
	type text struct {
		Text string `json:"text"`
	}
	for i, raw := range blocks {
		var b struct {
			Type     string `json:"type"`
			Text     *text  `json:"text"`
			Elements []struct {
				Type string          `json:"type"`
				ID   string          `json:"action_id"`
				Text json.RawMessage `json:"text"`
			} `json:"elements"`
		}
		if json.Unmarshal(raw, &b) != nil || b.Type == "" {
			return invalid("missing required field: type", i)
		}
		if b.Type == "section" && b.Text != nil && (b.Text.Text == "" || utf8.RuneCountInString(b.Text.Text) > MaxSection) {
			return invalid("must be more than 0 and less than 3001 characters", i)
		}
		for _, e := range b.Elements {
			var label text
			if b.Type == "actions" && e.Type == "button" && (json.Unmarshal(e.Text, &label) != nil || utf8.RuneCountInString(label.Text) > MaxButton) {
				return invalid("must be less than 76 characters", i)
			}
		}
	}
	return nil
}

// place is where an app wants to write. A user's id is the conversation with that user.
func (c *call) place() (*conversation, *Error) {
	name := c.text("channel")
	if u := c.s.users[name]; u != nil {
		return c.s.open([]string{u.ID, c.app.user}), nil
	}
	if !isID(name) {
		for _, v := range c.s.listed {
			if v.name != "" && v.name == strings.TrimPrefix(name, "#") {
				c.args["channel"] = v.id
			}
		}
	}
	v, refusal := c.conversation("")
	switch {
	case refusal != nil:
		return nil, refusal
	case v.archived:
		return nil, refuse("is_archived")
	case !v.has(c.app.user) && !c.app.may("chat:write.public"):
		return nil, refuse("not_in_channel")
	}
	return v, nil
}

func postMessage(c *call) (answer, *Error) {
	v, refusal := c.place()
	if refusal != nil {
		return nil, refusal
	}
	d, refusal := c.draft()
	if refusal != nil {
		return nil, refusal
	}
	m, refusal := c.s.write(v, c.app.author(), d)
	if refusal != nil {
		return nil, refusal
	}
	told := m.Message
	told.Metadata = d.metadata
	return answer{"channel": v.id, "ts": m.TS, "message": told}, nil
}

func (a *app) author() Message {
	return Message{User: a.user, BotID: a.bot, AppID: a.id, BotProfile: a.profile()}
}

func postEphemeral(c *call) (answer, *Error) {
	v, refusal := c.place()
	if refusal != nil {
		return nil, refusal
	}
	if !v.has(c.text("user")) {
		return nil, refuse("user_not_in_channel")
	}
	if _, refusal := c.draft(); refusal != nil {
		return nil, refusal
	}
	return answer{"message_ts": c.s.stamp()}, nil
}

// ownMessage is the app's message that a request names.
func (c *call) ownMessage(not string) (*message, *Error) {
	v, refusal := c.conversation("")
	if refusal != nil {
		return nil, refusal
	}
	m := v.message(c.text("ts"))
	switch {
	case m == nil:
		return nil, refuse("message_not_found")
	case m.User != c.app.user:
		return nil, refuse(not)
	}
	return m, nil
}

func updateMessage(c *call) (answer, *Error) {
	m, refusal := c.ownMessage("cant_update_message")
	if refusal != nil {
		return nil, refusal
	}
	d, refusal := c.draft()
	switch {
	case refusal != nil:
		return nil, refusal
	case utf8.RuneCountInString(d.text) > MaxEdit:
		return nil, refuse("msg_too_long")
	case m.in.archived:
		return nil, refuse("is_archived")
	}
	_, blocks := c.args["blocks"]
	c.s.change(m, c.app.user, func() {
		m.Text = d.text
		if blocks {
			m.Blocks = d.blocks
		}
		if d.metadata != nil {
			m.Metadata = d.metadata
		}
	})
	return answer{"channel": m.in.id, "ts": m.TS, "text": m.Text, "message": m.Message}, nil
}

func deleteMessage(c *call) (answer, *Error) {
	m, refusal := c.ownMessage("cant_delete_message")
	if refusal != nil {
		return nil, refusal
	}
	c.s.remove(m)
	return answer{"channel": m.in.id, "ts": m.TS}, nil
}

func addReaction(c *call) (answer, *Error) {
	v, refusal := c.member("")
	if refusal != nil {
		return nil, refusal
	}
	m := v.message(c.text("timestamp"))
	if m == nil {
		return nil, refuse("message_not_found")
	}
	return answer{}, c.s.react(m, c.app.user, c.text("name"))
}

func removeReaction(c *call) (answer, *Error) {
	v, refusal := c.member("")
	if refusal != nil {
		return nil, refusal
	}
	m := v.message(c.text("timestamp"))
	if m == nil {
		return nil, refuse("message_not_found")
	}
	return answer{}, c.s.unreact(m, c.app.user, c.text("name"))
}
