package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

const (
	// mostMCPServers is the maximum number of MCP servers.
	mostMCPServers = 64
	// mostMCPName is the maximum length of a server's name, which begins the names of its tools.
	mostMCPName = 30

	usualMCPConnect = 30 * time.Second
	usualMCPCall    = 60 * time.Second
)

func (c *Config) decodeMCP(f *fields) {
	names := map[string]string{} // by what the names of their tools begin with
	f.named("servers", func(name string, f *fields) {
		if f.object == nil {
			return // already reported
		}
		s, usable := decodeMCPServer(name, f)
		prefix := strings.ToLower(MCPPrefix(name))
		fault := ""
		switch {
		case f.schema != nil:
			return
		case strings.Trim(name, " ") == "" || len(name) > mostMCPName || strings.Contains(name, "__") || strings.HasSuffix(name, "_"):
			fault = fmt.Sprintf("%q is no name of a server: at most %d characters, without __ and no _ at the end", clip(maskText(name)), mostMCPName)
		case names[prefix] != "":
			fault = fmt.Sprintf("the tools of %q and %q would have the same names", clip(maskText(name)), clip(maskText(names[prefix])))
		case len(c.MCP.Servers) == mostMCPServers:
			fault = fmt.Sprintf("it is one server too many: at most %d", mostMCPServers)
		}
		if fault != "" {
			f.report.add(warning(CodeValue, f.object.at, f.at, fault+": it has no effect", "give it another name, or remove it"))
			return
		}
		if names[prefix] = name; !usable {
			return
		}
		c.MCP.Servers = append(c.MCP.Servers, s)
	})
	slices.SortFunc(c.MCP.Servers, func(a, b MCPServer) int { return cmp.Compare(a.Name, b.Name) })
	f.others("apps")
	f.aside("sessionIdleTtlMs")
	f.done()
}

// MCPPrefix is what the names of a server's tools begin with: its name in characters that all providers of models accept, and __.
func MCPPrefix(name string) string { return MCPName(name) + "__" }

// MCPName is a name of a server or one of its tools in characters that all providers of models accept.
func MCPName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, name)
}

// decodeMCPServer reads a server. An unusable one is a warning: the others are used, and so is the rest of the file.
func decodeMCPServer(name string, f *fields) (s MCPServer, usable bool) {
	s = MCPServer{Name: name, Enabled: f.flag("enabled", true), Command: f.text("command", ""), Args: f.texts("args"), Env: f.variables("env"),
		Dir: cmp.Or(f.text("cwd", ""), f.text("workingDirectory", "")), URL: Secret(f.text("url", "")), Headers: f.headers("headers")}
	s.ConnectTimeout = f.mcpTimeout("connectTimeout", "connectionTimeoutMs", usualMCPConnect)
	s.CallTimeout = f.mcpTimeout("timeout", "requestTimeoutMs", usualMCPCall)
	filter := f.within("toolFilter")
	s.Include, s.Exclude = filter.texts("include"), filter.texts("exclude")
	filter.done()
	s.Sessions, s.Repeatable = f.sessionKinds("sessions"), f.texts("repeatable")
	usable = f.checkMCPTransport(&s)
	if oauth := f.decodeMCPOAuth(); f.choice("auth", "", "oauth") != "" && s.URL != "" {
		s.OAuth = oauth
	}
	f.others("sslVerify", "clientCert", "clientKey")
	f.aside("supportsParallelToolCalls", "codex", "name", "description")
	f.done()
	return s, usable
}

// decodeMCPOAuth reads how access to a server is granted. An address that cannot be used is a warning, and is left out.
func (f *fields) decodeMCPOAuth() *MCPOAuth {
	o := f.within("oauth")
	address := func(key, hint string, fits func(*url.URL) bool) string {
		text := o.text(key, "")
		if text == "" || o.schema != nil {
			return text
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" && fits(u) {
			return text
		}
		o.report.add(warning(CodeValue, o.object.get(key).at, o.at.member(key), "this is not such an address: it has no effect", hint))
		return ""
	}
	read := &MCPOAuth{Scope: o.text("scope", ""), ClientID: o.text("clientId", ""), ClientSecret: o.secret("clientSecret"),
		RedirectURL: address("redirectUrl", "write it like http://127.0.0.1:8989/oauth/callback", func(u *url.URL) bool {
			return u.Scheme == "https" || u.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
		}),
		ClientMetadataURL: address("clientMetadataUrl", "write it like https://host/client.json", func(u *url.URL) bool {
			return u.Scheme == "https" && strings.Trim(u.Path, "/") != ""
		})}
	o.others("identity", "authProfileId")
	o.done()
	return read
}

