package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/config"
)

// secretPlaces are configurations in which %s stands for a secret in quotes, or for a broken rest that holds it.
var secretPlaces = []string{
	`{channels: {discord: {token: %s}}}`,
	`{channels: {discord: {accounts: {eden: {token: %s, nmae: 1}, seum: {tokne: %[1]s}}}}}`,
	`{channels: {discord: {toekn: %s, collaboration: {token: [%[1]s]}}}}`,
	`{gateway: {auth: {mode: 1, token: %s, password: %[1]s}, remote: {password: %[1]s}}}`,
	`{gateway: {auth: %s, port: %[1]s, secret: {deep: [{er: %[1]s}]}}}`,
	`{taskMonitor: {writeToken: %s}}`,
	`{models: {providers: {x: {apiKey: %s, headers: {'X-Any': %[1]s}}}}, env: {vars: {ANY: %[1]s}}}`,
	`{skills: {entries: {a: {api_key: %s, env: {NAME: %[1]s}}}}, 비밀번호: %[1]s}`,
	`{gateway: {auth: {token: %s}, bind: %[1]s}, session: {dmScope: %[1]s}, agents: {list: [{id: 'a', name: %[1]s, kind: %[1]s, nmae: %[1]s}]}}`,
	`{gateway: {auth: {token: %s}}, tools: {agentToAgent: {allow: [%[1]s]}}, agents: {list: [{id: %[1]s}, {id: %[1]s}]}}`,
	`{gateway: {auth: {token: %s}}, %[1]s: 1, agents: {%[1]s: 2}}`,
	`{hooks: {token: %s}, x: 'prefix %[2]s suffix'}`,
	`{gateway: {auth: {token: %[2]s}}}`, // without its quotes
	`{gateway: {auth: {token: '%[2]s`,   // cut off
	`{gateway: {auth: {token: '%[2]s
}}}`,
	`{gateway: {auth: {token: "x" %[2]s}}}`,
	`{channels: {discord: {token: 'a${SOME_TOKEN}b', collaboration: '${SOME_TOKEN}'}}}`,
	`{agents: {list: [{id: '${SOME_TOKEN}', name: '${SOME_TOKEN}'}, {id: '${SOME_TOKEN}'}]}, gateway: {bind: '${SOME_TOKEN}'}}`,
	`{gateway: {auth: {token: '${PLAIN}'}, mode: '${PLAIN}'}}`,
	`{gateway: {conversationSinks: [{id: 'webhook', enabled: true, options: {url: %s, token: %[1]s, events: [%[1]s]}}]}}`,
	`{gateway: {conversationSinks: [{id: 'webhook', options: {url: 'https://hooks.example/%[2]s?x#y'}}]}}`,
	`{models: {providers: {x: {baseUrl: 'https://%[2]s@host/v1'}}}, note: 'not %[2]s here'}`,
	`{models: {providers: {x: {baseUrl: 'https://me:%[2]s@host/v1', api: '%[2]s'}}}}`,
	`{models: {providers: {x: {baseUrl: 'https://host/v1?key=%[2]s&api-version=2024'}}}, session: {dmScope: '%[2]s'}}`,
	`{mcp: {servers: {a: {url: 'wss://host/sse?a=1&access_token=%[2]s', args: ['--url=http://host/?x=%[2]s']}}}}`,
	`{mcp: {servers: {a: {url: 'https://host/?%[2]s'}, b: {url: 'https://host/#id_token=%[2]s&x=1'}}}, %[1]s: 1}`,
	`{auth: {'https://me:%[2]s@host/?k=%[2]s': {a: 1}}, 'https://host/?k=%[2]s': 1, mcp: {servers: {a: {url: 'https://me:a/%[2]s@host'}}}}`,
	`{taskMonitor: {taskHubUrl: 'http://hub:1/?sig=%[2]s', allowedOrigins: ['http://%[2]s@hub']}, channels: {discord: {proxy: 'socks5://p:%[2]s@h:1'}}}`,
}

