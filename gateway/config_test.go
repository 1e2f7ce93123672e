package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

type configGot struct {
	Path, Hash               string
	Raw                      *string
	Exists, Valid            bool
	Parsed, Resolved, Config map[string]any
	Issues, Warnings         []config.Issue
	LegacyIssues             []config.Issue
}

type configDone struct {
	OK, Noop   bool
	Path, Hash string
	Config     map[string]any
	Restart    *struct {
		OK, Required bool
		Settings     []string
		Reason       string
	}
}

// fileText is what lies in the place of the configuration.
func (b *bundle) fileText(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(b.configuration.path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writeParams are those of a method that changes the file as it is.
func (b *bundle) writeParams(t testing.TB, raw string) string {
	t.Helper()
	params, err := json.Marshal(map[string]any{"raw": raw, "baseHash": want[configGot](t, b, "config.get", `{}`).Hash, "note": "by a test",
		"sessionKey": "agent:eden:main", "restartDelayMs": 0})
	if err != nil {
		t.Fatal(err)
	}
	return string(params)
}

func TestConfigGetShowsTheFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := string(b.answer(t, "config.get", `{}`))
	got := want[configGot](t, b, "config.get", `{}`)
	if got.Path != b.configuration.path || !got.Exists || !got.Valid || len(got.Hash) != 64 || got.Raw == nil ||
		!strings.Contains(*got.Raw, "// said by the operator") {
		t.Errorf("%s", body)
	}
	for _, secret := range []string{fixtureToken, "fixture-key"} {
		if strings.Contains(body, secret) {
			t.Errorf("it shows %s", secret)
		}
	}
	for _, member := range []string{`"issues":[]`, `"warnings":[]`, `"legacyIssues":[]`, `"parsed":{"agents":`,
		`"config":{"agents":`, `"resolved":{"agents":`,
		`"auth":{"mode":"token","token":"__OPENCLAW_REDACTED__"}`} {
		if !strings.Contains(body, member) {
			t.Errorf("without %s", member)
		}
	}

	// An error in a broken file shows its position but no content, because secrets in it cannot be recognised.
	if err := os.WriteFile(b.configuration.path, []byte("{gateway: {auth: {token: '"+fixtureToken+"'"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := want[configGot](t, b, "config.get", `{}`)
	if broken.Valid || broken.Raw != nil || len(broken.Issues) != 1 || broken.Hash == got.Hash || !broken.Exists {
		t.Errorf("%+v", broken)
	}
	if err := os.Remove(b.configuration.path); err != nil {
		t.Fatal(err)
	}
	if absent := want[configGot](t, b, "config.get", `{}`); absent.Exists || !absent.Valid || absent.Raw != nil || absent.Hash != "" {
		t.Errorf("%+v", absent)
	}
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := want[struct {
		Schema struct {
			Type       string
			Properties map[string]any
		}
		UIHints     map[string]struct{ Sensitive bool }
		Version     string
		GeneratedAt time.Time
	}](t, b, "config.schema", `{}`)
	if got.Schema.Type != "object" || got.Schema.Properties["gateway"] == nil || !got.UIHints["gateway.auth.token"].Sensitive || got.Version != "test" ||
		!got.GeneratedAt.Equal(began) {
		t.Errorf("%+v", got)
	}
}

func TestConfigPatchMergesIntoTheFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := want[configGot](t, b, "config.get", `{}`).Hash
	done := want[configDone](t, b, "config.patch",
		b.writeParams(t, `{agents: {list: [{id: 'eden', name: 'Eden II'}]}, messages: {ackReactionScope: 'all'}}`))
	if !done.OK || done.Noop || done.Path != b.configuration.path || done.Restart == nil || !done.Restart.OK || done.Restart.Required ||
		done.Restart.Settings == nil || done.Restart.Reason != "config.patch" {
		t.Errorf("%+v", done)
	}
	want1 := strings.Replace(fixtureConfig, "name: 'Eden', identity", "name: 'Eden II', identity", 1)
	want1 = strings.TrimSuffix(want1, "}\n") + "  messages: {\n    ackReactionScope: 'all'\n  },\n}\n"
	if got := b.fileText(t); got != want1 {
		t.Errorf("got\n%s\nwant\n%s", got, want1)
	}
	events := b.events(t, coordination.ConfigPatchStream)
	var told coordination.ConfigPatched
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	if err := json.Unmarshal(events[0].Data, &told); err != nil {
		t.Fatal(err)
	}
	if told.Method != "config.patch" || told.HashBefore != before || told.HashAfter != done.Hash || told.Note != "by a test" || told.By != "cli/i1" ||
		told.Source != "openclaw.json" || told.EventRole != coordination.RoleObservability || told.SessionKey != "agent:eden:main" ||
		!slices.Equal(told.Changed, []string{"agents.list[1].name", "messages.ackReactionScope"}) || strings.Contains(string(events[0].Data), "Eden II") {
		t.Errorf("%s", events[0].Data)
	}

	again := want[configDone](t, b, "config.patch", b.writeParams(t, `{messages: {ackReactionScope: 'all'}}`))
	if !again.Noop || again.Hash != done.Hash || len(b.events(t, coordination.ConfigPatchStream)) != 1 {
		t.Errorf("said twice: %+v", again)
	}
}

func TestConfigSetAndApplyReplaceTheFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	raw := *want[configGot](t, b, "config.get", `{}`).Raw
	set := want[configDone](t, b, "config.set", b.rawParams(t, strings.Replace(raw, "'Seum'", "'S'", 1)))
	if !set.OK || set.Restart != nil || b.fileText(t) != strings.Replace(fixtureConfig, "'Seum'", "'S'", 1) {
		t.Errorf("%+v\n%s", set, b.fileText(t))
	}
	apply := want[configDone](t, b, "config.apply", b.writeParams(t, `{gateway: {auth: {token: '__OPENCLAW_REDACTED__'}}}`))
	if !apply.OK || apply.Restart == nil || apply.Restart.Reason != "config.apply" || b.fileText(t) != `{gateway: {auth: {token: '`+fixtureToken+`'}}}` {
		t.Errorf("%+v\n%s", apply, b.fileText(t))
	}
}

// The log keeps only a bounded part of what a client says about a change.
func TestConfigPatchSaysLittleToTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("긴", 50_000)
	var raw strings.Builder
	for i := range 500 {
		fmt.Fprintf(&raw, "'%s%d': 1, ", long[:600], i)
	}
	params, err := json.Marshal(map[string]any{"raw": "{" + raw.String() + "}", "baseHash": want[configGot](t, b, "config.get", `{}`).Hash, "note": long,
		"sessionKey": long})
	if err != nil {
		t.Fatal(err)
	}
	want[configDone](t, b, "config.patch", string(params))
	events := b.events(t, coordination.ConfigPatchStream)
	if len(events) != 1 || len(events[0].Data) > 200*400+2*3*2000+2000 {
		t.Errorf("%d events, %d bytes", len(events), len(events[0].Data))
	}
}

