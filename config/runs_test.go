package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

func TestTimesAndLanesOfRuns(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{agents: {defaults: {timeoutSeconds: 60, maxConcurrent: 2, nested: {maxConcurrent: 3}},
		list: [{id: 'eden', timeoutSeconds: 5}, {id: 'seum', timeoutSeconds: 0}, {id: 'ruda'}]}}`, nil)
	wantFindings(t, findings)
	for agent, want := range map[string]time.Duration{"EDEN": 5 * time.Second, "seum": 0, "ruda": time.Minute, "stranger": time.Minute} {
		if got := c.Timeout(agent); got != want {
			t.Errorf("%s has %s, want %s", agent, got, want)
		}
	}
	if diff := cmp.Diff(map[string]int{"main": 2, "nested": 3, "subagent": 8, "cron": 4}, c.Lanes()); diff != "" {
		t.Error(diff)
	}
	usual := config.Default()
	if diff := cmp.Diff(map[string]int{"main": 4, "nested": 8, "subagent": 8, "cron": 4}, usual.Lanes()); diff != "" || usual.Timeout("main") != 10*time.Minute {
		t.Errorf("%s%s", diff, usual.Timeout("main"))
	}
}

func TestPoliciesOfTools(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
		tools: {allow: ['group:sessions', 'agents_*'], deny: ['cron'], profile: 'full'},
		agents: {list: [{id: 'eden', tools: {allow: ['x'], deny: ['y'], alsoAllow: ['z']}}, {id: 'seum'}]},
		gateway: {tools: {allow: ['sessions_send'], deny: ['session_status'], alow: []}},
	}`, nil)
	wantFindings(t, findings, `warning unknown_key openclaw.json:4:73: gateway.tools.alow: unknown key; it has no effect (did you mean "allow"?)`)
	got := []config.ToolPolicy{c.Tools.ToolPolicy, c.AgentNamed("eden").Tools, c.AgentNamed("seum").Tools, c.Gateway.Tools}
	want := []config.ToolPolicy{{Allow: []string{"group:sessions", "agents_*"}, Deny: []string{"cron"}}, {Allow: []string{"x"}, Deny: []string{"y"}}, {},
		{Allow: []string{"sessions_send"}, Deny: []string{"session_status"}}}
	want[0].Profile, want[1].AlsoAllow = "full", []string{"z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A person who wanted to forbid tools does not find out too late that they are allowed: what is not known forbids most, and what is ignored gives a warning.
func TestProfilesOfTools(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{tools: {profile: 'codign', byProvider: {x: {deny: ['*']}}, toolsBySender: null},
		agents: {list: [{id: 'eden', tools: {profile: 'messaging', alsoAllow: []}}, {id: 'seum', tools: {profile: 'Everything', subagents: {tools: {deny: ['*']}}}}]}}`, nil)
	wantFindings(t, findings,
		`warning value openclaw.json:1:19: tools.profile: "codign" is not a profile; it is treated as minimal (did you mean "coding"? use minimal, messaging, coding or full)`,
		`warning value openclaw.json:1:41: tools.byProvider: openclawd does not support this: it forbids no tool (use profile, allow and deny to restrict the agents' tools)`,
		`warning value openclaw.json:2:109: agents.list[1].tools.profile: "Everything" is not a profile; it is treated as minimal (use minimal, messaging, coding or full)`,
		`warning value openclaw.json:2:134: agents.list[1].tools.subagents: openclawd does not support this: it forbids no tool (use profile, allow and deny to restrict the agents' tools)`,
	)
	got := []config.ToolPolicy{c.Tools.ToolPolicy, c.AgentNamed("eden").Tools, c.AgentNamed("seum").Tools}
	want := []config.ToolPolicy{{Profile: "minimal"}, {Profile: "messaging", AlsoAllow: []string{}}, {Profile: "minimal"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAgentToAgentSettings(t *testing.T) {
	t.Parallel()
	const hint = "openclawd does not support this: it has no effect (remove it, or leave it if another program reads it)"
	_, findings := load(t, `{session: {agentToAgent: {retry: {attempts: 1}, timeout: 5, autoTerminate: true, maxPingPongTurns: 1}}}`, nil)
	wantFindings(t, findings,
		`warning value openclaw.json:1:34: session.agentToAgent.retry: `+hint,
		`warning value openclaw.json:1:58: session.agentToAgent.timeout: `+hint,
		`warning value openclaw.json:1:76: session.agentToAgent.autoTerminate: `+hint,
	)
}

// What sub-agents are is said for the agent that they are, else for all.
func TestWhatSubagentsAre(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{agents: {defaults: {subagents: {model: 'p/a', thinking: 'low', runTimeoutSeconds: 0}},
		list: [{id: 'eden', subagents: {model: {primary: 'p/b'}, thinking: 'high'}}, {id: 'seum'}]}}`, nil)
	wantFindings(t, findings)
	for agent, want := range map[string]string{"eden": "p/b high", "seum": "p/a low"} {
		if got := c.SubagentModel(agent) + " " + c.SubagentThinking(agent); got != want {
			t.Errorf("%s: got %q, want %q", agent, got, want)
		}
	}
	if most := c.Defaults.Subagents.Timeout; most == nil || *most != 0 {
		t.Errorf("time-out %v", most)
	}
}

func TestEndpointsAreOffUnlessTheyAreOn(t *testing.T) {
	t.Parallel()
	if h := config.Default().Gateway.HTTP; h.ChatCompletions || h.Responses || h.ModelErrors != config.ModelErrorsText {
		t.Errorf("%+v", h)
	}
	c, findings := load(t, `{gateway: {http: {endpoints: {chatCompletions: {enabled: true, maxBodyBytes: 1}, responses: {enable: true}}}}}`, nil)
	wantFindings(t, findings,
		`warning unknown_key openclaw.json:1:94: gateway.http.endpoints.responses.enable: unknown key; it has no effect (did you mean "enabled"?)`)
	if h := c.Gateway.HTTP; !h.ChatCompletions || h.Responses {
		t.Errorf("%+v", h)
	}
	c, findings = load(t, `{gateway: {http: {modelErrors: 'http'}}}`, nil)
	wantFindings(t, findings)
	if how := c.Gateway.HTTP.ModelErrors; how != config.ModelErrorsHTTP {
		t.Errorf("failures are told as %s", how)
	}
}

// What a header says is a secret, whatever it is called.
func TestHeadersAreSecret(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{models: {providers: {p: {timeoutSeconds: 9, headers: {
  'X-Org': 'org-1234567', 'X Bad': 'bad-1234567', 'X-Long': "split-1234567\n", 'X-None': '', 'X-Odd': 5, 'X-Ref': {source: 'env', id: 'X'}}}}}}`, nil)
	wantFindings(t, findings,
		`error value openclaw.json:2:27: models.providers.p.headers["X Bad"]: this is not an HTTP header name (write it as in the provider's documentation, such as X-Title: openclawd)`,
		`error value openclaw.json:2:51: models.providers.p.headers.X-Long: an HTTP header value must be a single line (write it as in the provider's documentation, such as X-Title: openclawd)`,
		`error type openclaw.json:2:103: models.providers.p.headers.X-Odd: a text was expected, not a number (put it in quotes)`,
		`warning unbound_secret openclaw.json:2:115: models.providers.p.headers.X-Ref: openclawd cannot resolve a reference to a secret store (write the secret as ${NAME} and set the variable NAME, if openclawd is to use it)`,
	)
	p := c.Models.Providers[0]
	if diff := cmp.Diff([]config.Header{{Name: "X-Org", Value: "org-1234567"}}, p.Headers); diff != "" || p.Timeout != 9*time.Second {
		t.Errorf("%s%s", diff, p.Timeout)
	}
	if shown := string(c.Masked()); strings.Contains(shown, "1234567") {
		t.Error(shown)
	}
}

func TestScriptIsReadBesideTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("talk.json", `{"rules": []}`)
	write("big.json", strings.Repeat(" ", 4<<20+1))
	write("talk.txt", "x")
	outside := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "openclaw.json")
	for name, want := range map[string]string{
		"talk.json": "", "./talk.json": "", "none.json": "does not exist", "big.json": "is larger than 4 MiB", "talk.txt": "does not have the name of a script",
		"../x.json": "leads out", "/etc/passwd.json": "leads out", "a/../talk.json": "leads out", "link.json": "cannot be read", "folder.json": "cannot be read",
	} {
		write("openclaw.json", `{models: {scripted: {script: '`+name+`'}}}`)
		c, findings := config.Load(path, func(string) string { return "" })
		s := c.Models.Script
		if findings.Err() != nil || s == nil || s.Line != 1 || s.Column != 30 {
			t.Fatalf("%s: %v, %+v", name, findings, s)
		}
		if want == "" {
			if len(findings) > 0 || string(s.Text) != `{"rules": []}` || !cmp.Equal(c.Files, []string{path, filepath.Join(dir, "talk.json")}) {
				t.Errorf("%s: %v, %+v, %v", name, findings, s, c.Files)
			}
			continue
		}
		if len(findings) != 1 || findings[0].Code != config.CodeScript || findings[0].Path != "models.scripted.script" || findings[0].Column != 30 ||
			!strings.Contains(findings[0].Message, want) || s.Text != nil || !strings.Contains(s.Problem, want) {
			t.Errorf("%s: %v, %+v", name, findings, s)
		}
	}
}

// The configuration that a real gateway takes is one that no one warns of.
func TestStateOfTheRealGatewayHasNoFinding(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
		"gateway": {"mode": "local", "port": 18789, "bind": "loopback", "auth": {"mode": "token", "token": "secret"},
			"http": {"endpoints": {"chatCompletions": {"enabled": true}, "responses": {"enabled": true}}}},
		"models": {"mode": "replace", "providers": {"fake": {"baseUrl": "http://127.0.0.1:18998/v1", "apiKey": "sk-fake", "api": "openai-completions",
			"models": [{"id": "echo-1", "name": "Echo One", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 8192}]}}},
		"agents": {"defaults": {"model": {"primary": "fake/echo-1"}, "skipBootstrap": true, "heartbeat": {"every": "0m"}},
			"list": [{"id": "main", "default": true}, {"id": "eden", "name": "Eden", "identity": {"name": "Eden", "emoji": "🌿"}}]},
		"messages": {"queue": {"mode": "collect"}}
	}`, nil)
	wantFindings(t, findings)
	if !c.Gateway.HTTP.ChatCompletions || !c.Gateway.HTTP.Responses || c.ModelFor("eden").Primary != "fake/echo-1" {
		t.Errorf("%+v", c.Gateway.HTTP)
	}
}

// Times after which no one could go on with a task are told where they stand; they count all the same.
func TestTaskTimeoutsThatAreTooShort(t *testing.T) {
	t.Parallel()
	const (
		at   = "warning value openclaw.json:1:"
		in   = ": agents.defaults.taskContinuation."
		hint = " (make zombieTaskTtl much longer than idleThreshold, such as 24h, or 0 for unlimited)"
		then = ": a task is taken from its agent before the agent is prompted to continue it" + hint
	)
	for text, want := range map[string][]string{
		`{}`:                     nil,
		`{zombieTaskTtl: '24h'}`: nil,
		`{zombieTaskTtl: '3m'}`:  nil, // as long as idleThreshold
		`{zombieTaskTtl: 0}`:     nil, // for ever
		`{zombieTaskTtl: 0, idleThreshold: '9d'}`:      nil,
		`{zombieTaskTtl: '1m', idleThreshold: '10s'}`:  nil,
		`{zombieTaskTtl: null, idleThreshold: '24h'}`:  nil,
		`{zombieTaskTtl: '2m'}`:                        {at + "56" + in + "zombieTaskTtl: zombieTaskTtl, 2m0s, is shorter than idleThreshold, 3m0s" + then},
		`{zombieTaskTtl: '1h', idleThreshold: '2h'}`:   {at + "56" + in + "zombieTaskTtl: zombieTaskTtl, 1h0m0s, is shorter than idleThreshold, 2h0m0s" + then},
		`{zombieTaskTtl: 24, idleThreshold: 10}`:       {at + "56" + in + "zombieTaskTtl: 24ms is less than a minute: a task is taken from its agent between two steps (use 24h, or 0 for unlimited; a number is milliseconds)"},
		`{idleThreshold: '25h'}`:                       {at + "56" + in + "idleThreshold: zombieTaskTtl, 24h0m0s, is shorter than idleThreshold, 25h0m0s" + then},
		`{zombieTaskTtl: 'soon', idleThreshold: '1m'}`: {"error value openclaw.json:1:56" + in + `zombieTaskTtl: "soon" is not a duration (write milliseconds as a number, or a text such as 90s, 2m, 24h or 7d)`},
	} {
		c, findings := load(t, `{agents: {defaults: {taskContinuation: `+text+`}}}`, nil)
		wantFindings(t, findings, want...)
		if text == `{zombieTaskTtl: '2m'}` && c.Defaults.Continuation.ZombieTaskTTL != 2*time.Minute {
			t.Errorf("%s counts as %s", text, c.Defaults.Continuation.ZombieTaskTTL)
		}
	}
}

// A search provider that openclawd does not know is not used, nor one without its address.
func TestSearchProviders(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{
		`{provider: 'brave', apiKey: 'k'}`:                         config.SearchBrave,
		`{provider: 'searxng', baseUrl: 'https://search.example'}`: config.SearchSearXNG,
		`{provider: 'searxng'}`:                                    "warning value openclaw.json:1:35: tools.web.search.baseUrl",
		`{provider: 'perplexity', apiKey: 'k'}`:                    "warning value openclaw.json:1:35: tools.web.search.provider: \"perplexity\"",
	} {
		c, findings := load(t, `{tools: {web: {search: `+provider+`}}}`, nil)
		got := c.Tools.Web.Search.Provider
		if len(findings) > 0 {
			got += fmt.Sprint(findings)
		}
		if !strings.Contains(got, want) || len(findings) > 1 {
			t.Errorf("%s: %s, want %s", provider, got, want)
		}
	}
}
