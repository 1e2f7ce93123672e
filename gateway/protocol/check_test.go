package protocol_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

func x(n int) string { return strings.Repeat("x", n) }

// Recorded from the original. Where protocol 4 has more forms than 3 did, the words are those of 3.
func TestParamsAreRefusedInTheWordsOfTheOriginal(t *testing.T) {
	t.Parallel()
	const nullable = "at /%[1]s: must be null; at /%[1]s: must match a schema in anyOf"
	for _, c := range []struct{ method, params, want string }{
		{"sessions.patch", `{}`, "must have required property 'key'"},
		{"sessions.patch", `{"key":1,"foo":2}`, "at root: unexpected property 'foo'; at /key: must be string"},
		{"sessions.patch", `[]`, "must be object"},
		{"sessions.patch", `"x"`, "must be object"},
		{"sessions.patch", `{"key":"a","label":"` + x(65) + `"}`, "at /label: must NOT have more than 64 characters; " + fmt.Sprintf(nullable, "label")},
		{"sessions.patch", `{"key":"a","label":1}`, "at /label: must be string; " + fmt.Sprintf(nullable, "label")},
		{"sessions.patch", `{"key":"a","label":""}`, "at /label: must NOT have fewer than 1 characters; " + fmt.Sprintf(nullable, "label")},
		{"sessions.patch", `{"key":"a","sendPolicy":"maybe"}`, "at /sendPolicy: must be equal to constant; " + fmt.Sprintf(nullable, "sendPolicy")},
		{"sessions.patch", `{"key":"a","sendPolicy":1}`, "at /sendPolicy: must be string; at /sendPolicy: must be equal to constant; " + fmt.Sprintf(nullable, "sendPolicy")},
		{"sessions.patch", `{"key":"a","groupActivation":"x"}`, "at /groupActivation: must be equal to constant; " + fmt.Sprintf(nullable,
			"groupActivation")},
		{"sessions.patch", `{"key":"a","foo":1,"label":"` + x(65) + `","sendPolicy":"maybe"}`,
			"at root: unexpected property 'foo'; at /label: must NOT have more than 64 characters; " +
				fmt.Sprintf(nullable, "label") + "; at /sendPolicy: must be equal to constant; " + fmt.Sprintf(nullable, "sendPolicy")},
		{"sessions.patch", `{"key":"a","spawnDepth":-1}`, "at /spawnDepth: must be >= 0; " + fmt.Sprintf(nullable, "spawnDepth")},
		{"sessions.patch", `{"key":"a","spawnDepth":1.5}`, "at /spawnDepth: must be integer; " + fmt.Sprintf(nullable, "spawnDepth")},
		{"sessions.patch", `{"foo":1}`, "must have required property 'key'; at root: unexpected property 'foo'"},
		{"sessions.patch", `{"foo":1,"label":"","thinkingLevel":1,"key":""}`,
			"at root: unexpected property 'foo'; at /key: must NOT have fewer than 1 characters; " +
				"at /label: must NOT have fewer than 1 characters; " + fmt.Sprintf(nullable,
				"label") + "; at /thinkingLevel: must be string; " + fmt.Sprintf(nullable, "thinkingLevel")},
		{"sessions.list", `{"limit":0,"foo":1}`, "at root: unexpected property 'foo'; at /limit: must be >= 1"},
		{"sessions.list", `{"zz":1,"yy":2}`, "at root: unexpected property 'zz'; at root: unexpected property 'yy'"},
		{"sessions.list", `{"limit":"x","agentId":1}`, "at /limit: must be integer; at /agentId: must be string"},
		{"sessions.list", `{"label":"` + x(65) + `"}`, "at /label: must NOT have more than 64 characters"},
		{"sessions.list", `true`, "must be object"},
		{"chat.history", `{"sessionKey":"a","limit":1.5}`, "at /limit: must be integer"},
		{"chat.history", `{"sessionKey":"a","limit":"x","foo":1}`, "at root: unexpected property 'foo'; at /limit: must be integer"},
		{"chat.history", `{"sessionKey":"a","limit":1001}`, "at /limit: must be <= 1000"},
		{"sessions.preview", `{"keys":[],"foo":1,"limit":0}`, "at root: unexpected property 'foo'; at /keys: must NOT have fewer than 1 items; at /limit: must be >= 1"},
		{"sessions.preview", `{"keys":[1]}`, "at /keys/0: must be string"},
		{"sessions.preview", `{"keys":["a"],"maxChars":19}`, "at /maxChars: must be >= 20"},
		{"sessions.reset", `{"key":"a","reason":"bad"}`, "at /reason: must be equal to constant; at /reason: must match a schema in anyOf"},
		{"wake", `{}`, "must have required property 'mode'; must have required property 'text'"},
		{"agent", `{}`, "must have required property 'message'; must have required property 'idempotencyKey'"},
		{"chat.send", `{"foo":1,"sessionKey":"","message":1}`, "must have required property 'idempotencyKey'; at root: unexpected property 'foo'; " +
			"at /sessionKey: must NOT have fewer than 1 characters; at /message: must be string"},
		{"chat.inject", `{"sessionKey":"a","message":"x","label":"` + x(101) + `"}`, "at /label: must NOT have more than 100 characters"},
		{"send", `{}`, "must have required property 'to'; must have required property 'idempotencyKey'"},
		{"channels.status", `{"probe":true,"timeoutMs":-1}`, "at /timeoutMs: must be >= 0"},
		{"agent", `{"foo":1,"message":"","timeout":-1,"label":"` + x(65) + `","inputProvenance":{"kind":"x"}}`,
			"must have required property 'idempotencyKey'; " +
				"at root: unexpected property 'foo'; at /message: must NOT have fewer than 1 characters; at /timeout: must be >= 0; " +
				"at /inputProvenance/kind: must be equal to one of the allowed values; at /label: must NOT have more than 64 characters"},
		{"models.list", `{"foo":1}`, "at root: unexpected property 'foo'"},
		{"sessions.usage", `{"limit":1,"startDate":"bad"}`, `at /startDate: must match pattern "^\d{4}-\d{2}-\d{2}$"`},
		{"config.patch", `{"raw":{}}`, "at /raw: must be string"},
		{"connect", `{}`, "must have required property 'minProtocol'; must have required property 'maxProtocol'; must have required property 'client'"},
		{"connect", `{"minProtocol":0,"maxProtocol":3,"client":{"id":"cli","version":"1","platform":"x","mode":"cli"}}`, "at /minProtocol: must be >= 1"},
		{"connect", `{"minProtocol":3,"maxProtocol":3,"client":{"id":"my","version":"","platform":"x","mode":"operator"}}`,
			"at /client/id: must be equal to constant; at /client/id: must match a schema in anyOf; at /client/version: must NOT have fewer than 1 characters; " +
				"at /client/mode: must be equal to constant; at /client/mode: must match a schema in anyOf"},
		{"connect", `{"minProtocol":3,"maxProtocol":3,"client":{"id":"cli","version":"1","platform":"x","mode":"cli"},"auth":{"tok":"T"},"scopes":"x"}`,
			"at /scopes: must be array; at /auth: unexpected property 'tok'"},
		{"sessions.list", `{"limit":1e999}`, "at /limit: must be integer"},
		{"health", `[]`, "must be object"},
	} {
		if got := protocol.Check(c.method, json.RawMessage(c.params)); got == nil || got.Code != protocol.CodeInvalidRequest ||
			got.Message != "invalid "+c.method+" params: "+c.want {
			t.Errorf("%s %s:\n got %v\nwant %s", c.method, c.params, got, c.want)
		}
	}
}

