//go:build clients

package telegramtest_test

import (
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/internal/clienttest"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// An unmodified client of others logs in, receives, sends, and handles a pressed button: see make clients.
func TestGrammy(t *testing.T) {
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.ruda)
	c := &client{m, clienttest.Start(m.context(), t, "testdata/grammy.mjs", m.URL(), m.ruda.Token, fmt.Sprint(m.group.ID), fmt.Sprint(m.forum.ID))}
	c.Wants("ready ruda_bot")
	if list := m.ruda.Commands(); len(list) != 1 || list[0].Description != "begins" {
		t.Errorf("commands %+v", list)
	}
	m.write(m.private, "/start")
	c.shows(m.private, "hello Bora")
	m.write(m.private, "buttons")
	c.Wants("text buttons - private")
	asked := c.shows(m.private, "approve?")
	press, err := m.bora.Press(asked, "yes")
	if err != nil {
		t.Fatal(err)
	}
	c.Wants("pressed yes approve?")
	if a, is := press.Answer(); !is || !a.Alert || a.Text != "thanks" {
		t.Errorf("the answer is %+v, want an alert", a)
	}
	c.shows(m.private, "approved")
	said := m.write(m.group, "@ruda_bot hi")
	c.Wants("text @ruda_bot hi mention supergroup")
	if reply := c.shows(m.group, "bold and code"); reply.ReplyTo == nil || reply.ReplyTo.MessageID != said.MessageID || len(reply.Entities) != 2 {
		t.Errorf("%+v, want a reply in bold and code", reply)
	}
	if err := m.bora.Edit(said, "@ruda_bot edited"); err != nil {
		t.Fatal(err)
	}
	c.Wants("edited @ruda_bot edited")
	if _, err := m.bora.Send(m.private, telegramtest.Draft{Text: "look", Photo: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	c.Wants("photo look photos")
	if err := m.bora.React(asked, "👍"); err != nil {
		t.Fatal(err)
	}
	c.Wants("reaction 👍")
	topic := m.forum.OpenTopic("questions")
	if _, err := m.bora.Send(m.forum, telegramtest.Draft{Text: "in a topic", Topic: topic}); err != nil {
		t.Fatal(err)
	}
	c.Wants("text in a topic - topic")
	m.bora.Block(m.ruda, true)
	c.Wants("member Bora kicked")
	m.bora.Block(m.ruda, false)
	c.Wants("member Bora member")
	c.Say("")
	for _, line := range []string{"topic plans true", "file a.txt text/plain 7", "chat lab 1 member", "commands start",
		"markup 400 Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'",
		"long 400 Bad Request: message is too long", "nowhere 400 Bad Request: chat not found",
		"webhook 400 Bad Request: bad webhook: An HTTPS URL must be provided for webhook"} {
		c.Wants(line)
	}
	c.Say("")
	c.Wants("stopped")
	c.Ends()
	if n := m.ruda.Pending(); n != 0 {
		t.Errorf("%d updates are not confirmed", n)
	}
}

// client is a running script, and the chats that it writes in.
type client struct {
	*team
	*clienttest.Client
}

func (c *client) shows(ch *telegramtest.Chat, text string) telegramtest.Message {
	c.t.Helper()
	found, err := ch.WaitMessage(c.context(), func(o telegramtest.Message) bool { return o.Text == text })
	if err != nil {
		c.t.Fatalf("%q: %v, the chat shows %q", text, err, ch.Texts())
	}
	return found
}
