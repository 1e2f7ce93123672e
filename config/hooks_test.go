package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/hook"
)

func TestHooks(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{hooks: {enabled: true, token: 'a-long-random-token', path: 'in/bound/', maxBodyBytes: 1000, maxPerMinute: 5, allowedAgentIds: [], allowRequestSessionKey: true,
  allowedSessionKeyPrefixes: [' Hook: ', ''], defaultSessionKey: 'hook:inbox', mappings: [
    {match: {path: '/mail/', source: 'x'}, messageTemplate: 'From {{a}}', textTemplate: 'unused', wakeMode: 'next-heartbeat', timeoutSeconds: 60, channel: 'Discord', to: 'channel:1'},
    {id: 'bell', action: 'wake', textTemplate: 'ring', messageTemplate: 'unused', deliver: false, agentId: 'eden'},
  ]}}`, nil)
	wantFindings(t, findings)
	want := config.Hooks{Enabled: true, Path: "/in/bound", Token: "a-long-random-token", MaxBodyBytes: 1000, MaxPerMinute: 5,
		Policy: hook.Policy{Agents: []string{}, DefaultSessionKey: "hook:inbox", RequestSessionKeys: true, SessionKeyPrefixes: []string{"hook:"}},
		Mappings: []hook.Mapping{
			{ID: "mapping-1", Path: "mail", Source: "x", Action: hook.ActionAgent, Text: "From {{a}}", SessionMode: hook.Isolated, Deliver: true, Channel: "discord", To: "channel:1", TimeoutSeconds: 60},
			{ID: "bell", Action: hook.ActionWake, Text: "ring", AgentID: "eden", SessionMode: hook.Isolated, Channel: "last"},
		}}
	if diff := cmp.Diff(want, c.Hooks); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Hooks that others could use, or whose sessions could not exist, are off; a mapping that cannot do what it says has no effect.
func TestHooksThatAreOff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{hooks: {enabled: true}}`: "warning value openclaw.json:1:9: hooks.token: hooks need a token: hooks are off (set it to a long random text, such as one that openssl rand -hex 32 prints)",
		`{gateway: {auth: {token: 'same-as-gateway'}}, hooks: {enabled: true, token: 'same-as-gateway'}}`:           "warning value openclaw.json:1:77: hooks.token: the token of hooks is also that of the gateway: hooks are off (set it to a long random text, such as one that openssl rand -hex 32 prints)",
		`{hooks: {enabled: true, token: 'tttttttt', defaultSessionKey: 'a', allowedSessionKeyPrefixes: ['hook:']}}`: "warning value openclaw.json:1:63: hooks.defaultSessionKey: it begins with none of hooks.allowedSessionKeyPrefixes: hooks are off (change one of them)",
		`{hooks: {enabled: true, token: 'tttttttt', allowedSessionKeyPrefixes: ['mail:']}}`:                         "warning value openclaw.json:1:71: hooks.allowedSessionKeyPrefixes: sessions of hooks begin with hook:, which is not allowed: hooks are off (add hook:, or set hooks.defaultSessionKey)",
	} {
		c, findings := load(t, text, nil)
		wantFindings(t, findings, want)
		if c.Hooks.Enabled {
			t.Errorf("%s: hooks are on", text)
		}
	}
	for mapping, want := range map[string]string{
		`{match: {path: 'a'}}`:                                "the mapping has no message: it has no effect (write messageTemplate)",
		`{messageTemplate: 'a', transform: {module: 'x.js'}}`: "openclawd runs no transforms: it has no effect (write a messageTemplate instead)",
		`{match: {path: '/agent'}, messageTemplate: 'a'}`:     "requests to agent are not mapped: it has no effect (use another match.path)",
	} {
		c, findings := load(t, `{hooks: {mappings: [`+mapping+`]}}`, nil)
		wantFindings(t, findings, "warning value openclaw.json:1:21: hooks.mappings[0]: "+want)
		if len(c.Hooks.Mappings) != 0 {
			t.Errorf("%s: %+v", mapping, c.Hooks.Mappings)
		}
	}
	c, findings := load(t, `{hooks: {path: '/'}}`, nil)
	if len(findings) != 1 || c.Hooks.Path != "/hooks" {
		t.Errorf("%v %q", findings, c.Hooks.Path)
	}
}

func TestSkills(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{skills: {entries: {weather: {enabled: false, apiKey: 'k'}, mail: {}}}, agents: {defaults: {skills: ['mail']}, entries: {eden: {skills: []}, ruda: {}}}}`, nil)
	wantFindings(t, findings)
	if c.SkillEnabled("weather") || !c.SkillEnabled("mail") || c.SkillAllowed("eden", "mail") || !c.SkillAllowed("ruda", "mail") || c.SkillAllowed("ruda", "weather") {
		t.Errorf("%+v", c.Skills)
	}
	if none, _ := load(t, `{}`, nil); !none.SkillEnabled("mail") || !none.SkillAllowed("main", "mail") {
		t.Errorf("%+v", none.Skills)
	}
}
