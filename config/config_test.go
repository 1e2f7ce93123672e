package config_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
)

// files writes files into a new directory and returns the path of the main one.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "openclaw.json")
}

// load reads a configuration of one file, in an environment of these variables.
func load(t *testing.T, text string, env map[string]string) (*config.Config, []string) {
	t.Helper()
	return loadFile(t, files(t, map[string]string{"openclaw.json": text}), env)
}

// loadFile gives the findings as "severity code file:line:column: path: message (hint)", with the directory left out.
func loadFile(t *testing.T, path string, env map[string]string) (*config.Config, []string) {
	t.Helper()
	c, findings := config.Load(path, func(name string) string { return env[name] })
	var lines []string
	for i := range findings {
		f := &findings[i]
		lines = append(lines, strings.ReplaceAll(fmt.Sprintf("%s %s %s", f.Severity, f.Code, f), filepath.Dir(path)+string(filepath.Separator), ""))
	}
	return c, lines
}

func wantFindings(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got)\n%s", diff)
	}
}

func TestNoFileIsAnEmptyConfiguration(t *testing.T) {
	t.Parallel()
	c, findings := loadFile(t, filepath.Join(t.TempDir(), "openclaw.json"), nil)
	wantFindings(t, findings)
	empty, findings := load(t, "{}", nil)
	wantFindings(t, findings)
	if c.Found || !empty.Found || c.Hash() != empty.Hash() || string(c.Masked()) != "{}" {
		t.Errorf("found %t, masked %s", c.Found, c.Masked())
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "{}", nil)
	day := 24 * time.Hour
	want := &config.Config{
		Defaults: config.AgentDefaults{
			Timeout: 10 * time.Minute, MaxConcurrent: 4, MaxNested: 8,
			Subagents: config.Subagents{MaxConcurrent: 8, MaxSpawnDepth: 1, MaxChildrenPerAgent: 5, ArchiveAfter: time.Hour, AnnounceMaxAge: 10 * time.Minute},
			LoopGuard: chain.DefaultLimits(),
			A2A:       config.A2AConcurrency{MaxFlows: 3, QueueTimeout: 30 * time.Second},
			Continuation: config.TaskContinuation{Enabled: true, CheckInterval: 2 * time.Minute, IdleThreshold: 3 * time.Minute, ZombieTaskTTL: day,
				Channel: "discord"},
			Resume:    config.ResumeSteps,
			Heartbeat: config.Heartbeat{Wake: config.WakeOnCause, Target: "none"},
		},
		Cron:    config.Cron{Enabled: true, MaxConcurrent: 4},
		Hooks:   config.Hooks{Path: "/hooks", MaxBodyBytes: 256 << 10, MaxPerMinute: 600},
		Session: config.Session{Scope: "per-sender", DMScope: "main", MaxPingPongTurns: 5},
		Tools: config.Tools{Visibility: "tree", TaskEnforcer: config.TaskEnforcer{Tools: []string{"write", "edit", "apply_patch", "bash", "exec", "group:mcp-changes"}},
			PlanGate:  config.PlanGate{Tools: []string{"write", "edit", "apply_patch", "bash", "exec", "group:mcp-changes"}},
			Approvals: config.CallApprovals{Timeout: time.Hour},
			Exec:      config.Exec{Sandbox: config.SandboxAuto, Timeout: 30 * time.Minute, Disk: 8 << 30},
			Web:       config.Web{Fetch: config.WebFetch{Robots: true, Timeout: 30 * time.Second}}},
		Discord: config.Channel{
			Enabled: true, AllowBots: "no", HistoryLimit: 20, Access: config.Access{GroupPolicy: "open", DMPolicy: "pairing"}, MaxMedia: 20 << 20,
			Collaboration: config.Collaboration{
				ThreadReuse: 6 * time.Hour, ObserverHistoryLimit: 50, ObserverHistoryTTL: day, ParticipantTTL: day, ThreadMention: "participants",
				LoopGuard: config.LoopGuard{MaxPerPair: 10, Window: 5 * time.Minute},
				RateLimit: config.RateLimit{ThreadsPerMinute: 5, MessagesPerSecond: 5},
			},
			Retry: config.ResponseRetry{Enabled: true, ResponseTimeout: 5 * time.Minute, MaxAttempts: 3, CheckInterval: time.Minute, CleanupMaxAge: day,
				NotifyOnFailure: true},
		},
		Gateway:     config.Gateway{Port: 18789, Mode: "local", Bind: "loopback", HTTP: config.HTTP{ModelErrors: config.ModelErrorsText}},
		TaskMonitor: config.TaskMonitor{Host: "127.0.0.1", Port: 3847, TaskHubURL: "http://localhost:3102"},
		Messages:    config.Messages{AckScope: config.AckMentions},
		Media:       config.Media{MaxTotal: 2048 << 20},
	}
	want.Telegram = want.Discord
	want.Telegram.GroupPolicy = "allowlist"
	want.Slack = want.Telegram
	want.Slack.Guilds = []config.Guild{{ID: config.EveryGuild, Channels: []string{config.NoChannel}}}
	want.Slack.GroupPolicy = "open"
	want.File, want.Found, want.Files = c.File, true, []string{c.File}
	if diff := cmp.Diff(want, c, cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && slices.Contains([]string{"byID", "indexed", "tree", "hide", "masked"}, f.Name())
	}, cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
		agents: {
			defaults: {timeoutSeconds: 0x3C, taskContinuation: {checkInterval: '90s', zombieTaskTtl: "7d", idleThreshold: 1500}},
			list: [
				{id: 'eden', identity: {name: '이든'}, default: true, subagents: {allowAgents: ['*']}},
				{id: 'explorer', kind: 'utility', workspace: '~/x', model: {primary: 'a/b'}},
			],
			older: {name: 'Old'}, another: {id: 'Ann', utility: true},
		},
		bindings: [{agentId: 'eden', match: {channel: 'discord', accountId: 'bot'}}],
		session: {agentToAgent: {maxPingPongTurns: 0}},
		tools: {agentToAgent: {enabled: true, allow: ['EDEN', '*'], pairs: [{from: 'eden', to: 'e*', allow: false}, {from: '*', to: 'ann', allow: true}]}},
		channels: {
			whatsapp: {anything: 1},
			discord: {
				allowBots: 'mentions', dm: {policy: 'open', allowFrom: ['1']}, allowFrom: [2],
				collaboration: {defaultChannel: 123456789012345678, threadReuseTTL: 1000, language: 'en', threadMention: 'participants', loopGuard: {windowMs: 5}},
				a2aRetry: {escalationMentionId: '999988887777666655'},
				accounts: {bot: {name: 'Bot', botUserId: '111122223333444455'}},
				mentions: {'222233334444555566': '사람'},
			},
		},
		gateway: {conversationSinks: [{id: 'discord-conversation', enabled: true, options: {guildId: '1', archivePolicy: '3d'}}, {id: 'x', options: {y: 1}}]},
		taskMonitor: {allowedOrigins: ['https://hub']},
		models: {mode: 'replace'}, plugins: {}, logging: {}, env: {}, cron: {}, hooks: {}, browser: {}, skills: {},
	}`, nil)
	wantFindings(t, findings, "warning big_number openclaw.json:17:37: channels.discord.collaboration.defaultChannel: "+
		"123456789012345678 is too large for a number: other programs read it as 123456789012345680 (quote this id)")
	agents := []config.Agent{
		{ID: "eden", Name: "이든", Default: true, Role: config.RoleWorker, Identity: config.Identity{Name: "이든"}, AllowAgents: []string{"*"}},
		{ID: "explorer", Kind: "utility", Role: config.RoleWorker, Workspace: "~/x", Model: config.ModelChoice{Primary: "a/b"}},
		{ID: "Ann", Utility: true, Role: config.RoleWorker}, {ID: "older", Name: "Old", Role: config.RoleWorker},
	}
	for _, diff := range []string{
		cmp.Diff(agents, c.Agents),
		cmp.Diff([]config.Binding{{AgentID: "eden", Channel: "discord", AccountID: "bot"}}, c.Bindings),
		cmp.Diff(config.AgentToAgent{Enabled: true, Allow: []string{"EDEN", "*"},
			Pairs: []config.AgentPair{{From: "eden", To: "e*"}, {From: "*", To: "ann", Allow: true}}}, c.Tools.AgentToAgent),
		cmp.Diff([]config.Account{{ID: "bot", Name: "Bot", Enabled: true, BotUserID: "111122223333444455"}}, c.Discord.Accounts),
		cmp.Diff([]string{"2", "1"}, c.Discord.AllowFrom),
		cmp.Diff([]time.Duration{time.Minute, 90 * time.Second, 168 * time.Hour, 1500 * time.Millisecond, time.Second, 5 * time.Millisecond}, []time.Duration{
			c.Defaults.Timeout, c.Defaults.Continuation.CheckInterval, c.Defaults.Continuation.ZombieTaskTTL, c.Defaults.Continuation.IdleThreshold,
			c.Discord.Collaboration.ThreadReuse, c.Discord.Collaboration.LoopGuard.Window}),
		cmp.Diff([]string{"mentions", "open", "123456789012345678", "participants", "999988887777666655", "3d", "0", "en"}, []string{
			c.Discord.AllowBots, c.Discord.DMPolicy, c.Discord.Collaboration.DefaultChannel, c.Discord.Collaboration.ThreadMention,
			c.Discord.Retry.EscalationUserID, c.Gateway.Sinks[0].Discord.ArchivePolicy, fmt.Sprint(c.Session.MaxPingPongTurns),
			string(c.Language())}),
	} {
		if diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestAllFindingsAtOnce(t *testing.T) {
	t.Parallel()
	_, findings := load(t, `{
  agents: {
    list: [{id: 'eden', nmae: 'x'}, {id: 7}, {id: 'EDEN'}, {name: 'x'}, 3, {id: 'quick', kind: 'utilty'}],
    defalts: {},
  },
  sesion: {},
  session: {agentToAgent: {maxPingPongTurns: 31}, dmScope: 'mian'},
  channels: {discord: {enabled: 'yes', historyLimit: 1.5, token: 'not a token', allowBots: 'all'}},
  tools: {agentToAgent: {allow: ['edn', 'stranger', 1]}},
  gateway: {port: '1', auth: {token: {source: 'exec', id: 'x'}}},
  '에이 전트': 1,
}`, nil)
	wantFindings(t, findings,
		`warning unknown_key openclaw.json:3:25: agents.list[0].nmae: unknown key; it has no effect (did you mean "name"?)`,
		`error type openclaw.json:3:42: agents.list[1].id: a text was expected, not a number (put it in quotes)`,
		`error agent_twice openclaw.json:3:46: agents.list[2]: a second agent has the id of the one at openclaw.json:3:12 (give one of them another id; case does not matter)`,
		`error agent_no_id openclaw.json:3:60: agents.list[3].id: an agent without an id would be ignored (give it an id)`,
		`error type openclaw.json:3:73: agents.list[4]: an object was expected, not a number (write an object)`,
		`warning value openclaw.json:3:96: agents.list[5].kind: "utilty" is not a known kind (did you mean "utility"?)`,
		`warning unknown_key openclaw.json:4:5: agents.defalts: unknown key; it has no effect (did you mean "defaults"?)`,
		`warning unknown_key openclaw.json:6:3: sesion: unknown key; it has no effect (did you mean "session"?)`,
		`error value openclaw.json:7:46: session.agentToAgent.maxPingPongTurns: 31 is not a whole number from 0 to 30 (write one, such as 5)`,
		`error value openclaw.json:7:60: session.dmScope: "mian" is not an allowed value (did you mean "main"? use main, per-peer, per-channel-peer or per-account-channel-peer)`,
		`error type openclaw.json:8:33: channels.discord.enabled: true or false was expected, not a text (write true or false)`,
		`error value openclaw.json:8:54: channels.discord.historyLimit: 1.5 is not a whole number from 0 to 1000000 (write one, such as 20)`,
		`warning discord_token openclaw.json:8:66: channels.discord.token: this does not look like a Discord bot token (copy it from the Bot page of the Discord developer portal)`,
		`error value openclaw.json:8:92: channels.discord.allowBots: "all" is not an allowed value (use true, false or "mentions")`,
		`warning unknown_agent openclaw.json:9:34: tools.agentToAgent.allow[0]: "edn" is not a configured agent (did you mean "eden"?)`,
		`warning unknown_agent openclaw.json:9:41: tools.agentToAgent.allow[1]: "stranger" is not a configured agent (configure such an agent, or name another one)`,
		`error type openclaw.json:9:53: tools.agentToAgent.allow[2]: a text was expected, not a number (put it in quotes)`,
		`error type openclaw.json:10:19: gateway.port: a number was expected, not a text (write a number)`,
		`warning unbound_secret openclaw.json:10:38: gateway.auth.token: openclawd cannot resolve a reference to a secret store (write the secret as ${NAME} and set the variable NAME, if openclawd is to use it)`,
		`warning unknown_key openclaw.json:11:3: ["에이 전트"]: unknown key; it has no effect (remove it, or leave it if another program reads it)`,
	)
}

// A rule that forbids must not be lost because of a slip.
func TestPairsOfAgentsAreWhole(t *testing.T) {
	t.Parallel()
	_, findings := load(t, `{
  agents: {list: [{id: 'eden'}, {id: 'seum'}]},
  tools: {agentToAgent: {pairs: [
    {from: 'eden', to: 'sem', allow: false}, {from: 'e*', to: 'SEUM', allow: true, why: 'x'},
    {form: 'eden', to: 'seum', allow: false},
    {from: 'eden', to: '', allow: null},
    {from: 1, to: 'seum', allow: 'no'}, 'eden',
  ]}},
}`, nil)
	wantFindings(t, findings,
		`warning unknown_agent openclaw.json:4:24: tools.agentToAgent.pairs[0].to: "sem" is not a configured agent (did you mean "seum"?)`,
		`warning unknown_key openclaw.json:4:84: tools.agentToAgent.pairs[1].why: unknown key; it has no effect (remove it, or leave it if another program reads it)`,
		`error value openclaw.json:5:5: tools.agentToAgent.pairs[2].from: this is required (set it, or remove what it belongs to)`,
		`warning unknown_key openclaw.json:5:6: tools.agentToAgent.pairs[2].form: unknown key; it has no effect (did you mean "from"?)`,
		`error value openclaw.json:6:24: tools.agentToAgent.pairs[3].to: this is required (set it, or remove what it belongs to)`,
		`error value openclaw.json:6:35: tools.agentToAgent.pairs[3].allow: this is required (set it, or remove what it belongs to)`,
		`error type openclaw.json:7:12: tools.agentToAgent.pairs[4].from: a text was expected, not a number (put it in quotes)`,
		`error type openclaw.json:7:34: tools.agentToAgent.pairs[4].allow: true or false was expected, not a text (write true or false)`,
		`error type openclaw.json:7:41: tools.agentToAgent.pairs[5]: an object was expected, not a text (write an object)`,
	)
}

func TestWrongShapesAreErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{`, `[]`, `1`, `{"agents":[]}`, `{"agents":{"list":{}}}`, `{"agents":{"list":[1]}}`, `{"agents":{"eden":{"id":7}}}`,
		`{"channels":{"discord":{"accounts":[]}}}`, `{"bindings":{}}`, `{"taskMonitor":{"port":70000}}`, `{"tools":{"agentToAgent":{"allow":"x"}}}`,
		`{"channels":{"discord":{"collaboration":{"threadReuseTTL":"soon"}}}}`, `{"channels":{"discord":{"collaboration":{"defaultChannel":true}}}}`,
		`{"taskMonitor":{"writeToken":{"source":"env","id":"X"}}}`} {
		_, findings := config.Load(files(t, map[string]string{"openclaw.json": text}), os.Getenv)
		if err := findings.Err(); err == nil {
			t.Errorf("%s: can be used, with %v", text, findings)
		}
	}
}

