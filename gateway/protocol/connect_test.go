package protocol_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

const (
	connectOf3 = `{"minProtocol":3,"maxProtocol":3,"client":{"id":"cli","version":"dev","platform":"linux","mode":"cli","instanceId":"8a60"},"caps":[],
		"auth":{"token":"T"},"role":"operator","scopes":["operator.admin","operator.read"],
		"device":{"id":"7d72","publicKey":"JJYY","signature":"0r1t","signedAt":1795227854166,"nonce":"9f76"}}`
	connectOf4 = `{"minProtocol":4,"maxProtocol":4,"client":{"id":"openclaw-tui","displayName":"openclaw-tui","version":"2026.9.6","buildId":"b","timeZone":"Asia/Seoul",
		"platform":"linux","deviceFamily":"Linux","mode":"ui"},"caps":["agent-kind","tool-events"],"auth":{"password":"P","bootstrapToken":"B","approvalRuntimeToken":"R"},
		"role":"operator","scopes":["operator.admin"],"computerUse":{"a":1},"workerRuns":{},"modelCatalog":{"agentId":"main"},"locale":"ko","userAgent":"x"}`
)

func TestConnectOfBothVersionsIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]protocol.Connect{
		connectOf3: {
			MinProtocol: 3, MaxProtocol: 3, Client: protocol.Client{ID: "cli", Version: "dev", Platform: "linux", Mode: "cli", InstanceID: "8a60"},
			Caps: []string{},
			Auth: protocol.Credentials{Token: "T"}, Role: "operator", Scopes: []string{"operator.admin", "operator.read"},
			Device: &protocol.Device{ID: "7d72", PublicKey: "JJYY", Signature: "0r1t", SignedAt: 1795227854166, Nonce: "9f76"},
		},
		connectOf4: {
			MinProtocol: 4, MaxProtocol: 4, Client: protocol.Client{ID: "openclaw-tui", DisplayName: "openclaw-tui", Version: "2026.9.6", BuildID: "b",
				TimeZone: "Asia/Seoul", Platform: "linux", DeviceFamily: "Linux", Mode: "ui"},
			Caps: []string{"agent-kind", "tool-events"}, Auth: protocol.Credentials{Password: "P", BootstrapToken: "B"}, Role: "operator",
			Scopes: []string{"operator.admin"}, Locale: "ko", UserAgent: "x",
		},
		`{"minProtocol":1.0,"maxProtocol":9e300,"client":{"id":"test","version":"1","platform":"x","mode":"test"}}`: {
			MinProtocol: 1, MaxProtocol: 1<<31 - 1, Client: protocol.Client{ID: "test", Version: "1", Platform: "x", Mode: "test"}, Role: "operator",
		},
	} {
		got, e := protocol.ParseConnect(json.RawMessage(text))
		if e != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s:\n got %+v %v\nwant %+v", text, got, e, want)
		}
	}
}

func TestConnectThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	base := `{"minProtocol":3,"maxProtocol":3,"client":{"id":"cli","version":"1","platform":"x","mode":"cli"}`
	for text, want := range map[string]string{
		`null`:                      "invalid connect params: must have required property 'minProtocol'; must have required property 'maxProtocol'; must have required property 'client'",
		`[]`:                        "invalid connect params: must be object",
		base + `,"foo":1}`:          "invalid connect params: at root: unexpected property 'foo'",
		base + `,"role":"admin"}`:   "invalid role",
		base + `,"role":"visitor"}`: "invalid role",
		base + `,"role":""}`:        "invalid connect params: at /role: must NOT have fewer than 1 characters",
		base + `,"device":{"id":"a"}}`: "invalid connect params: at /device: must have required property 'publicKey'; at /device: must have required property 'signature'; " +
			"at /device: must have required property 'signedAt'; at /device: must have required property 'nonce'",
	} {
		if got, e := protocol.ParseConnect(json.RawMessage(text)); e == nil || e.Message != want || e.Code != protocol.CodeInvalidRequest {
			t.Errorf("%s: %+v %v, want %s", text, got, e, want)
		}
	}
}

