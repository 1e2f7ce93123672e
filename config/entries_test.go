package config_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

func ids(c *config.Config) (all []string) {
	for _, a := range c.Agents {
		all = append(all, a.ID)
	}
	return all
}

// Since 2026.8.2 agents stand under their ids. What is wrong with one is told at the place where the file says it.
func TestEntriesAreTheTeam(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{agents: {
  ownership: 'explicit',
  defaults: {systemAgent: {agentId: 'Eden'}, model: {primary: 'a/b'}},
  entries: {
    seum: {name: '세움', nmae: 1, timeoutSeconds: '5'},
    eden: {id: 'eden', identity: {name: '이든'}, subagents: {allowAgents: ['*']}, tools: {deny: ['exec']}},
    Ruda: {},
  },
}, bindings: [{agentId: 'sem', match: {channel: 'discord'}}]}`, nil)
	wantFindings(t, findings,
		`warning unknown_key openclaw.json:5:24: agents.entries.seum.nmae: unknown key; it has no effect (did you mean "name"?)`,
		`error type openclaw.json:5:49: agents.entries.seum.timeoutSeconds: a number was expected, not a text (write a number)`,
		`warning unknown_agent openclaw.json:9:25: bindings[0].agentId: "sem" is not a configured agent (did you mean "seum"?)`)
	if diff := cmp.Diff([]string{"Ruda", "eden", "seum"}, ids(c)); diff != "" { // the order of keys says nothing
		t.Errorf("(-want +got)\n%s", diff)
	}
	if eden := c.AgentNamed("eden"); eden.Name != "이든" || eden.AllowAgents[0] != "*" || eden.Tools.Deny[0] != "exec" || c.DefaultAgentID() != "eden" {
		t.Errorf("%+v, default %s", eden, c.DefaultAgentID())
	}
	if got := c.AgentPath("eden"); got != "agents.entries.eden" {
		t.Error(got)
	}
	kept, ok := config.FromApplied(c.Masked())
	if !ok || kept.DefaultAgentID() != "eden" || !slices.Equal(ids(kept), ids(c)) {
		t.Errorf("from the log: %v, default %s", ids(kept), kept.DefaultAgentID())
	}
}

// No agent is left out without an error.
//
// Promise: config-secrets
func TestNoAgentIsLeftOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{agents: {list: [{name: 'x'}]}}`:                               "agents.list[0].id",
		`{agents: {entries: {eden: null}}}`:                             "agents.entries.eden",
		`{agents: {entries: {eden: 'x'}}}`:                              "agents.entries.eden",
		`{agents: {entries: {'': {}}}}`:                                 `agents.entries[""].id`,
		`{agents: {entries: {eden: {id: 'seum'}}}}`:                     "agents.entries.eden.id",
		`{agents: {entries: {eden: {}, EDEN: {}}}}`:                     "agents.entries.EDEN",
		`{agents: {entries: {eden: {}}, list: [{id: 'seum'}]}}`:         "agents.list[0]",
		`{agents: {entries: {}, list: [{id: 'seum'}]}}`:                 "agents.list[0]",
		`{agents: {entires: {eden: {name: 'x'}}}}`:                      "agents.entires",
		`{agents: {lsit: [{id: 'eden'}]}}`:                              "agents.lsit",
		`{agents: {team: [{id: 'eden'}]}}`:                              "agents.team",
		`{agents: {roster: {eden: {name: 'x'}, seum: {}}}}`:             "agents.roster",
		`{agents: {eden: {}}}`:                                          "agents.eden",
		`{routing: {agents: {eden: {name: 'x'}}}}`:                      "routing.agents",
		`{agents: {entries: {eden: {}, seum: {name: '${NOT_SET_X}'}}}}`: "agents.entries.seum.name",
		`{        Agents: {entries: {eden: {}}}}`:                       "Agents",
		`{        agetns: {list: [{id: 'eden'}]}}`:                      "agetns",
	} {
		_, findings := config.Load(files(t, map[string]string{"openclaw.json": text}), func(string) string { return "" })
		i := slices.IndexFunc(findings, func(f config.Finding) bool { return f.Severity == config.Error })
		if i < 0 || findings[i].Path != want || findings[i].Line != 1 || findings[i].Column < 10 {
			t.Errorf("%s: %v", text, findings)
		}
	}
}