// testdata/ajv.ndjson is what ajv 8 with all faults, which is what the original uses, says of random requests and the same schemas.
func TestParamsAreJudgedAsAjvJudgesThem(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/ajv.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c struct {
			Method, Want string
			Params       json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got := ""
		if e := protocol.Check(c.Method, c.Params); e != nil {
			got = e.Message
		}
		if got != c.Want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.Method, c.Params, got, c.Want)
		}
	}
	if n < 400 {
		t.Errorf("only %d cases", n)
	}
}

func TestParamsThatAreRightPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, params string }{
		{"sessions.list", ``}, {"sessions.list", `null`}, {"sessions.list", ` null `}, {"sessions.list", `{}`}, {"agents.list", ``},
		{"health", `{"probe":true,"whatever":[1]}`}, {"status", `{"includeChannelSummary":false,"includeCliProjection":true}`},
		{"sessions.list", `{"limit":1.0e1}`}, {"sessions.list", `{"limit":0,"limit":5}`},
		{"sessions.patch", `{"key":"a","label":null,"spawnDepth":null,"sendPolicy":null,"thinkingLevel":"high"}`},
		{"sessions.patch", `{"key":"a","label":"` + strings.Repeat("🌿", 64) + `"}`},
		{"no.such.method", `[[[`}, {"no.such.method", `{"any":1}`},
		// What clients of protocol 4 send.
		{"sessions.subscribe", `{}`}, {"sessions.describe", `{"key":"agent:main:main"}`}, {"commands.list",
			`{"agentId":"main","scope":"text","includeArgs":false}`},
		{"question.list", `{}`}, {"plugin.approval.list", `{}`}, {"node.pair.list", `{}`}, {"models.list", `{"view":"default","includeDetails":true}`},
		{"cron.list", `{"includeDisabled":false,"limit":200,"offset":0}`}, {"chat.history",
			`{"sessionKey":"a","limit":200,"agentId":"main","maxChars":500}`},
		{"sessions.list", `{"agentId":"main","limit":1,"offset":0,"archived":"all","profileRelation":{"profileId":"p","relationship":"owned"}}`},
		{"chat.send", `{"sessionKey":"a","message":"","deliver":false,"idempotencyKey":"i","fastMode":"auto","mentions":[{"profileId":"p"}]}`},
		{"chat.abort", `{"sessionKey":"a","agentId":"main","preserveSideRuns":true}`}, {"sessions.delete", `{"key":"a","archivedOnly":true}`},
		{"tools.invoke", `{"name":"t","args":{"deep":{"er":[1]}},"confirm":true,"idempotencyKey":"i"}`},
		{"chat.startup", `{"sessionKey":"a","agentId":"main","limit":80,"maxBytes":262144,"inputRunIds":["r"]}`},
		{"chat.metadata", `{"agentId":"main","sessionKey":"a"}`},
		{"connect", connectOf4},
	} {
		if got := protocol.Check(c.method, json.RawMessage(c.params)); got != nil {
			t.Errorf("%s %s: %v", c.method, c.params, got)
		}
	}
}

