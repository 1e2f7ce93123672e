package slack_test

import (
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// markup is a text that Slack shows otherwise than it was written.
const markup = "**bold** and [a link](https://example.com/a)"

// An app is told of its own post before the answer to the request that posts: the fact waits, and has the nonce.
func TestOwnPostsHaveTheirNonce(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(s *slacktest.Options, _ *channel.Options) {
		s.Ack, s.Retries = 100*time.Millisecond, []time.Duration{time.Millisecond, time.Second, time.Second, time.Second}
	}).start().fast()
	release := make(chan struct{})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting}, Effect: slacktest.HoldAnswer(release)})
	done := make(chan error, 1)
	go func() {
		_, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: markup, Nonce: "n1"})
		done <- err
	}()
	d, err := m.WaitDelivery(m.ctx, m.eden.ID, func(d slacktest.Delivery) bool { return d.Attempts > 1 || d.Acked })
	if err != nil || d.Acked {
		t.Errorf("the event is %+v, %v, want it not acknowledged before the answer", d, err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	m.hasNonce("n1")
	if n := len(m.RequestsTo(slacktest.Match{Method: listing})); n != 0 {
		t.Errorf("the nonce was looked up %d times, want the facts to wait for the answer", n)
	}
}

// hasNonce waits until both apps were told of the one message, and compares its nonce.
func (m *team) hasNonce(want string) {
	m.t.Helper()
	m.until("both apps to be told", func() bool { return len(m.told("ruda")) > 0 && len(m.told("eden")) > 0 })
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.facts {
		if in.Message.Nonce != want {
			m.t.Errorf("%s was told of a post with the nonce %q, want %q", in.AccountID, in.Message.Nonce, want)
		}
	}
}

// If the answer was lost, Slack is asked how the message was posted; if it does not answer, the event is told again.
func TestNoncesOfLostAnswersAreLookedUp(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(s *slacktest.Options, _ *channel.Options) {
		s.Ack, s.Retries = 50*time.Millisecond, []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, time.Second}
	}).start().fast()
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting}, Effect: slacktest.LoseAnswer()})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: listing, Test: func(r slacktest.Request) bool { return r.Args["latest"] != "" }},
		Effect: slacktest.Unavailable(503)})
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: markup, Nonce: "n1"}); err == nil {
		t.Fatal("the answer was not lost")
	}
	m.hasNonce("n1")
}

// After a restart, history has the nonces.
func TestNoncesOutliveARestart(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	before := m.post(m.channel.ID, "before")
	m.start().fast()
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: markup, Nonce: "n1"}); err != nil {
		t.Fatal(err)
	}
	m.hasNonce("n1")
	m.halt()
	m.facts = nil
	m.options.Marks = []channel.Mark{{GuildID: "slack:t00000001", ChannelID: m.place, MessageID: m.place + ":" + before.TS}}
	m.Apps = slack.New(m.options)
	m.start()
	m.hasNonce("n1")
}

// What the log knows to be posted is not looked up.
func TestWhatTheLogKnowsIsNotLookedUp(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(_ *slacktest.Options, o *channel.Options) { o.Posted = func(string) bool { return true } }).start()
	m.write(m.ruda, m.channel.ID, "posted before")
	m.untilTold("eden", "created posted before")
	m.untilTold("ruda", "created posted before")
	if n := len(m.RequestsTo(slacktest.Match{Method: listing})); n != 0 {
		t.Errorf("%d requests were made, want none", n)
	}
}