// Whatever is wrong with a configuration, a secret in it is nowhere to be seen.
//
// Promise: config-secrets
func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{7,40}`).Draw(t, "secret")
		for _, place := range secretPlaces {
			text := place
			if strings.Contains(place, "%") {
				text = fmt.Sprintf(place+"%.0[2]s", fmt.Sprintf("%q", secret), secret)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, findings := config.Load(path, func(string) string { return secret })
			for name, s := range shownOf(t, c, findings) {
				if strings.Contains(s, secret) {
					t.Fatalf("%s shows %q of %s: %s", name, secret, text, s)
				}
			}
		}
	})
}

// shownOf is everything that a configuration says of itself.
func shownOf(t *rapid.T, c *config.Config, findings config.Findings) map[string]string {
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("loaded", "auth", c.Gateway.Auth, "accounts", c.Discord.Accounts, "monitor", c.TaskMonitor)
	listed, err := json.Marshal(findings)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := json.Marshal(c.Applied())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"masked": string(c.Masked()), "findings": string(listed), "applied": string(applied), "error": fmt.Sprint(findings.Err()),
		"unsupported": config.Together(c.Unsupported),
		"log":         log.String(), "formatted": fmt.Sprintf("%+v %#v %s", c.TaskMonitor, c.Gateway.Auth, c.Gateway.Auth.Token),
	}
}

func TestMasked(t *testing.T) {
	t.Parallel()
	c, _ := load(t, `{
		gateway: {auth: {token: 'abcdef', password: 123456}, tls: {keyPath: '/k.pem'}, remote: {url: 'wss://me:pass1234@host'}},
		session: {mainKey: 'main'}, agents: {defaults: {contextTokens: 200000}},
		models: {p: {apiKey: '${K}', maxTokens: 5, baseUrl: 'https://x/${PATH_SECRET}'}}, note: 'not abcdef here', tokens: ['t1', 't2'], secretFile: 'f',
		env: {A: 'b', shellEnv: {enabled: true}},
	}`, map[string]string{"K": "from-env", "PATH_SECRET": "hidden"})
	want := `{"agents":{"defaults":{"contextTokens":200000}},"env":{"A":"***","shellEnv":{"enabled":true}},` +
		`"gateway":{"auth":{"password":"***","token":"***"},"remote":{"url":"wss://***:***@host"},"tls":{"keyPath":"/k.pem"}},` +
		`"models":{"p":{"apiKey":"***","baseUrl":"***","maxTokens":5}},"note":"not *** here","secretFile":"f","session":{"mainKey":"main"},"tokens":["***","***"]}`
	if got := string(c.Masked()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if token := c.Gateway.Auth.Token; token.Reveal() != "abcdef" || token.String() != "***" || config.Secret("").String() != "" {
		t.Errorf("token %q", token.Reveal())
	}
}

// What a URL lets in with is masked where it stands, and what tells addresses apart stays.
func TestSecretsInURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://host/v1":                                     "https://host/v1",
		"https://u:pw@host:1/v1?x=y":                          "https://***:***@host:1/v1?x=***",
		"https://tokenonly@host":                              "https://***@host",
		"https://host/?api-version=2024-02-01&key=abc;a=b&&c": "https://host/?api-version=2024-02-01&key=***;a=***&&***",
		"https://host/?":                                      "https://host/?",
		"https://host/a#part":                                 "https://host/a#part",
		"https://host/a#v=1&access_token=x":                   "https://host/a#v=1&access_token=***",
		"--a=http://u@h --b=ws://h/?q=1 end":                  "--a=http://***@h --b=ws://h/?q=*** end",
		"me@example.com, see //path?x=y":                      "me@example.com, see //path?x=y",
		"postgres://app:s3cret@db/x?sslmode=disable":          "postgres://***:***@db/x?sslmode=disable",
		"https://me:pa/ss#wo?rd@host:1/x?y=z":                 "https://***:***@host:1/x?y=***",
		"https://me:pa/ss@host":                               "https://***:***@host",
		"https://host:8080/@scope/package":                    "https://host:8080/@scope/package",
		"https://[::1]:80/@scope":                             "https://[::1]:80/@scope",
		"https://host/?a=o'clock&key=x":                       "https://host/?a=***&key=***",
	} {
		if got := config.Shown(text); got != want || config.Shown(got) != got {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// The gateway shows no secret of a URL, and takes back what it has shown.
func TestURLsOfADocument(t *testing.T) {
	t.Parallel()
	const file = `{
  // was https://u:old-secret@host/v1
  models: {providers: {x: {baseUrl: 'https://me:hush-hush@host/v1', models: []}}},
  mcp: {servers: {a: {url: 'https://mcp.example/?key=sesame-open'}, b: {url: 'https://mcp.example/?key=${MCP_KEY}'}}},
  note: 'sesame-open',
}
`
	d := config.ReadDocument(files(t, map[string]string{"openclaw.json": file}), func(string) string { return "from-outside" })
	raw, ok := d.Raw()
	shown := raw + string(d.Parsed()) + string(d.Resolved()) + fmt.Sprint(d.Issues(config.Warning), d.Issues(config.Error))
	for _, secret := range []string{"old-secret", "hush-hush", "sesame-open", "from-outside"} {
		if !ok || strings.Contains(shown, secret) {
			t.Errorf("%s shows in %s", secret, shown)
		}
	}
	if !strings.Contains(raw, "?key=${MCP_KEY}") {
		t.Errorf("a reference is no secret: %s", raw)
	}
	next, changed, err := d.Replace(raw)
	if err != nil || len(changed) != 0 || next.Changed() {
		t.Errorf("sent back as shown: %v changed, %v", changed, err)
	}
	if got := string(d.Config().Masked()); strings.Contains(got, "hush") || !strings.Contains(got, `"baseUrl":"https://***:***@host/v1"`) {
		t.Errorf("%s", got)
	}
}
