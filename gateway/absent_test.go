package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// What is not here is answered as empty as it is, in the shapes that clients read on from.
func TestAbsentFeaturesAnswerEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const now = "NOW"
	zero := `"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"totalCost":0,"inputCost":0,"outputCost":0,"cacheReadCost":0,"cacheWriteCost":0,"missingCostEntries":0`
	for _, c := range []struct{ method, params, wanted string }{
		{"node.list", `{}`, `{"ts":` + now + `,"nodes":[]}`},
		{"node.pair.list", `{}`, `{"pending":[],"paired":[]}`},
		{"device.pair.list", `{}`, `{"pending":[],"paired":[]}`},
		{"cron.list", `{}`, `{"hasMore":false,"jobs":[],"limit":50,"nextOffset":null,"offset":0,"total":0}`},
		{"cron.list", `{"includeDisabled":false,"limit":200,"offset":3}`, `{"hasMore":false,"jobs":[],"limit":200,"nextOffset":null,"offset":3,"total":0}`},
		{"cron.runs", `{"id":"x"}`, `{"entries":[],"hasMore":false,"limit":50,"nextOffset":null,"offset":0,"total":0}`},
		{"question.list", `{}`, `{"questions":[]}`},
		{"plugin.approval.list", `{}`, `[]`},
		{"commands.list", `{"agentId":"main","scope":"text","includeArgs":false}`, `{"commands":[]}`},
		{"usage.status", `{}`, `{"updatedAt":` + now + `,"providers":[]}`},
		{"usage.cost", `{}`, `{"updatedAt":` + now + `,"days":30,"daily":[],"totals":{` + zero + `}}`},
		{"usage.cost", `{"days":7}`, `{"updatedAt":` + now + `,"days":7,"daily":[],"totals":{` + zero + `}}`},
		{"usage.cost", `{"days":"x"}`, `{"updatedAt":` + now + `,"days":30,"daily":[],"totals":{` + zero + `}}`},
		{"voicewake.get", `{}`, `{"triggers":[]}`},
		{"talk.config", `{}`, `{"config":{}}`},
		{"exec.approvals.get", `{}`, `{"path":"","exists":false,"hash":"","file":{"version":1,"defaults":{},"agents":{}}}`},
		{"last-heartbeat", `{}`, `null`},
		{"set-heartbeats", `{"enabled":false}`, `{"ok":true,"enabled":false}`},
		{"chat.abort", `{"sessionKey":"main"}`, `{"ok":true,"aborted":false,"runIds":[]}`},
	} {
		moment, err := json.Marshal(b.now.Load())
		if err != nil {
			t.Fatal(err)
		}
		wanted := strings.ReplaceAll(c.wanted, now, string(moment))
		if got := string(b.answer(t, c.method, c.params)); got != wanted {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.method, c.params, got, wanted)
		}
	}
	b.protocol = 4
	if got := string(b.answer(t, "cron.list", `{}`)); !strings.Contains(got, `"snapshotRevision":"0"`) {
		t.Errorf("no revision, without which clients of protocol 4 take no page: %s", got)
	}
}

// Faults of a request are reported first; a valid request still runs no agent.
func TestNoAgentRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const absent = "no agents run here"
	for _, c := range []struct{ method, params, message string }{
		{"agent", `{"message":"hi","idempotencyKey":"k","sessionKey":"agent:eden:s1"}`, absent},
		{"agent", `{"message":"hi","idempotencyKey":"k","agentId":"eden","channel":"last"}`, absent},
		{"agent", `{"message":"hi","idempotencyKey":"k"}`, absent},
		{"agent", `{}`, "invalid agent params: must have required property 'message'; must have required property 'idempotencyKey'"},
		{"agent", `{"message":"hi","idempotencyKey":"k","agentId":"ghost"}`, `invalid agent params: unknown agent id "ghost"`},
		{"agent", `{"message":"hi","idempotencyKey":"k","sessionKey":"agent:ghost:s1"}`, `invalid agent params: unknown agent id "ghost"`},
		{"agent", `{"message":"hi","idempotencyKey":"k","agentId":"main","sessionKey":"agent:ghost:s1"}`,
			`invalid agent params: agent "main" does not match session key agent "ghost"`},
		{"agent", `{"message":"hi","idempotencyKey":"k","sessionKey":"agent:eden"}`, `invalid agent params: malformed session key "agent:eden"`},
		{"agent", `{"message":"hi","idempotencyKey":"k","channel":"pigeon"}`, `invalid agent params: unknown channel: pigeon`},
		{"chat.send", `{"message":"hi","idempotencyKey":"k","sessionKey":"main"}`, absent},
		{"chat.send", `{"message":"","idempotencyKey":"k","sessionKey":"main","attachments":[{}]}`, absent},
		{"chat.send", `{"message":"  ","idempotencyKey":"k","sessionKey":"main"}`, "message or attachment required"},
		{"chat.send", `{"message":"a\u0000b","idempotencyKey":"k","sessionKey":"main"}`, "message must not contain null bytes"},
		{"chat.send", `{"message":"hi","idempotencyKey":"k","sessionKey":"agent::x"}`, `malformed session key "agent::x"`},
		{"chat.send", `{"message":"hi","idempotencyKey":"k","sessionKey":"agent:ghost:x"}`, `unknown agent id "ghost"`},
		{"chat.send", `{"message":"hi","sessionKey":"main"}`, "invalid chat.send params: must have required property 'idempotencyKey'"},
		{"wake", `{"mode":"now","text":"a"}`, absent},
		{"wake", `{}`, "invalid wake params: must have required property 'mode'; must have required property 'text'"},
		{"set-heartbeats", `{"enabled":true}`, absent},
		{"set-heartbeats", `{"enabled":1}`, "invalid set-heartbeats params: enabled (boolean) required"},
	} {
		got := b.refused(t, c.method, c.params)
		details, err := json.Marshal(got.Details)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.message == absent:
			if got.Code != protocol.CodeUnavailable || !strings.HasPrefix(got.Message, absent) || got.Retryable ||
				string(details) != `{"code":"runs_not_available"}` {
				t.Errorf("%s %s: %+v", c.method, c.params, got)
			}
		case got.Code != protocol.CodeInvalidRequest || got.Message != c.message:
			t.Errorf("%s %s: %s %s, want %s", c.method, c.params, got.Code, got.Message, c.message)
		}
	}
}

func TestNothingIsDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const send, poll = `"to":"p","idempotencyKey":"k"`, `"to":"p","question":"q","options":["a","b"],"idempotencyKey":"k"`
	for _, c := range []struct{ config, method, params, code, message string }{
		{`{}`, "send", `{}`, "INVALID_REQUEST", "invalid send params: must have required property 'to'; must have required property 'idempotencyKey'"},
		{`{}`, "send", `{` + send + `}`, "INVALID_REQUEST", "invalid send params: text or media is required"},
		{`{}`, "send", `{` + send + `,"message":" ","channel":"nochan"}`, "INVALID_REQUEST", "invalid send params: text or media is required"},
		{`{}`, "send", `{` + send + `,"message":"x","channel":"nochan"}`, "INVALID_REQUEST", "unsupported channel: nochan"},
		{`{}`, "send", `{` + send + `,"mediaUrl":"x","channel":"WebChat"}`, "INVALID_REQUEST", "unsupported channel: webchat (internal-only). Use "},
		{`{}`, "send", `{` + send + `,"mediaUrls":["x"]}`, "UNAVAILABLE", "no channel is configured"},
		{`{}`, "send", `{` + send + `,"message":"x","channel":"discord"}`, "UNAVAILABLE", "no channel is configured"},
		{withDiscord, "send", `{` + send + `,"message":"x"}`, "UNAVAILABLE", "discord is configured, but"},
		{`{}`, "poll", `{"to":"p","question":"q","options":["a"],"idempotencyKey":"k"}`, "INVALID_REQUEST",
			"invalid poll params: at /options: must NOT have fewer than 2 items"},
		{`{}`, "poll", `{` + poll + `,"channel":"nochan"}`, "INVALID_REQUEST", "unsupported poll channel: nochan"},
		{`{}`, "poll", `{` + poll + `}`, "UNAVAILABLE", "no channel is configured"},
		{withDiscord, "poll", `{` + poll + `,"channel":"Discord"}`, "UNAVAILABLE", "discord is configured, but"},
	} {
		b.configure(t, c.config)
		if got := b.refused(t, c.method, c.params); got.Code != c.code || !strings.HasPrefix(got.Message, c.message) || got.Retryable {
			t.Errorf("%s %s: %s %s, want %s", c.method, c.params, got.Code, got.Message, c.message)
		}
	}
}

func TestWaitingForARunTakesItsTimeAndEndsWithTheClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	synctest.Test(t, func(t *testing.T) {
		for params, takes := range map[string]time.Duration{
			`{"runId":"x","timeoutMs":0}`: 0, `{"runId":"x","timeoutMs":400}`: 400 * time.Millisecond, `{"runId":"x"}`: 30 * time.Second,
			`{"runId":"x","timeoutMs":1e300}`: (1<<31 - 1) * time.Millisecond,
		} {
			start := time.Now()
			got, err := b.server.Answer(t.Context(), &wire.Call{Method: "agent.wait", Params: json.RawMessage(params)})
			text, encoding := json.Marshal(got)
			if err != nil || encoding != nil || string(text) != `{"runId":"x","status":"timeout","state":"unknown"}` || time.Since(start) != takes {
				t.Errorf("%s: %s, %v after %s", params, text, err, time.Since(start))
			}
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		start := time.Now()
		_, err := b.server.Answer(ctx, &wire.Call{Method: "agent.wait", Params: json.RawMessage(`{"runId":"x"}`)})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// Where agents run, heartbeat methods are refused, because there are none.
func TestAgentsHaveNoHeartbeats(t *testing.T) {
	t.Parallel()
	b, _, _ := staged(t)
	for method, params := range map[string]string{
		"wake":           `{"mode":"now","text":"the build is done"}`,
		"set-heartbeats": `{"enabled":true}`,
		"system-event":   `{"text":"the build is done","wake":true}`,
	} {
		got := b.refused(t, method, params)
		details, err := json.Marshal(got.Details)
		if err != nil {
			t.Fatal(err)
		}
		if got.Code != protocol.CodeUnavailable || string(details) != `{"code":"heartbeats_not_available"}` || strings.Contains(got.Message, "no agents run here") {
			t.Errorf("%s: %+v %s", method, got, details)
		}
	}
}
