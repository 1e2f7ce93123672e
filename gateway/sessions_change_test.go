package gateway_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func TestPatchMakesASession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.patch(t, `{"key":"AGENT:Eden:S1","label":"  a  label "}`)
	if !got.OK || got.Path != b.database || got.Key != "agent:eden:s1" || got.Entry.Label != "a  label" || got.Entry.UpdatedAt != b.now.Load() ||
		got.Entry.SessionID == "" || got.Resolved.ModelProvider != "fake" || got.Resolved.Model != "echo-1" {
		t.Errorf("%+v", got)
	}
	stored := b.events(t, "session/agent:eden:s1")
	types := []string{}
	for i := range stored {
		e := &stored[i]
		types = append(types, e.Type)
		var data struct{ EventRole, By, SessionKey string }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		if e.AgentID != "eden" || e.Actor != eventstore.ActorHuman || data.EventRole == "" || data.By != "cli/i1" || e.TS != b.now.Load() {
			t.Errorf("%s of %s by %s at %d: %s", e.Type, e.AgentID, e.Actor, e.TS, e.Data)
		}
	}
	if diff := cmp.Diff([]string{coordination.TypeSessionCreated, coordination.TypeSessionPatched}, types); diff != "" {
		t.Error(diff)
	}
}

// A repeated request gets the answer of the first.
func TestPatchTwiceIsPatchOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const params = `{"key":"agent:eden:s1","label":"one","thinkingLevel":"HIGH","responseUsage":"on"}`
	first := b.answer(t, "sessions.patch", params)
	b.tick(time.Minute)
	if again := b.answer(t, "sessions.patch", params); string(again) != string(first) {
		t.Errorf("first %s\nagain %s", first, again)
	}
	if n := len(b.events(t, "session/agent:eden:s1")); n != 2 {
		t.Errorf("%d events", n)
	}
	// Once more with nothing to set at all.
	if again := b.answer(t, "sessions.patch", `{"key":"agent:eden:s1"}`); string(again) != string(first) {
		t.Errorf("first %s\nwith nothing %s", first, again)
	}
}

func TestPatchSetsAndClears(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1","label":"one"}`)
	all := b.patch(t, `{"key":"agent:eden:s1","thinkingLevel":"low","verboseLevel":"full","reasoningLevel":"on","elevatedLevel":"ask",
		"responseUsage":"on","sendPolicy":"deny","groupActivation":"always","execHost":"gateway","execSecurity":"full","execAsk":"off","execNode":"n1"}`)
	set := entry{SessionID: all.Entry.SessionID, UpdatedAt: b.now.Load(), Label: "one", ThinkingLevel: "low", VerboseLevel: "full", ReasoningLevel: "on",
		ElevatedLevel: "ask", ResponseUsage: "tokens", SendPolicy: "deny", GroupActivation: "always", ExecHost: "gateway", ExecSecurity: "full",
		ExecAsk: "off", ExecNode: "n1"}
	if diff := cmp.Diff(set, all.Entry); diff != "" {
		t.Error(diff)
	}
	cleared := b.patch(t, `{"key":"agent:eden:s1","thinkingLevel":null,"label":null,"responseUsage":"off","execNode":null}`)
	set.ThinkingLevel, set.Label, set.ResponseUsage, set.ExecNode = "", "", "", ""
	if diff := cmp.Diff(set, cleared.Entry); diff != "" {
		t.Error(diff)
	}
	model := b.patch(t, `{"key":"agent:eden:s1","model":"fake/echo-2"}`)
	if model.Resolved.Model != "echo-2" || model.Entry.ModelOverride != "echo-2" || model.Entry.ProviderOverride != "fake" || model.Entry.Model != "" {
		t.Errorf("%+v", model)
	}
	if row := want[list](t, b, "sessions.list", `{}`).Sessions[0]; row.Model != "echo-2" || row.ContextTokens != 64_000 {
		t.Errorf("%+v", row)
	}
	if back := b.patch(t, `{"key":"agent:eden:s1","model":null}`); back.Resolved.Model != "echo-1" || back.Entry.ModelOverride != "" {
		t.Errorf("%+v", back)
	}
	if child := b.patch(t, `{"key":"agent:eden:subagent:u1","spawnedBy":"agent:main:main","spawnDepth":1}`); child.Entry.SpawnedBy != "agent:main:main" ||
		child.Entry.SpawnDepth != 1 {
		t.Errorf("%+v", child)
	}
}

func TestPatchRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:main:first","label":"dup"}`)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	b.patch(t, `{"key":"agent:eden:subagent:u1","spawnedBy":"agent:main:main","spawnDepth":1}`)
	before := b.answer(t, "sessions.list", `{}`)
	for params, message := range map[string]string{
		`{}`:                         "invalid sessions.patch params: must have required property 'key'",
		`{"key":" "}`:                "key required",
		`{"key":"a b"}`:              `malformed session key "a b"`,
		`{"key":"agent:eden"}`:       `malformed session key "agent:eden"`,
		`{"key":"agent::x"}`:         `malformed session key "agent::x"`,
		`{"key":"agent:eden:"}`:      `malformed session key "agent:eden:"`,
		`{"key":"agent:stranger:x"}`: `unknown agent id "stranger"`,
		`{"key":"agent:eden:new","label":" dup "}`:          "label already in use: dup",
		`{"key":"agent:eden:s1","label":"dup"}`:             "label already in use: dup",
		`{"key":"agent:eden:s1","label":"   "}`:             "invalid label: empty",
		`{"key":"agent:eden:s1","thinkingLevel":"bogus"}`:   "invalid thinkingLevel (use off|minimal|low|medium|high)",
		`{"key":"agent:eden:s1","verboseLevel":"bogus"}`:    `invalid verboseLevel (use "on"|"off")`,
		`{"key":"agent:eden:s1","reasoningLevel":"bogus"}`:  `invalid reasoningLevel (use "on"|"off"|"stream")`,
		`{"key":"agent:eden:s1","execHost":"bogus"}`:        `invalid execHost (use "sandbox"|"gateway"|"node")`,
		`{"key":"agent:eden:s1","model":" "}`:               "invalid model: empty",
		`{"key":"agent:eden:s1","spawnedBy":"bogus"}`:       "spawnedBy is only supported for subagent:* sessions",
		`{"key":"agent:eden:subagent:u1","spawnedBy":"x"}`:  "spawnedBy cannot be changed once set",
		`{"key":"agent:eden:subagent:u1","spawnedBy":null}`: "spawnedBy cannot be cleared once set",
		`{"key":"agent:eden:subagent:u1","spawnDepth":2}`:   "spawnDepth cannot be changed once set",
		`{"key":"agent:eden:s1","sendPolicy":"maybe"}`: "invalid sessions.patch params: at /sendPolicy: must be equal to constant; " +
			"at /sendPolicy: must be null; at /sendPolicy: must match a schema in anyOf",
		`{"key":"agent:eden:s1","nope":1}`:                                      "invalid sessions.patch params: at root: unexpected property 'nope'",
		`{"key":"agent:eden:s1","agentId":"main"}`:                              `agent "main" does not match session key agent "eden"`,
		`{"key":"agent:eden:s1","expectedSessionId":"another"}`:                 "session agent:eden:s1 has another transcript now",
		`{"key":"agent:eden:s1","pinned":true}`:                                 "sessions.patch: pinned is not supported",
		`{"key":"agent:eden:` + strings.Repeat("x", 300) + `"}`:                 `malformed session key "agent:eden:` + strings.Repeat("x", 245) + `…"`,
		`{"key":"agent:eden:s1","model":"a\nb"}`:                                "invalid model: control characters",
		`{"key":"agent:eden:s1","execNode":"` + strings.Repeat("가", 257) + `"}`: "invalid execNode: too long (max 256)",
		`{"key":"agent:eden:subagent:u2","spawnedBy":"agent::x"}`:               `malformed session key "agent::x"`,
		`{"key":"agent:eden:subagent:u2","spawnedBy":"a b"}`:                    `malformed session key "a b"`,
	} {
		got := b.refused(t, "sessions.patch", params)
		if got.Code != protocol.CodeInvalidRequest || got.Message != message {
			t.Errorf("%s: %s %q, want %q", params, got.Code, got.Message, message)
		}
		if got.Details == nil {
			t.Errorf("%s: nothing says which field is wrong", params)
		}
	}
	if after := b.answer(t, "sessions.list", `{}`); string(after) != string(before) {
		t.Errorf("a refused patch has changed something:\n%s\n%s", before, after)
	}
}

