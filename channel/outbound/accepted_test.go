package outbound_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// office is a fixture that posts in a Slack, in whose time the pauses of a search for a shared file are over at once.
type office struct {
	*fixture
	slack   *slacktest.Server
	place   slacktest.Channel
	release chan struct{} // once closed, Slack shares what it has accepted
}

func openOffice(t *testing.T) *office {
	t.Helper()
	o := &office{fixture: open(t), release: make(chan struct{})}
	var err error
	if o.slack, err = slacktest.New(slacktest.Options{Now: o.clock, Limits: slacktest.NoLimits()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.slack.Close(); err != nil {
			t.Error(err)
		}
	})
	transport, err := slack.Redirect(o.slack.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	app := o.slack.AddApp("ruda", slacktest.AppOptions{})
	o.place = o.slack.AddChannel("general", app.UserID)
	apps := slack.New(channel.Options{OnMessage: func(channel.Inbound) {}, Log: discard(), Transport: transport, Now: o.clock,
		Least: 20 * time.Millisecond, Most: 50 * time.Millisecond, AfterFunc: o.soon})
	conf := config.Default()
	conf.Agents, conf.Bindings = []config.Agent{{ID: "ruda"}}, []config.Binding{{AgentID: "ruda", Channel: coordination.Slack, AccountID: "ruda"}}
	conf.Slack.Accounts = []config.Account{{ID: "ruda", Enabled: true, Token: config.Secret(app.Token), AppToken: config.Secret(app.AppToken)}}
	conf.Slack.Enabled, conf.Slack.Collaboration.RateLimit.MessagesPerSecond = true, 1000
	apps.Configure(conf)
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- apps.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	o.until("the app to be connected", func() bool {
		bot, _ := apps.Registry().Account("ruda")
		return bot.Connected
	})
	o.by, o.file = apps, func(string) ([]byte, error) { return []byte("report"), nil }
	o.slack.Inject(slacktest.Fault{Match: slacktest.Match{Method: "files.completeUploadExternal"}, Effect: slacktest.ShareLater(o.release)})
	return o
}

// soon lets the pauses of a search be over at once.
func (o *office) soon(d time.Duration, f func()) channel.Timer {
	if d >= 500*time.Millisecond && d <= 4*time.Second {
		o.mu.Lock()
		o.now = o.now.Add(d)
		o.mu.Unlock()
		d = 0
	}
	return time.AfterFunc(d, f)
}

// posts has a file posted.
func (o *office) posts() {
	o.t.Helper()
	o.ask("send/1", &delivery.Delivery{Channel: coordination.Slack, Purpose: delivery.Send, AgentID: "ruda", AccountID: "ruda", ChannelID: "slack:" + strings.ToLower(o.place.ID),
		Files: []delivery.File{{Name: "a.txt", Type: "text/plain", Size: 6, SHA256: strings.Repeat("0a", 32)}}})
	o.work()
}

// dies waits until the program has ended.
func (o *office) dies(dead <-chan struct{}) {
	o.t.Helper()
	select {
	case <-dead:
	case <-o.ctx.Done():
		o.t.Fatalf("the log takes everything: %q", o.history("send/1"))
	}
}

// shares has Slack share what it has accepted, and waits for the message.
func (o *office) shares() {
	o.t.Helper()
	close(o.release)
	if err := o.slack.Until(o.ctx, func() bool { return len(o.slack.Messages(o.place.ID)) > 0 }); err != nil {
		o.t.Fatal(err)
	}
}

// judge wants a delivery to have a history, and the file to stand there once.
func (o *office) judge(history ...string) {
	o.t.Helper()
	equal(o.t, "history", history, slices.DeleteFunc(o.over("send/1"), func(line string) bool { return strings.HasPrefix(line, "lease") }))
	n := 0
	for _, m := range o.slack.Messages(o.place.ID) {
		n += len(m.Files)
	}
	if n != 1 {
		o.t.Errorf("the file stands there %d times, want once", n)
	}
}

// The service has accepted a file whose message does not appear: it is looked for, and never posted again, wherever the program ends.
func TestWhatWasAcceptedIsPostedOnce(t *testing.T) {
	t.Parallel()
	const accepted = "send_failed post 0 accepted"
	for _, tt := range []struct {
		name, refused string // the type of the first event that the log does not take
		history       []string
	}{
		{"killed before the log has it", coordination.TypeDiscordSendFailed, []string{"scheduled", "sent post 0 found", "completed"}},
		{"killed before its end", coordination.TypeDiscordDeliveryUnknown, []string{"scheduled", accepted, "sent post 0 found", "completed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := openOffice(t)
			dead := o.log.dieAt(tt.refused)
			o.posts()
			o.dies(dead)
			o.shares()
			o.restart()
			o.judge(tt.history...)
		})
	}
	t.Run("shared after its end", func(t *testing.T) {
		t.Parallel()
		o := openOffice(t)
		o.posts()
		o.over("send/1")
		o.shares()
		o.restart()
		o.later(24 * time.Hour)
		o.judge("scheduled", accepted, "delivery_unknown post 0 delivery_unknown", "dead")
	})
}