// checkMCPTransport checks that the server is either a program or an address.
func (f *fields) checkMCPTransport(s *MCPServer) (usable bool) {
	asked := f.choice("transport", "", mcpStdio, mcpHTTP, "sse")
	kind := f.choice("type", "", mcpStdio, "http", mcpHTTP, "sse")
	if f.schema != nil {
		return true
	}
	usable = true
	fault := func(key, why, hint string) {
		at := f.object.at
		if v := f.object.get(key); v != nil {
			at = v.at
		}
		usable = false
		f.report.add(warning(CodeValue, at, f.at.member(key), why+": the server has no effect", hint))
	}
	address, err := url.Parse(s.URL.Reveal())
	stdio := asked == mcpStdio || kind == mcpStdio
	switch {
	case s.Command == "" && s.URL == "":
		fault("command", "the server has neither a command nor a url", "set command for a program, or url for an address")
	case s.Command != "" && s.URL != "":
		fault("url", "the server has both a command and a url", "remove one of them")
	case asked == "sse" || kind == "sse":
		fault("transport", "the transport sse is not supported", "use the address of its Streamable HTTP endpoint, with transport streamable-http")
	case s.Command != "" && (asked == mcpHTTP || kind == "http" || kind == mcpHTTP):
		fault("transport", "a server with a command speaks over stdio", "set url instead of command, or remove this")
	case s.URL != "" && stdio:
		fault("transport", "a server with a url does not speak over stdio", "set command instead of url, or remove this")
	case s.URL != "" && (err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https"):
		fault("url", "this is not an http or https address", "write it like https://host/mcp")
	}
	return usable
}

// mcpTimeout reads a timeout in seconds or, at its other key, in milliseconds.
func (f *fields) mcpTimeout(seconds, ms string, usual time.Duration) time.Duration {
	const most = 24 * 60 * 60
	n := f.count(seconds, int(usual.Seconds()), 1, most)
	return time.Duration(f.count(ms, n*1000, 1, most*1000)) * time.Millisecond
}

// variables reads environment variables, sorted, without those that change how an interpreter starts, which the reference
// system refuses.
func (f *fields) variables(key string) (all []MCPVariable) {
	f.schema.member(key).each("string", "object")
	o := f.below(f.get(key), f.at.member(key))
	if o.object == nil {
		return nil
	}
	for _, m := range o.object.members {
		value := o.secret(m.key)
		fault := ""
		switch {
		case m.key == "" || strings.ContainsAny(m.key, "=\x00") || strings.Contains(value.Reveal(), "\x00"):
			fault = "this is not an environment variable"
		case startsInterpreter(m.key):
			fault = "this variable changes how an interpreter starts; a server does not get it"
		}
		if fault != "" {
			f.report.add(warning(CodeValue, m.at, o.at.member(m.key), fault, "remove it, or set it for openclawd itself"))
			continue
		}
		all = append(all, MCPVariable{m.key, value})
	}
	slices.SortFunc(all, func(a, b MCPVariable) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func startsInterpreter(name string) bool {
	return slices.Contains([]string{"BASH_ENV", "BASHOPTS", "ENV", "FPATH", "KSH_ENV", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES",
		"DYLD_LIBRARY_PATH", "NODE_OPTIONS", "NODE_REDIRECT_WARNINGS", "NODE_REPL_EXTERNAL_MODULE", "NODE_REPL_HISTORY", "NODE_V8_COVERAGE",
		"PERL5LIB", "PERL5OPT", "PS4", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT", "SHELLOPTS", "TCLLIBPATH"}, strings.ToUpper(name))
}

// sessionKinds reads kinds of sessions.
func (f *fields) sessionKinds(key string) (all []coordination.KeyKind) {
	known := []coordination.KeyKind{coordination.KeyMain, coordination.KeySubagent, coordination.KeyA2A, coordination.KeyDirect, coordination.KeyGroup,
		coordination.KeyChannel, coordination.KeyCron, coordination.KeyACP, coordination.KeyOther}
	f.schema.member(key).of("string")
	for i, item := range f.items(key) {
		kind := coordination.KeyKind(item.text)
		if item.kind == text && slices.Contains(known, kind) {
			all = append(all, kind)
			continue
		}
		f.invalid(item, f.at.member(key).item(i), "is not a kind of session", "use main, subagent, a2a, direct, group, channel, cron, acp or other")
	}
	return all
}
