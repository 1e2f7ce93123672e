package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

type resolved struct {
	OK           bool
	Key, AgentID string
}

func TestResolveFindsByKeyIDAndLabel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.patch(t, `{"key":"agent:eden:s1","label":"One"}`)
	b.patch(t, `{"key":"main"}`)
	b.patch(t, `{"key":"s2"}`)
	for params, key := range map[string]string{
		`{"key":"agent:eden:s1"}`:                                   "agent:eden:s1",
		`{"key":" AGENT:Eden:S1 "}`:                                 "agent:eden:s1",
		`{"key":"main"}`:                                            "agent:main:main",
		`{"key":"S2"}`:                                              "agent:main:s2",
		`{"label":" One "}`:                                         "agent:eden:s1",
		`{"label":"One","agentId":"EDEN"}`:                          "agent:eden:s1",
		fmt.Sprintf(`{"sessionId":%q}`, made.Entry.SessionID):       "agent:eden:s1",
		fmt.Sprintf(`{"sessionId":" %s "}`, made.Entry.SessionID):   "agent:eden:s1",
		`{"key":"main","sessionId":" ","label":" "}`:                "agent:main:main",
		`{"key":"main","includeGlobal":true,"includeUnknown":true}`: "agent:main:main",
	} {
		if got := want[resolved](t, b, "sessions.resolve", params); !got.OK || got.Key != key || got.AgentID != "" {
			t.Errorf("%s: %+v, want %s", params, got, key)
		}
	}
	b.protocol = 4
	if got := want[resolved](t, b, "sessions.resolve", `{"label":"One"}`); got.AgentID != "eden" {
		t.Errorf("a client of protocol 4 is not told the agent: %+v", got)
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.patch(t, `{"key":"agent:eden:s1","label":"one"}`)
	b.patch(t, `{"key":"global","label":"all"}`)
	for params, message := range map[string]string{
		`{}`:                                  "Either key, sessionId, or label is required",
		`{"key":" "}`:                         "Either key, sessionId, or label is required",
		`{"key":"a","label":"b"}`:             "Provide either key, sessionId, or label (not multiple)",
		`{"key":"nope"}`:                      "No session found: nope",
		`{"key":"agent:stranger:x"}`:          "No session found: agent:stranger:x",
		`{"sessionId":"zz"}`:                  "No session found: zz",
		`{"label":"zip"}`:                     "No session found with label: zip",
		`{"label":"ONE"}`:                     "No session found with label: ONE",
		`{"label":"one","agentId":"main"}`:    "No session found with label: one",
		`{"label":"one","spawnedBy":"main"}`:  "No session found with label: one",
		`{"label":"all"}`:                     "No session found with label: all",
		`{"key":"agent:eden"}`:                `malformed session key "agent:eden"`,
		`{"key":"agent::x"}`:                  `malformed session key "agent::x"`,
		`{"sessionId":"z","includeGlobal":1}`: "invalid sessions.resolve params: at /includeGlobal: must be boolean",
	} {
		if got := b.refused(t, "sessions.resolve", params); got.Code != "INVALID_REQUEST" || got.Message != message {
			t.Errorf("%s: %s %q, want %q", params, got.Code, got.Message, message)
		}
	}
	// A transcript that a reset has put away is no session's any more.
	b.answer(t, "sessions.reset", `{"key":"agent:eden:s1"}`)
	b.refused(t, "sessions.resolve", fmt.Sprintf(`{"sessionId":%q}`, made.Entry.SessionID))
}

func TestDescribeGivesARowOrNull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.protocol = 4
	b.patch(t, `{"key":"agent:eden:s1","label":"one"}`)
	type described struct{ Session *row }
	if got := want[described](t, b, "sessions.describe", `{"key":"AGENT:eden:s1"}`); got.Session == nil || got.Session.Label != "one" {
		t.Errorf("%+v", got)
	}
	if got := string(b.answer(t, "sessions.describe", `{"key":"agent:eden:absent"}`)); got != `{"session":null}` {
		t.Error(got)
	}
}

