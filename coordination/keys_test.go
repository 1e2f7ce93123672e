package coordination

import (
	"errors"
	"strings"
	"testing"
)

func TestThreadKey(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		typ, agent, data, key string
		kind                  ThreadKind
	}{
		{"a2a.send", "eden", `{"conversationId":" c1 ","fromAgent":"a","toAgent":"b"}`, "conv:c1", ThreadConversation},
		{"a2a.send", "eden", `{"fromAgent":"seum","toAgent":"eden"}`, "pair:eden_seum", ThreadPair},
		{"a2a.send", "eden", `{"fromAgent":"eden","toAgent":"Seum"}`, "pair:Seum_eden", ThreadPair},
		{"a2a.send", "eden", `{"fromAgent":"Eden","toAgent":"eden"}`, "pair:Eden_eden", ThreadPair},
		{"a2a.send", "eden", "{\"fromAgent\":\"\uffee\",\"toAgent\":\"🦞\"}", "pair:🦞_\uffee", ThreadPair},
		{"task.started", "eden", `{}`, "pair:eden_unknown", ThreadPair},
		{"task.started", "zed", `{}`, "pair:unknown_zed", ThreadPair},
		{"task.started", "", `{"toAgent":"eden"}`, "pair:eden_unknown", ThreadPair},
		{"task.started", "", `{}`, "event:task.started:5905280", ThreadEvent},
		{"task.started", "unknown", `{}`, "event:task.started:5905280", ThreadEvent},
	} {
		r := read(t, RulesV1, tt.typ, tt.agent, tt.data)
		if key, kind := ThreadKey(&r); key != tt.key || kind != tt.kind {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.data, key, kind, tt.key, tt.kind)
		}
	}
	for ms, want := range map[float64]string{0: "event:x:0", 299999.5: "event:x:0", 300000: "event:x:1", -1: "event:x:-1"} {
		if key, _ := ThreadKey(&Record{Type: "x", Time: ms}); key != want {
			t.Errorf("at %v: %s, want %s", ms, key, want)
		}
	}
}

func TestRouteKey(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ ws, a, b, want string }{
		{"ws_1", "Seum", "eden", "ws_1::eden|seum"},
		{"ws_1", "eden", " SEUM ", "ws_1::eden|seum"},
		{"ws_1", "eden", "eden", "ws_1::eden|eden"},
		{"", "eden", "seum", ""},
		{"ws_1", "", "seum", ""},
		{"ws_1", "eden", " ", ""},
	} {
		if key, ok := RouteKey(tt.ws, tt.a, tt.b); key != tt.want || ok != (tt.want != "") {
			t.Errorf("%+v: %q, %v", tt, key, ok)
		}
	}
}

func TestFeedsRoute(t *testing.T) {
	t.Parallel()

	const full = `"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_1","conversationId":"c1"`
	for _, tt := range []struct {
		typ, data string
		want      bool
	}{
		{"a2a.send", `{` + full + `}`, true},
		{"a2a.response", `{` + full + `}`, true},
		{"a2a.complete", `{` + full + `}`, true},
		{"a2a.auto_route", `{` + full + `}`, false},
		{"a2a.retry", `{` + full + `,"eventRole":"conversation.main"}`, false},
		{"a2a.send", `{` + full + `,"eventRole":"delegation.subagent"}`, false},
		{"a2a.send", `{` + full + `,"eventRole":"conversation.main","parentConversationId":"c0"}`, false},
		{"a2a.send", `{"fromAgent":"eden","toAgent":"seum","conversationId":"c1"}`, false},
		{"a2a.send", `{"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_1"}`, false},
		{"a2a.send", `{"fromAgent":"eden","workSessionId":"ws_1","conversationId":"c1","eventRole":"conversation.main"}`, false},
	} {
		r := read(t, RulesV2, tt.typ, "eden", tt.data)
		if got := FeedsRoute(&r, Classify(RulesV2, &r, Scan{}, testRoster())); got != tt.want {
			t.Errorf("%s %s: %v", tt.typ, tt.data, got)
		}
	}
}