// A bare name means a session of the agent that a client of protocol 4 names beside it.
func TestPatchUsesTheAgentBesideTheKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.protocol = 4
	for params, key := range map[string]string{
		`{"key":"s1","agentId":"Eden"}`:           "agent:eden:s1",
		`{"key":"main","agentId":"eden"}`:         "agent:eden:main",
		`{"key":"agent:eden:x","agentId":"EDEN"}`: "agent:eden:x",
		`{"key":"global","agentId":"eden"}`:       "global",
		`{"key":"s1","pinned":false,"icon":null}`: "agent:main:s1",
	} {
		if got := b.patch(t, params); got.Key != key {
			t.Errorf("%s: %s, want %s", params, got.Key, key)
		}
	}
}

func TestUnknownAgentsFoundNoSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for method, params := range map[string]string{"sessions.patch": `{"key":"agent:edne:x"}`, "sessions.reset": `{"key":"agent:edne:x"}`} {
		got := b.refused(t, method, params)
		if got.Message != `unknown agent id "edne"` || !strings.Contains(fmt.Sprint(got.Details), "[main eden seum]") {
			t.Errorf("%s: %q %v", method, got.Message, got.Details)
		}
	}
	// What an agent has had stays when it leaves.
	b.patch(t, `{"key":"agent:seum:x"}`)
	b.configure(t, strings.Replace(fixtureConfig, ", {id: 'seum', name: 'Seum'}", "", 1))
	b.patch(t, `{"key":"agent:seum:x","label":"left"}`)
	b.refused(t, "sessions.patch", `{"key":"agent:seum:y"}`)
	// Where no agents are configured, any agent id is accepted.
	b.configure(t, `{}`)
	b.patch(t, `{"key":"agent:anybody:x"}`)
}

func TestLabelsAreOfOneSessionEach(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const many = 10
	var mu sync.Mutex
	winners, losers := []string{}, map[string]int{}
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			key := fmt.Sprintf("agent:eden:s%d", i)
			_, refused := b.call("sessions.patch", fmt.Sprintf(`{"key":%q,"label":"wanted"}`, key))
			mu.Lock()
			defer mu.Unlock()
			if refused == nil {
				winners = append(winners, key)
			} else {
				losers[refused.Message]++
			}
		})
	}
	all.Wait()
	if len(winners) != 1 || losers["label already in use: wanted"] != many-1 {
		t.Fatalf("winners %v, losers %v", winners, losers)
	}
	if got := want[list](t, b, "sessions.list", `{}`); got.Count != 1 || got.Sessions[0].Key != winners[0] {
		t.Errorf("sessions %v: a refused patch makes none", got.keys())
	}
	// A label that its session gives up is free.
	b.patch(t, fmt.Sprintf(`{"key":%q,"label":null}`, winners[0]))
	b.patch(t, `{"key":"agent:main:x","label":"wanted"}`)
	b.answer(t, "sessions.delete", `{"key":"agent:main:x"}`)
	b.patch(t, `{"key":"agent:seum:x","label":"wanted"}`)
}

// An answer reports what its own request did, whatever others do meanwhile.
func TestPatchAnswersWithWhatItDid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			label := fmt.Sprintf("label %d", i)
			body, refused := b.call("sessions.patch", fmt.Sprintf(`{"key":"agent:eden:s1","label":%q}`, label))
			var got patched
			if refused != nil || json.Unmarshal(body, &got) != nil || got.Entry.Label != label {
				t.Errorf("%s: %s, %v", label, body, refused)
			}
		})
	}
	all.Wait()
}

