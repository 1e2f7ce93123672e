package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// MaxNonce is Discord's maximum length of a nonce, in characters.
const MaxNonce = 25

// maxShown is how many characters of an oversized value an error shows.
const maxShown = 2 * MaxNonce

// MaxComponents is the size limit of a message's components, in bytes.
const MaxComponents = 16 << 10

// mentions limits notifications to the given users.
type mentions struct {
	Parse       []string `json:"parse"`
	Users       []string `json:"users"`
	RepliedUser bool     `json:"replied_user"`
}

func onlyUsers(ids []string) mentions {
	return mentions{Parse: []string{}, Users: append([]string{}, ids...)}
}

type reference struct {
	MessageID       string `json:"message_id"`
	FailIfNotExists bool   `json:"fail_if_not_exists"`
}

type messageForm struct {
	Content         string          `json:"content"`
	Nonce           string          `json:"nonce,omitempty"`
	EnforceNonce    bool            `json:"enforce_nonce,omitempty"`
	AllowedMentions mentions        `json:"allowed_mentions"`
	Reference       *reference      `json:"message_reference,omitempty"`
	Components      json.RawMessage `json:"components,omitempty"`
}

// Send posts a message after earlier ones for the same channel. The same nonce within some minutes returns the same
// message. The error is a *channel.Error.
func (b *Bots) Send(ctx context.Context, p channel.Post) (channel.Posted, error) {
	const deed = "post a message"
	form, err := formOfPost(deed, &p)
	if err != nil {
		return channel.Posted{}, err
	}
	a, err := b.queued(ctx, deed, p.AccountID, p.ChannelID, messageLane(p.ChannelID), b.paces.Load().messages,
		request{method: http.MethodPost, path: "/channels/" + p.ChannelID + "/messages", body: form, file: p.File})
	if err != nil {
		return channel.Posted{}, err
	}
	return posted(deed, p.AccountID, a)
}

func formOfPost(deed string, p *channel.Post) (messageForm, error) {
	f := messageForm{Content: p.Content, Nonce: p.Nonce, EnforceNonce: true, AllowedMentions: onlyUsers(p.Notify), Components: p.Components}
	if p.ReplyTo != "" {
		if err := invalidID(deed, p.AccountID, p.ReplyTo); err != nil {
			return f, err
		}
		f.Reference = &reference{MessageID: p.ReplyTo}
	}
	refuse := func(why, hint string) (messageForm, error) {
		return f, channel.Local(deed, p.AccountID, p.ChannelID, http.StatusBadRequest, errors.New(why), hint)
	}
	var components []json.RawMessage
	n, nonce := utf8.RuneCountInString(p.Content), utf8.RuneCountInString(p.Nonce)
	switch {
	case coordination.TrimJS(p.Content) == "" && p.File == nil:
		return refuse("content is empty", "say something")
	case n > collaborate.MaxMessage:
		return refuse(fmt.Sprintf("content has %d characters, Discord allows %d", n, collaborate.MaxMessage), "split it with collaborate.Chunks")
	case nonce == 0 || nonce > MaxNonce:
		return refuse(fmt.Sprintf("nonce %q has %d characters, not 1 to %d", coordination.Head(p.Nonce, maxShown), nonce, MaxNonce),
			"use one like collaborate.Plan.Nonce")
	case len(p.Components) > MaxComponents:
		return refuse(fmt.Sprintf("components have %d bytes, at most %d are allowed", len(p.Components), MaxComponents), "use fewer components")
	case len(p.Components) > 0 && json.Unmarshal(p.Components, &components) != nil:
		return refuse("components are no JSON array", "write [{\"type\": 1, \"components\": [...]}]")
	}
	return f, nil
}

func posted(deed, account string, a answer) (channel.Posted, error) {
	var m messageShape
	if err := json.Unmarshal(a.body, &m); err != nil || m.ID == "" {
		return channel.Posted{}, unreadable(deed, account, err)
	}
	return channel.Posted{ID: m.ID, ChannelID: m.ChannelID, At: madeAt(snowflake(m.ID))}, nil
}

// Edit changes the text of the bot's own message. It notifies no one.
func (b *Bots) Edit(ctx context.Context, account, place, message, content string) error {
	const deed = "edit a message"
	p := channel.Post{AccountID: account, ChannelID: place, Content: content, Nonce: "-"}
	if _, err := formOfPost(deed, &p); err != nil {
		return err
	}
	if err := invalidID(deed, account, message); err != nil {
		return err
	}
	form := messageForm{Content: content, AllowedMentions: onlyUsers(nil)}
	_, err := b.queued(ctx, deed, account, place, messageLane(place), b.paces.Load().messages,
		request{method: http.MethodPatch, path: "/channels/" + place + "/messages/" + message, body: form})
	return err
}

func messageLane(channel string) string { return "messages " + channel }

// invalidID refuses an invalid id before it becomes part of a path.
func invalidID(deed, account string, ids ...string) error {
	for _, id := range ids {
		if snowflake(id) == 0 {
			return channel.Local(deed, account, "", http.StatusBadRequest, fmt.Errorf("%q is not a Discord id", coordination.Head(id, maxShown)),
				"name a channel, thread or message by its number")
		}
	}
	return nil
}

// queued makes a request in its lane.
func (b *Bots) queued(ctx context.Context, deed, account, place, lane string, p channel.Pace, r request) (answer, error) {
	if err := invalidID(deed, account, place); err != nil {
		return answer{}, err
	}
	own := b.bot(account)
	if own == nil {
		return answer{}, b.absent(deed, account, place)
	}
	leave, err := b.lanes.Enter(ctx, lane, own.account, p)
	if err != nil {
		return answer{}, channel.Queued(coordination.Discord, deed, account, place, err)
	}
	defer leave()
	a, refused := own.ask(ctx, deed, place, r)
	b.applyRateLimit(lane, own.account, a)
	if refused != nil {
		return a, refused
	}
	return a, nil
}

// atOnce makes a request without queueing.
func (b *Bots) atOnce(ctx context.Context, deed, account, place string, r request) (answer, error) {
	if err := invalidID(deed, account, place); err != nil {
		return answer{}, err
	}
	own := b.bot(account)
	if own == nil {
		return answer{}, b.absent(deed, account, place)
	}
	a, refused := own.ask(ctx, deed, place, r)
	if refused != nil {
		return a, refused
	}
	return a, nil
}

// unreadable is the error for a successful request with an unparsable answer.
func unreadable(deed, account string, err error) error {
	if err == nil {
		err = errors.New("the answer contains no id")
	}
	f := collaborate.Failure{}
	return &channel.Error{Deed: deed, AccountID: account, Failure: f, Class: collaborate.Classify(f), Err: fmt.Errorf("read Discord's answer: %w", err)}
}
