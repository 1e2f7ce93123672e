package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

// mcp.servers is read as OpenClaw writes it. An unusable server is a warning and is left out, so that the rest of the file is used.
func TestMCPServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		names []string
		found []string // severity, setting and message of the findings
	}{
		"none":              {`{}`, nil, nil},
		"two, by name":      {`{servers: {b: {command: 'x'}, a: {url: 'https://h/mcp'}}}`, []string{"a", "b"}, nil},
		"nothing":           {`{servers: {a: {}}}`, nil, []string{"warning mcp.servers.a.command the server has neither a command nor a url: the server has no effect"}},
		"both":              {`{servers: {a: {command: 'x', url: 'http://h'}}}`, nil, []string{"warning mcp.servers.a.url the server has both a command and a url: the server has no effect"}},
		"sse":               {`{servers: {a: {url: 'http://h', transport: 'sse'}, b: {command: 'x'}}}`, []string{"b"}, []string{"warning mcp.servers.a.transport the transport sse is not supported: the server has no effect"}},
		"another transport": {`{servers: {a: {url: 'http://h', transport: 'stdio'}, b: {command: 'x', type: 'http'}}}`, nil, []string{"warning mcp.servers.a.transport a server with a url does not speak over stdio: the server has no effect", "warning mcp.servers.b.transport a server with a command speaks over stdio: the server has no effect"}},
		"no address":        {`{servers: {a: {url: 'ws://h'}, b: {url: 'h/mcp'}}}`, nil, []string{"warning mcp.servers.a.url this is not an http or https address: the server has no effect", "warning mcp.servers.b.url this is not an http or https address: the server has no effect"}},
		"names":             {`{servers: {'a b': {command: 'x'}, 'A-b': {command: 'y'}, a__b: {command: 'z'}, a_: {command: 'z'}}}`, []string{"a b"}, []string{`warning mcp.servers.A-b the tools of "A-b" and "a b" would have the same names: it has no effect`, `warning mcp.servers.a__b "a__b" is no name of a server: at most 30 characters, without __ and no _ at the end: it has no effect`, `warning mcp.servers.a_ "a_" is no name of a server: at most 30 characters, without __ and no _ at the end: it has no effect`}},
		"interpreter":       {`{servers: {a: {command: 'x', env: {NODE_OPTIONS: '--inspect', OK: '1'}}}}`, []string{"a"}, []string{"warning mcp.servers.a.env.NODE_OPTIONS this variable changes how an interpreter starts; a server does not get it"}},
		"kind of session":   {`{servers: {a: {command: 'x', sessions: ['subagent', 'nights']}}}`, []string{"a"}, []string{`error mcp.servers.a.sessions[1] "nights" is not a kind of session`}},
		"unknown key":       {`{servers: {a: {command: 'x', comand: 'y'}}, server: {}}`, []string{"a"}, []string{"warning mcp.servers.a.comand unknown key; it has no effect", "warning mcp.server unknown key; it has no effect"}},
		"oauth": {`{servers: {a: {url: 'https://h', auth: 'oauth', oauth: {redirectUrl: 'http://h/back', clientMetadataUrl: 'https://h', identity: 'shared'}}}}`, []string{"a"}, []string{
			"warning mcp.servers.a.oauth.redirectUrl this is not such an address: it has no effect", "warning mcp.servers.a.oauth.clientMetadataUrl this is not such an address: it has no effect"}},
		"what OpenClaw writes": {`{servers: {a: {url: 'https://h', transport: 'streamable-http', timeout: 20, connectTimeout: 5, supportsParallelToolCalls: true, auth: 'oauth', oauth: {scope: 'x'}, sslVerify: true, toolFilter: {include: ['s_*'], exclude: ['a_*']}, codex: {agents: ['a']}}}, sessionIdleTtlMs: 1}`, []string{"a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded, findings := config.Load(files(t, map[string]string{"openclaw.json": `{mcp: ` + c.text + `}`}), func(string) string { return "" })
			var found, names []string
			for _, f := range findings {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Path, " ", f.Message))
			}
			for _, s := range loaded.MCP.Servers {
				names = append(names, s.Name)
			}
			if diff := cmp.Diff(c.found, found); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.names, names); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
	many := strings.Builder{}
	for n := range 70 {
		fmt.Fprintf(&many, "s%d: {command: 'x'}, ", n)
	}
	if loaded, findings := load(t, `{mcp: {servers: {`+many.String()+`}}}`, nil); len(loaded.MCP.Servers) != 64 || len(findings) != 6 {
		t.Errorf("%d servers, %d findings", len(loaded.MCP.Servers), len(findings))
	}
}

// Times are in seconds or milliseconds; values of variables and headers are secrets.
func TestMCPServerSettings(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{mcp: {servers: {a: {command: 'npx', args: ['-y', 'x'], env: {KEY: 'sesame-open', B: '${VALUE}'}, cwd: '~/x', timeout: 20, connectionTimeoutMs: 1500,
		sessions: ['main'], repeatable: ['put_*']}, b: {url: 'https://me:sesame-open@h/mcp', headers: {Authorization: 'Bearer sesame-open'}, enabled: false,
		auth: 'oauth', oauth: {scope: 'read write', redirectUrl: 'http://localhost:1/x', clientMetadataUrl: 'https://h/c.json', clientId: 'me', clientSecret: 'sesame-open'}}}}}`,
		map[string]string{"VALUE": "v"})
	wantFindings(t, findings)
	want := []config.MCPServer{
		{Name: "a", Enabled: true, Command: "npx", Args: []string{"-y", "x"}, Env: []config.MCPVariable{{Name: "B", Value: "v"}, {Name: "KEY", Value: "sesame-open"}}, Dir: "~/x",
			ConnectTimeout: 1500 * time.Millisecond, CallTimeout: 20 * time.Second, Sessions: []coordination.KeyKind{coordination.KeyMain}, Repeatable: []string{"put_*"}},
		{Name: "b", URL: "https://me:sesame-open@h/mcp", Headers: []config.Header{{Name: "Authorization", Value: "Bearer sesame-open"}},
			OAuth:          &config.MCPOAuth{Scope: "read write", RedirectURL: "http://localhost:1/x", ClientMetadataURL: "https://h/c.json", ClientID: "me", ClientSecret: "sesame-open"},
			ConnectTimeout: 30 * time.Second, CallTimeout: time.Minute},
	}
	if diff := cmp.Diff(want, c.MCP.Servers); diff != "" {
		t.Error(diff)
	}
	if text := string(c.Masked()) + fmt.Sprint(c.MCP.Servers) + c.MCP.Servers[1].Launch(); strings.Contains(text, "sesame-open") {
		t.Error(text)
	}
	if c.MCPServerNamed("a") == nil || c.MCPServerNamed("b") != nil || c.MCP.Servers[0].Transport() != "stdio" || c.MCP.Servers[1].Transport() != "streamable-http" {
		t.Errorf("%+v", c.MCP)
	}
}
