package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// news is what is told of a session to those who have asked for it.
type news struct {
	name                                           string
	SessionKey, AgentID, SessionID                 string
	Reason, Phase, Kind, Label, ThinkingLevel, Key string
	TS, UpdatedAt, MessageSeq                      int64
	CatalogChanged                                 bool
	MessageID, RunID                               string
	Session                                        *row
	Message                                        *struct {
		Role     string
		Content  []block
		Openclaw struct {
			ID  string
			Seq int64
		} `json:"__openclaw"`
	}
}

// watcher is a client that keeps what it is told of sessions.
type watcher struct {
	*client.Client
	heard chan client.Event
}

func watch(t *testing.T, url string, opts client.Options) *watcher {
	t.Helper()
	w := &watcher{heard: make(chan client.Event, 100)}
	opts.Event = func(e client.Event) {
		if e.Name == "sessions.changed" || e.Name == "session.message" {
			w.heard <- e
		}
	}
	w.Client = dial(t, url, opts)
	return w
}

// next is what is told next.
func (w *watcher) next(t *testing.T) news {
	t.Helper()
	select {
	case e := <-w.heard:
		n := news{name: e.Name}
		if err := json.Unmarshal(e.Payload, &n); err != nil || e.Seq != 0 {
			t.Fatalf("%d %s: %v", e.Seq, e.Payload, err)
		}
		return n
	case <-time.After(testscale.Patience):
		t.Fatal("nothing is told")
		return news{}
	}
}

// none checks that nothing has been told: what was sent before an answer comes before it.
func (w *watcher) none(t *testing.T) {
	t.Helper()
	over[any](t, w.Client, "health", nil)
	select {
	case e := <-w.heard:
		t.Errorf("told %s %s", e.Name, e.Payload)
	default:
	}
}

// Who has asked hears what another client does to a session, in order and with the session as it is then; no one else does.
func TestSubscribersGetChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url := b.serve(t)
	reader := watch(t, url, client.Options{ID: "gateway-client", Mode: "backend", Scopes: []string{"operator.read"}})
	silent, older, left := watch(t, url, client.Options{}), watch(t, url, client.Options{MaxProtocol: 3}), watch(t, url, client.Options{})
	for _, w := range []*watcher{reader, older, left} {
		got := over[struct{ Subscribed bool }](t, w.Client, "sessions.subscribe", struct{}{})
		if got.Subscribed != (w != older) {
			t.Errorf("protocol %d: %+v", w.Hello().Protocol, got)
		}
	}
	over[any](t, left.Client, "sessions.unsubscribe", struct{}{})

	const key = "agent:eden:watched"
	one := dial(t, url, client.Options{})
	patch := map[string]string{"key": key, "label": "seen", "model": "fake/echo-2"}
	over[patched](t, one, "sessions.patch", patch)
	got := reader.next(t)
	first := got.SessionID
	if got.name != "sessions.changed" || got.Reason != "patch" || !got.CatalogChanged || got.SessionKey != key || got.AgentID != "eden" ||
		got.TS != b.now.Load() || got.Kind != "direct" || got.Label != "seen" || got.Key != key || first == "" ||
		got.Session == nil || got.Session.Key != key || got.Session.Label != "seen" || got.Session.SessionID != first {
		t.Errorf("patch: %+v", got)
	}
	over[patched](t, one, "sessions.patch", patch) // changes nothing, and is not told
	over[any](t, one, "chat.inject", map[string]string{"sessionKey": key, "message": "hello"})
	if got = reader.next(t); got.name != "sessions.changed" || got.Phase != "message" || got.MessageSeq != 1 || got.MessageID == "" ||
		got.Message != nil || got.Session == nil {
		t.Errorf("inject: %+v", got)
	}
	over[any](t, one, "sessions.reset", map[string]string{"key": key})
	if got = reader.next(t); got.Reason != "reset" || got.CatalogChanged || got.SessionID == first || got.SessionID == "" {
		t.Errorf("reset: %+v", got)
	}
	second := got.SessionID
	over[any](t, one, "sessions.delete", map[string]string{"key": key})
	if got = reader.next(t); got.Reason != "delete" || got.SessionKey != key || got.SessionID != second || got.Session != nil {
		t.Errorf("delete: %+v", got)
	}
	for _, w := range []*watcher{reader, silent, older, left} {
		w.none(t)
	}
}

