package discord

import (
	"context"
)

// Interaction is what somebody has asked of a bot without writing a message.
type Interaction struct {
	ID        string
	Token     string // with which it is answered, for some minutes; a secret
	Kind      string // command, button, form
	AccountID string
	AgentID   string // of the bot; "" if it speaks for none
	GuildID   string // "" in direct messages
	ChannelID string
	ParentID  string // of a thread
	MessageID string // of a button: the message that it is below
	User      User
	Roles     []string
	Name      string            // of a command: its name; of a button or form: its id
	Values    map[string]string // of a command: its options; of a form: its fields
	At        int64             // ms since 1970
}

// InteractionAnswer is the first word to an interaction.
type InteractionAnswer struct {
	Text    string
	Private bool  // only whoever has asked sees it
	Update  bool  // of a button: the message below which it is becomes Text, without buttons
	Form    *Form // a form is shown in the place of a text
}

// Form asks for one text.
type Form struct {
	ID    string
	Title string
	Field string
	Label string
	Max   int
}

// Command is a slash command.
type Command struct {
	Name        string
	Description string
}

// Answer answers an interaction. The error is an *Error.
func (b *Bots) Answer(ctx context.Context, i Interaction, a InteractionAnswer) error { panic("stub") }
