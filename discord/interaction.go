package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Types of first answers in Discord's API.
const (
	answerMessage     = 4
	answerLater       = 5
	answerLaterUpdate = 6
	answerUpdate      = 7
	answerForm        = 9
)

// flagPrivate marks ephemeral messages.
const flagPrivate = 1 << 6

type answerShape struct {
	Type int `json:"type"`
	Data any `json:"data,omitempty"`
}

type wordShape struct {
	Content         string      `json:"content"`
	Flags           int         `json:"flags,omitempty"`
	AllowedMentions mentions    `json:"allowed_mentions"`
	Components      *[]rowShape `json:"components,omitempty"`
}

type laterShape struct {
	Flags int `json:"flags,omitempty"`
}

type formShape struct {
	ID    string     `json:"custom_id"`
	Title string     `json:"title"`
	Rows  []rowShape `json:"components"`
}

type rowShape struct {
	Type  int          `json:"type"`
	Parts []fieldShape `json:"components"`
}

type fieldShape struct {
	Type     int    `json:"type"`
	ID       string `json:"custom_id"`
	Style    int    `json:"style"`
	Label    string `json:"label"`
	Min      int    `json:"min_length"`
	Max      int    `json:"max_length,omitempty"`
	Required bool   `json:"required"`
}

// Types of components.
const (
	componentRow       = 1
	componentTextInput = 4
	styleParagraph     = 2
)

// Answer sends the first answer to an interaction, within three seconds and only once. The error is a *channel.Error.
func (b *Bots) Answer(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	const deed = "answer an interaction"
	flags := 0
	if a.Private {
		flags = flagPrivate
	}
	var form answerShape
	switch {
	case a.Form != nil:
		form = answerShape{answerForm, formOf(a.Form)}
	case a.Later && a.Update:
		form = answerShape{Type: answerLaterUpdate}
	case a.Later:
		form = answerShape{answerLater, laterShape{flags}}
	default:
		word, err := wordOf(deed, &i, &a)
		if err != nil {
			return err
		}
		form = answerShape{answerMessage, word}
		if a.Update {
			form.Type = answerUpdate
		}
	}
	return b.interact(ctx, deed, &i, http.MethodPost, "/interactions/"+i.ID+"/"+i.Token.Reveal()+"/callback", form)
}

// Amend replaces the first answer, or the message of Update. The error is a *channel.Error.
func (b *Bots) Amend(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	const deed = "amend an answer"
	word, err := wordOf(deed, &i, &a)
	if err != nil {
		return err
	}
	word.Flags = 0 // visibility cannot be changed
	return b.interact(ctx, deed, &i, http.MethodPatch, "/webhooks/"+i.ApplicationID+"/"+i.Token.Reveal()+"/messages/@original", word)
}

// Add adds a message after the first answer. The error is a *channel.Error.
func (b *Bots) Add(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	const deed = "add to an answer"
	word, err := wordOf(deed, &i, &a)
	if err != nil {
		return err
	}
	return b.interact(ctx, deed, &i, http.MethodPost, "/webhooks/"+i.ApplicationID+"/"+i.Token.Reveal(), word)
}

func (b *Bots) interact(ctx context.Context, deed string, i *channel.Interaction, method, path string, body any) error {
	if err := invalidID(deed, i.AccountID, i.ID, i.ApplicationID); err != nil {
		return err
	}
	if !plainToken(i.Token.Reveal()) {
		return channel.Local(deed, i.AccountID, i.ChannelID, http.StatusBadRequest, errors.New("the interaction has no token"), "answer an interaction received by OnInteraction")
	}
	own := b.bot(i.AccountID)
	if own == nil {
		return channel.NoBot(coordination.Discord, deed, i.AccountID, i.ChannelID)
	}
	if _, refused := own.ask(ctx, deed, i.ChannelID, request{method: method, path: path, body: body, secret: true}); refused != nil {
		return refused
	}
	return nil
}

// plainToken reports whether a token is safe in a path.
func plainToken(token string) bool {
	for _, r := range token {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' || r == '=') {
			return false
		}
	}
	return token != ""
}