func TestResetKeepsTheOldTranscript(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.patch(t, `{"key":"agent:eden:s1","label":"one","model":"fake/echo-2","thinkingLevel":"low"}`)
	b.say(t, "agent:eden:s1", `"author":"user","text":"remember me"`)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":"yes","provider":"fake","model":"echo-2","usage":{"input":1,"output":2,"total":3}`)
	b.tick(time.Minute)
	got := want[patched](t, b, "sessions.reset", `{"key":"AGENT:eden:s1","reason":"new"}`)
	if !got.OK || got.Key != "agent:eden:s1" || got.Entry.SessionID == old.Entry.SessionID || got.Entry.SessionID == "" || got.Entry.UpdatedAt != b.now.Load() {
		t.Errorf("%+v", got)
	}
	if e := got.Entry; e.Label != "one" || e.ThinkingLevel != "low" || e.ModelOverride != "echo-2" || e.TotalTokens == nil || *e.TotalTokens != 0 ||
		*e.InputTokens != 0 || !*e.TotalTokensFresh {
		t.Errorf("label, levels and model stay, tokens begin at 0: %+v", e)
	}
	h := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:s1"}`)
	if len(h.Messages) != 0 || h.SessionID != got.Entry.SessionID {
		t.Errorf("history after a reset: %+v", h)
	}
	var transcripts []sessions.Transcript
	b.view(t, func(ctx context.Context, tx *sql.Tx) (err error) {
		transcripts, err = sessions.Transcripts(ctx, tx, "agent:eden:s1")
		return err
	})
	if len(transcripts) != 2 || transcripts[1].ID != old.Entry.SessionID || transcripts[1].Messages != 2 || transcripts[1].Closed != "new" {
		t.Fatalf("%+v", transcripts)
	}
	b.protocol = 4
	kept := want[history](t, b, "chat.history", fmt.Sprintf(`{"sessionKey":"agent:eden:s1","sessionId":%q}`, old.Entry.SessionID))
	if len(kept.Messages) != 2 || kept.Messages[0].Content[0].Text != "remember me" {
		t.Errorf("the old transcript: %+v", kept)
	}
	if other := want[history](t, b, "chat.history", fmt.Sprintf(`{"sessionKey":"main","sessionId":%q}`, old.Entry.SessionID)); len(other.Messages) != 0 {
		t.Errorf("a transcript is shown as that of another key: %+v", other)
	}
}

func TestResetMakesASessionAndRefusesOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if got := want[patched](t, b, "sessions.reset", `{"key":"agent:eden:fresh"}`); !got.OK || got.Entry.SessionID == "" {
		t.Errorf("%+v", got)
	}
	for params, message := range map[string]string{
		`{}`:                   "invalid sessions.reset params: must have required property 'key'",
		`{"key":"  "}`:         "key required",
		`{"key":"agent:eden"}`: `malformed session key "agent:eden"`,
		`{"key":"agent:eden:fresh","reason":"bad"}`: "invalid sessions.reset params: at /reason: must be equal to constant; " +
			"at /reason: must match a schema in anyOf",
		`{"key":"agent:eden:fresh","expectedSessionId":"x"}`: "session agent:eden:fresh has another transcript now",
	} {
		if got := b.refused(t, "sessions.reset", params); got.Message != message {
			t.Errorf("%s: %q, want %q", params, got.Message, message)
		}
	}
}

type deleted struct {
	OK, Deleted bool
	Key         string
	Archived    []string
}