type previews struct {
	TS       int64
	Previews []struct {
		Key, Status string
		Items       []struct{ Role, Text string }
	}
}

func TestPreviewsShowHowTranscriptsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "agent:eden:s1", `"author":"user","text":"first"`)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":"","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"1","name":"agents_list","arguments":{}}]`)
	b.say(t, "agent:eden:s1", `"author":"tool","toolName":"agents_list","text":"eden, seum"`)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":" [note]\n\nlast  "`)
	b.patch(t, `{"key":"agent:eden:empty"}`)
	got := want[previews](t, b, "sessions.preview", `{"keys":["AGENT:Eden:S1"," ","agent:eden:absent","agent:stranger:x","agent:eden:empty","agent::x"]}`)
	if got.TS != b.now.Load() || len(got.Previews) != 5 {
		t.Fatalf("ts %d, %d previews", got.TS, len(got.Previews))
	}
	for i, status := range []string{"ok", "missing", "missing", "empty", "error"} {
		if p := got.Previews[i]; p.Status != status || p.Items == nil || len(p.Items) > 0 != (status == "ok") {
			t.Errorf("preview %d: %+v, want %s", i, p, status)
		}
	}
	first := got.Previews[0]
	if said := fmt.Sprint(first.Key, first.Items); said != "AGENT:Eden:S1[{user first} {tool call agents_list} {tool eden, seum} {assistant [note]\n\nlast}]" {
		t.Errorf("%q", said)
	}
	b.answer(t, "sessions.reset", `{"key":"agent:eden:s1"}`)
	if p := want[previews](t, b, "sessions.preview", `{"keys":["agent:eden:s1"]}`).Previews[0]; p.Status != "empty" {
		t.Errorf("after a reset: %+v", p)
	}
}

func TestPreviewsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "agent:eden:s1", numbered(60, `"author":"user","text":"%d `+strings.Repeat("가", 3_000)+`"`)...)
	for params, bound := range map[string]struct{ items, chars int }{
		`{"keys":["agent:eden:s1"]}`:                                {12, 240},
		`{"keys":["agent:eden:s1"],"limit":2,"maxChars":20}`:        {2, 20},
		`{"keys":["agent:eden:s1"],"limit":1e9,"maxChars":1000000}`: {50, 2_000},
	} {
		p := want[previews](t, b, "sessions.preview", params).Previews[0]
		if len(p.Items) != bound.items {
			t.Fatalf("%s: %d items, want %d", params, len(p.Items), bound.items)
		}
		last := p.Items[len(p.Items)-1].Text
		if n := len([]rune(last)); n != bound.chars || !strings.HasPrefix(last, "59 가") || !strings.HasSuffix(last, "...") {
			t.Errorf("%s: the last one has %d characters: %.40s", params, n, last)
		}
	}
	keys := `"` + strings.Repeat(`agent:eden:s1","`, 99) + `main"`
	if got := want[previews](t, b, "sessions.preview", `{"keys":[`+keys+`]}`); len(got.Previews) != 64 || len(got.Previews[63].Items) != 10 {
		t.Errorf("%d previews for 100 keys, the last one with %d items", len(got.Previews), len(got.Previews[63].Items))
	}
	if got := string(b.answer(t, "sessions.preview", `{"keys":[" "]}`)); !strings.HasSuffix(got, `"previews":[]}`) {
		t.Error(got)
	}
}

func TestReadsTellNothingOfSessionsThatAreNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tick(time.Minute)
	for _, key := range []string{"agent:eden:absent", "agent:stranger:x", "global", "x"} {
		if got := string(b.answer(t, "chat.history", fmt.Sprintf(`{"sessionKey":%q}`, key))); got != `{"sessionKey":"`+key+`","messages":[],"thinkingLevel":"off"}` {
			t.Error(got)
		}
	}
	if n := want[list](t, b, "sessions.list", `{"includeGlobal":true}`).Count; n != 0 {
		t.Errorf("reading has made %d sessions", n)
	}
}
