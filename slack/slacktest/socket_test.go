package slacktest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// connection is one socket of an app, used without a library.
type connection struct {
	*websocket.Conn
	t *testing.T
}

// envelope is what comes over a socket.
type envelope struct {
	ID      string `json:"envelope_id"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Count   int    `json:"num_connections"`
	Attempt int    `json:"retry_attempt"`
	Payload struct {
		EventID string `json:"event_id"`
		Event   struct {
			Type, Subtype, Text, TS, Channel string
			BotID                            string `json:"bot_id"`
			ChannelType                      string `json:"channel_type"`
			ThreadTS                         string `json:"thread_ts"`
			Deleted                          string `json:"deleted_ts"`
			Message, Previous                *struct{ Text string }
		} `json:"event"`
		Command string `json:"command"`
		URL     string `json:"response_url"`
		Actions []struct {
			ID string `json:"action_id"`
		} `json:"actions"`
	} `json:"payload"`
}

func (l *lab) connect(a *slacktest.App) *connection {
	l.t.Helper()
	_, address, err := l.client(a).StartSocketModeContext(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	conn, response, err := websocket.DefaultDialer.DialContext(l.ctx, address, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	_ = response.Body.Close()
	l.t.Cleanup(func() { _ = conn.Close() })
	c := &connection{conn, l.t}
	if hello := c.next(); hello.Type != "hello" {
		l.t.Fatalf("the first message is %+v, want hello", hello)
	}
	return c
}

func (c *connection) next() (e envelope) {
	c.t.Helper()
	if err := c.ReadJSON(&e); err != nil {
		c.t.Fatal(err)
	}
	return e
}

// take acknowledges the next envelope.
func (c *connection) take() envelope {
	c.t.Helper()
	e := c.next()
	c.ack(e)
	return e
}

func (c *connection) ack(e envelope) {
	c.t.Helper()
	if err := c.WriteJSON(map[string]string{"envelope_id": e.ID}); err != nil {
		c.t.Fatal(err)
	}
}

func TestAppsAreToldInOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{})
	c := l.connect(l.ruda)
	root := posted(t)(l.bora.Post(l.channel.ID, "hi "+l.ruda.Mention()))
	reply := posted(t)(l.bora.Reply(l.channel.ID, root.TS, "reply"))
	posted(t)(l.bora.Broadcast(l.channel.ID, root.TS, "to all"))
	for _, err := range []error{l.bora.Edit(l.channel.ID, reply.TS, "edited"), l.bora.Delete(l.channel.ID, reply.TS),
		l.bora.React(l.channel.ID, root.TS, "eyes")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	posted(t)(l.bora.Post(l.bora.Conversation(l.ruda.UserID).ID, "psst"))
	posted(t)(l.bora.Post(l.bora.Conversation(l.ruda.UserID, l.eden.UserID).ID, "us"))
	var got []string
	for range 9 {
		e := c.take().Payload.Event
		got = append(got, strings.TrimSpace(strings.Join([]string{e.Type, e.Subtype, e.ChannelType, strings.Split(e.Text, " ")[0]}, " ")))
	}
	want := []string{"message  channel hi", "app_mention   hi", "message  channel reply", "message thread_broadcast channel to",
		"message message_changed channel", "message message_deleted channel", "reaction_added", "message  im psst", "message  mpim us"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
}

func TestOwnPostsAreToldUnlessLeftOut(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		l := newLab(t, slacktest.Options{NoOwnPosts: without})
		ruda, eden := l.connect(l.ruda), l.connect(l.eden)
		l.say(l.ruda, "mine")
		posted(t)(l.bora.Post(l.channel.ID, "hers"))
		if e := eden.take().Payload.Event; e.Text != "mine" || e.BotID != l.ruda.BotID {
			t.Errorf("eden was told %+v, want ruda's post", e)
		}
		want := map[bool]string{false: "mine", true: "hers"}[without]
		if e := ruda.take().Payload.Event; e.Text != want {
			t.Errorf("without own posts %v ruda was first told %q, want %q", without, e.Text, want)
		}
	}
}

func (l *lab) say(a *slacktest.App, text string) string {
	l.t.Helper()
	_, ts, _, err := l.client(a).SendMessageContext(l.ctx, l.channel.ID, textOption(text))
	if err != nil {
		l.t.Fatal(err)
	}
	return ts
}

func TestWhatIsNotAcknowledgedComesAgain(t *testing.T) {
	t.Parallel()
	slow := newLab(t, slacktest.Options{Ack: 20 * time.Millisecond, Retries: []time.Duration{time.Millisecond, hour}})
	c := slow.connect(slow.ruda)
	posted(t)(slow.bora.Post(slow.channel.ID, "hi"))
	first, second := c.next(), c.next()
	if first.ID == second.ID || first.Payload.EventID != second.Payload.EventID || first.Attempt != 0 || second.Attempt != 1 {
		t.Errorf("the envelopes are %+v and %+v, want the same event in two, the second one as the first repetition", first, second)
	}
	l := newLab(t, slacktest.Options{Ack: hour, Retries: []time.Duration{time.Millisecond}})
	c = l.connect(l.ruda)
	l.ruda.LoseAcks(1)
	posted(t)(l.bora.Post(l.channel.ID, "lost"))
	if first, second := c.take(), c.take(); first.Payload.EventID != second.Payload.EventID {
		t.Errorf("the acknowledgement that was lost is followed by %+v", second)
	}
	settled := func() bool {
		return !slices.ContainsFunc(l.Deliveries(l.ruda.ID), func(d slacktest.Delivery) bool { return !d.Acked })
	}
	if err := l.Until(l.ctx, settled); err != nil {
		t.Fatal(err)
	}
	l.ruda.Repeat()
	if e := c.take(); e.Payload.Event.Text != "lost" {
		t.Errorf("what is repeated is %+v", e)
	}
}

func TestSeveralSocketsShareTheWork(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{Retries: []time.Duration{time.Millisecond}})
	a, b := l.connect(l.ruda), l.connect(l.ruda)
	for _, text := range []string{"1", "2"} {
		posted(t)(l.bora.Post(l.channel.ID, text))
	}
	got := []string{a.next().Payload.Event.Text, b.take().Payload.Event.Text}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"1", "2"}, got); diff != "" {
		t.Errorf("each socket gets one (-want +got):\n%s", diff)
	}
	_ = a.Close() // what it has not acknowledged goes to the other one
	if e := b.take(); e.Attempt != 1 {
		t.Errorf("the other socket gets %+v, want the first one's", e)
	}
	l.ruda.Disconnect("warning")
	if e := b.next(); e.Type != "disconnect" || e.Reason != "warning" {
		t.Errorf("%+v, want a warning", e)
	}
	l.ruda.Disconnect("refresh_requested")
	if e := b.next(); e.Type != "disconnect" || e.Reason != "refresh_requested" {
		t.Errorf("%+v, want refresh_requested", e)
	}
	if _, _, err := b.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("the socket ends with %v, want a close frame", err)
	}
}

func TestLostWithoutAConnection(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{Retries: slacktest.NoRetries()})
	posted(t)(l.bora.Post(l.channel.ID, "hi"))
	d, err := l.WaitDelivery(l.ctx, l.ruda.ID, func(d slacktest.Delivery) bool { return d.Lost })
	if err != nil || d.Attempts != 0 {
		t.Errorf("the delivery is %+v, %v", d, err)
	}
}

func TestButtonsAndCommands(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{})
	c := l.connect(l.ruda)
	_, ts, _, err := l.client(l.ruda).SendMessageContext(l.ctx, l.channel.ID, textOption("press"), buttonOption("go"))
	if err != nil {
		t.Fatal(err)
	}
	c.take()
	if _, err := l.bora.Press(l.channel.ID, ts, "stop"); err == nil {
		t.Error("a button that is not there was pressed")
	}
	use, err := l.bora.Press(l.channel.ID, ts, "go")
	if err != nil {
		t.Fatal(err)
	}
	e := c.take()
	if e.Type != "interactive" || len(e.Payload.Actions) != 1 || e.Payload.Actions[0].ID != "go" {
		t.Errorf("the press is %+v", e)
	}
	l.respond(e.Payload.URL, `{"text":"only you"}`, http.StatusOK)
	l.respond(e.Payload.URL, `{"text":"pressed","replace_original":true}`, http.StatusOK)
	if diff := cmp.Diff(slacktest.UseState{Acked: true, Shown: []string{"only you"}}, use.State()); diff != "" {
		t.Errorf("bora sees (-want +got):\n%s", diff)
	}
	if all := l.Messages(l.channel.ID); all[0].Text != "pressed" || all[0].Blocks != nil {
		t.Errorf("the message is %+v, want it replaced", all[0])
	}
	for range 3 {
		l.respond(e.Payload.URL, `{"text":"more"}`, http.StatusOK)
	}
	l.respond(e.Payload.URL, `{"text":"too many"}`, http.StatusNotFound)

	c.take() // the message was changed
	command, err := l.bora.Slash(l.channel.ID, "/ask", "it")
	if err != nil {
		t.Fatal(err)
	}
	e = c.next()
	if err := c.WriteJSON(map[string]any{"envelope_id": e.ID, "payload": map[string]string{"text": "done"}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Until(l.ctx, func() bool { return len(command.State().Shown) == 1 }); err != nil || e.Payload.Command != "/ask" {
		t.Errorf("the command is %+v, answered with %+v: %v", e, command.State(), err)
	}
}

func (l *lab) respond(address, body string, want int) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != want {
		l.t.Errorf("the answer to %s has the status %d, want %d", body, answer.StatusCode, want)
	}
}

func TestReceiversAreSigned(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{Retries: []time.Duration{time.Millisecond, time.Millisecond, hour}})
	type told struct{ retry, reason, text string }
	all := make(chan told, 10)
	refusals := 1
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if want := slacktest.Signature(l.ruda.SigningSecret, r.Header.Get("X-Slack-Request-Timestamp"), body); r.Header.Get("X-Slack-Signature") != want {
			t.Errorf("the signature is %q, want %q", r.Header.Get("X-Slack-Signature"), want)
		}
		var said struct {
			Challenge string
			Event     struct{ Text string }
		}
		if err := json.Unmarshal(bytes.TrimSpace(body), &said); err != nil {
			t.Error(err)
		}
		if said.Challenge != "" {
			_, _ = io.WriteString(w, said.Challenge)
			return
		}
		all <- told{r.Header.Get("X-Slack-Retry-Num"), r.Header.Get("X-Slack-Retry-Reason"), said.Event.Text}
		if refusals--; refusals >= 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer receiver.Close()
	if err := l.ruda.SetRequestURL(context.Background(), receiver.URL); err != nil {
		t.Fatal(err)
	}
	posted(t)(l.bora.Post(l.channel.ID, "hi"))
	if got := []told{<-all, <-all}; got[0] != (told{"", "", "hi"}) || got[1] != (told{"1", "http_error", "hi"}) {
		t.Errorf("the receiver was told %+v", got)
	}
	if _, err := l.WaitDelivery(l.ctx, l.ruda.ID, func(d slacktest.Delivery) bool { return d.Acked }); err != nil {
		t.Error(err)
	}
	if _, _, err := l.client(l.ruda).StartSocketModeContext(l.ctx); err == nil {
		t.Error("an app with a request URL may open a socket")
	}
}
