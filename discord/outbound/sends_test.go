package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/discord/outbound"
)

func (o *office) sends() *outbound.Sends {
	return &outbound.Sends{Log: o.log, Accounts: o.bots.Registry, Config: func() *config.Config { return o.conf }, Now: o.clock, NewID: func() string { return "id" }}
}

// sent is how a post stands.
func (o *office) sent(key string) outbound.Sent {
	o.t.Helper()
	s, found, err := o.sends().Sent(o.ctx, key)
	if err != nil || !found {
		o.t.Fatalf("%s: found %v, %v, want it", key, found, err)
	}
	return s
}

// However many ask with one key at the same time: it is posted once, and all are told the same.
func TestAKeyIsPostedOnce(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.work()
	s := o.sends()
	const many = 8
	var all sync.WaitGroup
	got := make([]outbound.Sent, many)
	for i := range many {
		all.Go(func() {
			err := s.Send(o.ctx, outbound.Sending{Key: "k", AccountID: "RUDA", To: "channel:" + o.general.ID, Text: fmt.Sprintf("from %d", i)})
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
	want := outbound.Sent{Over: true, State: delivery.Done, AccountID: "ruda", ChannelID: o.general.ID, MessageIDs: []string{messages[0].ID}}
	for i := range got {
		equal(t, "what is told", want, got[i])
	}
	equal(t, "after a restart", want, func() outbound.Sent { o.restart(); return o.sent("k") }())
	if _, found, err := o.sends().Sent(o.ctx, "other"); found || err != nil {
		t.Errorf("a key that nobody has asked with: found %v, %v", found, err)
	}
}

// What has failed is told with its code, until somebody has it sent again; what was taken back is told too.
func TestAPostThatHasFailedStandsAsItIs(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.work()
	s := o.sends()
	send := func(key string) {
		t.Helper()
		if err := s.Send(o.ctx, outbound.Sending{Key: key, AgentID: "ruda", To: o.general.ID, Text: "hi"}); err != nil {
			t.Fatal(err)
		}
	}
	o.fault(posting, 1, discordtest.Forbidden())
	send("k")
	got, err := s.Await(o.ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if got.Text == "" || got.Mend == "" {
		t.Errorf("%+v, want a text and its mend", got)
	}
	got.Text, got.Mend = "", ""
	equal(t, "what has failed", outbound.Sent{Over: true, State: delivery.Failed, AccountID: "ruda", ChannelID: o.general.ID, Code: collaborate.CodeDenied}, got)
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

// Who speaks is the account that is named, else the agent's, else the default one. What cannot be is refused with its field.
func TestWhoSpeaksForAClient(t *testing.T) {
	t.Parallel()
	o := open(t)
	s := o.sends()
	place := "channel:" + o.general.ID
	for key, c := range map[string]struct {
		post    outbound.Sending
		account string
	}{
		"named":   {outbound.Sending{AgentID: "ruda", AccountID: "eden"}, "eden"},
		"agent's": {outbound.Sending{AgentID: "Eden"}, "eden"},
		"default": {outbound.Sending{}, "eden"},
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
		post  outbound.Sending
		field string
	}{
		{outbound.Sending{To: place, AccountID: "ghost", Text: "hi"}, "accountId"},
		{outbound.Sending{To: place, AgentID: "seum", Text: "hi"}, "agentId"},
		{outbound.Sending{To: "general", Text: "hi"}, "channelId"},
		{outbound.Sending{To: place, ThreadID: "x", Text: "hi"}, "threadId"},
		{outbound.Sending{To: place, ReplyTo: "x", Text: "hi"}, "replyTo"},
		{outbound.Sending{To: place, Text: " "}, "message"},
	} {
		c.post.Key = "refused"
		var refused *delivery.Refusal
		if err := s.Send(o.ctx, c.post); !errors.As(err, &refused) || refused.Field != c.field || refused.Mend == "" {
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
