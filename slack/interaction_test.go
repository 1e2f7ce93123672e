package slack_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// ask posts a message with a button, and lets bora press it.
func (m *team) ask(placeID string) (posted channel.Posted, use *slacktest.Use, i channel.Interaction) {
	m.t.Helper()
	buttons := m.Components([]channel.Button{{ID: "approve:7", Label: "Approve", Style: channel.ButtonGood}})
	posted, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: placeID, Content: "May I?", Components: buttons})
	if err != nil {
		m.t.Fatal(err)
	}
	before := len(m.seen())
	_, ts, _ := strings.Cut(strings.TrimPrefix(posted.ID, "slack:"), ":")
	use, err = m.bora.Press(m.channel.ID, ts, "approve:7")
	if err != nil {
		m.t.Fatal(err)
	}
	return posted, use, m.use(before)
}

func (m *team) seen() []channel.Interaction {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.uses)
}

func TestPressesAreAnswered(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	posted, use, i := m.ask(m.place)
	want := channel.Interaction{ID: i.ID, ApplicationID: m.ruda.ID, Token: i.Token, Kind: channel.KindButton, AccountID: "ruda", AgentID: "ruda",
		GuildID: "slack:t00000001", ChannelID: m.place, MessageID: posted.ID, Text: "May I?", User: channel.User{ID: m.bora.ID, Name: "bora"}, Name: "approve:7", At: i.At}
	if diff := cmp.Diff(want, i); diff != "" || i.ID == "" || i.At == 0 {
		t.Errorf("the interaction (-want +got):\n%s", diff)
	}
	if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Later: true, Update: true}); err != nil {
		t.Fatal(err)
	}
	if err := m.Amend(m.ctx, i, channel.InteractionAnswer{Text: "**approved**", Update: true}); err != nil {
		t.Fatal(err)
	}
	if got := m.last(m.channel.ID); got.Text != "*approved*" || got.Blocks != nil {
		t.Errorf("the message is %+v, want it replaced, without its buttons", got)
	}
	if err := m.Add(m.ctx, i, channel.InteractionAnswer{Text: "only for you", Private: true}); err != nil {
		t.Fatal(err)
	}
	m.until("bora to see it", func() bool { s := use.State(); return s.Acked && slices.Equal(s.Shown, []string{"only for you"}) })
	for _, bad := range []string{"", "https://evil.example/respond", "http://slack.com/x", "https://slack.com.evil.example/x"} {
		i.Token = config.Secret(bad)
		if refused, is := errors.AsType[*channel.Error](m.Answer(m.ctx, i, channel.InteractionAnswer{Text: "x"})); !is || !refused.Local {
			t.Errorf("an answer to %q is accepted: %v", bad, refused)
		}
	}
}

// In a thread, answers stay there.
func TestPressesInThreads(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	thread, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: m.place, Name: "plan"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, i := m.ask(thread.ID)
	if i.ChannelID != thread.ID || i.ParentID != m.place {
		t.Errorf("the interaction is in %s below %s, want the thread", i.ChannelID, i.ParentID)
	}
	if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Text: "here"}); err != nil {
		t.Fatal(err)
	}
	if got := m.last(m.channel.ID); got.Text != "here" || got.ThreadTS == "" {
		t.Errorf("the answer is %+v, want it in the thread", got)
	}
}

func TestRepeatedInteractionsAreHandledOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	_, _, first := m.ask(m.place)
	_, _, second := m.ask(m.place)
	if all := m.seen(); len(all) != 2 || first.ID == second.ID {
		t.Errorf("the interactions are %+v, want two", all)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	direct := m.bora.Conversation(m.ruda.UserID)
	use, err := m.bora.Slash(direct.ID, "/openclaw", "status  now")
	if err != nil {
		t.Fatal(err)
	}
	i := m.use(0)
	if i.Kind != channel.KindCommand || i.Name != "status" || i.Values["text"] != "now" || i.GuildID != "" || i.ChannelID != place(direct.ID) || i.User.ID != m.bora.ID {
		t.Errorf("the command is %+v", i)
	}
	if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Text: "fine", Private: true}); err != nil {
		t.Fatal(err)
	}
	m.until("bora to see it", func() bool { s := use.State(); return s.Acked && slices.Equal(s.Shown, []string{"fine"}) })
}

