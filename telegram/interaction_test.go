package telegram_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

func TestButtonsAreInteractions(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	components := m.Components([]channel.Button{{ID: "approve:1", Label: "Approve", Style: channel.ButtonGood}, {ID: "reject:1", Label: "Reject", Style: channel.ButtonDanger}})
	posted := m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.forum), Content: "a plan", Components: components})
	asked := m.shows(m.forum, "a plan")
	equal(t, "the first button", asked.ReplyMarkup.Rows[0][0].Text, "✅ Approve")
	press := m.press(asked, "approve:1")
	i := m.interaction(0)
	if i.Kind != channel.KindButton || i.Name != "approve:1" || i.MessageID != posted.ID || i.Text != "a plan" || i.User.ID != id(m.bora.User) || i.GuildID != placeID(m.forum) {
		t.Fatalf("%+v, want the button", i)
	}
	if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Text: "approved by Bora", Update: true}); err != nil {
		t.Fatal(err)
	}
	if now := m.shows(m.forum, "approved by Bora"); now.MessageID != asked.MessageID || now.ReplyMarkup != nil {
		t.Errorf("%+v, want the message changed, without buttons", now)
	}
	if _, answered := press.Answer(); !answered {
		t.Error("the press was not acknowledged")
	}

	m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.forum), Content: "another", Components: components})
	press = m.press(m.shows(m.forum, "another"), "reject:1")
	if err := m.Answer(m.ctx, m.interaction(1), channel.InteractionAnswer{Text: "you may not", Private: true}); err != nil {
		t.Fatal(err)
	}
	if a, _ := press.Answer(); a.Text != "you may not" || !a.Alert {
		t.Errorf("%+v, want an alert", a)
	}
	m.press(m.shows(m.forum, "another"), "reject:1")
	long := strings.Repeat("long ", 60)
	if err := m.Answer(m.ctx, m.interaction(2), channel.InteractionAnswer{Text: long, Private: true}); err != nil {
		t.Fatal(err)
	}
	if shown := m.shows(m.forum, strings.TrimSpace(long)); shown.ReplyTo == nil {
		t.Error("a long answer is no reply")
	}
	if m.Components([]channel.Button{{ID: strings.Repeat("x", 65), Label: "x"}}) != nil {
		t.Error("a button was made that Telegram refuses")
	}
}

func TestFormsAreReplies(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	components := m.Components([]channel.Button{{ID: "reject:1", Label: "Reject"}})
	posted := m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.forum), Content: "a plan", Components: components})
	m.press(m.shows(m.forum, "a plan"), "reject:1")
	form := channel.Form{ID: "reject:1", Title: "Reject", Field: "reason", Label: "Why?", Max: 10}
	if err := m.Answer(m.ctx, m.interaction(0), channel.InteractionAnswer{Form: &form}); err != nil {
		t.Fatal(err)
	}
	asks := m.shows(m.forum, "Reject\nWhy? Bora")
	other := m.AddPerson("Other")
	other.Join(m.forum)
	if _, err := other.Reply(asks, "not mine"); err != nil {
		t.Fatal(err)
	}
	m.fact("ruda", "created not mine")
	if _, err := m.bora.Reply(asks, "too expensive"); err != nil {
		t.Fatal(err)
	}
	i := m.interaction(1)
	if i.Kind != channel.KindForm || i.Name != "reject:1" || i.Values["reason"] != "too expens" || i.MessageID != posted.ID {
		t.Fatalf("%+v, want the reply in the form", i)
	}
	if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Text: "rejected", Update: true}); err != nil {
		t.Fatal(err)
	}
	m.shows(m.forum, "rejected")
	for _, account := range []string{"ruda", "eden"} { // eden receives the reply, too
		if !m.fact(account, "created too expensive").Message.Interaction || m.fact("ruda", "created not mine").Message.Interaction {
			t.Errorf("%s was told of the answer as a message, or of a message as the answer", account)
		}
	}
	if _, err := m.bora.Reply(asks, "once more"); err != nil {
		t.Fatal(err)
	}
	if m.fact("ruda", "created once more").Message.Interaction {
		t.Error("a second reply is an answer")
	}
	equal(t, "interactions", len(m.asked), 2)
}

