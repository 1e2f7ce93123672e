package wire_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

const page = "http://127.0.0.1:5173"

var controlUI = params{"client": params{"id": "openclaw-control-ui", "version": "dev", "platform": "Linux x86_64", "mode": "webchat"}}

// Promise: clients
func TestHandshakeLetsIn(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	for name, c := range map[string]struct {
		origin   string
		change   params
		protocol int
	}{
		"3 only":           {"", params{"minProtocol": 3, "maxProtocol": 3}, 3},
		"4 only":           {"", params{"minProtocol": 4, "maxProtocol": 4}, 4},
		"a range":          {"", params{"minProtocol": 1, "maxProtocol": 9}, 4},
		"a page from here": {page, nil, 4},
		"another loopback": {"http://[::1]:1", nil, 4},
		"no role":          {"", params{"role": nil}, 4},
		"no scopes":        {"", params{"scopes": nil}, 4},
		"secret as password, as newer clients may": {"", params{"auth": params{"password": token}}, 4},
	} {
		client := g.challenged(t, c.origin)
		f := client.ask("connect", connect(c.change))
		var hello struct {
			Type     string
			Protocol int
			Server   struct{ Version, ConnID string }
			Features struct{ Methods, Events []string }
			Snapshot struct {
				Presence        []wire.Presence
				Health          struct{ OK bool }
				StateVersion    struct{ Presence, Health *int }
				UptimeMs        *int
				ConfigPath      string
				SessionDefaults struct{ MainSessionKey string }
			}
			Auth   map[string]any
			Policy struct{ MaxPayload, MaxBufferedBytes, TickIntervalMs int }
		}
		if err := json.Unmarshal(f.Payload, &hello); err != nil || !f.OK {
			t.Errorf("%s: %+v: %v", name, f.Error, err)
			continue
		}
		s := hello.Snapshot
		if hello.Type != "hello-ok" || hello.Protocol != c.protocol || hello.Server.Version != "1.2.3" || hello.Server.ConnID == "" ||
			len(hello.Features.Methods) != 1 || len(hello.Features.Events) != 1 || len(s.Presence) == 0 || s.Presence[0].Reason != "self" ||
			!s.Health.OK || s.StateVersion.Presence == nil || s.StateVersion.Health == nil || s.UptimeMs == nil ||
			s.SessionDefaults.MainSessionKey != "agent:main:main" || hello.Policy.MaxPayload != 25<<20 || hello.Policy.MaxBufferedBytes != 50<<20 ||
			hello.Policy.TickIntervalMs != 30_000 || (c.protocol == 3) != (hello.Auth == nil) {
			t.Errorf("%s: %s", name, f.Payload)
		}
		if told := strings.Contains(string(f.Payload), "/c/openclaw.json"); told != (name != "no scopes") {
			t.Errorf("%s: where the files lie is told: %v", name, told)
		}
		if strings.Contains(string(f.Payload), token) || strings.Contains(string(f.Payload), "deviceToken") {
			t.Errorf("%s: told a secret: %s", name, f.Payload)
		}
		_ = client.Close()
	}
}

