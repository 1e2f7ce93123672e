package slack_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

const posting = "chat.postMessage"

// fast lets the team post without pauses.
func (m *team) fast() *team {
	c := m.settings()
	c.Slack.Collaboration.RateLimit.MessagesPerSecond = 1000
	m.Configure(c)
	return m
}

func TestPostsThreadsAndEdits(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	thread, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: m.place, Name: "a plan"})
	if err != nil {
		t.Fatal(err)
	}
	first := m.last(m.channel.ID)
	want := channel.Thread{ID: m.place + ":thread:" + first.TS, Name: "a plan", ChannelID: m.place, GuildID: "slack:t00000001", OwnerID: m.ruda.UserID}
	if diff := cmp.Diff(want, thread); diff != "" || first.Text != "*a plan*" {
		t.Errorf("the thread begins with %q (-want +got):\n%s", first.Text, diff)
	}
	p, err := m.Send(m.ctx, channel.Post{AccountID: "eden", ChannelID: thread.ID, Content: "in it", Nonce: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	got := m.last(m.channel.ID)
	if got.ThreadTS != first.TS || got.User != m.eden.UserID || p.ID != m.place+":"+got.TS || p.ChannelID != thread.ID || p.At == 0 {
		t.Errorf("the message is %+v, posted as %+v", got, p)
	}
	if in := m.untilTold("ruda", "created in it"); in.Message.ThreadName != "a plan" {
		t.Errorf("the thread is called %q", in.Message.ThreadName)
	}
	if err := m.Edit(m.ctx, "eden", thread.ID, p.ID, "**changed**"); err != nil {
		t.Fatal(err)
	}
	if got := m.last(m.channel.ID); got.Text != "*changed*" || got.Edited == nil {
		t.Errorf("the message is %+v, want it changed", got)
	}
	message := m.post(m.channel.ID, "start here")
	onto, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: m.place, Name: "on it", MessageID: m.place + ":" + message.TS})
	if err != nil || onto.ID != m.place+":thread:"+message.TS {
		t.Errorf("the thread is %+v, %v", onto, err)
	}
	for id, exists := range map[string]bool{m.place: true, thread.ID: true, m.place + ":thread:1.000001": false, "slack:c0nope": false} {
		if p, ok, err := m.Place(m.ctx, "ruda", id); err != nil || ok != exists || ok && p.ID != id {
			t.Errorf("%s is %+v, %v, %v, want %v", id, p, ok, err, exists)
		}
	}
}

func TestFailuresSayWhetherItMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.AddChannel("other", m.bora.ID)
	archived := m.AddChannel("old", m.ruda.UserID)
	m.start().fast()
	m.Archive(archived.ID, true)
	for _, c := range []struct {
		effect slacktest.Effect
		class  collaborate.Class
		hint   string
	}{
		{slacktest.Cut(), collaborate.ClassLost, ""},
		{slacktest.LoseAnswer(), collaborate.ClassLost, ""},
		{slacktest.Unavailable(503), collaborate.ClassUnavailable, "slack-status"},
		{slacktest.Refuse("fatal_error"), collaborate.ClassUnavailable, ""},
		{slacktest.Refuse("not_in_channel"), collaborate.ClassForbidden, "/invite"},
		{slacktest.Refuse("channel_not_found"), collaborate.ClassNotFound, "/invite"},
		{slacktest.Refuse("token_revoked"), collaborate.ClassUnauthorized, "botToken"},
		{slacktest.Refuse("invalid_blocks"), collaborate.ClassRejected, ""},
		{slacktest.TooManyRequests(2 * time.Second), collaborate.ClassRateLimited, ""},
	} {
		m.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting, App: m.ruda.ID, Channel: m.channel.ID}, Effect: c.effect})
		_, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: "x", Nonce: "n"})
		refused, is := errors.AsType[*channel.Error](err)
		if !is || refused.Class != c.class || !strings.Contains(refused.Hint, c.hint) || strings.Contains(err.Error(), m.ruda.Token) {
			t.Errorf("the error is %v with the hint %q, want the class %s", err, refused.Hint, c.class)
		}
	}
	_, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: place(archived.ID), Content: "x"})
	if refused, is := errors.AsType[*channel.Error](err); !is || refused.Class != collaborate.ClassForbidden {
		t.Errorf("the error is %v", err)
	}
	m.ruda.SetScopes("users:read")
	_, err = m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: place(archived.ID), Content: "x"})
	if refused, is := errors.AsType[*channel.Error](err); !is || refused.Class != collaborate.ClassForbidden || !strings.Contains(refused.Hint, "chat:write") {
		t.Errorf("the error is %v, want the scope that is missing", err)
	}
	before := len(m.Requests())
	for _, p := range []channel.Post{{Content: " "}, {Content: strings.Repeat("x", 4001)}, {Content: "x", ChannelID: "123"}, {Content: "x", Components: json.RawMessage("{}")},
		{Content: "x", AccountID: "none"}} {
		if p.ChannelID == "" {
			p.ChannelID = m.place
		}
		if p.AccountID == "" {
			p.AccountID = "ruda"
		}
		_, err := m.Send(m.ctx, p)
		if refused, is := errors.AsType[*channel.Error](err); !is || !refused.Local {
			t.Errorf("%+v is answered with %v, want a local refusal", p, err)
		}
	}
	if n := len(m.RequestsTo(slacktest.Match{Method: posting})); n > before {
		t.Errorf("%d requests were made", n)
	}
}

