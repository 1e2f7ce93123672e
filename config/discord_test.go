package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

func TestGuilds(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{channels: {discord: {groupPolicy: 'allowlist', guilds: {
    '500000000000000002': {users: ['600000000000000001', '*'], roles: ['700000000000000001'], slug: 'lab', requireMention: true,
      channels: {'100000000000000002': {allow: true}, '100000000000000001': {}, '100000000000000003': {enabled: false}}},
    '500000000000000001': {channels: ['100000000000000009'], requireMention: false},
    '500000000000000003': {channels: {'*': {allow: true}, '100000000000000003': {allow: false}}},
    '500000000000000004': {channels: {'100000000000000003': {allow: false}}},
    '500000000000000005': {channels: {'*': {allow: false}, '100000000000000001': {requireMention: true, users: null, skils: 1}}},
    '500000000000000006': {channels: {general: {allow: true}}},
    '500000000000000007': {},
    '*': {requireMention: true}, lobby: {users: ['1']},
  }}}}`, nil)
	wantFindings(t, findings,
		`warning unknown_key openclaw.json:7:118: channels.discord.guilds.500000000000000005.channels.100000000000000001.skils: unknown key; it has no effect (did you mean "skills"?)`,
		`warning value openclaw.json:8:48: channels.discord.guilds.500000000000000006.channels.general: this is not a channel id: it has no effect (use the channel's id, 17 to 20 digits: Copy Channel ID in Discord's developer mode)`,
		`warning value openclaw.json:10:10: channels.discord.guilds["*"]: openclawd does not support settings for all servers: they have no effect (list each server by its id)`,
		`warning value openclaw.json:10:41: channels.discord.guilds.lobby: this is not a server id: it has no effect (use the server's id, 17 to 20 digits: Copy Server ID in Discord's developer mode)`,
	)
	yes, no := true, false
	want := []config.Guild{
		{ID: "500000000000000001", Channels: []string{"100000000000000009"}, RequireMention: &no},
		{ID: "500000000000000002", Users: []string{"600000000000000001", "*"}, Roles: []string{"700000000000000001"},
			Channels: []string{"100000000000000001", "100000000000000002"}, RequireMention: &yes, Rooms: []config.Room{{ID: "100000000000000003", Closed: true}}},
		{ID: "500000000000000003", Rooms: []config.Room{{ID: "100000000000000003", Closed: true}}},
		{ID: "500000000000000004", Channels: []string{config.NoChannel}, Rooms: []config.Room{{ID: "100000000000000003", Closed: true}}},
		{ID: "500000000000000005", Channels: []string{"100000000000000001"}, Rooms: []config.Room{{ID: "100000000000000001", RequireMention: &yes}}},
		{ID: "500000000000000006", Channels: []string{config.NoChannel}},
		{ID: "500000000000000007"},
	}
	if diff := cmp.Diff(want, c.Discord.Guilds); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c.Discord.RequireMention {
		t.Error("mentions are required, though nothing says so for all servers")
	}
	for _, text := range []string{`{guilds: []}`, `{guilds: {'500000000000000001': 7}}`, `{guilds: {'500000000000000001': {channels: 'all'}}}`,
		`{guilds: {'500000000000000001': {channels: {'100000000000000001': true}}}}`, `{guilds: {lobby: 7}}`, `{guilds: {'500000000000000001': {users: '1'}}}`} {
		if _, findings := config.Load(files(t, map[string]string{"openclaw.json": `{channels: {discord: ` + text + `}}`}), noVariables); findings.Err() == nil {
			t.Errorf("%s: can be used, with %v", text, findings)
		}
	}
}

func TestWhereBindingsHold(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
  agents: {list: [{id: 'eden'}, {id: 'seum', name: '세움'}]},
  channels: {discord: {accounts: {bot: {botUserId: '111122223333444455'}}}},
  bindings: [
    {agentId: 'eden', match: {channel: 'discord', accountId: '*', peer: {kind: 'channel', id: '100000000000000001'}, guildId: '500000000000000001',
      roles: ['7', '8'], teamId: 'T'}},
    {agentId: 'eden', match: {channel: 'discord', accountId: 'bot', peer: {kind: 'dm', id: 600000000000001}}},
    {agentId: 'seum', match: {channel: 'discord', accountId: 'BOT'}},
    {agentId: 'seum', match: {channel: 'discord', accountId: 'bto', peer: {knd: 'group'}}},
    {agentId: 'seum', match: {channel: 'telegram', accountId: 'other', peer: {kind: 'user', id: -100}}},
  ],
}`, nil)
	wantFindings(t, findings,
		`warning unknown_account openclaw.json:9:62: bindings[3].match.accountId: "bto" is not a configured Discord account (did you mean "bot"?)`,
		`warning unknown_key openclaw.json:9:76: bindings[3].match.peer.knd: unknown key; it has no effect (did you mean "kind"?)`)
	want := []config.Binding{
		{AgentID: "eden", Channel: "discord", AccountID: "*", PeerKind: "channel", PeerID: "100000000000000001", GuildID: "500000000000000001", Roles: []string{"7", "8"}, TeamID: "T"},
		{AgentID: "eden", Channel: "discord", AccountID: "bot", PeerKind: "direct", PeerID: "600000000000001"},
		{AgentID: "seum", Channel: "discord", AccountID: "BOT"},
		{AgentID: "seum", Channel: "discord", AccountID: "bto"},
		{AgentID: "seum", Channel: "telegram", AccountID: "other"},
	}
	if diff := cmp.Diff(want, c.Bindings); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, findings = load(t, `{bindings: [{agentId: 'eden', match: {peer: {kind: 'room'}}}]}`, nil)
	wantFindings(t, findings, `error value openclaw.json:1:52: bindings[0].match.peer.kind: "room" is not an allowed value (use channel, group, direct or dm)`)
}