func TestParseSessionKey(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]SessionKey{
		"agent:eden:main":                            MainKey("eden"),
		" Agent:Eden:MAIN ":                          MainKey("eden"),
		"agent:eden:inbox":                           {Kind: KeyMain, Agent: "eden", ID: "inbox"},
		"agent:eden:subagent:8c1f":                   SubagentKey("eden", "8c1f"),
		"agent:eden:a2a:c-1":                         A2AKey("eden", "c-1"),
		"agent:eden:direct:42":                       DirectKey("eden", "", "", "42"),
		"agent:eden:discord:direct:42":               DirectKey("eden", "discord", "", "42"),
		"agent:eden:discord:ruda:direct:42":          DirectKey("eden", "discord", "ruda", "42"),
		"agent:eden:discord:channel:77":              ChannelKey("eden", "discord", "77"),
		"agent:eden:telegram:group:-100":             GroupKey("eden", "telegram", "-100"),
		"agent:eden:discord:channel:77:thread:9":     {Kind: KeyChannel, Agent: "eden", Channel: "discord", ID: "77", Thread: "9"},
		"agent:eden:telegram:group:-100:topic:3":     {Kind: KeyGroup, Agent: "eden", Channel: "telegram", ID: "-100", Topic: "3"},
		"agent:eden:cron:daily":                      {Kind: KeyCron, Agent: "eden", ID: "daily"},
		"agent:eden:cron:daily:run:5e":               {Kind: KeyCron, Agent: "eden", ID: "daily", Run: "5e"},
		"agent:eden:acp:a:b":                         {Kind: KeyACP, Agent: "eden", ID: "a:b"},
		"agent:eden:discord:voice:1":                 {Kind: KeyOther, Agent: "eden", Channel: "discord", ID: "voice:1"},
		"agent:eden:openai-user:alice":               {Kind: KeyOther, Agent: "eden", Channel: "openai-user", ID: "alice"},
		"main":                                       {Kind: KeyAlias, ID: "main"},
		"Global":                                     {Kind: KeyAlias, ID: "global"},
		"unknown":                                    {Kind: KeyAlias, ID: "unknown"},
		"cron:daily":                                 {Kind: KeyAlias, ID: "cron:daily"},
		"hook:github":                                {Kind: KeyAlias, ID: "hook:github"},
		"node-1":                                     {Kind: KeyAlias, ID: "node-1"},
		"agent:" + strings.Repeat("a", 64) + ":main": MainKey(strings.Repeat("a", 64)),
	} {
		k, err := ParseSessionKey(text)
		if err != nil || k != want {
			t.Errorf("%s: %+v, %v", text, k, err)
			continue
		}
		if k.String() != strings.ToLower(strings.TrimSpace(text)) {
			t.Errorf("%s is written %s", text, k)
		}
	}
}

func TestMalformedSessionKey(t *testing.T) {
	t.Parallel()

	for text, field := range map[string]string{
		"":                 "key",
		"eden":             "key",
		"agent":            "key",
		"agent:eden":       "key",
		"agents:eden:main": "key",
		"agent::main":      "agent",
		"agent:-eden:main": "agent",
		"agent:이든:main":    "agent",
		"agent:e den:main": "agent",
		"agent:" + strings.Repeat("a", 65) + ":main": "agent",
		"agent:eden:":                                "id",
		"agent:eden:subagent":                        "id",
		"agent:eden:subagent:":                       "id",
		"agent:eden:a2a:c:1":                         "key",
		"agent:eden:a2a:c 1":                         "id",
		"agent:eden:a2a:" + strings.Repeat("c", 129): "id",
		"agent:eden:discord::1":                      "id",
		"agent:eden::channel:1":                      "channel",
		"agent:eden:discord:channel:1:thread":        "thread",
		"agent:eden:discord:channel:1:post:2":        "thread",
		"agent:eden:discord:channel:1:topic:":        "topic",
		"agent:eden:telegram::direct:1":              "account",
		"agent:eden:cron:daily:run":                  "run",
		"agent:eden:cron:daily:run:1:2":              "key",
		"cron:":                                      "key",
	} {
		_, err := ParseSessionKey(text)
		var fault *SessionKeyError
		if !errors.As(err, &fault) || fault.Field != field || fault.Key != text || fault.Hint == "" {
			t.Errorf("%q: %v, want a fault in %s", text, err, field)
		}
	}
}

// A whole key has at most 240 bytes, so that the name of its stream can always be stored; parts keep their own limits.
func TestLengthOfSessionKeys(t *testing.T) {
	t.Parallel()

	pad := func(head string, n int) string { return head + strings.Repeat("x", n-len(head)) }
	long := "agent:" + strings.Repeat("a", 64) + ":" + strings.Repeat("c", 40) + ":"
	for text, field := range map[string]string{
		pad(long, 239): "", pad(long, 240): "", pad(long, 241): "key",
		pad("cron:", 240): "", pad("cron:", 241): "key", pad("node", 241): "key",
		pad("agent:eden:", len("agent:eden:")+128): "", pad("agent:eden:", len("agent:eden:")+129): "id",
	} {
		k, err := ParseSessionKey(text)
		var fault *SessionKeyError
		if field == "" && (err != nil || k.String() != text || len(SessionStream(k)) > 256) || field != "" && (!errors.As(err, &fault) || fault.Field != field) {
			t.Errorf("%d bytes of %.20s: %v, want a fault in %q", len(text), text, err, field)
		}
	}
}

