package slacktest

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// Person is someone who uses Slack.
type Person struct {
	s    *Server
	ID   string
	Name string
}

// AddPerson adds a person, who is in no channel.
func (s *Server) AddPerson(name string) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Person{s: s, ID: s.addUser(name, nil).ID, Name: name}
}

// Mention is the text that mentions the person.
func (p *Person) Mention() string { return "<@" + p.ID + ">" }

// ErrNotYours is the error of people who change another's message.
var ErrNotYours = errors.New("slacktest: it is another's message")

// in returns a conversation of the person. The lock is held.
func (p *Person) in(channelID string) (*conversation, error) {
	v := p.s.conversations[channelID]
	switch {
	case v == nil:
		return nil, refuse("channel_not_found")
	case !v.has(p.ID):
		return nil, refuse("not_in_channel")
	case v.archived:
		return nil, refuse("is_archived")
	}
	return v, nil
}

// Post writes a message. Mentions like <@U1> stay, everything else is escaped as Slack does.
func (p *Person) Post(channelID, text string) (Message, error) {
	return p.write(channelID, draft{text: text}, nil)
}

// Reply writes a message in the thread of a message.
func (p *Person) Reply(channelID, threadTS, text string) (Message, error) {
	return p.write(channelID, draft{text: text, threadTS: threadTS}, nil)
}

// Broadcast writes a message in a thread, and also to the channel.
func (p *Person) Broadcast(channelID, threadTS, text string) (Message, error) {
	return p.write(channelID, draft{text: text, threadTS: threadTS, also: true}, nil)
}

// Upload posts a file with a text.
func (p *Person) Upload(channelID, name, text string, content []byte) (Message, error) {
	p.s.mu.Lock()
	f := p.s.addFile(p.ID, name, len(content))
	f.content, f.received, f.Size = content, true, len(content)
	p.s.mu.Unlock()
	return p.write(channelID, draft{text: text}, []*file{f})
}

func (p *Person) write(channelID string, d draft, files []*file) (Message, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	v, err := p.in(channelID)
	if err != nil {
		return Message{}, err
	}
	d.text = typed(d.text)
	author := Message{User: p.ID, ClientMsgID: uuid()}
	if len(files) == 0 {
		d.blocks = []json.RawMessage{encode(map[string]any{"type": "rich_text", "block_id": secret(2), "elements": []any{
			map[string]any{"type": "rich_text_section", "elements": []any{map[string]any{"type": "text", "text": d.text}}}}})}
	}
	var m *message
	var refusal *Error
	if len(files) > 0 {
		m, refusal = p.s.share(v, author, d, files)
	} else {
		m, refusal = p.s.write(v, author, d)
	}
	if refusal != nil {
		return Message{}, refusal
	}
	return m.Message, nil
}

var token = regexp.MustCompile(`<(?:@[A-Z0-9]+|#C[A-Z0-9]+(?:\|[^<>]*)?|!(?:here|channel|everyone))>`)

// typed is what a person writes as Slack stores it.
func typed(text string) string {
	var b strings.Builder
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	for {
		at := token.FindStringIndex(text)
		if at == nil {
			b.WriteString(escape.Replace(text))
			return b.String()
		}
		b.WriteString(escape.Replace(text[:at[0]]))
		b.WriteString(text[at[0]:at[1]])
		text = text[at[1]:]
	}
}

// own returns a message of the person. The lock is held.
func (p *Person) own(channelID, ts string) (*message, error) {
	v, err := p.in(channelID)
	if err != nil {
		return nil, err
	}
	m := v.message(ts)
	switch {
	case m == nil:
		return nil, refuse("message_not_found")
	case m.User != p.ID:
		return nil, ErrNotYours
	}
	return m, nil
}

// Edit changes the person's own message.
func (p *Person) Edit(channelID, ts, text string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	m, err := p.own(channelID, ts)
	if err != nil {
		return err
	}
	p.s.change(m, p.ID, func() { m.Text = typed(text) })
	return nil
}

// Delete deletes the person's own message.
func (p *Person) Delete(channelID, ts string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	m, err := p.own(channelID, ts)
	if err != nil {
		return err
	}
	p.s.remove(m)
	return nil
}

// React adds a reaction, e.g. "eyes".
func (p *Person) React(channelID, ts, name string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	v, err := p.in(channelID)
	if err != nil {
		return err
	}
	m := v.message(ts)
	if m == nil {
		return refuse("message_not_found")
	}
	if refusal := p.s.react(m, p.ID, name); refusal != nil {
		return refusal
	}
	return nil
}

// Conversation opens the direct conversation with a user, or a group of several.
func (p *Person) Conversation(users ...string) Channel {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.open(append(slices.Clone(users), p.ID)).public(p.ID)
}

// Join joins a public channel.
func (p *Person) Join(channelID string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	v := p.s.conversations[channelID]
	if v == nil || v.kind != Public {
		return refuse("channel_not_found")
	}
	p.s.join(v, p.ID, "")
	return nil
}

// Invite adds a user, e.g. an app's bot, to a channel of the person.
func (p *Person) Invite(channelID, userID string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	v, err := p.in(channelID)
	if err != nil {
		return err
	}
	p.s.join(v, userID, p.ID)
	return nil
}
