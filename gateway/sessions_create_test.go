package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/client"
)

// marked is a message with its place, as pages of protocol 4 read it.
type marked struct {
	Role     string
	Openclaw struct {
		ID, IdempotencyKey string
		Seq                int64
	} `json:"__openclaw"`
}

// An event and the history name a message alike, and the message that a client has sent by the run that it began: so a page shows it once.
func TestEventsAndHistoryNameMessagesAlike(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url := b.serve(t)
	const key = "agent:eden:runs"
	watcher := listen(t, url, client.Options{}, "session.message")
	over[any](t, watcher.Client, "sessions.messages.subscribe", map[string]string{"key": key})
	agents := newStage(b)
	q := coordination.RunQueued{RunID: "r1", SessionKey: key, Lane: "main", Cause: "chat", Message: "x"}
	if _, err := agents.append(t.Context(), "r1", b.now.Load(), run.Event{Type: coordination.TypeRunQueued, Data: q}); err != nil {
		t.Fatal(err)
	}
	waiting := q
	waiting.RunID = "r2"
	b.say(t, key, `"author":"user","text":"asked","runId":"r1"`, `"author":"assistant","text":"said","runId":"r1","messageId":"m2"`)
	if _, err := agents.append(t.Context(), "r1", b.now.Load(), run.Start(&q, "t-1", b.now.Load(), 0, "fake/echo-1", "")); err != nil {
		t.Fatal(err)
	}
	if _, err := agents.append(t.Context(), "r2", b.now.Load(), run.Event{Type: coordination.TypeRunQueued, Data: waiting}); err != nil {
		t.Fatal(err)
	}
	var told []marked
	for range 2 {
		var one struct{ Message marked }
		if err := json.Unmarshal(watcher.next(t).Payload, &one); err != nil {
			t.Fatal(err)
		}
		told = append(told, one.Message)
	}
	if told[0].Openclaw.IdempotencyKey != "r1:user" || told[1].Openclaw.IdempotencyKey != "" || told[1].Openclaw.ID != "m2" {
		t.Errorf("%+v", told)
	}
	b.protocol = 4
	type page struct {
		Messages      []marked
		InputReceipts []struct{ RunID, State, ConsumedByEventID string }
		PendingInputs struct {
			Items []struct{ Message marked }
		}
	}
	got := want[page](t, b, "chat.history", fmt.Sprintf(`{"sessionKey":%q,"inputRunIds":["r1","r2","stranger's"]}`, key))
	if !slices.Equal(got.Messages, told) {
		t.Errorf("history %+v\nevents  %+v", got.Messages, told)
	}
	if receipts := fmt.Sprint(got.InputReceipts); receipts != fmt.Sprintf("[{r1 consumed %s} {r2 pending }]", told[0].Openclaw.ID) {
		t.Error(receipts)
	}
	if last := want[page](t, b, "chat.history", fmt.Sprintf(`{"sessionKey":%q,"limit":1}`, key)); !slices.Equal(last.Messages, told[1:]) ||
		last.InputReceipts != nil {
		t.Errorf("%+v", last)
	}
	for params, message := range map[string]string{
		`"inputRunIds":["a",1]`:                                 "invalid chat.history params: at /inputRunIds/1: must be string",
		`"inputRunIds":[` + strings.Repeat(`"a",`, 50) + `"a"]`: "invalid chat.history params: at /inputRunIds: must NOT have more than 50 items",
	} {
		if refused := b.refused(t, "chat.history", fmt.Sprintf(`{"sessionKey":%q,%s}`, key, params)); refused.Message != message {
			t.Error(refused.Message)
		}
	}
	b.protocol = 3
	if old := b.answer(t, "chat.history", fmt.Sprintf(`{"sessionKey":%q}`, key)); strings.Contains(string(old), "__openclaw") {
		t.Errorf("clients of protocol 3 know of no places: %s", old)
	}
}