func TestSessionKeyOf(t *testing.T) {
	t.Parallel()

	for name, want := range map[string]string{
		"main":                          "agent:ruda:main",
		" MAIN ":                        "agent:ruda:main",
		"s1":                            "agent:ruda:s1",
		"Inbox":                         "agent:ruda:inbox",
		"대화":                            "agent:ruda:대화",
		"subagent:8c1f":                 "agent:ruda:subagent:8c1f",
		"discord:channel:77":            "agent:ruda:discord:channel:77",
		"openai-user:alice":             "agent:ruda:openai-user:alice",
		"agents:x":                      "agent:ruda:agents:x",
		"agent:Eden:MAIN":               "agent:eden:main",
		"agent:eden:discord:channel:77": "agent:eden:discord:channel:77",
		"Global":                        "global",
		"unknown":                       "unknown",
		"hook:github":                   "hook:github",
		"node-1":                        "node-1",
	} {
		if k, err := SessionKeyOf(name, "ruda"); err != nil || k.String() != want {
			t.Errorf("%q is %s, %v, want %s", name, k, err, want)
		}
	}
	// What begins like a key and is none, and what cannot be one, never stands for some session.
	for name, field := range map[string]string{
		"": "key", " ": "key", "\u3000": "key", "agent": "key", "agent:": "key", "agent:eden": "key", "agent::x": "agent", "agent:eden:": "id",
		"agent:e den:main": "agent", "agent:이든:main": "agent", "agent:-eden:main": "agent",
		"my chat": "id", "a\x00b": "id", "a\xffb": "id", ":": "channel", "subagent": "id", "subagent:": "id", "a2a:c:1": "key", strings.Repeat("x", 129): "id",
	} {
		k, err := SessionKeyOf(name, "ruda")
		var fault *SessionKeyError
		if !errors.As(err, &fault) || k != (SessionKey{}) || fault.Field != field || fault.Key != name || fault.Hint == "" {
			t.Errorf("%q: %+v, %v, want a fault in %s", name, k, err, field)
		}
	}
}

func TestNormalizeAgentID(t *testing.T) {
	t.Parallel()

	for name, want := range map[string]string{
		"Eden": "eden", " Worker Quick ": "worker-quick", "--a--": "a", "__a_": "a_", "이든": "", "": "", "a/b:c": "a-b-c",
		strings.Repeat("x", 63) + "-y": strings.Repeat("x", 63),
	} {
		if got := NormalizeAgentID(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func FuzzSessionKey(f *testing.F) {
	for _, seed := range []string{"main", "agent:eden:main", "agent:a:b:c:direct:d", "agent:a:b:group:c:topic:d", "agent:a:acp:x:y", "agent:a:cron:b:run:c", "AGENT:A:SUBAGENT:İ", "node\u0085"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseSessionKey(text)
		if err != nil {
			var fault *SessionKeyError
			if !errors.As(err, &fault) || k != (SessionKey{}) {
				t.Fatalf("%+v, %v", k, err)
			}
			return
		}
		again, err := ParseSessionKey(k.String())
		if err != nil || again != k {
			t.Errorf("%q is %+v, written %q it is %+v, %v", text, k, k, again, err)
		}
	})
}

// Whatever a client calls a session: it is one key, which can be stored and means the same to everybody, or it is refused.
func FuzzSessionKeyOf(f *testing.F) {
	for _, seed := range []string{"main", " MAIN", "s1", "agent:eden:main", "agent::x", "agent:", "global", "node\u0085", "İ", "a\xff", "discord:ruda:direct:1", "x:y:z:", "agent:a:acp:x:y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		k, err := SessionKeyOf(name, "ruda")
		if err != nil {
			var fault *SessionKeyError
			if !errors.As(err, &fault) || k != (SessionKey{}) || fault.Key != name {
				t.Fatalf("%+v, %v", k, err)
			}
			return
		}
		key := k.String()
		if again, err := ParseSessionKey(key); err != nil || again != k {
			t.Errorf("%q is %s, which reads as %+v, %v", name, key, again, err)
		}
		if again, err := SessionKeyOf(key, "eden"); err != nil || again != k {
			t.Errorf("%q is %s, which another client takes for %+v, %v", name, key, again, err)
		}
		if len(key) > MaxSessionKey || len(SessionStream(k)) > 256 || !isPlain(key) || k.Agent == "" && k.Kind != KeyAlias {
			t.Errorf("%q is %q of %q", name, key, k.Agent)
		}
	})
}

// What is no id of an agent makes no key, whatever stands beside it.
func TestEmptySessionKey(t *testing.T) {
	t.Parallel()

	for _, agent := range []string{"", " ", "a b", "a:b", "-eden", "이든", "a\x00", "Eden", strings.Repeat("x", 65)} {
		for _, name := range []string{"main", "s1"} {
			k, err := SessionKeyOf(name, agent)
			var fault *SessionKeyError
			if !errors.As(err, &fault) || k != (SessionKey{}) || fault.Field != "agent" || fault.Key != name {
				t.Errorf("%q of agent %q: %+v, %v", name, agent, k, err)
			}
		}
		if k, err := SessionKeyOf("agent:eden:s1", agent); err != nil || k.Agent != "eden" {
			t.Errorf("a whole key beside agent %q: %+v, %v", agent, k, err)
		}
	}
}