// wordOf validates a text for Discord.
func wordOf(deed string, i *channel.Interaction, a *channel.InteractionAnswer) (wordShape, error) {
	w := wordShape{Content: a.Text, AllowedMentions: onlyUsers(nil)}
	if a.Private {
		w.Flags = flagPrivate
	}
	if a.Update {
		w.Components = &[]rowShape{}
	}
	n := utf8.RuneCountInString(a.Text)
	switch {
	case coordination.TrimJS(a.Text) == "":
		return w, channel.Local(deed, i.AccountID, i.ChannelID, http.StatusBadRequest, errors.New("text is empty"), "say something")
	case n > collaborate.MaxMessage:
		return w, channel.Local(deed, i.AccountID, i.ChannelID, http.StatusBadRequest, fmt.Errorf("text has %d characters, Discord allows %d", n, collaborate.MaxMessage), "say less")
	}
	return w, nil
}

func formOf(f *channel.Form) formShape {
	field := fieldShape{Type: componentTextInput, ID: f.Field, Style: styleParagraph, Label: f.Label, Min: 1, Max: f.Max, Required: true}
	return formShape{ID: f.ID, Title: f.Title, Rows: []rowShape{{Type: componentRow, Parts: []fieldShape{field}}}}
}

type interactionShape struct {
	ID            string        `json:"id"`
	ApplicationID string        `json:"application_id"`
	Type          int           `json:"type"`
	Token         string        `json:"token"`
	GuildID       string        `json:"guild_id"`
	ChannelID     string        `json:"channel_id"`
	Channel       *channelShape `json:"channel"`
	Member        *memberShape  `json:"member"`
	User          *userShape    `json:"user"`
	Message       *messageShape `json:"message"`
	Data          struct {
		Type       int           `json:"type"`
		Name       string        `json:"name"`
		CustomID   string        `json:"custom_id"`
		Options    []optionShape `json:"options"`
		Components []filledShape `json:"components"`
	} `json:"data"`
}

type optionShape struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Options []optionShape   `json:"options"`
}

// filledShape is a row of a form, or a field in it.
type filledShape struct {
	CustomID   string        `json:"custom_id"`
	Value      string        `json:"value"`
	Components []filledShape `json:"components"`
	Component  *filledShape  `json:"component"` // labels only
}

// Types of interactions, and of slash commands.
const (
	interactionCommand   = 2
	interactionComponent = 3
	interactionForm      = 5
	commandSlash         = 1
)

// interaction converts Discord's interaction; false for other kinds and without a user.
func (s *interactionShape) interaction() (channel.Interaction, bool) {
	i := channel.Interaction{ID: s.ID, ApplicationID: s.ApplicationID, Token: config.Secret(s.Token), GuildID: s.GuildID, ChannelID: s.ChannelID,
		Values: map[string]string{}, At: madeAt(snowflake(s.ID))}
	switch {
	case s.Type == interactionCommand && s.Data.Type == commandSlash:
		i.Kind, i.Name = channel.KindCommand, s.Data.Name
		fillOptions(i.Values, s.Data.Options)
	case s.Type == interactionComponent:
		i.Kind, i.Name = channel.KindButton, s.Data.CustomID
	case s.Type == interactionForm:
		i.Kind, i.Name = channel.KindForm, s.Data.CustomID
		fillFields(i.Values, s.Data.Components)
	}
	user := s.User
	if s.Member != nil {
		i.Roles, user = s.Member.Roles, cmp.Or(s.Member.User, user)
	}
	if user != nil {
		i.User = channel.User{ID: user.ID, Name: user.name(), Bot: user.Bot}
	}
	if c := s.Channel; c != nil {
		i.Group = c.Type == typeGroup
		if c.kind() == collaborate.Thread {
			i.ParentID = c.ParentID
		}
	}
	if s.Message != nil {
		i.MessageID, i.Text = s.Message.ID, s.Message.Content
	}
	return i, i.Kind != "" && i.Token != "" && snowflake(i.ID) != 0 && i.User.ID != ""
}

func fillOptions(to map[string]string, options []optionShape) {
	for _, o := range options {
		var text string
		if json.Unmarshal(o.Value, &text) != nil {
			text = string(o.Value)
		}
		if len(o.Value) > 0 {
			to[o.Name] = text
		}
		fillOptions(to, o.Options)
	}
}

func fillFields(to map[string]string, parts []filledShape) {
	for _, p := range parts {
		if p.CustomID != "" {
			to[p.CustomID] = p.Value
		}
		fillFields(to, p.Components)
		if p.Component != nil {
			fillFields(to, []filledShape{*p.Component})
		}
	}
}