func TestDelete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.patch(t, `{"key":"agent:eden:s1","label":"one"}`)
	b.say(t, "agent:eden:s1", `"author":"user","text":"hi"`)
	got := want[deleted](t, b, "sessions.delete", `{"key":"agent:EDEN:s1","deleteTranscript":true}`)
	if diff := cmp.Diff(deleted{OK: true, Deleted: true, Key: "agent:eden:s1", Archived: []string{made.Entry.SessionID}}, got); diff != "" {
		t.Error(diff)
	}
	again := want[deleted](t, b, "sessions.delete", `{"key":"agent:eden:s1"}`)
	if diff := cmp.Diff(deleted{OK: true, Key: "agent:eden:s1", Archived: []string{}}, again); diff != "" {
		t.Error(diff)
	}
	b.refused(t, "sessions.resolve", `{"key":"agent:eden:s1"}`)
	if h := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:s1"}`); len(h.Messages) != 0 || h.SessionID != "" {
		t.Errorf("%+v", h)
	}
	// What comes after begins again.
	if next := b.patch(t, `{"key":"agent:eden:s1"}`); next.Entry.SessionID == made.Entry.SessionID || next.Entry.Label != "" {
		t.Errorf("%+v", next)
	}
	// An agent that is not the default one may lose its main session; one that is not configured has none.
	b.patch(t, `{"key":"agent:eden:main"}`)
	if got := want[deleted](t, b, "sessions.delete", `{"key":"agent:eden:main"}`); !got.Deleted {
		t.Errorf("%+v", got)
	}
	if got := want[deleted](t, b, "sessions.delete", `{"key":"agent:stranger:x"}`); got.Deleted {
		t.Errorf("%+v", got)
	}
}

func TestDeleteKeepsTheTranscriptIfAsked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "agent:eden:s1", `"author":"user","text":"hi"`)
	if got := want[deleted](t, b, "sessions.delete", `{"key":"agent:eden:s1","deleteTranscript":false}`); !got.Deleted || len(got.Archived) != 0 {
		t.Errorf("%+v", got)
	}
	b.view(t, func(ctx context.Context, tx *sql.Tx) error {
		all, err := sessions.Transcripts(ctx, tx, "agent:eden:s1")
		if len(all) != 1 || all[0].Messages != 1 {
			t.Errorf("%+v", all)
		}
		return err
	})
}

// With session.scope global all agents share one main session: whatever it is called means it, and it stays.
func TestSharedMainSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configure(t, strings.TrimSuffix(strings.TrimSpace(fixtureConfig), "}")+"session: {scope: 'global'}}")
	b.protocol = 4
	greeted, err := b.server.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	main := greeted.SessionDefaults.MainSessionKey
	made := b.patch(t, `{"key":"main","label":"one"}`)
	for _, params := range []string{`{"key":"main"}`, `{"key":"global"}`, `{"key":"agent:main:main"}`, `{"key":"Agent:EDEN:main"}`,
		`{"key":"main","agentId":"eden"}`} {
		if got := b.patch(t, params); got.Key != main || got.Entry.SessionID != made.Entry.SessionID {
			t.Errorf("%s: %s is not %s", params, got.Key, main)
		}
		if got := b.refused(t, "sessions.delete", params).Message; got != "Cannot delete the main session ("+main+")." {
			t.Errorf("%s: %s", params, got)
		}
	}
	b.refused(t, "sessions.patch", `{"key":"agent:eden:main","agentId":"main"}`)
	if got := b.patch(t, `{"key":"agent:eden:s1"}`); got.Key != "agent:eden:s1" {
		t.Errorf("another session: %s", got.Key)
	}
	if got := want[struct{ AgentID string }](t, b, "agent.identity.get", `{"sessionKey":"agent:eden:main"}`); got.AgentID != "eden" {
		t.Errorf("an agent is named by a session that it shares: %+v", got)
	}
	// Without it global is a session like another.
	b.configure(t, fixtureConfig)
	if got := want[deleted](t, b, "sessions.delete", `{"key":"global"}`); !got.Deleted {
		t.Errorf("%+v", got)
	}
}

func TestMalformedKeysNameTheirFieldOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for key, hint := range map[string]string{
		"agent:eden": "write agent:<agent>:<session>, or one of main, global, unknown, cron:…, hook:…, node…, acp:…",
		"agent::x":   "agent: name the agent",
	} {
		var said struct{ Field, Hint string }
		details, err := json.Marshal(b.refused(t, "sessions.patch", fmt.Sprintf(`{"key":%q}`, key)).Details)
		if err := errors.Join(err, json.Unmarshal(details, &said)); err != nil || said.Field != "key" || said.Hint != hint {
			t.Errorf("%s: %s, %v", key, details, err)
		}
	}
}

func TestDeleteRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"main"}`)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	for params, message := range map[string]string{
		`{"key":"main"}`:                                        "Cannot delete the main session (agent:main:main).",
		`{"key":"Agent:MAIN:main"}`:                             "Cannot delete the main session (agent:main:main).",
		`{"key":" "}`:                                           "key required",
		`{"key":"agent::x"}`:                                    `malformed session key "agent::x"`,
		`{"key":"agent:eden:s1","archivedOnly":true}`:           "session agent:eden:s1 is not archived",
		`{"key":"agent:eden:s1","expectedSessionUpdatedAt":1}`:  "session agent:eden:s1 has changed meanwhile",
		`{"key":"agent:eden:s1","expectedSessionId":"another"}`: "session agent:eden:s1 has another transcript now",
	} {
		if got := b.refused(t, "sessions.delete", params); got.Message != message {
			t.Errorf("%s: %q, want %q", params, got.Message, message)
		}
	}
	if n := want[list](t, b, "sessions.list", `{}`).Count; n != 2 {
		t.Errorf("%d sessions are left, want 2", n)
	}
}

func TestVisitorsOfPagesChangeNoSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	b.peer = protocol.Client{ID: "webchat-ui", Mode: "webchat"}
	for method, what := range map[string]string{"sessions.patch": "patch", "sessions.delete": "delete"} {
		message := "webchat clients cannot " + what + " sessions; use chat.send for session-scoped updates"
		if got := b.refused(t, method, `{"key":"agent:eden:s1"}`); got.Message != message || got.Code != protocol.CodeInvalidRequest {
			t.Errorf("%s: %q", method, got.Message)
		}
	}
	b.peer.ID = "openclaw-control-ui"
	b.patch(t, `{"key":"agent:eden:s1","label":"by the operator"}`)
	b.answer(t, "sessions.delete", `{"key":"agent:eden:s1"}`)
}

// What programs do by themselves is not said of people.
func TestEventsSayWhoActs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for mode, actor := range map[string]eventstore.Actor{"cli": eventstore.ActorHuman, "ui": eventstore.ActorHuman, "webchat": eventstore.ActorHuman,
		"backend": eventstore.ActorSystem, "probe": eventstore.ActorSystem} {
		b.peer = protocol.Client{ID: "openclaw-control-ui", Mode: mode, DisplayName: "it"}
		b.patch(t, fmt.Sprintf(`{"key":"agent:eden:%s"}`, mode))
		e := b.events(t, "session/agent:eden:"+mode)[0]
		if e.Actor != actor || !strings.Contains(string(e.Data), `"by":"openclaw-control-ui/it"`) {
			t.Errorf("%s: %s %s", mode, e.Actor, e.Data)
		}
	}
}

func TestCompactSaysThatTranscriptsStayWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:empty"}`)
	b.say(t, "agent:eden:s1", `"author":"user","text":"hi"`)
	for params, answer := range map[string]string{
		`{"key":"nope"}`:                       `{"ok":true,"key":"agent:main:nope","compacted":false,"reason":"no sessionId"}`,
		`{"key":"agent:eden:empty"}`:           `{"ok":true,"key":"agent:eden:empty","compacted":false,"reason":"no transcript"}`,
		`{"key":"agent:eden:s1","maxLines":1}`: `{"ok":true,"key":"agent:eden:s1","compacted":false,"reason":"transcripts are kept whole","kept":1}`,
	} {
		if got := string(b.answer(t, "sessions.compact", params)); got != answer {
			t.Errorf("%s: %s", params, got)
		}
	}
}

