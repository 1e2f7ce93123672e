package discordtest

import (
	"encoding/json"
	"slices"
)

// do runs a person's action under the lock, and returns a refusal as an error.
func (h *Human) do(act func() *Error) error {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if refusal := act(); refusal != nil {
		return refusal
	}
	return nil
}

// at returns a message that the person can see.
func (h *Human) at(channelID, messageID string) (*message, *Error) {
	ch, refusal := h.in(channelID)
	if refusal != nil {
		return nil, refusal
	}
	m := ch.message(messageID)
	if m == nil {
		return nil, notFound(CodeUnknownMessage, "Message")
	}
	return m, nil
}

func (h *Human) in(channelID string) (*channel, *Error) {
	ch := h.s.channels[channelID]
	if ch == nil {
		return nil, notFound(CodeUnknownChannel, "Channel")
	}
	return ch, h.s.need(h.own, ch, 0)
}

func (h *Human) post(channelID string, d draft) (told Message, err error) {
	err = h.do(func() *Error {
		ch, refusal := h.in(channelID)
		if refusal != nil {
			return refusal
		}
		m, refusal := h.s.write(h.own, ch, d)
		if refusal != nil {
			return refusal
		}
		told = h.s.messageFor(m, nil)
		return nil
	})
	return told, err
}

// Post writes in a channel, thread or conversation. A refusal is an *Error.
func (h *Human) Post(channelID, content string) (Message, error) {
	return h.post(channelID, draft{Content: content})
}

// Reply replies to a message; its author is notified.
func (h *Human) Reply(to Message, content string) (Message, error) {
	return h.post(to.ChannelID, draft{Content: content, Reference: &Reference{MessageID: to.ID}})
}

// ReplySilently replies to a message without notifying its author.
func (h *Human) ReplySilently(to Message, content string) (Message, error) {
	return h.post(to.ChannelID, draft{Content: content, Reference: &Reference{MessageID: to.ID},
		AllowedMentions: &AllowedMentions{Parse: []string{"users", "roles", "everyone"}}})
}

// Attach posts a file.
func (h *Human) Attach(channelID, content string, file Attachment) (Message, error) {
	return h.post(channelID, draft{Content: content, files: []Attachment{file}})
}

// Edit changes the person's own message.
func (h *Human) Edit(m Message, content string) error {
	return h.do(func() *Error {
		own, refusal := h.at(m.ChannelID, m.ID)
		if refusal != nil {
			return refusal
		}
		return h.s.edit(h.own, own, change{Content: &content})
	})
}

// Delete deletes a message: an own one, or another's with ManageMessages.
func (h *Human) Delete(m Message) error {
	return h.do(func() *Error {
		own, refusal := h.at(m.ChannelID, m.ID)
		if refusal != nil {
			return refusal
		}
		return h.s.deleteMessage(h.own, own)
	})
}

// React adds a reaction: a Unicode emoji, or "name:id".
func (h *Human) React(m Message, emoji string) error {
	return h.do(func() *Error {
		on, refusal := h.at(m.ChannelID, m.ID)
		if refusal != nil {
			return refusal
		}
		return h.s.react(h.own, on, emoji)
	})
}

// Type shows that the person is typing.
func (h *Human) Type(channelID string) error {
	return h.do(func() *Error {
		ch, refusal := h.in(channelID)
		if refusal != nil {
			return refusal
		}
		return h.s.typingOf(h.own, ch)
	})
}

// Conversation opens a conversation with another user, where Post writes direct messages.
func (h *Human) Conversation(userID string) (Channel, error) {
	var told Channel
	err := h.do(func() *Error {
		with := h.s.accounts[userID]
		if with == nil || with == h.own {
			return badRequest(50033, "Invalid Recipient(s)")
		}
		told = h.s.conversation(h.own, with).visibleTo(h.own)
		return nil
	})
	return told, err
}

// StartThread starts a public thread without a message.
func (h *Human) StartThread(channelID, name string) (Channel, error) {
	return h.startThread(channelID, name, PublicThread)
}

// StartPrivateThread starts a thread visible to the users mentioned in it and to those with ManageThreads.
func (h *Human) StartPrivateThread(channelID, name string) (Channel, error) {
	return h.startThread(channelID, name, PrivateThread)
}

func (h *Human) startThread(channelID, name string, kind int) (Channel, error) {
	return h.start(func() (*channel, *Error) {
		parent, refusal := h.in(channelID)
		if refusal != nil {
			return nil, refusal
		}
		t, _, refusal := h.s.threadWithout(h.own, parent, threadForm{Name: &name, Type: &kind})
		return t, refusal
	}, name)
}

// StartThreadFrom starts a thread from a message.
func (h *Human) StartThreadFrom(m Message, name string) (Channel, error) {
	return h.start(func() (*channel, *Error) {
		on, refusal := h.at(m.ChannelID, m.ID)
		if refusal != nil {
			return nil, refusal
		}
		if refusal := h.s.need(h.own, on.channel, CreatePublicThreads); refusal != nil {
			return nil, refusal
		}
		return h.s.threadFrom(h.own, on, threadForm{Name: &name})
	}, name)
}