// Who listens in a session hears what is said in it, whatever it calls that; what is said in others it does not hear.
func TestSessionListenersGetMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url := b.serve(t)
	one, listener, other := dial(t, url, client.Options{}), watch(t, url, client.Options{}), watch(t, url, client.Options{})
	keys := []string{"agent:main:main", "agent:eden:other"}
	for _, key := range keys {
		over[patched](t, one, "sessions.patch", map[string]string{"key": key})
	}
	type listening struct {
		Subscribed bool
		Key        string
	}
	if got := over[listening](t, listener.Client, "sessions.messages.subscribe", map[string]string{"key": "main"}); got != (listening{true, keys[0]}) {
		t.Errorf("%+v", got)
	}
	over[listening](t, other.Client, "sessions.messages.subscribe", map[string]string{"key": keys[1]})
	over[any](t, one, "chat.inject", map[string]string{"sessionKey": keys[0], "message": "hello"})
	got := listener.next(t)
	if got.name != "session.message" || got.SessionKey != keys[0] || got.MessageSeq != 1 || got.Session == nil || got.Message == nil {
		t.Fatalf("%+v", got)
	}
	if m := got.Message; m.Role != "assistant" || m.Content[0].Text != "hello" || m.Openclaw.ID != got.MessageID || m.Openclaw.Seq != 1 {
		t.Errorf("%+v", m)
	}
	if got := over[listening](t, listener.Client, "sessions.messages.unsubscribe", map[string]string{"key": "main"}); got != (listening{false, keys[0]}) {
		t.Errorf("%+v", got)
	}
	over[any](t, one, "chat.inject", map[string]string{"sessionKey": keys[0], "message": "unheard"})
	listener.none(t)
	other.none(t)
}

// A subscription may come with the list that it keeps up to date.
func TestSubscribingWithAListAnswersIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.protocol = 4
	b.patch(t, `{"key":"agent:eden:s1"}`)
	got := want[struct {
		Subscribed bool
		List       *list
	}](t, b, "sessions.subscribe", `{"agentId":"eden"}`)
	if !got.Subscribed || got.List == nil || !slices.Equal(got.List.keys(), []string{"agent:eden:s1"}) {
		t.Errorf("%+v", got)
	}
}

// Subscriptions are bounded, and end with the connection or the last unsubscribe.
func TestSubscriptionsEndWithTheirConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url := b.serve(t)
	ctx := context.Background()
	all := make([]*client.Client, 8)
	for i := range all {
		all[i] = dial(t, url, client.Options{})
		over[any](t, all[i], "sessions.subscribe", struct{}{})
		over[any](t, all[i], "sessions.messages.subscribe", map[string]string{"key": "main"})
	}
	for i := 1; i < gateway.MaxWatched; i++ {
		over[any](t, all[0], "sessions.messages.subscribe", map[string]string{"key": fmt.Sprintf("s%d", i)})
	}
	_, err := all[0].Call(ctx, "sessions.messages.subscribe", map[string]string{"key": "one-too-many"})
	if err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("one session too many: %v", err)
	}
	over[any](t, all[0], "sessions.messages.subscribe", map[string]string{"key": "main"}) // it is one of them
	over[any](t, all[1], "sessions.unsubscribe", struct{}{})
	over[any](t, all[1], "sessions.messages.unsubscribe", map[string]string{"key": "main"})
	if got := b.server.Watching(); got != len(all)-1 {
		t.Errorf("%d connections are watched for, want %d", got, len(all)-1)
	}
	for _, c := range all {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	every := time.NewTicker(time.Millisecond)
	defer every.Stop()
	for deadline := time.Now().Add(testscale.Patience); b.server.Watching() > 0; <-every.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections that are gone are kept", b.server.Watching())
		}
	}
}

// The list of events in hello-ok contains exactly the events that are sent.
func TestHelloNamesTheEventsThatAreSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := dial(t, b.serve(t), client.Options{}).Hello().Features.Events
	slices.Sort(got)
	if wanted := []string{"chat", "connect.challenge", "health", "presence", "session.message", "sessions.changed", "shutdown", "tick"}; !slices.Equal(got, wanted) {
		t.Errorf("%q", got)
	}
}