// A question outlives a restart of the program; a text of an agent that looks like one is none.
func TestFormsOutliveARestart(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.forum), Content: "a plan", Components: m.Components([]channel.Button{{ID: "reject:1", Label: "Reject"}})})
	m.press(m.shows(m.forum, "a plan"), "reject:1")
	form := channel.Form{ID: "reject:1", Title: "Reject", Field: "reason", Label: "Why?", Max: 5}
	if err := m.Answer(m.ctx, m.interaction(0), channel.InteractionAnswer{Form: &form}); err != nil {
		t.Fatal(err)
	}
	asks := m.shows(m.forum, "Reject\nWhy? Bora")
	link := asks.Entities[0].URL
	m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.forum), Content: "[Other](" + link[:len(link)-3] + "xyz) question"})
	m.halt()
	m.build()
	m.start()
	if _, err := m.bora.Reply(m.shows(m.forum, "Other question"), "no answer"); err != nil {
		t.Fatal(err)
	}
	if m.fact("ruda", "created no answer").Message.Interaction {
		t.Error("a text that looks like a question is one")
	}
	for _, text := range []string{"too expensive", "once more"} {
		if _, err := m.bora.Reply(asks, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, account := range []string{"ruda", "eden"} {
		if !m.fact(account, "created too expensive").Message.Interaction || m.fact(account, "created once more").Message.Interaction {
			t.Errorf("%s was told of the answer as a message, or of a message as an answer", account)
		}
	}
	i := m.interaction(0)
	if i.Kind != channel.KindForm || i.Name != "reject:1" || i.AccountID != "ruda" || i.Values["reason"] != "too e" {
		t.Errorf("%+v, want the answer", i)
	}
}

// In a basic group each bot numbers the messages otherwise: the reply is the answer nevertheless, whichever bot receives it first.
func TestFormsInBasicGroups(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.write(m.private, "so that the bots count differently")
	components := m.Components([]channel.Button{{ID: "reject:1", Label: "Reject"}})
	m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.group), Content: "a plan", Components: components})
	m.press(m.shows(m.group, "a plan"), "reject:1")
	form := channel.Form{ID: "reject:1", Title: "Reject", Field: "reason", Label: "Why?", Max: 100}
	if err := m.Answer(m.ctx, m.interaction(0), channel.InteractionAnswer{Form: &form}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.bora.Reply(m.shows(m.group, "Reject\nWhy? Bora"), "too expensive"); err != nil {
		t.Fatal(err)
	}
	if i := m.interaction(1); i.Kind != channel.KindForm || i.AccountID != "ruda" || i.Values["reason"] != "too expensive" {
		t.Errorf("%+v, want the answer for ruda", i)
	}
	for _, account := range []string{"ruda", "eden"} {
		if !m.fact(account, "created too expensive").Message.Interaction {
			t.Errorf("%s was told of the answer as a message", account)
		}
	}
}

func TestCommandsAreInteractionsOfOneBot(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	if all := m.ruda.Commands(); len(all) != 1 || all[0].Command != "status" {
		t.Errorf("Telegram's list is %+v", all)
	}
	m.write(m.private, "/status")
	if i := m.interaction(0); i.Kind != channel.KindCommand || i.Name != "status" || i.AccountID != "ruda" {
		t.Fatalf("%+v, want the command", i)
	}
	if err := m.Answer(m.ctx, m.interaction(0), channel.InteractionAnswer{Text: "all is well", Private: true}); err != nil {
		t.Fatal(err)
	}
	equal(t, "what it replies to", m.shows(m.private, "all is well").ReplyTo.Text, "/status")
	m.write(m.forum, "/status@eden_bot")
	equal(t, "who is asked", m.interaction(1).AccountID, "eden")
	m.write(m.forum, "/status")
	equal(t, "who is asked, of two that receive all", m.interaction(2).AccountID, "eden")
	if !m.fact("eden", "created /status").Message.Interaction {
		t.Error("a command is a message")
	}
	m.write(m.forum, "/other")
	m.fact("ruda", "created /other")
	m.fact("eden", "created /other")
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) != 3 {
		t.Errorf("%+v, want three interactions", m.asked)
	}
}

func TestAPressThatIsRepeatedIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.private), Content: "?", Components: m.Components([]channel.Button{{ID: "go", Label: "Go"}})})
	m.press(m.shows(m.private, "?"), "go")
	m.interaction(0)
	if err := m.ruda.WaitConfirmed(m.ctx); err != nil {
		t.Fatal(err)
	}
	m.ruda.Unconfirm(1)
	m.write(m.private, "later")
	m.fact("ruda", "created later")
	m.mu.Lock()
	defer m.mu.Unlock()
	equal(t, "how often", len(m.asked), 1)
}

func (m *team) press(on telegramtest.Message, data string) *telegramtest.Press {
	m.t.Helper()
	p, err := m.bora.Press(on, data)
	if err != nil {
		m.t.Fatal(fmt.Errorf("press %s: %w", data, err))
	}
	return p
}
