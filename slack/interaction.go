package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

// ownCommand is the slash command whose first word is the name of one of ours: Slack has some of the names itself.
const ownCommand = "openclaw"

// interacted takes a use of a button or command.
func (a *app) interacted(e envelope) {
	var i channel.Interaction
	var name string
	var ok bool
	switch e.Type {
	case typeInteractive:
		i, name, ok = a.pressed(e)
	case typeSlash:
		i, name, ok = a.commanded(e)
	}
	if ok {
		a.begin(i, kindOf(name))
	}
}

// kindOf is the kind of a conversation by the name that interactions have for it.
func kindOf(name string) string {
	switch {
	case name == "directmessage":
		return kindDirect
	case strings.HasPrefix(name, "mpdm-"):
		return kindGroup
	}
	return ""
}

// pressed returns a use of a button, and the name of its conversation.
func (a *app) pressed(e envelope) (i channel.Interaction, name string, ok bool) {
	s, ok := shape[interactionShape](a, "interaction", e.Payload)
	if !ok || s.Type != "block_actions" || len(s.Actions) == 0 || s.Message.TS == "" {
		return i, "", false
	}
	in := place{chat: s.Channel.ID, thread: s.Message.inThread()}
	i = a.interaction(in, s.Trigger, s.AppID, s.URL)
	i.Kind, i.Name, i.MessageID, i.Text = channel.KindButton, s.Actions[0].ID, in.messageID(s.Message.TS), content(s.Message.Text, a.channelName)
	i.User, i.At = channel.User{ID: s.User.ID, Name: s.User.name()}, at(s.Actions[0].TS)
	return i, s.Channel.Name, s.Trigger != ""
}

// commanded returns a use of a command, and the name of its conversation.
func (a *app) commanded(e envelope) (i channel.Interaction, name string, ok bool) {
	s, ok := shape[commandShape](a, "command", e.Payload)
	if !ok {
		return i, "", false
	}
	i = a.interaction(place{chat: s.Channel}, s.Trigger, s.AppID, s.URL)
	i.Kind, i.Name = channel.KindCommand, strings.ToLower(strings.TrimPrefix(s.Command, "/"))
	if i.Name == ownCommand {
		word, rest, _ := strings.Cut(strings.TrimSpace(s.Text), " ")
		i.Name, s.Text = strings.ToLower(word), strings.TrimSpace(rest)
	}
	if s.Text != "" {
		i.Values = map[string]string{"text": s.Text}
	}
	i.User, i.At = channel.User{ID: s.UserID, Name: s.UserName}, a.apps.o.Now().UnixMilli()
	return i, s.Named, s.Trigger != ""
}

// interaction is a use in a place. The trigger is the same however often Slack tells it.
func (a *app) interaction(in place, trigger, appID, address string) channel.Interaction {
	return channel.Interaction{ID: trigger, ApplicationID: appID, Token: config.Secret(address), AccountID: a.own.ID, ChannelID: in.id()}
}

// begin hands an interaction in a conversation of a kind to Options.OnInteraction, on its own goroutine.
func (a *app) begin(i channel.Interaction, kind string) {
	t := a.apps.asked.Begin(i.ID)
	if t == channel.TurnNone {
		return
	}
	go func() {
		defer a.apps.asked.End(t)
		a.place(&i, kind)
		if t == channel.TurnTold {
			a.apps.o.OnInteraction(i)
			return
		}
		a.log.Warn("too many interactions in progress; answering that the bot is busy", "most", channel.MaxInteractions)
		if err := a.apps.Answer(a.ctx, i, channel.InteractionAnswer{Text: channel.BusyText, Private: true}); err != nil {
			a.log.Warn("cannot answer an interaction", "err", err)
		}
	}()
}

// place says where an interaction is, and whose.
func (a *app) place(i *channel.Interaction, kind string) {
	in, _ := parsePlace(i.ChannelID)
	p, group, _ := a.conversation(in.chat, kind)
	i.GuildID, i.Group = p.GuildID, group
	switch {
	case in.thread == "":
	case p.GuildID == "":
		i.ChannelID = p.ID
	default:
		i.ParentID = p.ID
	}
	if who, known := a.apps.Registry().Account(a.own.ID); known {
		i.AgentID = who.AgentID
	}
}

// answerShape is what is sent to the address of an interaction.
type answerShape struct {
	Text     string `json:"text"`
	Type     string `json:"response_type"`
	Replace  bool   `json:"replace_original"`
	Parse    string `json:"parse"`
	ThreadTS string `json:"thread_ts,omitempty"`
}

// Answer implements channel.Answerer. Slack was told that the interaction has arrived, so Later needs no request.
func (b *Apps) Answer(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	switch {
	case a.Form != nil:
		return b.askFor(ctx, i, a.Form)
	case a.Later:
		return nil
	}
	return b.respond(ctx, "answer an interaction", i, a)
}

// Amend implements channel.Answerer. A first answer that is no message is not replaced but followed: Slack cannot.
func (b *Apps) Amend(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	return b.respond(ctx, "amend an answer", i, a)
}

// Add implements channel.Answerer.
func (b *Apps) Add(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	a.Update = false
	return b.respond(ctx, "add to an answer", i, a)
}

func (b *Apps) respond(ctx context.Context, deed string, i channel.Interaction, a channel.InteractionAnswer) error {
	refuse := func(err error, hint string) error {
		return channel.Local(deed, i.AccountID, i.ChannelID, http.StatusBadRequest, err, hint)
	}
	if coordination.TrimJS(a.Text) == "" {
		return refuse(errors.New("content is empty"), "say something")
	}
	if i.Kind == channel.KindForm && i.Token == "" {
		return b.respondAnew(ctx, i, a)
	}
	if !mayReceive(i.Token.Reveal()) {
		return refuse(errAddress, "answer an interaction received by OnInteraction")
	}
	own := b.app(i.AccountID)
	if own == nil {
		return channel.NoBot(b.Name(), deed, i.AccountID, i.ChannelID)
	}
	body := answerShape{Text: b.render(a.Text, nil), Type: "in_channel", Replace: a.Update, Parse: "none"}
	if a.Private {
		body.Type = "ephemeral"
	}
	if in, ok := parsePlace(i.ChannelID); ok && !a.Update {
		body.ThreadTS = in.thread
	}
	limited, cancel := context.WithTimeout(ctx, b.o.TimeLimit)
	defer cancel()
	got, err := own.wire.respond(limited, i.Token.Reveal(), body)
	var said struct {
		OK *bool `json:"ok"`
	}
	if err == nil && got.status == http.StatusOK && (json.Unmarshal(got.body, &said) != nil || said.OK == nil || *said.OK) {
		return nil // it may also say ok in plain text
	}
	return failed(ctx, deed, i.AccountID, i.ChannelID, got, err)
}

// mayReceive reports whether an address is one of Slack.
func mayReceive(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !safe(u) {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "slack.com" || strings.HasSuffix(host, ".slack.com") || onThisMachine(host)
}