// After 429 nothing is posted there by the app before Slack's time is over.
func TestRateLimitsAreWaitedFor(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting}, Effect: slacktest.TooManyRequests(time.Second)})
	post := func(content string) error {
		_, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: content})
		return err
	}
	refused, is := errors.AsType[*channel.Error](post("refused"))
	if !is || refused.Failure.RetryAfter != time.Second {
		t.Fatalf("the error is %v, want a second", refused)
	}
	if err := post("later"); err != nil {
		t.Fatal(err)
	}
	all := m.RequestsTo(slacktest.Match{Method: posting})
	if wait := all[1].At.Sub(all[0].At); wait < time.Second {
		t.Errorf("the next post comes after %s, want a second", wait)
	}
}

// Slack's limit of reactions holds up no post.
func TestRefusedReactionsHoldUpNoPost(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	said := m.post(m.channel.ID, "hi")
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "reactions.add"}, Effect: slacktest.TooManyRequests(time.Hour)})
	if err := m.React(m.ctx, "ruda", m.place, m.place+":"+said.TS, "eyes", true); err == nil {
		t.Error("the reaction was not refused")
	}
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: "an answer"}); err != nil {
		t.Error(err)
	}
}

func TestPostsInAPlaceKeepTheirOrder(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	gate := make(chan struct{})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting}, Effect: slacktest.Hold(gate)})
	var want []string
	done := make(chan error, 10)
	for i := range 10 {
		text := strconv.Itoa(i)
		want = append(want, text)
		go func() {
			_, err := m.Send(m.ctx, channel.Post{AccountID: []string{"ruda", "eden"}[i%2], ChannelID: m.place, Content: text})
			done <- err
		}()
		if i == 0 {
			if _, err := m.WaitRequest(m.ctx, slacktest.Match{Method: posting}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		m.waiting(i)
	}
	close(gate)
	for range 10 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	var got []string
	for _, message := range m.Messages(m.channel.ID) {
		got = append(got, message.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the posts are (-want +got):\n%s", diff)
	}
}

// A long text with buttons is split into sections outside of code blocks, and its code stays code.
func TestButtonsAreBelowTheText(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	buttons := m.Components([]channel.Button{{ID: "yes", Label: "Yes", Style: channel.ButtonGood}, {ID: "no", Label: "No", Style: channel.ButtonDanger}})
	text := strings.Repeat("word & ", 300) + "\n```\n" + strings.Repeat("code <\n", 200) + "```\nend"
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: text, Components: buttons}); err != nil {
		t.Fatal(err)
	}
	var texts []string
	var labels []string
	for _, raw := range m.last(m.channel.ID).Blocks {
		var b struct {
			Type     string
			Text     struct{ Text string }
			Elements []struct {
				ID   string `json:"action_id"`
				Text struct{ Text string }
			}
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		if b.Type == "section" {
			texts = append(texts, b.Text.Text)
		}
		for _, e := range b.Elements {
			labels = append(labels, e.ID+" "+e.Text.Text)
		}
	}
	if diff := cmp.Diff([]string{"yes Yes", "no No"}, labels); diff != "" || len(texts) < 2 {
		t.Errorf("%d sections, buttons (-want +got):\n%s", len(texts), diff)
	}
	for _, s := range texts {
		if strings.Count(s, "```")%2 != 0 || len([]rune(s)) > 3000 {
			t.Errorf("a section has %d characters and an open code block: %.80q", len([]rune(s)), s)
		}
	}
	if long := m.Components([]channel.Button{{ID: "x", Label: strings.Repeat("x", 76)}}); long != nil {
		t.Error("a button that Slack refuses was accepted")
	}
}

// What may have been posted is found again, by its nonce, whatever became of the answer.
func TestPostsAreFoundAgain(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	since := time.Now().UnixMilli()
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting}, Times: 2, Effect: slacktest.LoseAnswer()})
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: "a *text*", Nonce: "n1"}); err == nil {
		t.Fatal("the answer was not lost")
	}
	if _, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: m.place, Name: "a plan"}); err == nil {
		t.Fatal("the answer was not lost")
	}
	root := m.last(m.channel.ID)
	thread := m.place + ":thread:" + root.TS
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: thread, Content: "same", Nonce: "n2"}); err != nil {
		t.Fatal(err)
	}
	m.write(m.eden, m.channel.ID, "a _text_")
	for i := range 250 { // more than a page
		m.post(m.channel.ID, strconv.Itoa(i))
	}
	find := func(l channel.Lookup) (string, bool) {
		t.Helper()
		l.AccountID, l.Since = "ruda", since
		p, found, err := m.FindMessage(m.ctx, l)
		if err != nil {
			t.Fatal(err)
		}
		return p.ID, found
	}
	first := m.Messages(m.channel.ID)[0]
	if id, found := find(channel.Lookup{ChannelID: m.place, Nonce: "n1", Content: "a *text*"}); !found || id != m.place+":"+first.TS {
		t.Errorf("the post is %q, %v", id, found)
	}
	if _, found := find(channel.Lookup{ChannelID: m.place, Nonce: "n3", Content: "a *text*"}); found {
		t.Error("another post with the same text was found")
	}
	if _, found := find(channel.Lookup{ChannelID: thread, Nonce: "n2", Content: "same"}); !found {
		t.Error("the post in the thread was not found")
	}
	found, is, err := m.FindThread(m.ctx, channel.Lookup{AccountID: "ruda", ChannelID: m.place, Name: "a plan", Since: since})
	if err != nil || !is || found.ID != thread {
		t.Errorf("the thread is %+v, %v, %v", found, is, err)
	}
	other := func(id string) (bool, error) { return id == thread, nil }
	if _, is, err := m.FindThread(m.ctx, channel.Lookup{AccountID: "ruda", ChannelID: m.place, Name: "a plan", Since: since, Other: other}); is || err != nil {
		t.Errorf("a thread that is another's was found: %v", err)
	}
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: listing, Channel: m.channel.ID}, Effect: slacktest.Unavailable(500)})
	if _, _, err := m.FindMessage(m.ctx, channel.Lookup{AccountID: "ruda", ChannelID: m.place, Nonce: "n1", Since: since}); err == nil {
		t.Error("a search that failed says that there is nothing")
	}
}