func TestBigNumbers(t *testing.T) {
	t.Parallel()
	_, findings := load(t, `{vault: [9007199254740992, 9007199254740993, -123456789012345678, 1e30, 0x20000000000001, 123456789012345678.5]}`, nil)
	wantFindings(t, findings,
		"warning big_number openclaw.json:1:28: vault[1]: 9007199254740993 is too large for a number: other programs read it as 9007199254740992 (quote this id)",
		"warning big_number openclaw.json:1:46: vault[2]: -123456789012345678 is too large for a number: other programs read it as -123456789012345680 (quote this id)",
		"warning big_number openclaw.json:1:73: vault[4]: 0x20000000000001 is too large for a number: other programs read it as 9007199254740992 (quote this id)",
	)
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
		env: {OWN: 'own', vars: {VAR: 'var', SET: 'never'}},
		agents: {list: [{id: '${SET}', name: '<${OWN}-${VAR}> $${SET} $SET ${lower} ${} $$'}, {id: '${A_B}${SET}', name: '${EMPTY}'}]},
	}`, map[string]string{"SET": "value", "EMPTY": ""})
	wantFindings(t, findings,
		"error environment openclaw.json:3:94: agents.list[1].id: the environment variable A_B is not set (set A_B in the environment of openclawd; for the literal text write $${A_B})",
		"error environment openclaw.json:3:116: agents.list[1].name: the environment variable EMPTY is not set (set EMPTY in the environment of openclawd; for the literal text write $${EMPTY})",
	)
	if diff := cmp.Diff([]config.Agent{{ID: "value", Name: "<own-var> ${SET} $SET ${lower} ${} $$", Role: config.RoleWorker}}, c.Agents); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(text string) string {
		c, _ := load(t, text, nil)
		return c.Hash()
	}
	same := hash(`{agents:{list:[{id:'a',name:'b'}]}, gateway:{port:1,auth:{token:'one'}}}`)
	if other := hash(`{"gateway":{"auth":{"token":"two"},"port":0x1},"agents":{"list":[{"name":"b","id":"a"}]}} // c`); other != same || len(same) != 64 {
		t.Errorf("%s and %s", same, other)
	}
	if other := hash(`{agents:{list:[{id:'a',name:'c'}]}, gateway:{port:1,auth:{token:'one'}}}`); other == same {
		t.Error("another name, but the same hash")
	}
}

