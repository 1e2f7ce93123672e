package slack_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// A message and a command in a group of people belong to one session, also if Slack does not say what the conversation is.
func TestGroupsOfPeople(t *testing.T) {
	t.Parallel()
	for _, scopes := range [][]string{slacktest.AllScopes(), {"chat:write", "users:read", "mpim:history", "commands"}} {
		m := newTeam(t)
		m.ruda.SetScopes(scopes...)
		m.accounts = m.accounts[:1]
		m.start().fast()
		group := m.bora.Conversation(m.ruda.UserID, m.eden.UserID)
		if _, err := m.bora.Slash(group.ID, "/openclaw", "status"); err != nil {
			t.Fatal(err)
		}
		i := m.use(0)
		root := m.post(group.ID, "us")
		in := m.untilTold("ruda", "created us")
		must(t)(m.bora.Reply(group.ID, root.TS, "in a thread"))
		reply := m.untilTold("ruda", "created in a thread")
		want := "agent:ruda:slack:group:" + strings.ToLower(group.ID)
		for what, at := range map[string]channel.Where{"command": i.Where(), "message": in.Where()} {
			if got := channel.SessionOf(m.settings(), "ruda", at).String(); got != want {
				t.Errorf("with %v, the %s belongs to %s, want %s", scopes, what, got, want)
			}
		}
		if got := channel.SessionOf(m.settings(), "ruda", reply.Where()).String(); got != want+":thread:"+root.TS {
			t.Errorf("the reply belongs to %s", got)
		}
		if !in.Route().Group || !i.Route().Group {
			t.Error("the group is lost on the way to the decision")
		}
		if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Text: "fine"}); err != nil {
			t.Error(err)
		}
	}
}

// clocked gives a team a clock, which the function moves.
func clocked(ahead *atomic.Int64) func(*slacktest.Options, *channel.Options) {
	return func(s *slacktest.Options, o *channel.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		s.Now = o.Now
	}
}

// A failure is no answer: the conversation is requested again, and the message is not lost.
func TestFailedRequestsForConversationsAreNotKept(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	m := newTeam(t, clocked(&ahead))
	m.accounts = m.accounts[:1]
	m.start()
	m.untilSeen("the conversations to be listed", func() bool { _, known := m.Known(m.place); return known })
	other := m.AddChannel("other", m.bora.ID, m.ruda.UserID)
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "conversations.info"}, Effect: slacktest.Unavailable(503)})
	m.post(other.ID, "one")
	m.untilTold("ruda", "created one")
	if _, known := m.Known(place(other.ID)); known {
		t.Error("the failure was kept as an answer")
	}
	ahead.Store(int64(2 * time.Minute))
	root := m.post(other.ID, "two")
	m.untilTold("ruda", "created two")
	if name := m.ChannelName(place(other.ID)); name != "other" {
		t.Errorf("the channel is called %q", name)
	}
	must(t)(m.bora.Reply(other.ID, root.TS, "three"))
	thread := m.untilTold("ruda", "created three").Message
	if p, known := m.Known(thread.ChannelID); !known || p.GuildID != "slack:t00000001" || p.ParentID != place(other.ID) {
		t.Errorf("the thread is %+v", p)
	}
}

// Unknown users are requested, but not many of one message, and not again and again.
func TestRequestsForUsersAreBounded(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	text := ""
	for i := range 40 {
		text += fmt.Sprintf("<@U0NONE%02d> ", i)
	}
	requests := func() int { return len(m.RequestsTo(slacktest.Match{Method: "users.info", App: m.ruda.ID})) }
	m.post(m.channel.ID, text+"one")
	if in := m.untilTold("ruda", "created "+text+"one"); len(in.Message.Mentions) != 40 {
		t.Errorf("%d are mentioned, want 40", len(in.Message.Mentions))
	}
	if n := requests(); n == 0 || n > 10 {
		t.Errorf("%d requests were made, want at most 10", n)
	}
	for i := range 6 {
		m.post(m.channel.ID, text+fmt.Sprint(i))
		m.untilTold("ruda", "created "+text+fmt.Sprint(i))
	}
	if n := requests(); n > 41 {
		t.Errorf("%d requests were made for 41 users", n)
	}
}

