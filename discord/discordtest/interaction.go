package discordtest

import (
	"encoding/json"
	"slices"
	"time"
)

// Time limits for the first answer to an interaction, and for its token.
const (
	answerWithin = 3 * time.Second
	tokenLife    = 15 * time.Minute
)

// Types of interactions.
const (
	CommandInteraction      = 2
	ComponentInteraction    = 3
	AutocompleteInteraction = 4
	ModalInteraction        = 5
)

// Types of first answers.
const (
	AnswerMessage        = 4
	AnswerDeferred       = 5
	AnswerDeferredUpdate = 6
	AnswerUpdate         = 7
	AnswerChoices        = 8
	AnswerModal          = 9
)

// Interaction is a person's interaction with its answers.
type Interaction struct {
	ID        string
	Token     string
	Answer    int             // type of the first answer; 0: none yet
	Data      json.RawMessage // of the first answer, as received
	Original  *Message        // the first answer as a message; nil if there is none, or it was deleted
	FollowUps []Message
}

type interaction struct {
	Interaction
	bot       *account
	user      *account
	kind      int
	at        time.Time
	channel   *channel
	component *message // the clicked one
	original  *message
	follows   []*message
}

// owners are where the interaction's application is installed: in the guild (0), or for a conversation nowhere.
func (i *interaction) owners() map[string]string {
	if i.channel.guild == nil {
		return map[string]string{"0": "0"}
	}
	return map[string]string{"0": i.channel.GuildID}
}

func (i *interaction) message(id string) *message {
	if id == "@original" || i.original != nil && id == i.original.ID {
		return i.original
	}
	at := slices.IndexFunc(i.follows, func(m *message) bool { return m.ID == id })
	if at < 0 {
		return nil
	}
	return i.follows[at]
}

// Interaction returns an interaction started by Click, Slash or Submit; false if the id is unknown.
func (s *Server) Interaction(id string) (Interaction, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactions {
		if i.ID != id {
			continue
		}
		told := i.Interaction
		if i.original != nil {
			m := s.messageFor(i.original, nil)
			told.Original = &m
		}
		for _, f := range i.follows {
			told.FollowUps = append(told.FollowUps, s.messageFor(f, nil))
		}
		return told, true
	}
	return Interaction{}, false
}

// CommandData is the content of a slash command.
type CommandData struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	Type    int           `json:"type"`
	GuildID string        `json:"guild_id,omitempty"`
	Options []OptionValue `json:"options,omitempty"`
}

// OptionValue is an option's value.
type OptionValue struct {
	Name    string          `json:"name"`
	Type    int             `json:"type"`
	Value   json.RawMessage `json:"value,omitempty"`
	Options []OptionValue   `json:"options,omitempty"`
	Focused bool            `json:"focused,omitempty"`
}

// TextOption is a text option's value.
func TextOption(name, value string) OptionValue {
	return OptionValue{Name: name, Type: 3, Value: encode(value)}
}

type componentData struct {
	CustomID      string   `json:"custom_id"`
	ComponentType int      `json:"component_type"`
	Values        []string `json:"values,omitempty"`
}

type modalData struct {
	CustomID   string          `json:"custom_id"`
	Components json.RawMessage `json:"components"`
}

// interactionEvent is INTERACTION_CREATE.
type interactionEvent struct {
	ID             string            `json:"id"`
	ApplicationID  string            `json:"application_id"`
	Type           int               `json:"type"`
	Data           json.RawMessage   `json:"data"`
	GuildID        string            `json:"guild_id,omitempty"`
	ChannelID      string            `json:"channel_id"`
	Channel        Channel           `json:"channel"`
	Member         *Member           `json:"member,omitempty"`
	User           *User             `json:"user,omitempty"`
	Token          string            `json:"token"`
	Version        int               `json:"version"`
	Message        *Message          `json:"message,omitempty"`
	AppPermissions string            `json:"app_permissions"`
	Locale         string            `json:"locale"`
	GuildLocale    string            `json:"guild_locale,omitempty"`
	Entitlements   []json.RawMessage `json:"entitlements"`
	Owners         map[string]string `json:"authorizing_integration_owners"`
	Context        int               `json:"context"`
}