func botToken(id string) string {
	return base64.RawStdEncoding.EncodeToString([]byte(id)) + ".GabcdE." + strings.Repeat("x", 38)
}

func TestApplied(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
		agents: {list: [{id: 'eden', name: '이든'}, {id: 'Seum', identity: {name: '세움'}}, {id: 'quick', kind: 'utility', utility: true}]},
		bindings: [{agentId: 'eden', match: {channel: 'discord', accountId: 'bot-1'}}],
		channels: {discord: {
			token: '`+botToken("100000000000000001")+`', name: 'Default',
			accounts: {
				'bot-1': {token: 'Bot `+botToken("100000000000000002")+`'}, seum: {token: '${SEUM}'},
				free: {token: '`+botToken("100000000000000004")+`', name: 'Free'}, given: {botUserId: '100000000000000005'}, none: {},
			},
			mentions: {'200000000000000001': '사람'}, collaboration: {defaultChannel: '300000000000000001'},
		}},
	}`, map[string]string{"SEUM": botToken("100000000000000003")})
	wantFindings(t, findings)
	want := coordination.ConfigApplied{
		Context: coordination.Context{EventRole: coordination.RoleObservability},
		Hash:    c.Hash(), Source: "openclaw.json",
		Agents: []coordination.ConfigAgent{{ID: "eden", Name: "이든"}, {ID: "Seum", Name: "세움"}, {ID: "quick", Kind: "utility", Utility: true}},
		Mentions: map[string]string{
			"100000000000000001": "Default", "100000000000000002": "이든", "100000000000000003": "세움", "100000000000000004": "Free",
			"100000000000000005": "given", "200000000000000001": "사람",
		},
	}
	want.Settings = c.Masked()
	if diff := cmp.Diff(want, c.Applied()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	text, err := json.Marshal(c.Applied())
	if err != nil || strings.Contains(string(text), "GabcdE") {
		t.Errorf("%v %s", err, text)
	}
	empty, _ := load(t, "{}", nil)
	if applied := empty.Applied(); applied.Agents == nil || applied.Mentions != nil {
		t.Errorf("%+v", applied)
	}
}

func TestTaskMonitorAddresses(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{taskMonitor: {
		taskHubUrl: 'http://token@hub:3102',
		allowedOrigins: ['https://hub.example', 'http://10.0.0.5:3102', '*', 'https://hub.example/', 'hub.example', 'null'],
	}}`, nil)
	wantFindings(t, findings,
		`error value openclaw.json:2:15: taskMonitor.taskHubUrl: *** is not a server address (write it like http://localhost:3102)`,
		`error value openclaw.json:3:67: taskMonitor.allowedOrigins[2]: "*" is not an origin (write scheme, host and port, such as https://hub.example or http://10.0.0.5:3102)`,
		`error value openclaw.json:3:72: taskMonitor.allowedOrigins[3]: "https://hub.example/" is not an origin (write scheme, host and port, such as https://hub.example or http://10.0.0.5:3102)`,
		`error value openclaw.json:3:96: taskMonitor.allowedOrigins[4]: "hub.example" is not an origin (write scheme, host and port, such as https://hub.example or http://10.0.0.5:3102)`,
		`error value openclaw.json:3:111: taskMonitor.allowedOrigins[5]: "null" is not an origin (write scheme, host and port, such as https://hub.example or http://10.0.0.5:3102)`,
	)
	if strings.Contains(string(c.Masked()), "token@") {
		t.Errorf("%s", c.Masked())
	}
	if diff := cmp.Diff([]string{"https://hub.example", "http://10.0.0.5:3102"}, c.TaskMonitor.AllowedOrigins); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What the log would refuse, or carry for ever, it is only told about.