// Promise: access
func TestHandshakeRefuses(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.Access.Origins = []string{"https://dash.example"} }})
	const invalid, unpaired = protocol.CodeInvalidRequest, protocol.CodeNotPaired
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		origin  string
		text    string // instead of a request
		method  string
		change  params
		code    string // "": no answer
		detail  string
		message string
		close   int
		counted string
	}{
		"not JSON":   {text: "hello", close: 1000, message: "invalid request frame", counted: wire.RefusedFrame},
		"no request": {text: `{"type":"event","event":"x"}`, close: 1008, message: "invalid request frame", counted: wire.RefusedFrame},
		"an array":   {text: `[]`, close: 1008, message: "invalid request frame", counted: wire.RefusedFrame},
		"another method": {method: "health",
			code: invalid, close: 1008, message: "invalid handshake: first request must be connect", counted: wire.RefusedFrame},
		"unknown client": {change: params{"client": params{"id": "mine", "version": "1", "platform": "x", "mode": "cli"}},
			code: invalid, close: 1008, message: "invalid connect params: at /client/id", counted: wire.RefusedFrame},
		"unknown mode": {change: params{"client": params{"id": "cli", "version": "1", "platform": "x", "mode": "operator"}},
			code: invalid, close: 1008, message: "invalid connect params: at /client/mode", counted: wire.RefusedFrame},
		"long message": {change: params{long: 1, long + "y": 2, long + "z": 3},
			code: invalid, close: 1008, message: "invalid connect params", counted: wire.RefusedFrame},
		"unknown role": {change: params{"role": "king"},
			code: invalid, close: 1008, message: "invalid role", counted: wire.RefusedFrame},
		"too old": {change: params{"minProtocol": 1, "maxProtocol": 2},
			code: invalid, close: 1002, message: "protocol mismatch", counted: wire.RefusedProtocol},
		"too new": {change: params{"minProtocol": 5, "maxProtocol": 9},
			code: invalid, close: 1002, message: "protocol mismatch", counted: wire.RefusedProtocol},
		"evil page": {origin: "http://evil.example",
			code: invalid, close: 1008, message: "origin not allowed", counted: wire.RefusedOrigin},
		"page of nowhere": {origin: "null",
			code: invalid, close: 1008, message: "origin not allowed", counted: wire.RefusedOrigin},
		"chat of no page": {change: controlUI,
			code: invalid, close: 1008, message: "origin not allowed", counted: wire.RefusedOrigin},
		"UI without device": {origin: page, change: controlUI,
			code: invalid, detail: "CONTROL_UI_DEVICE_IDENTITY_REQUIRED", close: 1008, message: "control ui", counted: wire.RefusedDevice},
		"nothing shown": {change: params{"auth": nil},
			code: unpaired, detail: "DEVICE_IDENTITY_REQUIRED", close: 1008, message: "device identity required", counted: wire.RefusedDevice},
		"empty auth": {change: params{"auth": params{}},
			code: unpaired, detail: "DEVICE_IDENTITY_REQUIRED", close: 1008, message: "device identity required", counted: wire.RefusedDevice},
		"node": {change: params{"role": "node"},
			code: unpaired, detail: "DEVICE_IDENTITY_REQUIRED", close: 1008, message: "device identity required", counted: wire.RefusedDevice},
		"bad token": {change: params{"auth": params{"token": "no"}},
			code: invalid, detail: "AUTH_TOKEN_MISMATCH", close: 1008, message: "unauthorized", counted: wire.RefusedAuth},
		"password for token": {change: params{"auth": params{"password": "no"}},
			code: invalid, detail: "AUTH_TOKEN_MISSING", close: 1008, message: "unauthorized", counted: wire.RefusedAuth},
		"allowed page, bad token": {origin: "https://dash.example", change: params{"auth": params{"token": "no"}},
			code: invalid, detail: "AUTH_TOKEN_MISMATCH", close: 1008, message: "unauthorized", counted: wire.RefusedAuth},
	} {
		before := g.Stats().Refused[c.counted]
		client := g.challenged(t, c.origin)
		reason := c.message
		if c.text != "" {
			client.text(c.text)
		} else {
			if c.method == "" {
				c.method = "connect"
			}
			f := client.ask(c.method, connect(c.change))
			if f.OK || f.Error == nil || f.Error.Code != c.code || !strings.HasPrefix(f.Error.Message, c.message) {
				t.Errorf("%s: %+v", name, f.Error)
				continue
			}
			if c.detail != "" && f.Error.Details["code"] != c.detail {
				t.Errorf("%s: details %v", name, f.Error.Details)
			}
			reason = f.Error.Message
		}
		code, told := client.goodbye()
		if code != c.close || told != protocol.CloseReason(reason) || len(told) > 120 {
			t.Errorf("%s: closed with %d %q, want %d %q", name, code, told, c.close, reason)
		}
		if n := g.Stats().Refused[c.counted]; n != before+1 {
			t.Errorf("%s: not counted as %s: %v", name, c.counted, g.Stats().Refused)
		}
	}
	g.until(t, "all have left", func(s wire.Stats) bool { return s.Clients == 0 && s.Greeted == 0 })
}

func TestHandshakeByModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		access wire.Access
		auth   params
		detail string // "": let in
	}{
		{wire.Access{Mode: "none"}, nil, ""},
		{wire.Access{Mode: "none"}, params{"token": "any"}, ""},
		{wire.Access{Mode: "password", Password: token}, params{"password": token}, ""},
		{wire.Access{Mode: "password", Password: token}, params{"password": "no"}, "AUTH_PASSWORD_MISMATCH"},
		{wire.Access{Mode: "password", Password: token}, params{"token": "no"}, "AUTH_PASSWORD_MISSING"},
		{wire.Access{Mode: "password"}, params{"password": "no"}, "AUTH_PASSWORD_NOT_CONFIGURED"},
		{wire.Access{Mode: "token"}, params{"token": ""}, "DEVICE_IDENTITY_REQUIRED"},
		{wire.Access{Mode: "token"}, params{"token": "x"}, "AUTH_TOKEN_NOT_CONFIGURED"},
		{wire.Access{}, params{"token": "x"}, "AUTH_TOKEN_NOT_CONFIGURED"},
	} {
		g := serve(t, setup{options: func(o *wire.Options) { o.Access = c.access }})
		client := g.challenged(t, "")
		p := connect(params{"auth": c.auth})
		if c.auth == nil {
			delete(p, "auth")
		}
		f := client.ask("connect", p)
		if f.OK != (c.detail == "") || !f.OK && f.Error.Details["code"] != c.detail {
			t.Errorf("%+v %v: %v %+v", c.access, c.auth, f.OK, f.Error)
		}
		_ = client.Close()
		g.stop()
	}
}

func TestAccessChangesWhileServing(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	inside := g.enter(t)
	g.Configure(wire.Access{Mode: "token", Token: "another secret"})
	if f := g.challenged(t, "").ask("connect", connect()); f.OK || f.Error.Details["code"] != "AUTH_TOKEN_MISMATCH" {
		t.Errorf("the old secret: %v %+v", f.OK, f.Error)
	}
	if f := g.challenged(t, "").ask("connect", connect(params{"auth": params{"token": "another secret"}})); !f.OK {
		t.Errorf("the new secret: %+v", f.Error)
	}
	if f := inside.ask("health", nil); !f.OK {
		t.Errorf("who was in: %+v", f.Error)
	}
}

// device is the identity of a client.
type device struct {
	key  ed25519.PrivateKey
	pub  string
	id   string
	form string // v3 or v2
}

func newDevice(t *testing.T, form string) *device {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256(pub)
	return &device{key, base64.RawURLEncoding.EncodeToString(pub), hex.EncodeToString(id[:]), form}
}

// sign makes the device member of a request.
func (d *device) sign(p params, nonce string, at time.Time) params {
	client, auth := p["client"].(params), p["auth"].(params)
	shown, _ := auth["token"].(string)
	if shown == "" {
		shown, _ = auth["deviceToken"].(string)
	}
	text := fmt.Sprintf("%s|%s|%s|%s|%s|%s|%d|%s|%s", d.form, d.id, client["id"], client["mode"], p["role"], strings.Join(p["scopes"].([]string), ","),
		at.UnixMilli(), shown, nonce)
	if d.form == "v3" {
		text += "|" + strings.ToLower(client["platform"].(string)) + "|"
	}
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.key, []byte(text)))
	return params{"id": d.id, "publicKey": d.pub, "signature": signature, "signedAt": at.UnixMilli(), "nonce": nonce}
}

func (d *device) connect(t *testing.T, g *gate, origin string, p params) (*conn, said) {
	t.Helper()
	c := g.challenged(t, origin)
	p["device"] = d.sign(p, c.nonce, time.UnixMilli(c.ts))
	return c, c.ask("connect", p)
}

func deviceToken(t *testing.T, f said) string {
	t.Helper()
	var hello struct {
		Auth struct {
			DeviceToken string
			IssuedAtMs  int64
		}
	}
	if err := json.Unmarshal(f.Payload, &hello); err != nil || !f.OK || hello.Auth.DeviceToken == "" || hello.Auth.IssuedAtMs == 0 {
		t.Fatalf("no device token: %+v %s", f.Error, f.Payload)
	}
	return hello.Auth.DeviceToken
}