// interact starts an interaction of a person with a bot.
func (s *Server) interact(user, bot *account, ch *channel, kind int, data json.RawMessage, on *message) *interaction {
	id := s.next()
	i := &interaction{
		Interaction: Interaction{ID: id, Token: "interaction-" + id}, bot: bot, user: user, kind: kind, at: s.now(), channel: ch, component: on,
	}
	s.interactions[i.Token] = i
	e := interactionEvent{
		ID: i.ID, ApplicationID: bot.ID, Type: kind, Data: data, GuildID: ch.GuildID, ChannelID: ch.ID, Channel: ch.visibleTo(bot), Token: i.Token, Version: 1,
		AppPermissions: s.may(bot, ch).String(), Locale: "ko", Entitlements: []json.RawMessage{}, Owners: i.owners(), Context: 1,
	}
	e.Channel.Permissions = s.may(user, ch).String()
	if on != nil {
		m := s.messageFor(on, nil)
		e.Message = &m
	}
	if ch.guild != nil {
		m := *ch.guild.member(user.ID)
		m.Permissions = s.may(user, ch).String()
		e.Member, e.GuildLocale, e.Context = &m, "ko", 0
	} else {
		e.User = &user.User
	}
	s.publish(event{"INTERACTION_CREATE", 0, nil}, func(to *gatewaySession) any {
		if to.bot != bot {
			return nil
		}
		return e
	})
	s.happened()
	return i
}

func (s *Server) interactionRoutes() []route {
	return []route{{name: "POST /interactions/{interaction}/{token}/callback", open: true, do: s.answerInteraction}}
}

type answerForm struct {
	Type int             `json:"type"`
	Data json.RawMessage `json:"data"`
}

func (s *Server) answerInteraction(c *call) (any, *Error) {
	i := s.interactions[c.path("token")]
	if i == nil || i.ID != c.path("interaction") {
		return nil, notFound(CodeUnknownInteraction, "interaction")
	}
	if i.Answer != 0 {
		return nil, badRequest(CodeAlreadyAnswered, "Interaction has already been acknowledged.")
	}
	if s.now().Sub(i.at) > answerWithin {
		return nil, notFound(CodeUnknownInteraction, "interaction")
	}
	var form answerForm
	if refusal := c.decode(&form); refusal != nil {
		return nil, refusal
	}
	allowed := []int{AnswerMessage, AnswerDeferred, AnswerModal}
	switch i.kind {
	case ComponentInteraction:
		allowed = append(allowed, AnswerDeferredUpdate, AnswerUpdate)
	case ModalInteraction:
		allowed = []int{AnswerMessage, AnswerDeferred, AnswerDeferredUpdate, AnswerUpdate}
	case AutocompleteInteraction:
		allowed = []int{AnswerChoices}
	}
	if !slices.Contains(allowed, form.Type) {
		return nil, badChoice("type", "4, 5, 6, 7, 8, 9")
	}
	if refusal := s.handleAnswer(i, form, c.files); refusal != nil {
		return nil, refusal
	}
	i.Answer, i.Data = form.Type, form.Data
	s.happened()
	return nil, nil
}