// Settings that were renamed from 2026.2 to 2026.9 count at both places; the newer one goes before.
func TestOlderPlaces(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
		defaultModel: 'a/old', agents: {list: [{id: 'eden'}]},
		bindings: [{agentId: 'eden', match: {provider: 'discord', accountID: 'bot', peer: {kind: 'dm', id: '1'}}}],
		channels: {discord: {dm: {policy: 'open', allowFrom: ['1']}, accounts: {bot: {}},
			guilds: {'111122223333444455': {channels: {'211122223333444455': {allow: false}, '311122223333444455': {enabled: true}}}}}},
		gateway: {bind: '0.0.0.0', token: 'sesame-open'},
	}`, nil)
	wantFindings(t, findings)
	b := c.Bindings[0]
	if c.Defaults.Model.Primary != "a/old" || b.Channel != "discord" || b.AccountID != "bot" || b.PeerKind != "direct" || c.Discord.DMPolicy != "open" ||
		!slices.Equal(c.Discord.Guilds[0].Channels, []string{"311122223333444455"}) || c.Gateway.Bind != "lan" || c.Gateway.Auth.Token.Reveal() != "sesame-open" ||
		strings.Contains(string(c.Masked()), "sesame") {
		t.Errorf("%+v", c)
	}
	c, findings = load(t, `{defaultModel: 'a/old', agents: {defaults: {model: {primary: 'a/new'}}}, gateway: {bind: 'localhost', token: 'old', auth: {token: 'new'}}}`, nil)
	wantFindings(t, findings)
	if c.Defaults.Model.Primary != "a/new" || c.Gateway.Bind != "loopback" || c.Gateway.Auth.Token.Reveal() != "new" {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsNotGoneBy(t *testing.T) {
	t.Parallel()
	path := files(t, map[string]string{"openclaw.json": `{
  $schema: 'x', env: {vars: {A: 'b'}}, taskMonitor: {port: 1}, tts: null,
  cron: {jobs: [1, 2, 3]}, mcp: {servers: {a: {url: 'http://h/', sslVerify: true}}, apps: {}},
  ui: {seamColor: 'x'}, $include: 'more.json', hooks: {gmail: {}}, skills: {load: {}},
  agents: {entries: {a: {heartbeat: {}, humanDelay: {}}, b: {heartbeat: {}, humanDelay: {}}, c: {heartbeat: {}}}},
  channels: {whatsapp: {}, 'sesame-open': {}}, gateway: {auth: {token: 'sesame-open'}},
  models: {providers: {p: {baseUrl: 'http://h', models: [{id: 'm', cost: {}}, {id: 'n', cost: {}}]}}},
}`, "more.json": `{browser: {}}`})
	c, _ := config.Load(path, func(string) string { return "" })
	var got []string
	for i := range c.Unsupported {
		u := &c.Unsupported[i]
		got = append(got, fmt.Sprintf("%d:%d %s: %s", u.Line, u.Column, u.Group, u))
	}
	want := []string{
		"3:10 not supported yet: cron.jobs", "3:66 not supported yet: mcp.servers.a.sslVerify", "3:85 not supported yet: mcp.apps",
		"4:8 not relevant to openclawd: ui.seamColor", "4:56 not supported yet: hooks.gmail", "4:77 not supported yet: skills.load",
		"5:41 not relevant to openclawd: agents.entries.*.humanDelay.* (2 places)",
		"6:14 not supported yet: channels.whatsapp", `6:28 not supported yet: channels.***`,
		"7:68 not relevant to openclawd: models.providers.*.models[].cost.* (2 places)",
		"1:2 not supported yet: browser",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if text := config.Together(c.Unsupported[:4]); text != "cron.jobs, mcp.servers.a.sslVerify, mcp.apps, ui.seamColor" {
		t.Error(text)
	}
	many := "{channels: {"
	for i := range 1000 {
		many += fmt.Sprintf("c%d: {}, ", i)
	}
	c, _ = load(t, many+"}}", nil)
	if len(c.Unsupported) != 300 || c.MoreUnsupported != 700 {
		t.Errorf("%d, and %d more", len(c.Unsupported), c.MoreUnsupported)
	}
}

// A client that changes the file does it in the file's own form; comments and order stay.
func TestPatchOfEntries(t *testing.T) {
	t.Parallel()
	const file = "{\n  agents: {\n    entries: {\n      seum: {}, // builds\n      eden: {name: 'Eden'}, // explores\n    },\n  },\n  cron: {jobs: [1]},\n}\n"
	d := config.ReadDocument(files(t, map[string]string{"openclaw.json": file}), func(string) string { return "" })
	next, changed, err := d.Patch(`{agents: {entries: {eden: {name: '이든'}, seum: null, ruda: {}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := next.Raw()
	if !strings.Contains(text, "// explores") || strings.Contains(text, "seum") || !slices.Equal(ids(next.Config()), []string{"eden", "ruda"}) {
		t.Errorf("%v\n%s", changed, text)
	}
	if diff := cmp.Diff([]config.Issue{{Path: "cron.jobs", Message: "not supported yet: openclawd keeps it in the file, but it has no effect"}}, d.Issues(config.Warning)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var invalid *config.InvalidError // an older client writes the older form, which would not count
	if _, _, err := d.Patch(`{agents: {list: [{id: 'ruda'}]}}`); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "move it to agents.entries") {
		t.Errorf("%v", err)
	}
}
