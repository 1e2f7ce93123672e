package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

// gatewayOf is what is in force with an openclaw.json, an environment and a flag.
func gatewayOf(t *testing.T, file string, env map[string]string, flag string) (Gateway, *config.Config) {
	t.Helper()
	path := File(t.TempDir())
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return env[name] }
	loaded, findings := config.Load(path, getenv)
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return GatewayOf(loaded, getenv, flag, nil), loaded
}

func TestWhoSetsTheGateway(t *testing.T) {
	t.Parallel()
	port := map[string]string{"OPENCLAW_GATEWAY_PORT": " 5000 "}
	for name, c := range map[string]struct {
		file             string
		env              map[string]string
		flag             string
		listen, from     string
		mode, token, pwd string
	}{
		"nothing set":              {`{}`, nil, "", "127.0.0.1:18789", "default", "token", "", ""},
		"the file":                 {`{gateway: {port: 4000, auth: {token: 'in-the-file'}}}`, nil, "", "127.0.0.1:4000", "default, openclaw.json gateway.port", "token", "in-the-file", ""},
		"a variable over the file": {`{gateway: {port: 4000}}`, port, "", "127.0.0.1:5000", "default, OPENCLAW_GATEWAY_PORT", "token", "", ""},
		"the flag over a variable": {`{gateway: {port: 4000, bind: 'lan'}}`, port, "127.0.0.1:0", "127.0.0.1:0", "--gateway", "token", "", ""},
		"bind lan":                 {`{gateway: {bind: 'lan'}}`, nil, "", "0.0.0.0:18789", "openclaw.json gateway.bind, default", "token", "", ""},
		"bind auto is this machine": {`{gateway: {bind: 'auto'}}`, nil, "", "127.0.0.1:18789", "openclaw.json gateway.bind, default",
			"token", "", ""},
		"bind custom": {`{gateway: {bind: 'custom', customBindHost: '::1', port: 4000}}`, nil, "", "[::1]:4000",
			"openclaw.json gateway.customBindHost, openclaw.json gateway.port", "token", "", ""},
		"a password is meant where there is one": {`{gateway: {auth: {password: 'sesame'}}}`, nil, "", "127.0.0.1:18789", "default", "password", "", "sesame"},
		"secrets of variables": {`{gateway: {auth: {mode: 'token', token: 'in-the-file', password: 'sesame'}}}`,
			map[string]string{"OPENCLAW_GATEWAY_TOKEN": "from-env\n", "OPENCLAW_GATEWAY_PASSWORD": "open"}, "", "127.0.0.1:18789", "default",
			"token", "from-env", "open"},
		"space is no token": {`{}`, map[string]string{"OPENCLAW_GATEWAY_TOKEN": "  "}, "", "127.0.0.1:18789", "default", "token", "", ""},
		"remote, but asked for": {`{gateway: {mode: 'remote', bind: 'tailnet'}}`, nil, "127.0.0.1:1", "127.0.0.1:1", "--gateway",
			"token", "", ""},
		"none": {`{gateway: {mode: 'remote', auth: {mode: 'trusted-proxy'}}}`, nil, "off", "off", "--gateway", "trusted-proxy", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _ := gatewayOf(t, c.file, c.env, c.flag)
			if err := g.Check(); err != nil {
				t.Error(err)
			}
			got := [5]string{g.Listen.Value, g.Listen.Source, g.Mode.Value, g.Token.Value.Reveal(), g.Password.Value.Reveal()}
			if diff := cmp.Diff([5]string{c.listen, c.from, c.mode, c.token, c.pwd}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if off := c.listen == NoGateway; g.Off() != off {
				t.Errorf("off is %v", g.Off())
			}
		})
	}
}