// A bot is called by the agent that answers everywhere, whichever agent answers at one place.
func TestBotsAreCalledByWhoAnswersEverywhere(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{
  agents: {list: [{id: 'eden', name: '이든'}, {id: 'seum', name: '세움'}]},
  channels: {discord: {accounts: {bot: {botUserId: '111122223333444455'}, other: {botUserId: '111122223333444456'}}}},
  bindings: [
    {agentId: 'eden', match: {channel: 'discord', accountId: 'bot', guildId: '500000000000000001'}},
    {agentId: 'seum', match: {channel: 'discord', accountId: 'bot'}},
    {agentId: 'eden', match: {channel: 'discord', accountId: 'other', peer: {kind: 'channel', id: '100000000000000001'}}},
  ],
}`, nil)
	wantFindings(t, findings)
	if diff := cmp.Diff(map[string]string{"111122223333444455": "세움", "111122223333444456": "이든"}, c.Applied().Mentions); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEscalation(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{channels: {discord: {
  collaboration: {escalation: {channelId: '300000000000000001', mentionUserId: '@민지', chanelId: 1}},
  a2aRetry: {escalationMentionId: '999988887777666655'},
}}}`, nil)
	wantFindings(t, findings,
		`warning value openclaw.json:2:80: channels.discord.collaboration.escalation.mentionUserId: "@민지" is not a Discord id (write 17 to 20 digits: Copy ID in Discord's developer mode)`,
		`warning unknown_key openclaw.json:2:87: channels.discord.collaboration.escalation.chanelId: unknown key; it has no effect (did you mean "channelId"?)`)
	if diff := cmp.Diff(config.Escalation{ChannelID: "300000000000000001", MentionUserID: "@민지"}, c.Discord.Collaboration.Escalation); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c.Discord.Retry.EscalationUserID != "999988887777666655" {
		t.Errorf("%q is told in the end", c.Discord.Retry.EscalationUserID)
	}
}