// A device that was let in with the secret is let in again with its own token, with the same role and scopes; no other
// device is.
func TestDeviceTokenLetsItsDeviceIn(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	d := newDevice(t, "v3")
	_, f := d.connect(t, g, "", connect(params{"scopes": []string{protocol.ScopeRead}, "minProtocol": 3, "maxProtocol": 3}))
	own := deviceToken(t, f)
	for name, c := range map[string]struct {
		device *device
		auth   params
		scopes []string
		detail string
	}{
		"as both":           {d, params{"token": own, "deviceToken": own}, []string{protocol.ScopeRead}, ""},
		"as token":          {d, params{"token": own}, []string{protocol.ScopeRead}, ""},
		"as device token":   {d, params{"deviceToken": own}, nil, ""},
		"more scopes":       {d, params{"deviceToken": own}, []string{protocol.ScopeAdmin}, "AUTH_SCOPE_MISMATCH"},
		"another device":    {newDevice(t, "v3"), params{"deviceToken": own}, []string{protocol.ScopeRead}, "AUTH_DEVICE_TOKEN_MISMATCH"},
		"changed":           {d, params{"deviceToken": own + "x"}, []string{protocol.ScopeRead}, "AUTH_DEVICE_TOKEN_MISMATCH"},
		"beside bad secret": {d, params{"token": "no", "deviceToken": "no"}, nil, "AUTH_DEVICE_TOKEN_MISMATCH"},
		"only a bad secret": {d, params{"token": "no", "deviceToken": "other"}, nil, "AUTH_TOKEN_MISMATCH"},
		"nothing":           {d, params{}, nil, "AUTH_TOKEN_MISSING"},
	} {
		if c.scopes == nil {
			c.scopes = []string{}
		}
		_, f := c.device.connect(t, g, "", connect(params{"scopes": c.scopes, "auth": c.auth}))
		if f.OK != (c.detail == "") || !f.OK && f.Error.Details["code"] != c.detail {
			t.Errorf("%s: %v %+v", name, f.OK, f.Error)
		}
	}
	if f := g.challenged(t, "").ask("connect", connect(params{"auth": params{"deviceToken": own}})); f.OK {
		t.Error("a token without its device lets in")
	}
}

func TestDeviceHasToProveWhoItIs(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.Access = wire.Access{Mode: "none"} }})
	for name, c := range map[string]struct {
		spoil  func(p, device params)
		reason string // "": let in
	}{
		"right":            {func(params, params) {}, ""},
		"another nonce":    {func(_, d params) { d["nonce"] = "mine" }, "device-nonce-mismatch"},
		"another id":       {func(_, d params) { d["id"] = strings.Repeat("0", 64) }, "device-id-mismatch"},
		"no key":           {func(_, d params) { d["publicKey"] = "AAAA" }, "device-public-key"},
		"other scopes":     {func(p, _ params) { p["scopes"] = []string{} }, "device-signature"},
		"another platform": {func(p, _ params) { p["client"].(params)["platform"] = "mac" }, "device-signature"},
		"long ago":         {func(_, d params) { d["signedAt"] = d["signedAt"].(int64) - 121_000 }, "device-signature-stale"},
	} {
		d := newDevice(t, "v3")
		client := g.challenged(t, "")
		p := connect()
		p["device"] = d.sign(p, client.nonce, g.clock.now())
		c.spoil(p, p["device"].(params))
		f := client.ask("connect", p)
		if f.OK != (c.reason == "") || !f.OK && f.Error.Details["reason"] != c.reason {
			t.Errorf("%s: %v %+v", name, f.OK, f.Error)
		}
		if strings.Contains(string(f.Payload), "deviceToken") {
			t.Errorf("%s: a gateway without secret has given a token", name)
		}
	}
	d := newDevice(t, "v2")
	ui, f := d.connect(t, g, page, connect(controlUI))
	if !f.OK {
		t.Errorf("the Control UI's form: %+v", f.Error)
	}
	if g.Peers()[0].DeviceID == "" {
		t.Error("who has proved its device is not known by it")
	}
	_ = ui.Close()
	node := connect(params{"role": "node", "client": params{"id": "node-host", "version": "1", "platform": "linux", "mode": "node"}})
	if _, f := newDevice(t, "v3").connect(t, g, "", node); f.OK || f.Error.Message != "role node is not served by this gateway" {
		t.Errorf("a node: %v %+v", f.OK, f.Error)
	}
}