// The Control UI begins with the transcript and what may be chosen beside it, in one answer, or asks for the latter by itself.
//
// Promise: clients
func TestControlUIBegins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.protocol = 4
	b.say(t, "agent:eden:s1", `"author":"user","text":"hi"`)
	type metadata struct {
		Models   []struct{ ID, Provider string }
		Commands []any
	}
	got := want[struct {
		history
		Metadata      *metadata
		Defaults      *struct{ Model string }
		PendingInputs *struct{ Items []any }
	}](t, b, "chat.startup", `{"sessionKey":"agent:eden:s1","agentId":"eden","limit":80,"maxBytes":262144}`)
	if len(got.Messages) != 1 || got.Messages[0].Content[0].Text != "hi" || got.SessionInfo == nil || got.SessionInfo.Key != "agent:eden:s1" {
		t.Errorf("%+v", got.history)
	}
	if got.Metadata == nil || got.Defaults == nil || got.Defaults.Model != "echo-1" || got.PendingInputs == nil || got.PendingInputs.Items == nil {
		t.Fatalf("%+v", got)
	}
	for _, params := range []string{`{}`, `{"agentId":"eden"}`, `{"sessionKey":"agent:eden:s1","agentId":"eden"}`} {
		m := want[metadata](t, b, "chat.metadata", params)
		if len(m.Models) != 2 || m.Models[0].ID != "echo-1" || m.Models[0].Provider != "fake" || m.Commands == nil || len(m.Commands) != 0 {
			t.Errorf("%s: %+v", params, m)
		}
	}
	for params, message := range map[string]string{
		`{"agentId":"ghost"}`: `unknown agent id "ghost"`, `{"authProfileId":"a"}`: "model accounts are not supported",
		`{"agentId":"main","sessionKey":"agent:eden:s1"}`: `invalid chat.metadata params: agent "main" does not match session key agent "eden"`,
	} {
		if got := b.refused(t, "chat.metadata", params); got.Code != protocol.CodeInvalidRequest || got.Message != message {
			t.Errorf("%s: %s", params, got.Message)
		}
	}
}

// A subscriber is notified of everything written to the log, in log order, also of runs and their messages.
func TestWatchersHearWhatTheLogSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url := b.serve(t)
	const key = "agent:eden:runs"
	watcher := watch(t, url, client.Options{})
	over[any](t, watcher.Client, "sessions.subscribe", struct{}{})
	over[any](t, watcher.Client, "sessions.messages.subscribe", map[string]string{"key": key})
	b.say(t, key, numbered(3, `"author":"user","text":"%d","runId":"r"`)...)
	agents := newStage(b)
	q := coordination.RunQueued{RunID: "r", SessionKey: key, Lane: "main", Cause: "chat", Message: "x"}
	started := run.Start(&q, "t-1", b.now.Load(), 0, "fake/echo-1", "")
	ended, err := run.End(run.Result{RunID: "r", SessionKey: key, State: run.Running}, run.OK, coordination.RunOver{Text: "done"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []run.Event{{Type: coordination.TypeRunQueued, Data: q}, started, ended} {
		if _, err := agents.append(t.Context(), "r", b.now.Load(), e); err != nil {
			t.Fatal(err)
		}
	}
	var heard []string
	for range 8 {
		n := watcher.next(t)
		heard = append(heard, fmt.Sprintf("%s %s %s%d %s", n.name, n.Phase, n.Reason, n.MessageSeq, n.RunID))
		if n.SessionKey != key || n.Session == nil || n.Session.Key != key {
			t.Errorf("%+v", n)
		}
	}
	wanted := []string{"session.message  1 r", "sessions.changed message 1 r", "session.message  2 r", "sessions.changed message 2 r",
		"session.message  3 r", "sessions.changed message 3 r", "sessions.changed start 0 r", "sessions.changed end 0 r"}
	if !slices.Equal(heard, wanted) {
		t.Errorf("%q", heard)
	}
	watcher.none(t)
}