func TestAppliedLeavesOutSettingsThatAreTooLong(t *testing.T) {
	t.Parallel()
	deep := map[string]string{"openclaw.json": `{vault: {$include: 'a.json'}}`}
	for i, name := range []string{"a.json", "b.json", "c.json"} {
		inner := `{$include: '` + string(rune('b'+i)) + `.json'}`
		if name == "c.json" {
			inner = "1"
		}
		deep[name] = strings.Repeat("[", 180) + inner + strings.Repeat("]", 180)
	}
	for name, content := range map[string]map[string]string{
		"long": {"openclaw.json": `{vault: '` + strings.Repeat("x", 300<<10) + `'}`}, "deep": deep,
	} {
		c, findings := config.Load(files(t, content), os.Getenv)
		if err := findings.Err(); err != nil {
			t.Fatal(err)
		}
		if a := c.Applied(); a.Settings != nil || a.SettingsBytes != len(c.Masked()) || a.Hash != c.Hash() {
			t.Errorf("%s: %d bytes of settings, said to be %d", name, len(a.Settings), a.SettingsBytes)
		}
	}
}

func TestFilesAndFindings(t *testing.T) {
	t.Parallel()
	path := files(t, map[string]string{
		"openclaw.json": `{$include: ['a.json', 'parts/b.json5', 'missing.json'], taskMonitor: {port: 3847, host: null}}`,
		"a.json":        `{gateway: {}}`, "parts/b.json5": `{$include: '../a.json', taskMonitor: {$include: 'c.json'}}`, "parts/c.json": `{writeToken: 't'}`,
	})
	c, _ := config.Load(path, os.Getenv)
	var names []string
	for _, file := range c.Files {
		name, err := filepath.Rel(filepath.Dir(path), file)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(name))
	}
	if diff := cmp.Diff([]string{"openclaw.json", "a.json", "parts/b.json5", "parts/c.json", "missing.json"}, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for key, said := range map[string]bool{"port": true, "writeToken": true, "host": false, "taskHubUrl": false} {
		if c.Sets("taskMonitor", key) != said {
			t.Errorf("%s: %v", key, !said)
		}
	}
	if d := config.Default(); d.Found || d.TaskMonitor.Port != 3847 || d.Sets("taskMonitor", "port") {
		t.Errorf("%+v", d.TaskMonitor)
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "openclaw.json")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	c, findings := loadFile(t, path, nil)
	wantFindings(t, findings, "error file openclaw.json: read: not a regular file (name a file that openclawd may read)")
	if !c.Found {
		t.Error("not found")
	}
	large := files(t, map[string]string{"openclaw.json": "{}" + strings.Repeat(" ", 4<<20)})
	_, findings = loadFile(t, large, nil)
	wantFindings(t, findings,
		"error size openclaw.json: the file is larger than 4 MiB (split it with $include, or check whether it is a configuration at all)")
}

