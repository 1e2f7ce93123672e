//go:build clients

package telegramtest_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// An unmodified client of others logs in, receives, sends, and handles a pressed button: see make clients.
func TestGrammy(t *testing.T) {
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.ruda)
	c := startNode(m, "testdata/grammy.mjs", m.URL(), m.ruda.Token, fmt.Sprint(m.group.ID), fmt.Sprint(m.forum.ID))
	c.wants("ready ruda_bot")
	if list := m.ruda.Commands(); len(list) != 1 || list[0].Description != "begins" {
		t.Errorf("commands %+v", list)
	}
	m.write(m.private, "/start")
	c.shows(m.private, "hello Bora")
	m.write(m.private, "buttons")
	c.wants("text buttons - private")
	asked := c.shows(m.private, "approve?")
	press, err := m.bora.Press(asked, "yes")
	if err != nil {
		t.Fatal(err)
	}
	c.wants("pressed yes approve?")
	if a, is := press.Answer(); !is || !a.Alert || a.Text != "thanks" {
		t.Errorf("the answer is %+v, want an alert", a)
	}
	c.shows(m.private, "approved")
	said := m.write(m.group, "@ruda_bot hi")
	c.wants("text @ruda_bot hi mention supergroup")
	if reply := c.shows(m.group, "bold and code"); reply.ReplyTo == nil || reply.ReplyTo.MessageID != said.MessageID || len(reply.Entities) != 2 {
		t.Errorf("%+v, want a reply in bold and code", reply)
	}
	if err := m.bora.Edit(said, "@ruda_bot edited"); err != nil {
		t.Fatal(err)
	}
	c.wants("edited @ruda_bot edited")
	if _, err := m.bora.Send(m.private, telegramtest.Draft{Text: "look", Photo: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	c.wants("photo look photos")
	if err := m.bora.React(asked, "👍"); err != nil {
		t.Fatal(err)
	}
	c.wants("reaction 👍")
	topic := m.forum.OpenTopic("questions")
	if _, err := m.bora.Send(m.forum, telegramtest.Draft{Text: "in a topic", Topic: topic}); err != nil {
		t.Fatal(err)
	}
	c.wants("text in a topic - topic")
	m.bora.Block(m.ruda, true)
	c.wants("member Bora kicked")
	m.bora.Block(m.ruda, false)
	c.wants("member Bora member")
	c.next()
	for _, line := range []string{"topic plans true", "file a.txt text/plain 7", "chat lab 1 member", "commands start",
		"markup 400 Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'",
		"long 400 Bad Request: message is too long", "nowhere 400 Bad Request: chat not found",
		"webhook 400 Bad Request: bad webhook: An HTTPS URL must be provided for webhook"} {
		c.wants(line)
	}
	c.next()
	c.wants("stopped")
	c.ends()
	if n := m.ruda.Pending(); n != 0 {
		t.Errorf("%d updates are not confirmed", n)
	}
}

// node is a running script.
type node struct {
	*team
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	errors  strings.Builder
}

func startNode(m *team, args ...string) *node {
	m.t.Helper()
	if os.Getenv("MODULES") == "" {
		m.t.Fatal("MODULES names no directory with node_modules: use make clients")
	}
	c := &node{team: m, command: exec.CommandContext(m.context(), "node", args...)}
	c.command.Stderr = &c.errors
	in, err := c.command.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewScanner(out)
	if err := c.command.Start(); err != nil {
		m.t.Fatal(err)
	}
	return c
}

func (c *node) wants(line string) {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the client ended without saying %q: %s", line, c.errors.String())
	}
	if c.out.Text() != line {
		c.t.Fatalf("the client says %q, want %q\n%s", c.out.Text(), line, c.errors.String())
	}
}

// next lets the script go on.
func (c *node) next() {
	c.t.Helper()
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *node) shows(ch *telegramtest.Chat, text string) telegramtest.Message {
	c.t.Helper()
	found, err := ch.WaitMessage(c.context(), func(o telegramtest.Message) bool { return o.Text == text })
	if err != nil {
		c.t.Fatalf("%q: %v, the chat shows %q\n%s", text, err, ch.Texts(), c.errors.String())
	}
	return found
}

func (c *node) ends() {
	c.t.Helper()
	_ = c.in.Close()
	if err := c.command.Wait(); err != nil {
		c.t.Errorf("the client: %v: %s", err, c.errors.String())
	}
}