func TestHighestCommonVersionIsSpoken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ least, most, version, expected int }{
		{3, 3, 3, 0}, {4, 4, 4, 0}, {3, 4, 4, 0}, {1, 9, 4, 0}, {4, 9, 4, 0}, {1, 3, 3, 0},
		{5, 5, 0, 4}, {1, 2, 0, 3}, {9, 1, 0, 3}, {5, 3, 0, 4},
	} {
		version, e := protocol.Negotiate(c.least, c.most)
		if version != c.version || (e == nil) != (c.version != 0) {
			t.Errorf("%d..%d: %d %v, want %d", c.least, c.most, version, e, c.version)
		}
		if e == nil {
			continue
		}
		details, err := json.Marshal(e.Details)
		if err != nil {
			t.Fatal(err)
		}
		var told map[string]any
		_ = json.Unmarshal(details, &told)
		want := map[string]any{"code": "PROTOCOL_MISMATCH", "expectedProtocol": float64(c.expected), "minProtocol": 3.0, "maxProtocol": 4.0,
			"clientMinProtocol": float64(c.least), "clientMaxProtocol": float64(c.most)}
		if e.Code != protocol.CodeInvalidRequest || e.Message != "protocol mismatch" || !reflect.DeepEqual(told, want) {
			t.Errorf("%d..%d: %+v %s", c.least, c.most, e, details)
		}
	}
}

func TestHelloFitsTheVersionOfTheClient(t *testing.T) {
	t.Parallel()
	hello := protocol.HelloOK{
		Server:   protocol.ServerInfo{Version: "1.2.3", ConnID: "c"},
		Features: protocol.Features{Methods: []string{"health"}, Capabilities: []string{"published-model-catalog"}},
		Snapshot: protocol.Snapshot{UptimeMs: 5, StateVersion: protocol.StateVersion{Presence: 1, Health: 2}, AuthMode: "token",
			SessionDefaults: protocol.SessionDefaults{DefaultAgentID: "main", MainKey: "main", MainSessionKey: "agent:main:main", Scope: "per-sender"}},
		Auth: protocol.HelloAuth{Method: "token", Role: "operator", IssuedAtMs: 7},
	}
	const snapshot = `"snapshot":{"presence":[],"health":{},"stateVersion":{"presence":1,"health":2},"uptimeMs":5,` +
		`"sessionDefaults":{"defaultAgentId":"main","mainKey":"main","mainSessionKey":"agent:main:main","scope":"per-sender"},"authMode":"token"}`
	const policy = `"policy":{"maxPayload":26214400,"maxBufferedBytes":52428800,"tickIntervalMs":30000}}`
	const server = `"server":{"version":"1.2.3","connId":"c"},`
	for _, c := range []struct {
		version int
		token   string
		want    string
	}{
		{3, "", `{"type":"hello-ok","protocol":3,` + server + `"features":{"methods":["health"],"events":[]},` + snapshot + `,` + policy},
		{3, "t", `{"type":"hello-ok","protocol":3,` + server + `"features":{"methods":["health"],"events":[]},` + snapshot +
			`,"auth":{"deviceToken":"t","role":"operator","scopes":[],"issuedAtMs":7},` + policy},
		{4, "", `{"type":"hello-ok","protocol":4,` + server + `"features":{"methods":["health"],"events":[],"capabilities":["published-model-catalog"]},` + snapshot +
			`,"auth":{"method":"token","role":"operator","scopes":[]},` + policy},
		{4, "t", `{"type":"hello-ok","protocol":4,` + server + `"features":{"methods":["health"],"events":[],"capabilities":["published-model-catalog"]},` + snapshot +
			`,"auth":{"method":"token","deviceToken":"t","role":"operator","scopes":[],"issuedAtMs":7},` + policy},
	} {
		hello.Protocol, hello.Auth.DeviceToken = c.version, c.token
		got, err := protocol.Response("1", hello)
		if want := `{"type":"res","id":"1","ok":true,"payload":` + c.want + `}`; err != nil || string(got) != want {
			t.Errorf("version %d:\n got %s %v\nwant %s", c.version, got, err, want)
		}
	}
}

func FuzzParseConnect(f *testing.F) {
	f.Add([]byte(connectOf3))
	f.Add([]byte(connectOf4))
	f.Add([]byte(`{"minProtocol":1e400,"client":null}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		c, e := protocol.ParseConnect(params)
		if (c == nil) == (e == nil) {
			t.Fatalf("%q: %+v %v", params, c, e)
		}
		if e != nil && (e.Code == "" || e.Message == "") || c != nil && (c.Role == "" || c.Client.ID == "" || strings.TrimSpace(c.Client.Mode) == "") {
			t.Errorf("%q: %+v %v", params, c, e)
		}
	})
}
