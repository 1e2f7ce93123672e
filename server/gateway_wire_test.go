package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

func TestGatewaySpeaksBothProtocols(t *testing.T) {
	t.Parallel()
	_, url := startGateway(t)
	for _, c := range []struct{ oldest, newest, spoken int }{{3, 3, 3}, {4, 4, 4}, {3, 4, 4}, {1, 9, 4}} {
		conn := connect(t, url, func(o *client.Options) { o.MinProtocol, o.MaxProtocol = c.oldest, c.newest })
		if got := conn.Hello().Protocol; got != c.spoken {
			t.Errorf("%d to %d: speaks %d, want %d", c.oldest, c.newest, got, c.spoken)
		}
		if h := calls[struct{ OK bool }](t, conn, "health", nil); !h.OK {
			t.Errorf("%d to %d: health is not ok", c.oldest, c.newest)
		}
		calls[sessionList](t, conn, "sessions.list", nil)
	}
	_, err := client.Dial(t.Context(), url, client.Options{Token: "secret", MinProtocol: 5, MaxProtocol: 6})
	var refused *client.RefusedError
	if !errors.As(err, &refused) || refused.Closed.Code != 1002 {
		t.Errorf("an unknown version: %v", err)
	}
	_, err = client.Dial(t.Context(), url, client.Options{Token: "another"})
	if !errors.As(err, &refused) || refused.Closed.Code != 1008 {
		t.Errorf("another token: %v", err)
	}
}

// Changes of sessions by one client are seen by others, and in the log.
func TestGatewayKeepsSessions(t *testing.T) {
	t.Parallel()
	const key = "agent:eden:review"
	_, url := startGateway(t)
	one, other := connect(t, url), connect(t, url, func(o *client.Options) { o.MaxProtocol = 3 })

	made := calls[patched](t, one, "sessions.patch", map[string]any{"key": key, "label": "the review"})
	if made.Key != key || made.Entry.Label != "the review" || made.Entry.SessionID == "" {
		t.Errorf("patched %+v", made)
	}
	list := calls[sessionList](t, other, "sessions.list", nil)
	if row := list.find(key); row == nil || row.Label != "the review" || row.SessionID != made.Entry.SessionID {
		t.Errorf("listed %+v", list)
	}
	_, err := other.Call(t.Context(), "sessions.patch", map[string]any{"key": "agent:main:x", "label": "the review"})
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.CodeInvalidRequest || !strings.Contains(refused.Message, "label already in use") {
		t.Errorf("a label twice: %v", err)
	}

	for _, text := range []string{"first", "둘째"} {
		if said := calls[injected](t, one, "chat.inject", map[string]any{"sessionKey": key, "message": text}); !said.OK || said.MessageID == "" {
			t.Errorf("injected %+v", said)
		}
	}
	h := calls[history](t, other, "chat.history", map[string]any{"sessionKey": key})
	if got := h.texts(); !slices.Equal(got, []string{"first", "둘째"}) || h.SessionID != made.Entry.SessionID {
		t.Errorf("history %+v", h)
	}

	reset := calls[patched](t, one, "sessions.reset", map[string]any{"key": key})
	if reset.Entry.SessionID == made.Entry.SessionID || reset.Entry.Label != "the review" {
		t.Errorf("reset %+v", reset)
	}
	h = calls[history](t, other, "chat.history", map[string]any{"sessionKey": key})
	if len(h.Messages) > 0 || h.SessionID != reset.Entry.SessionID {
		t.Errorf("history after the reset %+v", h)
	}
	if gone := calls[struct{ Deleted bool }](t, one, "sessions.delete", map[string]any{"key": key}); !gone.Deleted {
		t.Error("not deleted")
	}
	if list := calls[sessionList](t, other, "sessions.list", nil); list.find(key) != nil {
		t.Errorf("listed after it was deleted: %+v", list)
	}
}

func TestGatewaySaysGoodbye(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	withGateway(&p.opts)
	_, stop := starts(t, p, ready)
	told := make(chan client.Event, 100)
	c := connect(t, gatewayURL(p.gatewayAddress()), func(o *client.Options) {
		o.Token = string(p.gateway.settings().Token.Value)
		o.Event = func(e client.Event) { told <- e }
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	waitFor(t, "the goodbye", c.Done())
	var closed *client.ClosedError
	if !errors.As(c.Err(), &closed) || closed.Code != 1012 {
		t.Errorf("ended with %v", c.Err())
	}
	close(told)
	var last client.Event
	for e := range told {
		last = e
	}
	if last.Name != "shutdown" {
		t.Errorf("the last event is %+v", last)
	}
}

func TestSecondGatewayAtAPortIsRefused(t *testing.T) {
	t.Parallel()
	r, _ := startGateway(t)
	second, _ := testProgram(t)
	second.opts.Gateway = r.gatewayAddress().String()
	err := errors.Join(second.Run(t.Context()), second.Close())
	var refused *config.SettingError
	if !errors.As(err, &refused) || !strings.Contains(refused.HintText, "--follow") || !strings.Contains(err.Error(), second.opts.Gateway) {
		t.Errorf("%v", err)
	}
}

// Where another gateway produces ours would be a second one.
func TestFollowingOpensNoGateway(t *testing.T) {
	t.Parallel()
	r := startReloading(t, nil, withGateway, func(o *Options) { o.Follow = true })
	if at := r.gatewayAddress(); at != nil {
		t.Errorf("a gateway listens at %s", at)
	}
}

// A client of the gateway is notified of what the other ones do.
func TestGatewayTellsEverybody(t *testing.T) {
	t.Parallel()
	const key = "agent:seum:news"
	_, url := startGateway(t)
	told := make(chan client.Event, 1_000)
	connect(t, url, func(o *client.Options) {
		o.Scopes = []string{}
		o.Event = func(e client.Event) {
			if e.Name == "chat" {
				told <- e
			}
		}
	})
	one := connect(t, url)
	calls[patched](t, one, "sessions.patch", map[string]any{"key": key})
	calls[injected](t, one, "chat.inject", map[string]any{"sessionKey": key, "message": "news"})
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	select {
	case e := <-told:
		if !strings.Contains(string(e.Payload), key) || !strings.Contains(string(e.Payload), "news") {
			t.Errorf("told %s", e.Payload)
		}
	case <-ctx.Done():
		t.Error("no client was notified")
	}
}
