package config_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

const modelSettings = `{
	models: {mode: 'replace', providers: {
		fake: {baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'sk-fake', api: 'openai-completions', headers: {a: 'b'}, timeoutSeconds: 5, models: [
			{id: 'echo-1', name: 'Echo One', reasoning: true, input: ['text', 'image'], contextWindow: 128000, maxTokens: 8192, cost: {input: 0}},
			{id: 'org/echo-2'}, {name: 'nameless'},
		]},
		empty: {},
	}},
	agents: {
		defaults: {model: {primary: 'fake/echo-1', fallbacks: ['org/echo-2', 'echo-1']}, contextTokens: 90000},
		list: [
			{id: 'Main'}, {id: 'eden', default: true, model: 'echo-1', contextTokens: 1000, identity: {emoji: 'E', avatar: 'e.png', theme: 'sea'}},
			{id: 'seum', model: {fallbacks: ['fake/org/echo-2']}}, {id: 'own', model: {primary: 'x/y', fallbacks: ['z']}},
		],
	},
}`

func TestModels(t *testing.T) {
	t.Parallel()
	c, findings := load(t, modelSettings, nil)
	wantFindings(t, findings)
	want := []config.ModelProvider{
		{ID: "fake", BaseURL: "http://127.0.0.1:1/v1", API: "openai-completions", APIKey: "sk-fake",
			Headers: []config.Header{{Name: "a", Value: "b"}}, Timeout: 5 * time.Second, Models: []config.Model{
				{ID: "echo-1", Name: "Echo One", Reasoning: true, Input: []string{"text", "image"}, ContextWindow: 128000, MaxTokens: 8192},
				{ID: "org/echo-2", Name: "org/echo-2", Input: []string{"text"}},
			}},
		{ID: "empty"},
	}
	if diff := cmp.Diff(want, c.Models.Providers); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if shown := c.Models.Providers[0].APIKey.String(); shown != "***" {
		t.Errorf("a key is shown as %s", shown)
	}
	if m := c.ModelNamed("fake/org/echo-2"); m == nil || m.ID != "org/echo-2" || c.ModelNamed("fake/none") != nil || c.ModelNamed("") != nil {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff(config.Identity{Emoji: "E", Avatar: "e.png", Theme: "sea"}, c.AgentNamed("EDEN").Identity); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestModelForAnAgent(t *testing.T) {
	t.Parallel()
	c, _ := load(t, modelSettings, nil)
	for agent, want := range map[string]config.ModelChoice{
		"main":     {Primary: "fake/echo-1", Fallbacks: []string{"org/echo-2", "fake/echo-1"}},
		"stranger": {Primary: "fake/echo-1", Fallbacks: []string{"org/echo-2", "fake/echo-1"}},
		"eden":     {Primary: "fake/echo-1"},
		"seum":     {Primary: "fake/echo-1", Fallbacks: []string{"fake/org/echo-2"}},
		"OWN":      {Primary: "x/y", Fallbacks: []string{"z"}},
	} {
		if diff := cmp.Diff(want, c.ModelFor(agent)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", agent, diff)
		}
	}
	if got := c.Defaults.Model.Fallbacks[1]; got != "echo-1" {
		t.Errorf("asking changed the configuration: %s", got)
	}
	if c.DefaultAgentID() != "eden" {
		t.Error(c.DefaultAgentID())
	}
	for _, tokens := range []struct {
		agent, model string
		want         int
	}{{"eden", "fake/echo-1", 1000}, {"main", "fake/echo-1", 90000}} {
		if got := c.ContextTokens(tokens.agent, tokens.model); got != tokens.want {
			t.Errorf("%+v: %d", tokens, got)
		}
	}
}

// Without a model of one's own everything still runs.
func TestModelWhereNoneIsChosen(t *testing.T) {
	t.Parallel()
	empty, _ := load(t, `{}`, nil)
	first, _ := load(t, `{models: {providers: {none: {}, p: {models: [{id: 'm', contextWindow: 5}, {id: 'n'}]}}}, agents: {list: [{id: 'Zoe'}]}}`, nil)
	for _, c := range []struct {
		config *config.Config
		model  string
		tokens int
		agent  string
	}{{empty, config.ScriptedModel, config.DefaultContextTokens, "main"}, {first, "p/m", 5, "zoe"}} {
		model := c.config.ModelFor("main").Primary
		if tokens := c.config.ContextTokens("main", model); model != c.model || tokens != c.tokens || c.config.DefaultAgentID() != c.agent {
			t.Errorf("%s with %d tokens for %s, want %+v", model, tokens, c.config.DefaultAgentID(), c)
		}
	}
}

func TestFindingsOfModelsAndPages(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
  models: {mode: 'mrege', provider: {}, providers: {p: {baseUri: 'x', apiKey: 5, models: [{id: 'm', contextWindow: -1, reasonin: true}]}}},
  agents: {defaults: {model: 7, modle: 'x'}, list: [{id: 'a', model: {primry: 'x'}, identity: {emojy: '.'}}]},
  session: {scope: 'globl', mainKey: 'work'},
  gateway: {controlUi: {allowedOrigin: [], allowedOrigins: ['*', 'https://hub.example', 'https://hub.example/', 1]}},
}`, nil)
	wantFindings(t, findings,
		`error value openclaw.json:2:18: models.mode: "mrege" is not an allowed value (did you mean "merge"? use merge or replace)`,
		`warning unknown_key openclaw.json:2:27: models.provider: unknown key; it has no effect (did you mean "providers"?)`,
		`warning unknown_key openclaw.json:2:57: models.providers.p.baseUri: unknown key; it has no effect (did you mean "baseUrl"?)`,
		`error type openclaw.json:2:79: models.providers.p.apiKey: a text was expected, not a number (put it in quotes)`,
		`error value openclaw.json:2:116: models.providers.p.models[0].contextWindow: -1 is not a whole number from 1 to 1000000000 (write one, such as 128000)`,
		`warning unknown_key openclaw.json:2:120: models.providers.p.models[0].reasonin: unknown key; it has no effect (did you mean "reasoning"?)`,
		`error type openclaw.json:3:30: agents.defaults.model: a text or an object was expected, not a number (write a text or an object)`,
		`warning unknown_key openclaw.json:3:33: agents.defaults.modle: unknown key; it has no effect (did you mean "model"?)`,
		`warning unknown_key openclaw.json:3:71: agents.list[0].model.primry: unknown key; it has no effect (did you mean "primary"?)`,
		`warning unknown_key openclaw.json:3:96: agents.list[0].identity.emojy: unknown key; it has no effect (did you mean "emoji"?)`,
		`error value openclaw.json:4:20: session.scope: "globl" is not an allowed value (did you mean "global"? use per-sender or global)`,
		`warning value openclaw.json:4:38: session.mainKey: "work" has no effect: the main session is always called main (remove this setting)`,
		`warning unknown_key openclaw.json:5:25: gateway.controlUi.allowedOrigin: unknown key; it has no effect (did you mean "allowedOrigins"?)`,
		`warning value openclaw.json:5:89: gateway.controlUi.allowedOrigins[2]: "https://hub.example/" is not an origin and matches no page (write scheme, host and port, such as https://hub.example or http://10.0.0.5:3102)`,
		`error type openclaw.json:5:113: gateway.controlUi.allowedOrigins[3]: a text was expected, not a number (put it in quotes)`,
	)
	if diff := cmp.Diff([]string{"*", "https://hub.example"}, c.Gateway.Origins); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