// A reaction says whose it is, whatever the message before it mentions.
func TestReactionsOfBotsAreThoseOfBots(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	foreign := m.AddApp("foreign", slacktest.AppOptions{})
	m.channel = m.AddChannel("shared", m.bora.ID, m.ruda.UserID, foreign.UserID)
	m.start()
	posted, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: place(m.channel.ID), Content: "done"})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for i := range 12 {
		text += fmt.Sprintf("<@U0NONE%02d> ", i)
	}
	m.post(m.channel.ID, text+"one")
	m.untilTold("ruda", "created "+text+"one")
	_, ts, _ := strings.Cut(posted.ID[len("slack:"):], ":")
	m.request(foreign, "reactions.add", map[string]string{"channel": m.channel.ID, "timestamp": ts, "name": "eyes"})
	if in := m.untilTold("ruda", string(channel.Reacted)+" "); !in.Message.Author.Bot {
		t.Errorf("the author is %+v, want a bot", in.Message.Author)
	}
}

func TestTokensOfAnotherKindAreExplained(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(_ *slacktest.Options, o *channel.Options) { o.Most = time.Hour })
	own, app := m.accounts[0], m.accounts[1]
	own.Token, own.AppToken = own.AppToken, own.Token
	app.AppToken = app.Token
	m.accounts = []config.Account{own, app}
	m.run()
	for _, id := range []string{"ruda", "eden"} {
		s := m.untilState(id, health.BotFailed)
		if s.Class != slack.ClassToken || !strings.Contains(s.Text, "botToken begins with xoxb-, appToken with xapp-") {
			t.Errorf("%s is %+v, want to be told which token belongs where", id, s)
		}
	}
}

// What Slack says of a request is shown, but never a token in it.
func TestTokensInRefusalsAreNotShown(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting}, Effect: slacktest.Refuse("bad_token_" + m.ruda.Token)})
	_, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: "x"})
	if err == nil || strings.Contains(err.Error(), m.ruda.Token) {
		t.Errorf("the error is %v", err)
	}
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "apps.connections.open", App: m.ruda.ID}, Effect: slacktest.Refuse("bad_token_" + m.ruda.AppToken)})
	m.ruda.Drop()
	m.until("ruda to connect again", func() bool { return m.status("ruda").Connections == 2 })
	m.halt()
	if text := m.log.String(); strings.Contains(text, m.ruda.Token) || strings.Contains(text, m.ruda.AppToken) {
		t.Errorf("a token is in the log:\n%s", text)
	}
}

// Slack makes no mentions and links of its own in what is posted.
func TestPostsAreTakenVerbatim(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	buttons := m.Components([]channel.Button{{ID: "yes", Label: "Yes"}})
	posted, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: "ask @bora", Components: buttons})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Edit(m.ctx, "ruda", m.place, posted.ID, "ask @bora or #general"); err != nil {
		t.Fatal(err)
	}
	for _, r := range m.RequestsTo(slacktest.Match{Test: func(r slacktest.Request) bool { return r.Method == posting || r.Method == "chat.update" }}) {
		if r.Args["parse"] != "none" || r.Args["link_names"] != "false" {
			t.Errorf("%s was requested with %v", r.Method, r.Args)
		}
		var blocks []struct {
			Type string
			Text struct{ Verbatim bool }
		}
		if r.Args["blocks"] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(r.Args["blocks"]), &blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if b.Type == "section" && !b.Text.Verbatim {
				t.Errorf("a section is not verbatim: %s", r.Args["blocks"])
			}
		}
	}
}

// A message without text and files says what it has.
func TestMessagesWithoutTextSayWhatTheyHave(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.request(m.eden, posting, map[string]string{"channel": m.channel.ID, "attachments": `[{"fallback": "a poll: yes or no"}, {"text": "a <https://a.test|link>"}]`})
	m.untilTold("ruda", "created a poll: yes or no\na [link](https://a.test)")
	m.request(m.eden, posting, map[string]string{"channel": m.channel.ID, "blocks": `[{"type": "divider"}]`})
	m.untilTold("ruda", "created [a message that openclawd cannot show]")
}

func TestOtherFormsOfIdsAreRefused(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	for _, id := range []string{"slack:" + m.channel.ID, m.place + ":thread:01700000000.000100", m.place + ":thread:1700000000.1", m.place + "-"} {
		if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: id, Content: "x"}); err == nil || !strings.Contains(err.Error(), "no conversation in Slack") {
			t.Errorf("a post to %s: %v, want it refused", id, err)
		}
	}
}