// A form is asked for in a message, and the person's reply to it is its answer, not a message for agents.
func TestFormsAreAskedInAThread(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	posted, _, i := m.ask(m.place)
	form := channel.Form{ID: "reason:7", Title: "Reject", Field: "why", Label: "Why?", Max: 500}
	if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Form: &form}); err != nil {
		t.Fatal(err)
	}
	question := m.last(m.channel.ID)
	if !strings.Contains(question.Text, m.bora.Mention()) || question.ThreadTS == "" {
		t.Errorf("the question is %+v, want it in the thread of the button, for bora", question)
	}
	m.post(m.channel.ID, "something else")
	m.untilTold("ruda", "created something else")
	must(t)(m.bora.Reply(m.channel.ID, question.ThreadTS, "too early"))
	answer := m.use(1)
	if answer.Kind != channel.KindForm || answer.Name != "reason:7" || answer.Values["why"] != "too early" || answer.MessageID != posted.ID {
		t.Errorf("the form's answer is %+v", answer)
	}
	if err := m.Answer(m.ctx, answer, channel.InteractionAnswer{Text: "rejected", Update: true}); err != nil {
		t.Fatal(err)
	}
	if got := m.Messages(m.channel.ID)[0]; got.Text != "rejected" {
		t.Errorf("the button's message is %+v, want it replaced", got)
	}
	must(t)(m.bora.Reply(m.channel.ID, question.ThreadTS, "and more"))
	for _, id := range []string{"ruda", "eden"} { // eden is told of the answer, too
		if !m.untilTold(id, "created too early").Message.Interaction {
			t.Errorf("%s was told of the answer as a message", id)
		}
		if m.untilTold(id, "created and more").Message.Interaction {
			t.Errorf("%s was told of a message as an answer", id)
		}
	}
	if n := len(m.seen()); n != 2 {
		t.Errorf("there are %d interactions, want the press and the answer", n)
	}
}

// A question in a thread outlives a restart of the program.
func TestFormsOutliveARestart(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	posted, _, i := m.ask(m.place)
	form := channel.Form{ID: "reject:7", Title: "Reject", Field: "why", Label: "Why?", Max: 500}
	if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Form: &form}); err != nil {
		t.Fatal(err)
	}
	question := m.last(m.channel.ID)
	m.halt()
	m.Apps = newApps(m)
	m.start()
	must(t)(m.bora.Reply(m.channel.ID, question.ThreadTS, "too early"))
	answer := m.use(1)
	if answer.Kind != channel.KindForm || answer.Name != "reject:7" || answer.Values["why"] != "too early" || answer.MessageID != posted.ID ||
		answer.AccountID != "ruda" || answer.GuildID == "" || answer.Text != "May I?" {
		t.Errorf("the form's answer is %+v", answer)
	}
	if err := m.Answer(m.ctx, answer, channel.InteractionAnswer{Text: "rejected", Update: true}); err != nil {
		t.Fatal(err)
	}
	if got := m.Messages(m.channel.ID)[0]; got.Text != "rejected" {
		t.Errorf("the button's message is %+v, want it replaced", got)
	}
	must(t)(m.bora.Reply(m.channel.ID, question.ThreadTS, "and more"))
	for _, id := range []string{"ruda", "eden"} {
		if !m.untilTold(id, "created too early").Message.Interaction || m.untilTold(id, "created and more").Message.Interaction {
			t.Errorf("%s was told of the answer as a message, or of a message as an answer", id)
		}
	}
}

func TestTooManyInteractionsAreExcused(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	m := newTeam(t)
	m.options.OnInteraction = func(i channel.Interaction) { m.used(i); <-held }
	m.Apps = newApps(m)
	m.start()
	defer close(held)
	direct := m.bora.Conversation(m.ruda.UserID)
	for n := range channel.MaxInteractions {
		if _, err := m.bora.Slash(direct.ID, "/openclaw", "status"); err != nil {
			t.Fatal(err)
		}
		m.use(n)
	}
	use, err := m.bora.Slash(direct.ID, "/openclaw", "status")
	if err != nil {
		t.Fatal(err)
	}
	m.until("an excuse", func() bool { return slices.Equal(use.State().Shown, []string{channel.BusyText}) })
}