// rawParams are those of config.set.
func (b *bundle) rawParams(t testing.TB, raw string) string {
	t.Helper()
	params, err := json.Marshal(map[string]any{"raw": raw, "baseHash": want[configGot](t, b, "config.get", `{}`).Hash})
	if err != nil {
		t.Fatal(err)
	}
	return string(params)
}

func TestConfigPatchRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ method, raw, base, text string }{
		{"config.patch", "{}", "", "config base hash required; re-run config.get and retry"},
		{"config.apply", "{}", "", "config base hash required; re-run config.get and retry"},
		{"config.set", "{}", "", "config base hash required; re-run config.get and retry"},
		{"config.patch", "{}", "bad", "config changed since last load; re-run config.get and retry"},
		{"config.patch", "[]", "right", "config.patch raw must be an object"},
		{"config.patch", "not json", "right", "config.patch: not JSON5: 1:1: found a word without quotes"},
		{"config.set", "[]", "right", "invalid config"},
		{"config.patch", `{gateway: {port: 'x'}}`, "right", "invalid config"},
		{"config.patch", `{gateway: {auth: {password: '__OPENCLAW_REDACTED__'}}}`, "right", "config.patch: gateway.auth.password: there is no stored value"},
	} {
		b := setup(t)
		params := map[string]string{"raw": tt.raw}
		switch tt.base {
		case "right":
			params["baseHash"] = want[configGot](t, b, "config.get", `{}`).Hash
		case "bad":
			params["baseHash"] = "bad"
		}
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		refused := b.refused(t, tt.method, string(text))
		if refused.Code != protocol.CodeInvalidRequest || !strings.HasPrefix(refused.Message, tt.text) {
			t.Errorf("%s %s: %s %q", tt.method, tt.raw, refused.Code, refused.Message)
		}
		if details, _ := json.Marshal(refused.Details); tt.text == "invalid config" && !strings.Contains(string(details), `"issues":[{"path":"`) {
			t.Errorf("%s %s: details %s", tt.method, tt.raw, details)
		}
		if b.fileText(t) != fixtureConfig || len(b.events(t, coordination.ConfigPatchStream)) > 0 {
			t.Errorf("%s %s: something was changed", tt.method, tt.raw)
		}
	}
}

// asPeer asks as another peer does.
func (b *bundle) asPeer(peer *wire.Peer, method, params string) error {
	_, err := b.server.Answer(context.Background(), &wire.Call{Peer: peer, ID: "1", Method: method, Params: json.RawMessage(params),
		Interim: func(any) {}})
	return err
}

func TestConfigWritesAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	limited := func(peer *wire.Peer, method string) *protocol.Error {
		refused, ok := errors.AsType[*protocol.Error](b.asPeer(peer, method, `{"raw": "{}", "baseHash": "nope"}`))
		if !ok {
			t.Fatalf("%s was not refused", method)
		}
		if refused.Code == protocol.CodeUnavailable {
			return refused
		}
		return nil
	}
	device := &wire.Peer{ConnID: "1", DeviceID: "d", IP: "127.0.0.1"}
	for _, method := range []string{"config.patch", "config.set", "config.apply"} {
		if refused := limited(device, method); refused != nil {
			t.Fatalf("%s: %v", method, refused)
		}
		b.tick(time.Second)
	}
	refused := limited(&wire.Peer{ConnID: "2", DeviceID: "d", IP: "127.0.0.1"}, "config.patch")
	if refused == nil || refused.Message != "rate limit exceeded for config.patch; retry after 57s" ||
		!refused.Retryable || refused.RetryAfter != 57_000 {
		t.Fatalf("a device, of which another connection has asked: %+v", refused)
	}
	if details, _ := json.Marshal(refused.Details); string(details) != `{"method":"config.patch","limit":"3 per 60s"}` {
		t.Errorf("%s", details)
	}
	for name, other := range map[string]*wire.Peer{
		"another device": {ConnID: "1", DeviceID: "e", IP: "127.0.0.1"}, "another address": {ConnID: "1", DeviceID: "d", IP: "::1"},
	} {
		if refused := limited(other, "config.patch"); refused != nil {
			t.Errorf("%s: %v", name, refused)
		}
	}
	// Without a device, all connections of a program at an address are one writer.
	program := func(conn, id, ip string) *wire.Peer {
		return &wire.Peer{ConnID: conn, IP: ip, Client: protocol.Client{ID: id}}
	}
	for n := range 3 {
		if refused := limited(program(fmt.Sprint("3", n), "cli", "127.0.0.1"), "config.patch"); refused != nil {
			t.Errorf("connection %d without a device: %v", n+1, refused)
		}
	}
	if refused := limited(program("4", "cli", "127.0.0.1"), "config.patch"); refused == nil {
		t.Error("another connection without a device has escaped the limit")
	}
	for name, other := range map[string]*wire.Peer{
		"another program": program("5", "gateway-client", "127.0.0.1"), "another machine": program("6", "cli", "192.0.2.1"),
	} {
		if refused := limited(other, "config.patch"); refused != nil {
			t.Errorf("%s: %v", name, refused)
		}
	}
	b.tick(57 * time.Second)
	if refused := limited(device, "config.patch"); refused != nil {
		t.Errorf("after a minute: %v", refused)
	}
}

// No answer shows a secret of the file, whatever it contains and a client requests.
func TestConfigAnswersShowNoSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z][A-Za-z0-9]{7,30}`).Draw(rt, "secret")
		places := []string{`gateway: {auth: {token: '%s'}}`, `models: {providers: {x: {apiKey: "%s"}}}`,
			`env: {vars: {A: '%s'}}`, `mcp: {headers: {B: '%s'}}`,
			`/* %s */ taskMonitor: {writeToken: '%[1]s'}`, `note: '%s', hooks: {token: '%[1]s'}`, `gateway: {port: '%s', auth: {password: '%[1]s'}}`,
			`gateway: {auth: {token: '\x%02[2]x%[3]s'}}`}
		text := fmt.Sprintf("{"+rapid.SampledFrom(places).Draw(rt, "place")+"}%.0[1]s%.0[2]x%.0[3]s", secret, secret[:1], secret[1:])
		if err := os.WriteFile(b.configuration.path, []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		n++
		peer := &wire.Peer{ConnID: fmt.Sprint(n)}
		told := func(method string, params any) (body []byte) {
			encoded, err := json.Marshal(params)
			if err != nil {
				rt.Fatal(err)
			}
			payload, err := b.server.Answer(context.Background(), &wire.Call{Peer: peer, Method: method, Params: encoded, Interim: func(any) {}})
			body, encodeErr := json.Marshal([]any{payload, err, fmt.Sprint(err)})
			if encodeErr != nil {
				rt.Fatal(encodeErr)
			}
			if strings.Contains(string(body), secret) {
				rt.Fatalf("%s of %s: %s", method, text, body)
			}
			return body
		}
		var got []configGot
		_ = json.Unmarshal(told("config.get", map[string]any{}), &got) // the error beside it is no configGot
		hash := got[0].Hash
		told("config.patch", map[string]any{"raw": "{gateway: {port: 7}, note: null}", "baseHash": hash, "note": "was " + secret})
		told("config.apply", map[string]any{"raw": "{gateway: 7}", "baseHash": hash})
	})
	for _, e := range b.events(t, coordination.ConfigPatchStream) {
		if strings.Contains(string(e.Data), "was ") && !strings.Contains(string(e.Data), "was __OPENCLAW_REDACTED__") {
			t.Errorf("the log shows a secret: %s", e.Data)
		}
	}
}