func TestFindingsError(t *testing.T) {
	t.Parallel()
	_, findings := config.Load(files(t, map[string]string{"openclaw.json": `{agents: {list: [` + strings.Repeat("1,", 12) + `]}, x: 1}`}), os.Getenv)
	err := findings.Err()
	if text := err.Error(); strings.Count(text, "an object was expected") != 10 || !strings.HasSuffix(text, "; and 2 more") || strings.Contains(text, "unknown key") {
		t.Error(text)
	}
	if findings.Count(config.Error) != 12 || findings.Count(config.Warning) != 1 {
		t.Errorf("%d errors, %d warnings", findings.Count(config.Error), findings.Count(config.Warning))
	}
	coded, ok := err.(interface {
		Code() string
		Hint() string
	})
	if !ok || coded.Code() != "config" || coded.Hint() == "" {
		t.Errorf("%T has no code", err)
	}
	if !slices.IsSortedFunc(findings, func(a, b config.Finding) int { return a.Column - b.Column }) {
		t.Errorf("not in order: %v", findings)
	}
}

// However often variables are named, and whatever they hold, a configuration stays of bounded size: nothing refers to itself, or grows.
func TestVariablesAreBounded(t *testing.T) {
	t.Parallel()
	list := func(n int, item string) string {
		return "{vault: [" + strings.Repeat("'"+item+"', ", n) + "], agents: {list: [{id: '${SMALL}'}]}}"
	}
	for name, c := range map[string]struct{ text, want string }{
		"count":  {list(10_001, "${SMALL}"), "error size vault[10000]: there are more than 10000 references to variables"},
		"size":   {list(50, "${LARGE}"), "error size vault[41]: the values of variables make the configuration larger than 4 MiB"},
		"one":    {list(1, strings.Repeat("${LARGE}", 1000)), "error size vault[0]: the values of variables make the configuration larger than 4 MiB"},
		"within": {list(9_999, "${SMALL}"), ""},
		"deep":   {list(1, "${LOOP}"), ""},
	} {
		asked := 0
		loaded, findings := config.Load(files(t, map[string]string{"openclaw.json": c.text}), func(name string) string {
			asked++
			return map[string]string{"SMALL": "eden", "LARGE": strings.Repeat("x", 100_000), "LOOP": "${LOOP}${LOOP}"}[name]
		})
		got := ""
		if len(findings) > 0 {
			got = fmt.Sprintf("%s %s %s: %s", findings[0].Severity, findings[0].Code, findings[0].Path, findings[0].Message)
		}
		if got != c.want || len(findings) > 1 || len(loaded.Masked()) > 5<<20 || asked > 10_000 {
			t.Errorf("%s: %q, want %q; %d bytes, %d asked for", name, got, c.want, len(loaded.Masked()), asked)
		}
		if name == "deep" && !strings.Contains(string(loaded.Masked()), `"${LOOP}${LOOP}"`) {
			t.Errorf("%s", loaded.Masked())
		}
	}
}
