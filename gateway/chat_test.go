package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

type history struct {
	SessionKey, SessionID, ThinkingLevel string
	VerboseLevel                         *string
	Messages                             []message
	SessionInfo                          *row
}

type message struct {
	Role                     string
	Content                  []block
	ToolCallID, ToolName     string
	IsError                  *bool
	Timestamp                int64
	StopReason, ErrorMessage string
	API, Provider, Model     string
	Usage                    map[string]any
	Openclaw                 *struct {
		Truncated bool
		Reason    string
	} `json:"__openclaw"`
}

type block struct {
	Type, Text, Thinking, ID, Name string
	Arguments                      json.RawMessage
	ThinkingSignature, Data        *string
	Source                         map[string]string
	MimeType                       string
	Omitted                        bool
	Bytes                          int
}

func TestHistoryShowsMessagesAsTheyWereSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "agent:eden:s1", `"author":"user","text":"<hi> \"chat\""`)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":"","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},
		{"type":"toolCall","id":"c1","name":"agents_list","arguments":{"a":1}}],"api":"openai-completions","provider":"fake","model":"echo-1",
		"stopReason":"toolUse","usage":{"input":1,"output":2,"total":3}`)
	b.say(t, "agent:eden:s1", `"author":"tool","toolCallId":"c1","toolName":"agents_list","text":"eden"`)
	b.tick(time.Second)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":"","stopReason":"error","errorMessage":"400 no"`)
	b.say(t, "agent:eden:s1", `"author":"system","text":"note"`)
	b.say(t, "agent:eden:s1", `"author":"user","text":"look","content":[{"type":"text","text":"look"},{"type":"image","data":"QUJD","mimeType":"image/png"},
		{"type":"image","source":{"type":"base64","data":"QUJDRA=="}}]`)
	got := want[history](t, b, "chat.history", `{"sessionKey":"AGENT:Eden:S1"}`)
	first, later, no := began.UnixMilli(), b.now.Load(), false
	text := func(s string) []block { return []block{{Type: "text", Text: s}} }
	messages := []message{
		{Role: "user", Content: text(`<hi> "chat"`), Timestamp: first},
		{Role: "assistant", Content: []block{{Type: "thinking", Thinking: "hm"},
			{Type: "toolCall", ID: "c1", Name: "agents_list", Arguments: json.RawMessage(`{"a":1}`)}}, Timestamp: first,
			API: "openai-completions", Provider: "fake", Model: "echo-1", StopReason: "toolUse"},
		{Role: "toolResult", ToolCallID: "c1", ToolName: "agents_list", Content: text("eden"), IsError: &no, Timestamp: first},
		{Role: "assistant", Content: []block{}, Timestamp: later, StopReason: "error", ErrorMessage: "400 no"},
		{Role: "system", Content: text("note"), Timestamp: later},
		{Role: "user", Content: []block{{Type: "text", Text: "look"}, {Type: "image", MimeType: "image/png", Omitted: true, Bytes: 4},
			{Type: "image", Source: map[string]string{"type": "base64"}, Omitted: true, Bytes: 8}}, Timestamp: later},
	}
	if diff := cmp.Diff(messages, got.Messages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.SessionKey != "AGENT:Eden:S1" || got.SessionID == "" || got.ThinkingLevel != "off" || got.VerboseLevel != nil || got.SessionInfo != nil {
		t.Errorf("%+v", got)
	}
}

func TestHistoryIsTheNewestMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "agent:eden:s1", numbered(250, `"author":"user","text":"%d"`)...)
	for params, n := range map[string]int{`{"sessionKey":"agent:eden:s1"}`: 200, `{"sessionKey":"agent:eden:s1","limit":1}`: 1,
		`{"sessionKey":"agent:eden:s1","limit":1000}`: 250, `{"sessionKey":"agent:eden:s1","limit":1e2}`: 100} {
		got := want[history](t, b, "chat.history", params).Messages
		if len(got) != n || got[n-1].Content[0].Text != "249" || got[0].Content[0].Text != fmt.Sprint(250-n) {
			t.Errorf("%s: %d messages", params, len(got))
		}
	}
	for params, message := range map[string]string{
		`{}`:                                 "invalid chat.history params: must have required property 'sessionKey'",
		`{"sessionKey":"a","limit":0}`:       "invalid chat.history params: at /limit: must be >= 1",
		`{"sessionKey":"a","limit":1001}`:    "invalid chat.history params: at /limit: must be <= 1000",
		`{"sessionKey":" "}`:                 "sessionKey required",
		`{"sessionKey":"agent:eden"}`:        `malformed session key "agent:eden"`,
		`{"sessionKey":"agent:e:x:y\u0000"}`: `malformed session key "agent:e:x:y\x00"`,
	} {
		if got := b.refused(t, "chat.history", params); got.Code != protocol.CodeInvalidRequest || got.Message != message {
			t.Errorf("%s: %q, want %q", params, got.Message, message)
		}
	}
}

