package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// slack is a Slack for the play.
type slack struct {
	*slacktest.Server
	channel slacktest.Channel
	person  *slacktest.Person
	apps    []*slacktest.App  // in cast order
	names   *strings.Replacer // mentions to display names
	calls   *strings.Replacer // display names to mentions
}

func newSlack(now func() time.Time) (service, error) {
	s, err := slacktest.New(slacktest.Options{Now: now})
	if err != nil {
		return nil, err
	}
	d := &slack{Server: s, person: s.AddPerson(human)}
	members := []string{d.person.ID}
	names, calls := []string{d.person.Mention(), "@" + human}, []string(nil)
	for _, a := range cast {
		app := s.AddApp(a.name, slacktest.AppOptions{})
		d.apps, members = append(d.apps, app), append(members, app.UserID)
		names, calls = append(names, app.Mention(), "@"+a.name), append(calls, "@"+a.name, app.Mention())
	}
	d.names, d.calls = strings.NewReplacer(names...), strings.NewReplacer(calls...)
	d.channel = s.AddChannel(strings.TrimPrefix(inChannel, "#"), members...)
	return d, nil
}

func (d *slack) settings() string {
	var accounts []string
	for i, a := range cast {
		accounts = append(accounts, fmt.Sprintf(`%s: { botToken: %q, appToken: %q }`, a.id, d.apps[i].Token, d.apps[i].AppToken))
	}
	return fmt.Sprintf(`enabled: true, accounts: { %s }, groupPolicy: "open", collaboration: { defaultChannel: %q, escalation: { mentionUserId: %q } }`,
		strings.Join(accounts, ", "), d.channel.ID, d.person.ID)
}

func (d *slack) serve(o *server.Options) { o.SlackAPI = d.URL() }

func (d *slack) connected(ctx context.Context) error { return d.WaitConnected(ctx, d.apps...) }

func (d *slack) say(in, text string) (err error) {
	text = d.calls.Replace(text)
	if n := threadIndex(in); n >= 0 {
		_, err = d.person.Reply(d.channel.ID, d.roots()[n].TS, text)
	} else {
		_, err = d.person.Post(d.channel.ID, text)
	}
	return err
}

func (d *slack) show(text string, f file) error {
	_, err := d.person.Upload(d.channel.ID, f.name, d.calls.Replace(text), f.content)
	return err
}

// roots are the messages that have opened threads: each is the thread's name, in bold.
func (d *slack) roots() (all []slacktest.Message) {
	for _, m := range d.Messages(d.channel.ID) {
		if m.ThreadTS == "" || m.ThreadTS == m.TS {
			if isName(m.Text) {
				all = append(all, m)
			}
		}
	}
	return all
}

// isName reports whether a message is the name of a thread.
func isName(text string) bool {
	return strings.HasPrefix(text, "*[협업]") && strings.HasSuffix(text, "*")
}

func (d *slack) written(in string) (all []message) {
	root, n, roots := "", threadIndex(in), d.roots()
	if n >= len(roots) {
		return nil
	}
	if n >= 0 {
		root = roots[n].TS
	}
	for _, m := range d.Messages(d.channel.ID) {
		thread := m.ThreadTS
		if thread == m.TS {
			thread = ""
		}
		if thread == root && !isName(m.Text) {
			all = append(all, message{d.id(m.TS), d.author(m.User), d.names.Replace(m.Text)})
		}
	}
	return all
}

// id is the id of a message in the log.
func (d *slack) id(ts string) string {
	return coordination.ChatID{Channel: coordination.Slack, Chat: strings.ToLower(d.channel.ID), Message: ts}.String()
}

// author is the display name of an app's agent, or of a person.
func (d *slack) author(user string) string {
	for i, a := range d.apps {
		if a.UserID == user {
			return cast[i].name
		}
	}
	return human
}

func (d *slack) threads() (names []string) {
	for _, m := range d.roots() {
		names = append(names, strings.Trim(m.Text, "*"))
	}
	return names
}

// link is "": a workspace for tests has no address.
func (d *slack) link(string) string { return "" }

func (d *slack) until(ctx context.Context, so func() bool) error { return d.Until(ctx, so) }

func (d *slack) close() error { return d.Close() }