func TestReceiversTakeWhatIsSigned(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(s *slacktest.Options, _ *channel.Options) {
		s.Retries = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	})
	own := m.accounts[0]
	own.AppToken, own.Webhook = "", config.Webhook{Secret: config.Secret(m.ruda.SigningSecret), Path: "/slack/events"}
	m.accounts = []config.Account{own, m.accounts[1]}
	m.start().fast()
	address := m.listen()
	if err := m.ruda.SetRequestURL(m.ctx, address+"/slack/events"); err != nil {
		t.Fatal(err)
	}
	m.post(m.channel.ID, "by HTTP")
	m.untilTold("ruda", "created by HTTP")
	m.untilTold("eden", "created by HTTP")
	_, use, i := m.ask(m.place)
	if err := m.Answer(m.ctx, i, channel.InteractionAnswer{Text: "done", Update: true}); err != nil {
		t.Fatal(err)
	}
	m.until("the press to be acknowledged", func() bool { return use.State().Acked })
	if _, err := m.bora.Slash(m.channel.ID, "/openclaw", "new"); err != nil {
		t.Fatal(err)
	}
	if i := m.use(1); i.Name != "new" {
		t.Errorf("the command is %+v", i)
	}

	body := `{"type":"event_callback","event":{"type":"message","channel":"` + m.channel.ID + `","channel_type":"channel","user":"` + m.bora.ID + `","text":"forged","ts":"1700000000.000100"}}`
	now, old := time.Now(), time.Now().Add(-6*time.Minute)
	for _, c := range []struct {
		secret, path string
		at           time.Time
		want         int
	}{{"wrong", "/slack/events", now, 401}, {m.ruda.SigningSecret, "/slack/events", old, 401}, {m.ruda.SigningSecret, "/slack/events", now.Add(6 * time.Minute), 401},
		{m.ruda.SigningSecret, "/slack/other", now, 404}, {m.eden.SigningSecret, "/slack/events", now, 401}, {"", "/slack/events", now, 401}} {
		if got := m.send(address+c.path, c.secret, c.at, body); got != c.want {
			t.Errorf("a request signed with %q at %s has the answer %d, want %d", c.secret, c.at, got, c.want)
		}
	}
	if slices.Contains(m.told(""), "created forged") {
		t.Error("a forged event was taken")
	}
	if got := m.send(address+"/slack/events", m.ruda.SigningSecret, now, strings.Replace(body, "forged", "right", 1)); got != 200 {
		t.Errorf("a signed event has the answer %d", got)
	}
	m.untilTold("ruda", "created right")
}

// Until an event is stored it is not confirmed: Slack sends it again.
func TestReceiversConfirmOnceStored(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(s *slacktest.Options, _ *channel.Options) {
		s.Retries = []time.Duration{time.Millisecond, time.Hour}
	})
	stored := make(chan struct{})
	m.options.OnMessage = func(in channel.Inbound) { <-stored; m.heard(in) }
	m.Apps = newApps(m)
	own := m.accounts[0]
	own.AppToken, own.Webhook = "", config.Webhook{Secret: config.Secret(m.ruda.SigningSecret), Path: "/slack/events"}
	m.accounts = []config.Account{own}
	m.start()
	if err := m.ruda.SetRequestURL(m.ctx, m.listen()+"/slack/events"); err != nil {
		t.Fatal(err)
	}
	m.post(m.channel.ID, "hi")
	d, err := m.WaitDelivery(m.ctx, m.ruda.ID, func(d slacktest.Delivery) bool { return d.Attempts > 1 })
	if err != nil || d.Acked {
		t.Errorf("the delivery is %+v, %v, want it made again", d, err)
	}
	close(stored)
	if _, err := m.WaitDelivery(m.ctx, m.ruda.ID, func(d slacktest.Delivery) bool { return d.Acked }); err != nil {
		t.Error(err)
	}
	if all := m.told("ruda"); !slices.Equal(all, []string{"created hi"}) {
		t.Errorf("ruda was told %q", all)
	}
}