func TestFirstFaultIsInTheDetails(t *testing.T) {
	t.Parallel()
	secret := "s3cr3t-" + x(20)
	for _, c := range []struct {
		method, params string
		want           protocol.Fault
	}{
		{"sessions.list", `{"limit":0}`, protocol.Fault{Field: "limit", Value: 0.0, Hint: "give 1 or more"}},
		{"chat.history", `{"sessionKey":"a","limit":5000}`, protocol.Fault{Field: "limit", Value: 5000.0, Hint: "give 1000 or less"}},
		{"wake", `{"mode":"soon","text":"a"}`, protocol.Fault{Field: "mode", Value: "soon", Hint: `give "now"`}},
		{"wake", `{"mode":"` + x(100) + `","text":"a"}`, protocol.Fault{Field: "mode", Value: x(64) + "…", Hint: `give "now"`}},
		{"sessions.preview", `{"keys":["a",""]}`, protocol.Fault{Field: "keys.1", Hint: "give a text"}},
		{"agents.list", `{"foo":1}`, protocol.Fault{Field: "foo", Hint: "leave it out"}},
		{"sessions.patch", `{}`, protocol.Fault{Field: "key", Hint: "add it"}},
		{"sessions.patch", `[]`, protocol.Fault{Hint: "make it object"}},
		{"connect", `{"minProtocol":3,"maxProtocol":3,"client":{"id":"cli","version":"1","platform":"x","mode":"cli"},"auth":{"token":["` + secret + `"]}}`,
			protocol.Fault{Field: "auth.token", Hint: "make it string"}},
		{"connect", `{"minProtocol":3,"maxProtocol":3,"client":{"id":"cli","version":"1","platform":"x","mode":"cli"},"auth":"` + secret + `"}`,
			protocol.Fault{Field: "auth", Hint: "make it object"}},
	} {
		e := protocol.Check(c.method, json.RawMessage(c.params))
		if e == nil {
			t.Errorf("%s %s passes", c.method, c.params)
			continue
		}
		if got, is := e.Details.(*protocol.Fault); !is || *got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.method, c.params, e.Details, c.want)
		}
		if told, err := json.Marshal(e); err != nil || strings.Contains(string(told), secret) {
			t.Errorf("%s tells %s %v", c.method, told, err)
		}
	}
}

// The validator walks maps, whose order is another one each time.
func TestFaultsAreAlwaysInTheSameOrder(t *testing.T) {
	t.Parallel()
	const one = `{"minProtocol":3,"maxProtocol":3,"client":{"id":"my","version":"","mode":"operator","zz":1,"aa":1,"timeZone":""}}`
	const want = "invalid connect params: at /client: must have required property 'platform'; at /client: unexpected property 'zz'; " +
		"at /client: unexpected property 'aa'; at /client/id: must be equal to constant; at /client/id: must match a schema in anyOf; " +
		"at /client/version: must NOT have fewer than 1 characters; at /client/mode: must be equal to constant; " +
		"at /client/mode: must match a schema in anyOf; at /client/timeZone: must NOT have fewer than 1 characters"
	for range 50 {
		if e := protocol.Check("connect", json.RawMessage(one)); e == nil || e.Message != want {
			t.Fatalf("\n got %v\nwant %s", e, want)
		}
	}
	for range 50 {
		e := protocol.Check("connect", json.RawMessage(`{"minProtocol":3,"maxProtocol":3,"client":{"id":"cli","version":"1","platform":"x","mode":"cli"},
			"permissions":{"b":1,"c":1,"a":1}}`))
		if want := "invalid connect params: at /permissions/b: must be boolean; at /permissions/c: must be boolean; at /permissions/a: must be boolean"; e == nil ||
			e.Message != want {
			t.Fatalf("\n got %v\nwant %s", e, want)
		}
	}
}

