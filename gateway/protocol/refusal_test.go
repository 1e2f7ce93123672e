package protocol_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

func TestRefusalsAreInTheWordsOfTheOriginal(t *testing.T) {
	t.Parallel()
	client := func(version int, id, mode string) *protocol.Connect {
		return &protocol.Connect{MinProtocol: version, MaxProtocol: version, Client: protocol.Client{ID: id, Mode: mode}}
	}
	cli, backend, page := client(3, "cli", "cli"), client(3, "gateway-client", "backend"), client(3, "openclaw-control-ui", "webchat")
	for _, c := range []struct {
		got  *protocol.Error
		want string
	}{
		{protocol.Unauthorized(protocol.TokenMismatch, backend, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway token mismatch (provide gateway auth token)",` +
				`"details":{"code":"AUTH_TOKEN_MISMATCH","authReason":"token_mismatch"}}`},
		{protocol.Unauthorized(protocol.TokenMismatch, cli, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway token mismatch (set gateway.remote.token to match gateway.auth.token)",` +
				`"details":{"code":"AUTH_TOKEN_MISMATCH","authReason":"token_mismatch"}}`},
		{protocol.Unauthorized(protocol.TokenMissing, page, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway token missing (open the dashboard URL and paste the token in Control UI settings)",` +
				`"details":{"code":"AUTH_TOKEN_MISSING","authReason":"token_missing"}}`},
		{protocol.Unauthorized(protocol.TokenMismatch, client(4, "cli", "cli"), 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway token mismatch (use this gateway's gateway.auth.token or pair the device)",` +
				`"details":{"code":"AUTH_TOKEN_MISMATCH","authReason":"token_mismatch","canRetryWithDeviceToken":false,"recommendedNextStep":"update_auth_credentials"}}`},
		{protocol.Unauthorized(protocol.TokenNotConfigured, cli, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway token not configured on gateway (set gateway.auth.token)",` +
				`"details":{"code":"AUTH_TOKEN_NOT_CONFIGURED","authReason":"token_missing_config"}}`},
		{protocol.Unauthorized(protocol.PasswordMissing, cli, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway password missing (set gateway.remote.password to match gateway.auth.password)",` +
				`"details":{"code":"AUTH_PASSWORD_MISSING","authReason":"password_missing"}}`},
		{protocol.Unauthorized(protocol.PasswordMismatch, page, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway password mismatch (enter the password in Control UI settings)",` +
				`"details":{"code":"AUTH_PASSWORD_MISMATCH","authReason":"password_mismatch"}}`},
		{protocol.Unauthorized(protocol.PasswordMismatch, backend, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway password mismatch (provide gateway auth password)",` +
				`"details":{"code":"AUTH_PASSWORD_MISMATCH","authReason":"password_mismatch"}}`},
		{protocol.Unauthorized(protocol.PasswordNotConfigured, backend, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: gateway password not configured on gateway (set gateway.auth.password)",` +
				`"details":{"code":"AUTH_PASSWORD_NOT_CONFIGURED","authReason":"password_missing_config"}}`},
		{protocol.Unauthorized(protocol.DeviceTokenMismatch, backend, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: device token mismatch (rotate/reissue device token)",` +
				`"details":{"code":"AUTH_DEVICE_TOKEN_MISMATCH","authReason":"device_token_mismatch"}}`},
		{protocol.Unauthorized(protocol.ScopeMismatch, backend, 0),
			`{"code":"INVALID_REQUEST","message":"unauthorized: device token is for fewer scopes (connect with the gateway's token or password once)",` +
				`"details":{"code":"AUTH_SCOPE_MISMATCH","authReason":"scope_mismatch"}}`},
		{protocol.Unauthorized(protocol.RateLimited, backend, 5*time.Minute),
			`{"code":"INVALID_REQUEST","message":"unauthorized: too many failed authentication attempts (retry later)",` +
				`"details":{"code":"AUTH_RATE_LIMITED","authReason":"rate_limited"},"retryable":true,"retryAfterMs":300000}`},
		{protocol.Unauthorized("else", backend, 0), `{"code":"INVALID_REQUEST","message":"unauthorized","details":{"code":"AUTH_UNAUTHORIZED","authReason":"else"}}`},
		{protocol.OriginRefused(), `{"code":"INVALID_REQUEST","message":"origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)",` +
			`"details":{"code":"CONTROL_UI_ORIGIN_NOT_ALLOWED"}}`},
		{protocol.DeviceRequired(), `{"code":"NOT_PAIRED","message":"device identity required","details":{"code":"DEVICE_IDENTITY_REQUIRED"}}`},
		{protocol.ControlUIDeviceRequired(), `{"code":"INVALID_REQUEST","message":"control ui requires device identity (use HTTPS or localhost secure context)",` +
			`"details":{"code":"CONTROL_UI_DEVICE_IDENTITY_REQUIRED"}}`},
	} {
		frame, err := protocol.Failure("1", c.got, nil)
		if want := `{"type":"res","id":"1","ok":false,"error":` + c.want + `}`; err != nil || string(frame) != want {
			t.Errorf("got %s %v\nwant %s", frame, err, want)
		}
	}
}

func TestScopesAllowWhatTheOriginalAllows(t *testing.T) {
	t.Parallel()
	needed := map[string]string{
		"health": "",
		"status": "read", "system-presence": "read", "last-heartbeat": "read", "logs.tail": "read", "channels.status": "read",
		"usage.status": "read", "usage.cost": "read",
		"models.list": "read", "tools.catalog": "read", "agents.list": "read", "agent.identity.get": "read", "agents.files.list": "read",
		"agents.files.get": "read",
		"skills.status":    "read", "voicewake.get": "read", "sessions.list": "read", "sessions.preview": "read", "sessions.resolve": "read",
		"sessions.usage": "read",
		"cron.list":      "read", "cron.status": "read", "cron.runs": "read", "node.list": "read", "node.describe": "read", "chat.history": "read",
		"config.get": "read", "talk.config": "read",
		"sessions.subscribe": "read", "sessions.describe": "read", "sessions.messages.subscribe": "read",
		"chat.startup": "read", "chat.metadata": "read",
		"send": "write", "poll": "write", "agent": "write", "agent.wait": "write", "wake": "write", "chat.send": "write", "chat.abort": "write",
		"talk.mode": "write", "tools.invoke": "write",
		"connect": "admin", "chat.inject": "admin", "sessions.reset": "admin", "sessions.delete": "admin", "sessions.compact": "admin",
		"agents.create": "admin", "agents.update": "admin",
		"agents.delete": "admin", "agents.files.set": "admin", "channels.logout": "admin", "set-heartbeats": "admin", "system-event": "admin",
		"skills.install": "admin", "secrets.reload": "admin",
		"cron.add": "admin", "cron.remove": "admin", "cron.run": "admin", "config.schema": "admin", "config.set": "admin",
		"config.patch": "admin", "config.apply": "admin", "exec.approvals.get": "admin",
		"exec.approvals.set": "admin", "wizard.start": "admin", "update.run": "admin", "no.such.method": "admin",
		"exec.approval.resolve": "approvals", "device.pair.list": "pairing", "device.token.revoke": "pairing", "node.pair.list": "pairing",
		"node.rename": "pairing",
	}
	grants := map[string][]string{
		"operator.admin": {"", "read", "write", "admin", "approvals", "pairing"}, "operator.write": {"", "read", "write"}, "operator.read": {"", "read"},
		"operator.approvals": {"", "approvals"}, "operator.pairing": {"", "pairing"}, "operator.none": {""},
	}
	for method, need := range needed {
		for scope, granted := range grants {
			for _, version := range []int{3, 4} {
				e := protocol.Allowed("operator", []string{"other", scope}, method, version)
				may := false
				for _, g := range granted {
					may = may || g == need
				}
				switch {
				case may != (e == nil):
					t.Errorf("%s with %s, version %d: %v", method, scope, version, e)
				case e == nil:
				case e.Message != "missing scope: operator."+need || version == 3 && (e.Code != "INVALID_REQUEST" || e.Details != nil) ||
					version == 4 && e.Code != "FORBIDDEN":
					t.Errorf("%s with %s, version %d: %+v", method, scope, version, e)
				}
			}
		}
	}
}

func TestProtocol4AsksForLeastScopes(t *testing.T) {
	t.Parallel()
	write := []string{"operator.write"}
	if e := protocol.Allowed("operator", write, "sessions.patch", 4); e != nil {
		t.Errorf("version 4: %v", e)
	}
	if e := protocol.Allowed("operator", write, "sessions.patch", 3); e == nil || e.Message != "missing scope: operator.admin" {
		t.Errorf("version 3: %v", e)
	}
	e := protocol.Allowed("operator", nil, "sessions.patch", 4)
	told, err := json.Marshal(e)
	want := `{"code":"FORBIDDEN","message":"missing scope: operator.write",` +
		`"details":{"code":"MISSING_SCOPE","missingScope":"operator.write","requiredScopes":["operator.write"]}}`
	if err != nil || string(told) != want {
		t.Errorf("%s %v, want %s", told, err, want)
	}
}

func TestRolesDoNotMix(t *testing.T) {
	t.Parallel()
	admin := []string{"operator.admin"}
	for _, c := range []struct{ role, method, want string }{
		{"operator", "skills.bins", "unauthorized role: operator"},
		{"operator", "node.event", "unauthorized role: operator"},
		{"operator", "node.invoke.result", "unauthorized role: operator"},
		{"node", "sessions.list", "unauthorized role: node"}, {"node", "no.such.method", "unauthorized role: node"},
		{"node", "skills.bins", ""}, {"node", "node.event", ""}, {"node", "health", ""}, {"operator", "health", ""},
	} {
		e := protocol.Allowed(c.role, admin, c.method, 4)
		if c.want == "" && e != nil || c.want != "" && (e == nil || e.Message != c.want || e.Code != protocol.CodeInvalidRequest) {
			t.Errorf("%s calls %s: %v, want %q", c.role, c.method, e, c.want)
		}
	}
}
