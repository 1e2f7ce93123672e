package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func (o *fixture) sends() *outbound.Sends {
	return &outbound.Sends{Log: o.log, Accounts: o.bots.Registry, Config: func() *config.Config { return o.conf }, Now: o.clock, NewID: func() string { return "id" }}
}

// sent is how a post stands.
func (o *fixture) sent(key string) delivery.Sent {
	o.t.Helper()
	s, found, err := o.sends().Sent(o.ctx, key)
	if err != nil || !found {
		o.t.Fatalf("%s: found %v, %v, want it", key, found, err)
	}
	return s
}

// Concurrent requests with one key are posted once, and all get the same answer.
func TestAKeyIsPostedOnce(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.work()
	s := o.sends()
	const many = 8
	var all sync.WaitGroup
	got := make([]delivery.Sent, many)
	for i := range many {
		all.Go(func() {
			err := s.Send(o.ctx, delivery.Post{Key: "k", AccountID: "RUDA", To: "channel:" + o.general.ID, Text: fmt.Sprintf("from %d", i)})
			if err == nil {
				got[i], err = s.Await(o.ctx, "k")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	messages := o.Messages(o.general.ID)
	if len(messages) != 1 {
		t.Fatalf("posted are %q, want one message", o.texts(o.general.ID))
	}
	want := delivery.Sent{Channel: "discord", Over: true, State: delivery.Done, AccountID: "ruda", ChannelID: o.general.ID, MessageIDs: []string{messages[0].ID}}
	for i := range got {
		equal(t, "what is told", want, got[i])
	}
	equal(t, "after a restart", want, func() delivery.Sent { o.restart(); return o.sent("k") }())
	if _, found, err := o.sends().Sent(o.ctx, "other"); found || err != nil {
		t.Errorf("an unused key: found %v, %v", found, err)
	}
}

// A failure is reported with its code until it is resent; so is a cancellation.
func TestAPostThatHasFailedStandsAsItIs(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.work()
	s := o.sends()
	send := func(key string) {
		t.Helper()
		if err := s.Send(o.ctx, delivery.Post{Key: key, AgentID: "ruda", To: o.general.ID, Text: "hi"}); err != nil {
			t.Fatal(err)
		}
	}
	o.fault(posting, 1, discordtest.Forbidden())
	send("k")
	got, err := s.Await(o.ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if got.Text == "" || got.Hint == "" {
		t.Errorf("%+v, want a text and its hint", got)
	}
	got.Text, got.Hint = "", ""
	equal(t, "what has failed", delivery.Sent{Channel: "discord", Over: true, State: delivery.Failed, AccountID: "ruda", ChannelID: o.general.ID, Code: collaborate.CodeDenied}, got)
	o.resend("send/k")
	o.over("send/k")
	again, err := s.Await(o.ctx, "k")
	if err != nil || !again.Over || again.State != delivery.Done || len(again.MessageIDs) != 1 || again.Code != "" || again.Text != "" {
		t.Errorf("sent again it is %+v %v, want done", again, err)
	}

	o.stop()
	send("back")
	waiting, leave := context.WithTimeout(o.ctx, 5*time.Millisecond)
	defer leave()
	if now, err := s.Await(waiting, "back"); !errors.Is(err, context.DeadlineExceeded) || now.Over || now.ChannelID != o.general.ID {
		t.Errorf("what waits is %+v %v, want the end of the wait, and its place", now, err)
	}
	if err := o.hand.Cancel(o.ctx, "send/back", "bora"); err != nil {
		t.Fatal(err)
	}
	if now := o.sent("back"); !now.Over || now.State != delivery.Failed || now.Code != "cancelled" {
		t.Errorf("taken back it is %+v, want cancelled", now)
	}
}

// The account is the named one, else the agent's, else the default. An invalid request is refused with its field.
func TestWhoSpeaksForAClient(t *testing.T) {
	t.Parallel()
	o := open(t)
	s := o.sends()
	place := "channel:" + o.general.ID
	for key, c := range map[string]struct {
		post    delivery.Post
		account string
	}{
		"named":   {delivery.Post{AgentID: "ruda", AccountID: "eden"}, "eden"},
		"agent's": {delivery.Post{AgentID: "Eden"}, "eden"},
		"default": {delivery.Post{}, "eden"},
	} {
		c.post.Key, c.post.To, c.post.Text = key, place, "hi"
		if err := s.Send(o.ctx, c.post); err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if got := o.sent(key); got.AccountID != c.account || got.Over {
			t.Errorf("%s: %+v, want it to wait for %s", key, got, c.account)
		}
	}
	for _, c := range []struct {
		post  delivery.Post
		field string
	}{
		{delivery.Post{To: place, AccountID: "ghost", Text: "hi"}, "accountId"},
		{delivery.Post{To: place, AgentID: "seum", Text: "hi"}, "agentId"},
		{delivery.Post{To: "general", Text: "hi"}, "channelId"},
		{delivery.Post{To: place, ThreadID: "x", Text: "hi"}, "threadId"},
		{delivery.Post{To: place, ReplyTo: "x", Text: "hi"}, "replyTo"},
		{delivery.Post{To: place, Text: " "}, "message"},
	} {
		c.post.Key = "refused"
		var refused *delivery.Refusal
		if err := s.Send(o.ctx, c.post); !errors.As(err, &refused) || refused.Field != c.field || refused.HintText == "" {
			t.Errorf("%+v: %v, want a refusal of %s", c.post, err, c.field)
		}
		if err := s.Check(c.post); (c.field == "message") != (err == nil) {
			t.Errorf("%+v: Check says %v", c.post, err)
		}
	}
	if diff := cmp.Diff(0, len(o.stream("send/refused"))); diff != "" {
		t.Errorf("what is refused is scheduled (-want +got):\n%s", diff)
	}
}