// After a restart a delivery that was broken off may be looked for before the app has logged in. That is tried again.
func TestSearchesWaitForTheLogin(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	held := make(chan struct{})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "auth.test"}, Times: -1, Effect: slacktest.Hold(held)})
	m.run()
	t.Cleanup(func() { close(held) })
	if _, err := m.WaitRequest(m.ctx, slacktest.Match{Method: "auth.test"}); err != nil {
		t.Fatal(err)
	}
	_, found, err := m.FindMessage(m.ctx, channel.Lookup{AccountID: "ruda", ChannelID: m.place, Nonce: "n1"})
	var refused *channel.Error
	if found || !errors.As(err, &refused) || refused.Class != collaborate.ClassUnsent || errors.Is(err, channel.ErrNoBot) {
		t.Errorf("before the login: %t %v, want an error after which it is tried again", found, err)
	}
}

func TestOwnPostsMayBeLeftOut(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(s *slacktest.Options, _ *channel.Options) { s.NoOwnPosts = true }).start().fast()
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: "mine"}); err != nil {
		t.Fatal(err)
	}
	if in := m.untilTold("eden", "created mine"); in.Message.Author.Agent != "ruda" {
		t.Errorf("eden was told of the author %+v", in.Message.Author)
	}
	m.post(m.channel.ID, "after")
	m.untilTold("ruda", "created after")
	if slices.Contains(m.told("ruda"), "created mine") {
		t.Error("the server tells an app of its own posts")
	}
}

// An answer in a thread of a direct conversation is found there, also by a program that has started since.
func TestAnswersInDirectThreadsAreFoundAgain(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	direct := m.bora.Conversation(m.ruda.UserID)
	root := m.post(direct.ID, "psst")
	asked := must(t)(m.bora.Reply(direct.ID, root.TS, "more"))
	m.untilTold("ruda", "created more")
	since := time.Now().UnixMilli()
	answer := channel.Post{AccountID: "ruda", ChannelID: place(direct.ID), Content: "an answer", Nonce: "n1", ReplyTo: place(direct.ID) + ":" + asked.TS}
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting}, Effect: slacktest.LoseAnswer()})
	if _, err := m.Send(m.ctx, answer); err == nil {
		t.Fatal("the answer was not lost")
	}
	for _, what := range []string{"the same program", "another one"} {
		p, found, err := m.FindMessage(m.ctx, channel.Lookup{AccountID: "ruda", ChannelID: answer.ChannelID, Nonce: "n1", Content: answer.Content, ReplyTo: answer.ReplyTo, Since: since})
		if err != nil || !found || p.ID != place(direct.ID)+":"+m.last(direct.ID).TS {
			t.Errorf("%s finds %+v, %v, %v, want the answer in the thread", what, p, found, err)
		}
		m.halt()
		m.Apps = newApps(m)
		m.start().fast()
	}
	if _, err := m.Send(m.ctx, answer); err != nil {
		t.Fatal(err)
	}
	if got := m.last(direct.ID); got.ThreadTS != root.TS {
		t.Errorf("the answer of another program is %+v, want it in the thread of %s", got, root.TS)
	}
}