// Promise: sessions
func TestSessionsOutliveARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1","label":"one","thinkingLevel":"high"}`)
	b.answer(t, "chat.inject", `{"sessionKey":"agent:eden:s1","message":"hi","label":"note"}`)
	questions := map[string]string{"sessions.list": `{"includeLastMessage":true}`, "chat.history": `{"sessionKey":"agent:eden:s1"}`,
		"sessions.preview": `{"keys":["agent:eden:s1"]}`, "sessions.resolve": `{"label":"one"}`}
	before := map[string]string{}
	for method, params := range questions {
		before[method] = string(b.answer(t, method, params))
	}
	b.reopen(t)
	for method, params := range questions {
		if after := string(b.answer(t, method, params)); after != before[method] {
			t.Errorf("%s before %s\nafter %s", method, before[method], after)
		}
	}
}

// A client whose change finds the queue full is told to come again, and when.
func TestBusyStoreIsUnavailableForAMoment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := b.db.Exclusive(context.Background(), func(eventstore.Tx) error {
			close(held)
			<-release
			return nil
		}, nil)
		if err != nil {
			t.Error(err)
		}
	})
	<-held
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 9<<20) + `"}`)
	all.Go(func() {
		events := []eventstore.NewEvent{{Type: "test.large", Data: large}, {Type: "test.large", Data: large}}
		if _, err := b.db.Append(context.Background(), eventstore.StreamAppend{Stream: "test/large", Events: events}); err != nil {
			t.Error(err)
		}
	})
	for b.db.Gauges().QueuedBytes == 0 {
		runtime.Gosched()
	}
	got := b.refused(t, "sessions.patch", `{"key":"agent:eden:s1"}`)
	if got.Code != protocol.CodeUnavailable || !got.Retryable || got.RetryAfter <= 0 {
		t.Errorf("%+v", got)
	}
	close(release)
	all.Wait()
	b.patch(t, `{"key":"agent:eden:s1"}`)
}

func TestFullDiskIsUnavailable(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *sqlite.Options) { o.MaxPages = 400 })
	var refused *protocol.Error
	for i := 0; refused == nil && i < 1_000; i++ {
		if i == 0 {
			b.patch(t, `{"key":"agent:eden:s1"}`)
		}
		_, refused = b.call("chat.inject", fmt.Sprintf(`{"sessionKey":"agent:eden:s1","message":%q}`, strings.Repeat("x", 100_000)))
	}
	if refused == nil || refused.Code != protocol.CodeUnavailable || !refused.Retryable || !strings.HasPrefix(refused.Message, "disk full") {
		t.Fatalf("%+v", refused)
	}
	if strings.Contains(refused.Message, b.database) {
		t.Errorf("clients are told where the file lies: %s", refused.Message)
	}
	if n := want[list](t, b, "sessions.list", `{}`).Count; n != 1 {
		t.Errorf("%d sessions: reading goes on", n)
	}
}

// What is in the way of everybody is told with its code and what to do, and not where the file lies.
func TestTroubleOfTheStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *sqlite.Options) { o.LockWait = 50 * time.Millisecond })
	b.patch(t, `{"key":"agent:eden:s1"}`)
	tells := func(code string) {
		t.Helper()
		refused := b.refused(t, "sessions.patch", `{"key":"agent:eden:s1","label":"x"}`)
		told, err := json.Marshal(refused)
		if err != nil {
			t.Fatal(err)
		}
		if refused.Code != protocol.CodeUnavailable || !refused.Retryable || refused.RetryAfter <= 0 || !strings.Contains(string(told), `"code":"`+code+`"`) {
			t.Errorf("%s: %s", code, told)
		}
		if strings.Contains(string(told), b.database) {
			t.Errorf("clients are told where the file lies: %s", told)
		}
	}
	other, err := sqlite.OpenPlain(b.database, 1)
	if err != nil {
		t.Fatal(err)
	}
	held, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	tells("busy")
	if err := errors.Join(held.Rollback(), other.Close()); err != nil {
		t.Fatal(err)
	}
	b.patch(t, `{"key":"agent:eden:s1","label":"y"}`)
	if err := os.Rename(b.database, b.database+".old"); err != nil {
		t.Fatal(err)
	}
	tells("database_lost")
	if err := os.Rename(b.database+".old", b.database); err != nil {
		t.Fatal(err)
	}
	b.patch(t, `{"key":"agent:eden:s1","label":"z"}`)
}