func (s *Server) handleAnswer(i *interaction, form answerForm, files []Attachment) *Error {
	d := draft{files: files}
	if len(form.Data) > 0 && (form.Type == AnswerMessage || form.Type == AnswerDeferred) {
		if json.Unmarshal(form.Data, &d) != nil {
			return badRequest(CodeInvalidBody, "The request body contains invalid JSON.")
		}
	}
	switch form.Type {
	case AnswerMessage:
		if refusal := d.check(); refusal != nil {
			return refusal
		}
		i.original = s.createMessage(i, d, 0)
	case AnswerDeferred:
		i.original = s.createMessage(i, draft{Flags: d.Flags}, FlagLoading)
	case AnswerUpdate:
		var edit change
		if len(form.Data) > 0 && json.Unmarshal(form.Data, &edit) != nil {
			return badRequest(CodeInvalidBody, "The request body contains invalid JSON.")
		}
		i.original = i.component
		if i.component != nil {
			return s.edit(nil, i.component, edit)
		}
	case AnswerDeferredUpdate:
		i.original = i.component
	}
	return nil
}

// createMessage creates a bot's message for an interaction. An ephemeral one is in no channel.
func (s *Server) createMessage(i *interaction, d draft, flags int) *message {
	ephemeral := d.Flags & FlagEphemeral
	m := s.compose(i.bot, i.channel, d)
	m.Flags |= flags | ephemeral
	m.ApplicationID, m.WebhookID = i.bot.ID, i.bot.ID
	m.Interaction = &InteractionInfo{ID: i.ID, Type: i.kind, User: i.user.User, Owners: i.owners()}
	if i.kind == CommandInteraction && i.original == nil {
		m.Type = SlashCommandMessage
	}
	if ephemeral == 0 {
		s.post(m)
	}
	return m
}

// followUp adds a message. The first one after a deferred answer replaces it.
func (s *Server) followUp(c *call, i *interaction) (any, *Error) {
	d := draft{files: c.files}
	if refusal := c.decode(&d); refusal != nil {
		return nil, refusal
	}
	if refusal := d.check(); refusal != nil {
		return nil, refusal
	}
	if i.original != nil && i.original.Flags&FlagLoading != 0 {
		edit := change{Content: &d.Content, Embeds: &d.Embeds, Components: &d.Components, AllowedMentions: d.AllowedMentions}
		if refusal := s.editAnswer(i.original, edit); refusal != nil {
			return nil, refusal
		}
		return s.messageFor(i.original, nil), nil
	}
	m := s.createMessage(i, d, 0)
	i.follows = append(i.follows, m)
	s.happened()
	return s.messageFor(m, nil), nil
}

// editAnswer edits a message of an interaction; ephemeral ones cause no event.
func (s *Server) editAnswer(m *message, edit change) *Error {
	if m.Flags&FlagEphemeral == 0 {
		return s.edit(nil, m, edit)
	}
	d := draft{Content: m.Content, Embeds: m.Embeds, Components: m.Components, files: m.Attachments}
	set(&d.Content, edit.Content)
	set(&d.Embeds, edit.Embeds)
	set(&d.Components, edit.Components)
	if refusal := d.check(); refusal != nil {
		return refusal
	}
	now := stamp(s.now())
	m.Content, m.Embeds, m.Components, m.EditedTimestamp = d.Content, orEmpty(d.Embeds), orEmpty(d.Components), &now
	m.Flags &^= FlagLoading
	s.happened()
	return nil
}

// answerMessage handles a webhook message route for a message that may be ephemeral.
func (s *Server) answerMessage(c *call, i *interaction, m *message, do func(*call, *message) (any, *Error)) (any, *Error) {
	forget := func() {
		if i.original == m {
			i.original = nil
		}
		i.follows = slices.DeleteFunc(i.follows, func(other *message) bool { return other == m })
		s.happened()
	}
	switch c.r.Method {
	case "PATCH":
		var edit change
		if refusal := c.decode(&edit); refusal != nil {
			return nil, refusal
		}
		if refusal := s.editAnswer(m, edit); refusal != nil {
			return nil, refusal
		}
		return s.messageFor(m, nil), nil
	case "DELETE":
		defer forget()
		if m.Flags&FlagEphemeral != 0 {
			return nil, nil
		}
	}
	return do(c, m)
}