// A page lets people write to agents whose model it is told, and takes the title of a main session for its own.
//
// Promise: clients
func TestPagesOfProtocolFourAreToldWhatTheyNeed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.protocol = 4
	b.configure(t, `{agents: {defaults: {model: {primary: 'a/x', fallbacks: ['a/y']}}, list: [{id: 'main'}, {id: 'eden', model: 'b/z'}]}}`)
	sandbox := `,"sandbox":{"state":"unprobed","why":"no command was run yet, so no sandbox was probed"}}`
	wanted := `{"defaultId":"main","mainKey":"main","scope":"per-sender","agents":[` +
		`{"id":"main","workspace":"/of/main","model":{"primary":"a/x","fallbacks":["a/y"]}` + sandbox +
		`,{"id":"eden","workspace":"/of/eden","model":{"primary":"b/z","fallbacks":[]}` + sandbox + `]}`
	if got := string(b.answer(t, "agents.list", `{}`)); got != wanted {
		t.Errorf("got  %s\nwant %s", got, wanted)
	}
	b.say(t, "agent:main:main", `"author":"user","text":"first of many"`)
	b.say(t, "agent:main:other", `"author":"user","text":"the release"`)
	got := want[struct {
		Sessions []struct{ Key, DerivedTitle string }
	}](t, b, "sessions.list", `{"includeDerivedTitles":true}`)
	slices.SortFunc(got.Sessions, func(a, b struct{ Key, DerivedTitle string }) int { return strings.Compare(a.Key, b.Key) })
	if text := fmt.Sprint(got.Sessions); text != "[{agent:main:main } {agent:main:other the release}]" {
		t.Error(text)
	}
}

type created struct {
	OK         bool
	Key        string
	SessionID  string
	Entry      entry
	RunStarted bool
	RunID      string
	RunError   *struct{ Code, Message string }
}

// A session that is created has what it is to have, and its first message is said once, however often the request is sent.
func TestSessionsAreCreated(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := dial(t, url, client.Options{})
	empty := over[created](t, c, "sessions.create", map[string]any{"agentId": "eden"})
	if !empty.OK || !strings.HasPrefix(empty.Key, "agent:eden:dashboard:") || empty.SessionID == "" || empty.RunStarted {
		t.Errorf("%+v", empty)
	}
	if again := over[created](t, c, "sessions.create", map[string]any{"agentId": "eden"}); again.Key == empty.Key {
		t.Error("two requests without a key, one session")
	}
	params := map[string]any{"agentId": "eden", "message": "hello", "idempotencyKey": "once", "label": "Plan", "model": "echo-2", "emitCommandHooks": true,
		"parentSessionKey": "agent:eden:main", "succeedsParent": false, "fastMode": false}
	first := over[created](t, c, "sessions.create", params)
	if !first.RunStarted || first.RunID != "once" || first.Entry.Label != "Plan" || first.Entry.ModelOverride != "echo-2" {
		t.Errorf("%+v", first)
	}
	if ask := agents.ask(); ask.Session.String() != first.Key || ask.Message != "hello" {
		t.Errorf("%+v", ask)
	}
	over[any](t, c, "sessions.patch", map[string]any{"key": first.Key, "label": "Other plan"})
	if again := over[created](t, c, "sessions.create", params); again.Key != first.Key || again.SessionID != first.SessionID || !again.RunStarted ||
		again.Entry.Label != "Other plan" || len(b.queued(t)) != 1 {
		t.Errorf("%+v", again)
	}
	named := over[created](t, c, "sessions.create", map[string]any{"key": "s1", "agentId": "seum", "thinkingLevel": "high", "model": "echo-2"})
	if named.Key != "agent:seum:s1" || named.Entry.ThinkingLevel != "high" {
		t.Errorf("%+v", named)
	}
	agents.refuse = &run.Busy{SessionKey: "agent:main:s2", Ahead: 9}
	busy := over[created](t, c, "sessions.create", map[string]any{"key": "s2", "message": "hello"})
	if busy.RunStarted || busy.RunError == nil || busy.RunError.Code != "UNAVAILABLE" || busy.SessionID == "" {
		t.Errorf("%+v", busy)
	}
}

// What would have no effect is refused, and no session is created.
func TestSessionsThatAreNotCreated(t *testing.T) {
	t.Parallel()
	b, _, _ := staged(t)
	b.protocol = 4
	for params, message := range map[string]string{
		`{"agentId":"ghost"}`:                     `unknown agent id "ghost"`,
		`{"key":"agent:ghost:x"}`:                 `unknown agent id "ghost"`,
		`{"key":"agent::x"}`:                      `malformed session key "agent::x"`,
		`{"fork":true,"parentSessionKey":"main"}`: "sessions.create: fork is not supported",
		`{"worktree":true}`:                       "sessions.create: worktree is not supported",
		`{"cwd":"/tmp"}`:                          "sessions.create: cwd is not supported",
		`{"message":"a\u0000b"}`:                  "message must not contain null bytes",
		`{"model":"ghost/model","message":"hi"}`:  "model not allowed: ghost/model",
	} {
		if refused := b.refused(t, "sessions.create", params); refused.Message != message {
			t.Errorf("%s: %s", params, refused.Message)
		}
	}
	if list := want[struct{ Count int }](t, b, "sessions.list", `{}`); list.Count != 0 {
		t.Errorf("%d sessions began", list.Count)
	}
}