func TestFaultsOfParamsAreBounded(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&names, `"%s%d":1,`, x(50), i)
	}
	for _, c := range []struct{ method, params string }{
		{"sessions.preview", `{"keys":[` + strings.Repeat("1,", 20_000) + `1]}`},
		{"sessions.preview", `{"keys":[` + strings.Repeat("1e999,", 9_000) + `1]}`},
		{"sessions.list", "{" + names.String() + `"z":1}`},
		{"connect", `{"permissions":{` + names.String() + `"z":1}}`},
	} {
		if e := protocol.Check(c.method, json.RawMessage(c.params)); e == nil || len(e.Message) > 4000 || !strings.HasSuffix(e.Message, "; and more") {
			t.Errorf("%s %.40s: %.5000v", c.method, c.params, e)
		}
	}
}

func TestEveryDescribedMethodCanBeChecked(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("params.json")
	if err != nil {
		t.Fatal(err)
	}
	var table map[string]json.RawMessage
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	for method := range table {
		if !protocol.Described(method) {
			t.Errorf("%s is in the table and not described", method)
		}
		if e := protocol.Check(method, json.RawMessage(`7`)); e == nil || e.Message != "invalid "+method+" params: must be object" {
			t.Errorf("%s takes a number: %v", method, e)
		}
	}
	if protocol.Described("no.such.method") || protocol.Described("") {
		t.Error("what is in no table is described")
	}
	for _, method := range []string{"connect", "health", "status", "system-presence", "sessions.list", "sessions.resolve", "sessions.preview",
		"sessions.patch",
		"sessions.reset", "sessions.delete", "sessions.compact", "sessions.usage", "chat.history", "chat.inject", "chat.send", "chat.abort", "agent",
		"agent.wait",
		"agent.identity.get", "agents.list", "agents.files.list", "models.list", "config.get", "config.schema", "config.patch", "config.set",
		"config.apply", "logs.tail",
		"channels.status", "tools.catalog", "skills.status", "node.list", "device.pair.list", "cron.list", "cron.status", "last-heartbeat",
		"usage.status", "usage.cost",
		"voicewake.get", "exec.approvals.get", "send", "wake", "system-event", "sessions.subscribe", "sessions.describe", "tools.invoke"} {
		if !protocol.Described(method) {
			t.Errorf("%s is not described", method)
		}
	}
}

func FuzzCheck(f *testing.F) {
	methods := []string{"sessions.patch", "sessions.list", "connect", "agent", "sessions.preview", "sessions.usage", "cron.runs", "chat.send",
		"tools.invoke", "health"}
	for i, seed := range []string{`{"key":1e999,"zz":{},"label":[null]}`, `{"limit":-1.5}`, `{"client":{"id":"x"},"permissions":{"a/b~":1}}`,
		`{"inputProvenance":{"kind":""}}`,
		`{"keys":["a",1,{"b":[]}]}`, `{"startDate":"\u0000"}`, `{"statuses":["ok",1,"x"]}`, `null`, `{"args":{"":{}}}`, `"`} {
		f.Add(byte(i), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which byte, params []byte) {
		method := methods[int(which)%len(methods)]
		e := protocol.Check(method, params)
		if e == nil {
			return
		}
		if e.Code != protocol.CodeInvalidRequest || !strings.HasPrefix(e.Message, "invalid "+method+" params: ") {
			t.Errorf("%s %q: %+v", method, params, e)
		}
		for range 3 {
			if again := protocol.Check(method, params); again == nil || again.Message != e.Message {
				t.Fatalf("%s %q: once %v, once %v", method, params, e, again)
			}
		}
		if _, err := protocol.Failure("1", e, nil); err != nil {
			t.Errorf("%s %q: %v", method, params, err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct{ name, method, params string }{
		{"nothing", "agents.list", ``},
		{"right", "sessions.list", `{"limit":100,"includeDerivedTitles":true,"includeLastMessage":true,"agentId":"eden"}`},
		{"wrong", "sessions.list", `{"limit":0,"foo":1}`},
		{"union", "sessions.patch", `{"key":"agent:eden:main","label":"a","sendPolicy":null}`},
		{"many wrong", "sessions.preview", `{"keys":[` + strings.Repeat("1,", 20_000) + `1]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				protocol.Check(c.method, json.RawMessage(c.params))
			}
		})
	}
}