// Guessing is slow: after ten wrong secrets an address is locked out for five minutes. Local programs are exempt.
//
// Promise: access
func TestWrongSecretsLockOut(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	wrong := params{"auth": params{"token": "guess"}}
	try := func(origin string, change ...params) said {
		c := g.challenged(t, origin)
		defer c.Close()
		return c.ask("connect", connect(change...))
	}
	for range 9 {
		try(page, wrong)
	}
	if f := try(page); !f.OK {
		t.Fatalf("after nine failures: %+v", f.Error)
	}
	for range 9 {
		try(page, wrong)
	}
	g.clock.advance(time.Minute)
	for n := range 10 {
		if f := try(page, wrong); f.Error.Details["code"] != "AUTH_TOKEN_MISMATCH" {
			t.Errorf("failure %d: %+v", n+1, f.Error)
		}
	}
	f := try(page)
	if f.OK || f.Error.Details["code"] != "AUTH_RATE_LIMITED" || !f.Error.Retryable || f.Error.RetryAfterMs != 300_000 {
		t.Errorf("the right secret while locked out: %v %+v", f.OK, f.Error)
	}
	for range 20 {
		try("", wrong)
	}
	if f := try(""); !f.OK {
		t.Errorf("a program of this machine: %+v", f.Error)
	}
	g.clock.advance(5 * time.Minute)
	if f := try(page); !f.OK {
		t.Errorf("afterwards: %+v", f.Error)
	}
	if n := g.Stats().Refused[wire.RefusedTooOften]; n != 1 {
		t.Errorf("%d were locked out", n)
	}
}

// A proxy on this machine forwards other clients: they do not count as local programs, whatever they claim.
func TestWrongSecretsThroughAProxyLockOut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto", "Via"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, setup{})
			try := func(who string, change ...params) said {
				c := g.dialWith(t, http.Header{name: {who}}).challenged()
				defer c.Close()
				return c.ask("connect", connect(change...))
			}
			for n := range 10 {
				guess := try(fmt.Sprintf("203.0.113.%d", n), params{"auth": params{"token": "guess"}})
				if guess.Error.Details["code"] != "AUTH_TOKEN_MISMATCH" {
					t.Errorf("failure %d: %+v", n+1, guess.Error)
				}
			}
			for _, who := range []string{"203.0.113.99", "127.0.0.1", ""} {
				if f := try(who); f.OK || f.Error.Details["code"] != "AUTH_RATE_LIMITED" {
					t.Errorf("for %q: %v %+v", who, f.OK, f.Error)
				}
			}
			g.enter(t) // a program of this machine
		})
	}
}

func TestHandshakeHasATime(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.HandshakeTime = time.Second }})
	quiet := g.challenged(t, "")
	if code, _ := quiet.goodbye(); code != 1000 {
		t.Errorf("closed with %d", code)
	}
	inside := g.enter(t)
	g.until(t, "the quiet one has left", func(s wire.Stats) bool { return s.Clients == 1 && s.Refused[wire.RefusedSilent] == 1 })
	if f := inside.ask("health", nil); !f.OK {
		t.Errorf("who is in has no such time: %+v", f.Error)
	}
}

// The handshake frame is bounded in size.
func TestHandshakeIsShort(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	c := g.challenged(t, "")
	c.text(`{"type":"req","id":"1","method":"connect","params":{"x":"` + strings.Repeat("x", 64<<10) + `"}}`)
	if code, _ := c.goodbye(); code != 1009 {
		t.Errorf("closed with %d", code)
	}
	g.until(t, "it has left", func(s wire.Stats) bool { return s.Clients == 0 && s.Refused[wire.RefusedFrame] == 1 })
}

func TestThereIsOnlySoMuchRoom(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.MaxClients = 1 }})
	first := g.enter(t)
	r, body := g.do(t, "GET", "/", "", upgradeHeader())
	if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || !strings.Contains(body, `"full"`) {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	_ = first.Close()
	g.until(t, "the first one has left", func(s wire.Stats) bool { return s.Clients == 0 })
	g.enter(t)
}