// What agents need to ask each other in threads is missed where there are bots that could.
func TestWhereThreadsAreOpened(t *testing.T) {
	t.Parallel()
	const missed = `warning value openclaw.json:1:22: channels.discord.collaboration.defaultChannel: no channel for threads is configured: ` +
		`agents can ask each other only in reply to a request in a channel listed in allowedChannels (set it to the id of a channel in which the bots may write)`
	bots := `accounts: {a: {token: '` + botToken("100000000000000001") + `'}, b: {token: '` + botToken("100000000000000002") + `'}}`
	for text, want := range map[string][]string{
		`{` + bots + `}`: {missed},
		`{` + bots + `, collaboration: {allowedChannels: ['300000000000000001']}}`:  {missed},
		`{` + bots + `, collaboration: {defaultChannel: '300000000000000001'}}`:     nil,
		`{` + bots + `, enabled: false}`:                                            nil,
		`{accounts: {a: {token: '` + botToken("100000000000000001") + `'}, b: {}}}`: nil,
		`{}`: nil,
	} {
		_, findings := load(t, `{channels: {discord: `+text+`}}`, nil)
		wantFindings(t, findings, want...)
	}
	_, findings := load(t, `{discord: {collaboration: {defaultChannel: '1'}}}`, nil)
	wantFindings(t, findings, `warning value openclaw.json:1:27: discord.collaboration: openclawd does not read this here: it has no effect (put it into channels.discord.collaboration)`)
}

func TestSinks(t *testing.T) {
	t.Parallel()
	accounts := `accounts: {zed: {botUserId: '1'}, off: {enabled: false}, abe: {}}`
	for discord, want := range map[string]string{
		``: "", accounts: "abe", accounts[:len(accounts)-1] + `, Ruda: {}}`: "Ruda",
		accounts[:len(accounts)-1] + `, ruda: {enabled: false}}`: "abe", accounts + `, token: '` + botToken("100000000000000001") + `'`: "default",
	} {
		c, _ := load(t, `{channels: {discord: {`+discord+`}}, gateway: {conversationSinks: [{id: 'discord-conversation'}]}}`, nil)
		if got := c.Gateway.Sinks[0].Discord.RouterAccount; got != want {
			t.Errorf("%s: %q reports, want %q", discord, got, want)
		}
	}
	c, findings := load(t, `{
  channels: {discord: {defaultAccount: 'ab', `+accounts+`}},
  gateway: {conversationSinks: [
    {id: 'discord-conversation', enabled: true, options: {routerAccountId: 'zde', messageAccountId: 'ABE'}},
    {id: 'webhook', enabled: true, options: {url: 'https://hooks.example/in?key=abcdef', token: 'bearer-of-news', events: ['a2a.*', 'task.blocked']}},
    {id: 'webhook', enabled: true, options: {guildId: '1'}},
    {id: 'webhook', enabled: true, options: {url: 'hooks.example/in?key=ghijkl', token: {source: 'env', id: 'X'}}},
  ]},
}`, nil)
	wantFindings(t, findings,
		`warning unknown_account openclaw.json:2:40: channels.discord.defaultAccount: "ab" is not a configured Discord account (did you mean "abe"?)`,
		`warning unknown_account openclaw.json:4:76: gateway.conversationSinks[0].options.routerAccountId: "zde" is not a configured Discord account (did you mean "zed"?)`,
		`warning value openclaw.json:6:5: gateway.conversationSinks[2].options.url: the sink has no address: it has no effect (set it, or enabled to false)`,
		`warning unknown_key openclaw.json:6:46: gateway.conversationSinks[2].options.guildId: unknown key; it has no effect (remove it, or leave it if another program reads it)`,
		`error value openclaw.json:7:51: gateway.conversationSinks[3].options.url: *** is not a webhook address (write it like https://hooks.example/agents)`,
		`error unbound_secret openclaw.json:7:89: gateway.conversationSinks[3].options.token: openclawd cannot resolve a reference to a secret store (write the secret as ${NAME} and set the variable NAME, if openclawd is to use it)`,
	)
	want := config.SinkWebhook{URL: "https://hooks.example/in?key=abcdef", Token: "bearer-of-news", Events: []string{"a2a.*", "task.blocked"}}
	if diff := cmp.Diff(want, c.Gateway.Sinks[1].Webhook); diff != "" || c.Gateway.Sinks[1].Webhook.URL.Reveal() != want.URL.Reveal() {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c.Gateway.Sinks[0].Discord.ArchivePolicy != "never" || c.Gateway.Sinks[1].Discord.ArchivePolicy != "" {
		t.Errorf("sinks have the settings of others: %+v", c.Gateway.Sinks)
	}
}