func TestGatewaysThatMustNotBeOpened(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file          string
		env           map[string]string
		flag          string
		setting, hint string
	}{
		"an address that is none": {`{}`, nil, "nowhere", "--gateway", "127.0.0.1:18789"},
		"a port that is none":     {`{}`, map[string]string{"OPENCLAW_GATEWAY_PORT": "many"}, "", "default, OPENCLAW_GATEWAY_PORT", "127.0.0.1:18789"},
		"a tailnet":               {`{gateway: {bind: 'tailnet'}}`, nil, "", "openclaw.json gateway.bind", "--gateway"},
		"custom without a host":   {`{gateway: {bind: 'custom'}}`, nil, "", "openclaw.json gateway.bind", "gateway.customBindHost"},
		"another machine's":       {`{gateway: {mode: 'remote'}}`, nil, "", "openclaw.json gateway.mode", "--follow"},
		"a proxy that is trusted": {`{gateway: {auth: {mode: 'trusted-proxy'}}}`, nil, "", "openclaw.json gateway.auth.mode", "token or password"},
		"no password":             {`{gateway: {auth: {mode: 'password'}}}`, nil, "", "openclaw.json gateway.auth.mode", "OPENCLAW_GATEWAY_PASSWORD"},
		"a token of elsewhere": {`{gateway: {auth: {token: {source: 'exec', id: 'x'}}}}`, nil, "",
			"openclaw.json gateway.auth.token", "OPENCLAW_GATEWAY_TOKEN"},
		"open to all": {`{gateway: {auth: {mode: 'none'}, bind: 'lan'}}`, nil, "", "openclaw.json gateway.bind, default", "loopback"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _ := gatewayOf(t, c.file, c.env, c.flag)
			var bad *config.SettingError
			if err := g.Check(); !errors.As(err, &bad) || bad.Setting != c.setting || !strings.Contains(bad.HintText, c.hint) {
				t.Errorf("%+v", bad)
			}
		})
	}
}

// Every client of a reachable gateway needs a credential. A token that is set later counts at once.
func TestOtherMachinesNeedASecretOfTheGateway(t *testing.T) {
	t.Parallel()
	everywhere, here := &net.TCPAddr{IP: net.IPv4zero, Port: 1}, &net.TCPAddr{IP: net.IPv6loopback, Port: 1}
	for file, needs := range map[string]bool{
		`{}`: true, `{gateway: {auth: {mode: 'none', token: 'x'}}}`: true,
		`{gateway: {auth: {token: 'x'}}}`: false, `{gateway: {auth: {password: 'x'}}}`: false,
	} {
		g, _ := gatewayOf(t, file, nil, "")
		if err := g.CheckReach(here); err != nil {
			t.Errorf("%s: this machine: %v", file, err)
		}
		if err := g.CheckReach(everywhere); (err != nil) != needs {
			t.Errorf("%s: other machines: %v", file, err)
		}
	}
	dir := t.TempDir()
	if _, err := MakeToken(TokenFile(dir), strings.NewReader(strings.Repeat("x", 32))); err != nil {
		t.Fatal(err)
	}
	g, _ := gatewayOf(t, `{}`, nil, "")
	if _, _, err := g.Keep(TokenFile(dir), nil); err != nil {
		t.Fatal(err)
	}
	if err := g.CheckReach(everywhere); err != nil {
		t.Errorf("with the token of the file: %v", err)
	}
}

// Of secrets only their presence is shown, wherever they are set.
func TestSecretsOfTheGatewayAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	g, c := gatewayOf(t, `{gateway: {auth: {mode: 'token', token: '`+secret+`', password: '`+secret+`'}, controlUi: {allowedOrigins: ['https://ui.example']}}}`, nil, "")
	text, err := json.Marshal(g.Shown(c))
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(text), fmt.Sprintf("%v %+v %#v", g, g, g), fmt.Sprint(g.Access())} {
		if strings.Contains(shown, secret) {
			t.Errorf("%s", shown)
		}
	}
	if want := `{"name":"gatewayToken","value":"***","source":"openclaw.json gateway.auth.token"}`; !strings.Contains(string(text), want) {
		t.Errorf("%s, want %s in it", text, want)
	}
	if a := g.Access(); a.Token.Reveal() != secret || a.Mode != ModeToken || len(a.Origins) != 1 {
		t.Errorf("access %+v", a)
	}
}

func TestChangesOfTheGatewayAreNamed(t *testing.T) {
	t.Parallel()
	old, _ := gatewayOf(t, `{gateway: {auth: {token: 'a'}}}`, nil, "")
	next, _ := gatewayOf(t, `{gateway: {port: 1, auth: {mode: 'password', password: 'b'}, controlUi: {allowedOrigins: ['*']}}}`, nil, "")
	if diff := cmp.Diff([]string{"gateway", "gatewayAuth", "gatewayOrigins", "gatewayPassword", "gatewayToken"}, next.ChangedFrom(&old)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if same := old.ChangedFrom(&old); len(same) > 0 {
		t.Errorf("nothing changed, but %v", same)
	}
}
