package channel

import (
	"cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// Kinds of interactions.
const (
	KindCommand = "command"
	KindButton  = "button"
	KindForm    = "form"
)

// Interaction is a use of a command, button or form.
type Interaction struct {
	ID            string
	ApplicationID string
	Token         config.Secret // for answers; in the service's own form, valid for some minutes
	Kind          string        // KindCommand, KindButton or KindForm
	AccountID     string
	AgentID       string // of the bot; "" if it belongs to none
	GuildID       string // "" in direct messages
	ChannelID     string // for a thread, its own
	ParentID      string // a thread's parent channel
	Group         bool   // a conversation of more than two
	MessageID     string // message of a button, or of the form it has opened
	Text          string // likewise: the message's text
	User          User
	Roles         []string
	Name          string            // a command's name; a button's or form's id
	Values        map[string]string // a command's options; a form's fields
	At            int64             // ms since 1970
}

// InteractionAnswer is an answer to an interaction. It notifies no one.
type InteractionAnswer struct {
	Text    string // at most coordination.Channel.MaxMessage characters
	Private bool   // visible only to the requester, where the service can do that
	Update  bool   // Text replaces the message MessageID, without buttons
	Form    *Form  // a form instead of a text; not in answer to a form

	// Later only acknowledges the interaction. A text has to follow within 15 minutes: with Update by Amend or Add,
	// else by Amend.
	Later bool
}

// Form asks for one required text. A service without forms asks in a message, and delivers the person's reply to it as
// an interaction of KindForm.
type Form struct {
	ID    string // at most 100 characters, like Field
	Title string // at most 45 characters, like Label
	Field string
	Label string
	Max   int // characters
}

// Command is a slash command.
type Command struct {
	Name        string // lower-case
	Description string // 1 to 100 characters
}

// Route converts the interaction for checking whether its place is allowed.
func (i *Interaction) Route() route.Message {
	m := route.Message{ID: i.ID, GuildID: i.GuildID, Group: i.Group, ChannelID: cmp.Or(i.ParentID, i.ChannelID), At: i.At,
		Author: route.Author{ID: i.User.ID, Name: i.User.Name, Bot: i.User.Bot, Roles: i.Roles}}
	if i.ParentID != "" {
		m.ThreadID = i.ChannelID
	}
	if i.GuildID == "" {
		m.AccountID = i.AccountID
	}
	return m
}