// A page recognizes an agent's message by its run, and a person's by its request; the program's prompts are marked.
func TestHistoryNamesTheRunOfAnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.protocol = 4
	b.say(t, "agent:eden:s1", `"author":"user","runId":"r1","text":"ask","provenance":"internal_system"`, `"author":"assistant","runId":"r1","text":"answer"`)
	type marks struct{ RunID, IdempotencyKey, Provenance string }
	got := want[struct {
		Messages []struct {
			Openclaw marks `json:"__openclaw"`
		}
	}](t, b, "chat.history", `{"sessionKey":"agent:eden:s1"}`).Messages
	if len(got) != 2 || got[0].Openclaw != (marks{IdempotencyKey: "r1:user", Provenance: "internal_system"}) || got[1].Openclaw != (marks{RunID: "r1"}) {
		t.Errorf("%+v", got)
	}
}

// Clients of protocol 4 reach every message by going on from the cursor of the last answer, each once, also while new ones come. What agents
// say to each other is passed over.
func TestHistoryIsReadInPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.protocol = 4
	b.say(t, "agent:eden:s1", numbered(95, `"author":"user","text":"%d"`)...)
	b.say(t, "agent:eden:s1", `"author":"user","text":"between agents","internal":true`)
	b.say(t, "agent:eden:s1", `"author":"user","text":"95","provenance":"internal_system"`)
	type page struct {
		Messages []struct {
			Content  []struct{ Text string }
			Openclaw struct {
				ID, Provenance string
				Seq            int64
			} `json:"__openclaw"`
		}
		NextCursor string
	}
	var texts []string
	ids, cursor := map[string]bool{}, ""
	for round := 0; ; round++ {
		got := want[page](t, b, "chat.history", fmt.Sprintf(`{"sessionKey":"agent:eden:s1","limit":40,"cursor":%q}`, cursor))
		if round == 0 {
			if last := got.Messages[39].Openclaw; last.Seq != 97 || last.Provenance != "internal_system" {
				t.Errorf("the last message is %+v", last)
			}
			b.say(t, "agent:eden:s1", `"author":"user","text":"later"`)
		}
		page := make([]string, 0, 40)
		for _, m := range got.Messages {
			page = append(page, m.Content[0].Text)
			if ids[m.Openclaw.ID] {
				t.Errorf("%s came twice", m.Content[0].Text)
			}
			ids[m.Openclaw.ID] = true
			if n, err := strconv.ParseInt(m.Content[0].Text, 10, 64); err != nil || n < 95 && m.Openclaw.Seq != n+1 {
				t.Errorf("message %s has the position %d", m.Content[0].Text, m.Openclaw.Seq)
			}
		}
		texts = append(page, texts...)
		if cursor = got.NextCursor; cursor == "" {
			break
		}
	}
	var all []string
	for n := range 96 {
		all = append(all, strconv.Itoa(n))
	}
	if diff := cmp.Diff(all, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"x", "1", "1.x", "0.1", "1.0", "-1.2", "9999999999999999999.1"} {
		if got := b.refused(t, "chat.history", fmt.Sprintf(`{"sessionKey":"agent:eden:s1","cursor":%q}`, bad)); got.Code != protocol.CodeInvalidRequest {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

func TestHistorySaysWhichLevelsHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	levels := func(params string) string {
		h := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:s1"}`)
		verbose := "-"
		if h.VerboseLevel != nil {
			verbose = *h.VerboseLevel
		}
		return h.ThinkingLevel + " " + verbose
	}
	for _, step := range [][2]string{{`{"key":"agent:eden:s1"}`, "off -"}, {`{"key":"agent:eden:s1","verboseLevel":"full"}`, "off full"},
		{`{"key":"agent:eden:s1","model":"fake/echo-2"}`, "low full"}, {`{"key":"agent:eden:s1","thinkingLevel":"high"}`, "high full"}} {
		b.patch(t, step[0])
		if got := levels(step[0]); got != step[1] {
			t.Errorf("after %s: %s, want %s", step[0], got, step[1])
		}
	}
	b.protocol = 4
	if h := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:s1"}`); h.SessionInfo == nil || h.SessionInfo.AgentID != "eden" {
		t.Errorf("%+v", h.SessionInfo)
	}
}

func TestHistoryCutsWhatIsLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "agent:eden:s1", `"author":"user","text":"`+strings.Repeat("가", 12_001)+`"`)
	b.say(t, "agent:eden:s1", `"author":"user","text":"`+strings.Repeat("🌿", 6_001)+`"`) // two units each
	b.say(t, "agent:eden:s1", `"author":"user","text":"`+strings.Repeat("x", 12_000)+`"`)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":"","content":[{"type":"thinking","thinking":"`+strings.Repeat("y", 20_000)+`"}]`)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":"","content":[{"type":"toolCall","arguments":{"x":"`+strings.Repeat("z", 129<<10)+`"}}]`)
	got := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:s1"}`).Messages
	const mark = "\n...(truncated)..."
	for i, text := range []string{strings.Repeat("가", 12_000) + mark, strings.Repeat("🌿", 6_000) + mark, strings.Repeat("x", 12_000)} {
		if got[i].Content[0].Text != text {
			t.Errorf("message %d has %d bytes, want %d", i, len(got[i].Content[0].Text), len(text))
		}
	}
	if text := got[3].Content[0].Thinking; text != strings.Repeat("y", 12_000)+mark {
		t.Errorf("a thought of %d bytes", len(text))
	}
	if m := got[4]; m.Role != "assistant" || m.Content[0].Text != "[chat.history omitted: message too large]" || m.Openclaw == nil ||
		m.Openclaw.Reason != "oversized" || !m.Openclaw.Truncated || m.Timestamp == 0 {
		t.Errorf("%+v", m)
	}
}

// A blanked message stays visible as redacted.
func TestHistoryShowsThatAMessageWasRedacted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "agent:eden:s1", `"author":"user","text":"forget this"`)
	if err := b.db.Redact(context.Background(), b.events(t, "session/agent:eden:s1")[0].Seq); err != nil {
		t.Fatal(err)
	}
	got := b.answer(t, "chat.history", `{"sessionKey":"agent:eden:s1"}`)
	if strings.Contains(string(got), "forget") || !strings.Contains(string(got), "[redacted]") {
		t.Errorf("%s", got)
	}
	if p := want[previews](t, b, "sessions.preview", `{"keys":["agent:eden:s1"]}`).Previews[0]; p.Status != "ok" || p.Items[0].Text != "[redacted]" {
		t.Errorf("%+v", p)
	}
}

func TestInjectWritesIntoTheTranscript(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	type injected struct {
		OK        bool
		MessageID string
	}
	ids := map[string]bool{}
	for _, params := range []string{`{"sessionKey":"AGENT:eden:s1","message":"injected text","label":"note"}`, `{"sessionKey":"agent:eden:s1","message":"plain"}`,
		`{"sessionKey":"agent:eden:s1","message":"x","label":"  "}`, `{"sessionKey":"agent:eden:s1","message":"plain","label":""}`} {
		got := want[injected](t, b, "chat.inject", params)
		if !got.OK || got.MessageID == "" || ids[got.MessageID] {
			t.Errorf("%s: %+v", params, got)
		}
		ids[got.MessageID] = true
	}
	messages := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:s1"}`).Messages
	for i, text := range []string{"[note]\n\ninjected text", "plain", "[  ]\n\nx", "plain"} {
		one := message{Role: "assistant", Content: []block{{Type: "text", Text: text}}, Timestamp: b.now.Load(), StopReason: "stop",
			API: "openai-responses", Provider: "openclaw", Model: "gateway-injected"}
		if diff := cmp.Diff(one, messages[i]); diff != "" {
			t.Errorf("message %d (-want +got):\n%s", i, diff)
		}
	}
	if row := want[list](t, b, "sessions.list", `{"includeLastMessage":true}`).Sessions[0]; row.LastMessagePreview != "plain" || row.Model != "echo-1" {
		t.Errorf("what a client puts in is no answer of a model: %+v", row)
	}
	b.answer(t, "chat.inject", `{"sessionKey":"agent:eden:s1","message":"password: hunter2hunter2"}`)
	if stored := b.events(t, "session/agent:eden:s1"); strings.Contains(string(stored[len(stored)-1].Data), "hunter2") {
		t.Errorf("a secret is stored: %s", stored[len(stored)-1].Data)
	}
}

func TestInjectRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	for params, message := range map[string]string{
		`{}`: "invalid chat.inject params: must have required property 'sessionKey'; must have required property 'message'",
		`{"sessionKey":"agent:eden:s1","message":""}`:                                             "invalid chat.inject params: at /message: must NOT have fewer than 1 characters",
		`{"sessionKey":"agent:eden:nope","message":"x"}`:                                          "session not found",
		`{"sessionKey":"agent:stranger:x","message":"x"}`:                                         "session not found",
		`{"sessionKey":"agent::x","message":"x"}`:                                                 `malformed session key "agent::x"`,
		`{"sessionKey":" ","message":"x"}`:                                                        "sessionKey required",
		`{"sessionKey":"agent:eden:s1","message":"a\u0000b"}`:                                     "message must not contain null bytes",
		`{"sessionKey":"agent:eden:s1","message":"` + strings.Repeat("x", 1<<20+1) + `"}`:         "message too large",
		`{"sessionKey":"agent:eden:s1","message":"x","label":"` + strings.Repeat("x", 101) + `"}`: "invalid chat.inject params: at /label: must NOT have more than 100 characters",
	} {
		if got := b.refused(t, "chat.inject", params); got.Code != protocol.CodeInvalidRequest || got.Message != message {
			t.Errorf("%.80s: %q, want %q", params, got.Message, message)
		}
	}
	if n := len(want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:s1"}`).Messages); n != 0 {
		t.Errorf("%d messages were written all the same", n)
	}
}

// Over the wire: everybody hears of the message once it is in the transcript, under the whole key.
func TestInjectNotifiesAllClients(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url := b.serve(t)
	heard := make(chan client.Event, 100)
	author := dial(t, url, client.Options{MaxProtocol: 3, Event: func(e client.Event) { heard <- e }})
	other := make(chan client.Event, 100)
	reader := dial(t, url, client.Options{ID: "gateway-client", Mode: "ui", Scopes: []string{"operator.read"}, Event: func(e client.Event) { other <- e }})
	ctx := context.Background()
	if _, err := author.Call(ctx, "sessions.patch", json.RawMessage(`{"key":"main","label":"first"}`)); err != nil {
		t.Fatal(err)
	}
	answer, err := author.Call(ctx, "chat.inject", json.RawMessage(`{"sessionKey":"main","message":"hello all"}`))
	if err != nil {
		t.Fatal(err)
	}
	var injected struct{ MessageID string }
	if err := json.Unmarshal(answer, &injected); err != nil {
		t.Fatal(err)
	}
	mine := nextChat(heard)
	if theirs := nextChat(other); string(theirs) != string(mine) {
		t.Errorf("%s\n%s", mine, theirs)
	}
	var event struct {
		RunID, SessionKey, State string
		Seq                      int64
		Message                  message
	}
	if err := json.Unmarshal(mine, &event); err != nil {
		t.Fatal(err)
	}
	if event.RunID != "inject-"+injected.MessageID || event.SessionKey != "agent:main:main" || event.State != "final" || event.Seq != 0 ||
		event.Message.Content[0].Text != "hello all" || event.Message.Timestamp != b.now.Load() || event.Message.Model != "gateway-injected" {
		t.Errorf("%s", mine)
	}
	if names := slices.Sorted(maps.Keys(event.Message.Usage)); !slices.Equal(names, []string{"cacheRead", "cacheWrite", "cost", "input", "output", "totalTokens"}) {
		t.Errorf("usage %v", names)
	}
	seen, err := reader.Call(ctx, "chat.history", json.RawMessage(`{"sessionKey":"main"}`))
	if err != nil || !strings.Contains(string(seen), "hello all") {
		t.Errorf("%s, %v", seen, err)
	}
	if _, err := reader.Call(ctx, "chat.inject", json.RawMessage(`{"sessionKey":"main","message":"x"}`)); err == nil {
		t.Error("who may only read has written")
	}
}

// nextChat waits for the next chat event.
func nextChat(events <-chan client.Event) json.RawMessage {
	for e := range events {
		if e.Name == "chat" {
			return e.Payload
		}
	}
	return nil
}