func (h *Human) start(begin func() (*channel, *Error), name string) (told Channel, err error) {
	err = h.do(func() *Error {
		if refusal := checkName(&name); refusal != nil {
			return refusal
		}
		t, refusal := begin()
		if refusal != nil {
			return refusal
		}
		told = t.visibleTo(h.own)
		return nil
	})
	return told, err
}

// SetArchived archives or unarchives a thread, as its owner or with ManageThreads.
func (h *Human) SetArchived(threadID string, archived bool) error {
	return h.change(threadID, channelForm{Archived: &archived})
}

// SetLocked locks or unlocks a thread, with ManageThreads.
func (h *Human) SetLocked(threadID string, locked bool) error {
	return h.change(threadID, channelForm{Locked: &locked})
}

func (h *Human) change(threadID string, form channelForm) error {
	return h.do(func() *Error {
		t, refusal := h.in(threadID)
		if refusal != nil {
			return refusal
		}
		if !t.IsThread() {
			return badRequest(CodeWrongChannelType, "Cannot execute action on this channel type")
		}
		_, refusal = h.s.editThread(h.own, t, form)
		return refusal
	})
}

// component is the part of a component needed to click it.
type component struct {
	Type       int         `json:"type"`
	CustomID   string      `json:"custom_id"`
	Disabled   bool        `json:"disabled"`
	Components []component `json:"components"`
}

func find(all []component, customID string) *component {
	for i := range all {
		if all[i].CustomID == customID && customID != "" {
			return &all[i]
		}
		if found := find(all[i].Components, customID); found != nil {
			return found
		}
	}
	return nil
}

// Click presses a button, or selects values of a menu, below a bot's message.
func (h *Human) Click(m Message, customID string, values ...string) (Interaction, error) {
	return h.interact(func() (*interaction, *Error) {
		on, refusal := h.at(m.ChannelID, m.ID)
		if refusal != nil {
			return nil, refusal
		}
		var all []component
		for _, raw := range on.Components {
			var c component
			if json.Unmarshal(raw, &c) == nil {
				all = append(all, c)
			}
		}
		c := find(all, customID)
		if c == nil || c.Disabled || on.author == nil || !on.author.Bot {
			return nil, invalidForm("custom_id", "COMPONENT_VALIDATION_FAILED", "Component validation failed")
		}
		data := encode(componentData{CustomID: customID, ComponentType: c.Type, Values: values})
		return h.s.interact(h.own, on.author, on.channel, ComponentInteraction, data, on), nil
	})
}

// Slash uses a command that the bot has registered globally or in this guild.
func (h *Human) Slash(channelID, botID, name string, options ...OptionValue) (Interaction, error) {
	return h.command(CommandInteraction, channelID, botID, name, options)
}

// Complete requests choices while the person types a command; one of the options has Focused.
func (h *Human) Complete(channelID, botID, name string, options ...OptionValue) (Interaction, error) {
	return h.command(AutocompleteInteraction, channelID, botID, name, options)
}

func (h *Human) command(kind int, channelID, botID, name string, options []OptionValue) (Interaction, error) {
	return h.interact(func() (*interaction, *Error) {
		ch, refusal := h.in(channelID)
		if refusal != nil {
			return nil, refusal
		}
		if refusal := h.s.need(h.own, ch, UseCommands); refusal != nil {
			return nil, refusal
		}
		bot := h.s.accounts[botID]
		if bot == nil || ch.guild != nil && ch.guild.member(botID) == nil {
			return nil, notFound(CodeUnknownApplication, "Application")
		}
		var known *Command
		for _, at := range []string{ch.GuildID, ""} { // a guild command hides a global one
			for _, c := range h.s.commands[botID+" "+at] {
				if known == nil && c.Name == name && c.Type == 1 {
					known = c
				}
			}
		}
		if known == nil {
			return nil, notFound(CodeUnknownCommand, "application command")
		}
		for _, o := range known.Options {
			given := slices.ContainsFunc(options, func(v OptionValue) bool { return v.Name == o.Name })
			if kind == CommandInteraction && o.Required && !given {
				return nil, invalidForm(o.Name, "BASE_TYPE_REQUIRED", "This field is required")
			}
		}
		data := encode(CommandData{ID: known.ID, Name: name, Type: 1, GuildID: known.GuildID, Options: options})
		return h.s.interact(h.own, bot, ch, kind, data, nil), nil
	})
}

// Submit submits a modal that a bot has shown. Components are the rows with their values, in Discord's format.
func (h *Human) Submit(to Interaction, customID string, components json.RawMessage) (Interaction, error) {
	return h.interact(func() (*interaction, *Error) {
		asked := h.s.interactions[to.Token]
		if asked == nil || asked.Answer != AnswerModal || asked.user != h.own {
			return nil, notFound(CodeUnknownInteraction, "interaction")
		}
		return h.s.interact(h.own, asked.bot, asked.channel, ModalInteraction, encode(modalData{customID, components}), asked.component), nil
	})
}

func (h *Human) interact(begin func() (*interaction, *Error)) (told Interaction, err error) {
	err = h.do(func() *Error {
		i, refusal := begin()
		if refusal != nil {
			return refusal
		}
		told = i.Interaction
		return nil
	})
	return told, err
}
