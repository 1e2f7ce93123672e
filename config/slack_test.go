package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

func TestSlack(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{channels: {slack: {
  botToken: 'xoxb-1', appToken: 'xapp-1', dm: {policy: 'allowlist', allowFrom: ['U0AB', 'slack:u0cd', 'user:U0EF', '@bora']}, requireMention: true,
  channels: {C0GEN: {}, 'slack:c0lab': {requireMention: false}, C0OFF: {enabled: false}, general: {}},
  accounts: {eden: {botToken: 'xapp-2', mode: 'http', webhookPath: '/slack/eden', signingSecret: 's'}, ruda: {botToken: 'xoxb-3'}, seum: {botToken: 'xoxb-4', mode: 'http'}},
  collaboration: {defaultChannel: 'C0GEN', allowedChannels: ['slack:c0lab'], escalation: {channelId: 'x', mentionUserId: 'U0AB'}},
  ackReaction: 'eyes', userToken: 'x', unknown: 1}}}`, nil)
	wantFindings(t, findings,
		`warning value openclaw.json:2:80: channels.slack.dm.allowFrom: "@BORA" is not a user id of Slack: it has no effect (write the member's id: Copy member ID in the person's profile)`,
		"warning value openclaw.json:3:99: channels.slack.channels.general: this is not the id of a channel: it has no effect (write the id, such as C0123456789: it is at the end of the channel's details in Slack)",
		"warning discord_token openclaw.json:4:31: channels.slack.accounts.eden.botToken: this does not look like such a token of Slack (copy the one that begins with xoxb- from the page OAuth & Permissions of the app)",
		"warning value openclaw.json:4:110: channels.slack.accounts.ruda.appToken: without an app token no events of Slack arrive (create one with the scope connections:write on the page Basic Information of the app, or set mode to http)",
		"warning value openclaw.json:4:138: channels.slack.accounts.seum.signingSecret: without the signing secret no events of Slack are accepted (copy it from the page Basic Information of the app)",
		`warning value openclaw.json:5:102: channels.slack.collaboration.escalation.channelId: "x" is not the id of a channel in Slack: it has no effect (write it like C0123456789)`,
		"warning unknown_key openclaw.json:6:40: channels.slack.unknown: unknown key; it has no effect (remove it, or leave it if another program reads it)",
	)
	d := c.Channel("Slack")
	no := false
	if diff := cmp.Diff([]config.Guild{{ID: config.EveryGuild, Channels: []string{"slack:c0gen", "slack:c0lab"},
		Rooms: []config.Room{{ID: "slack:c0lab", RequireMention: &no}, {ID: "slack:c0off", Closed: true}}}}, d.Guilds); diff != "" {
		t.Errorf("channels (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"U0AB", "U0CD", "U0EF"}, d.AllowFrom); diff != "" || d.DMPolicy != "allowlist" || d.GroupPolicy != "open" {
		t.Errorf("policies %s and %s, people (-want +got)\n%s", d.DMPolicy, d.GroupPolicy, diff)
	}
	want := []config.Account{
		{ID: "default", Enabled: true, Token: "xoxb-1", AppToken: "xapp-1"},
		{ID: "eden", Enabled: true, Token: "xapp-2", Webhook: config.Webhook{Secret: "s", Path: "/slack/eden"}},
		{ID: "ruda", Enabled: true, Token: "xoxb-3"},
		{ID: "seum", Enabled: true, Token: "xoxb-4", Webhook: config.Webhook{Path: "/slack/events"}},
	}
	if diff := cmp.Diff(want, d.Accounts); diff != "" {
		t.Errorf("accounts (-want +got)\n%s", diff)
	}
	if d.Collaboration.DefaultChannel != "slack:c0gen" || d.Collaboration.AllowedChannels[0] != "slack:c0lab" || d.Collaboration.Escalation.ChannelID != "" ||
		d.Collaboration.Escalation.MentionUserID != "U0AB" {
		t.Errorf("collaboration %+v", d.Collaboration)
	}
}

func TestSlackChannels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, settings, policy string
		channels               []string // nil: all
	}{
		{"as OpenClaw: none", "", "open", []string{config.NoChannel}},
		{"open", "groupPolicy: 'open'", "open", nil},
		{"disabled", "groupPolicy: 'disabled', channels: {C0A: {}}", "disabled", nil},
		{"listed", "channels: {C0B: {}, C0A: true}", "open", []string{"slack:c0b"}},
		{"all", "channels: {'*': {}}", "open", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, _ := load(t, `{channels: {slack: {`+tt.settings+`}}}`, nil)
			var channels []string
			for _, g := range c.Slack.Guilds {
				channels = g.Channels
			}
			if diff := cmp.Diff(tt.channels, channels); diff != "" || c.Slack.GroupPolicy != tt.policy {
				t.Errorf("policy %s, want %s; channels (-want +got)\n%s", c.Slack.GroupPolicy, tt.policy, diff)
			}
		})
	}
}

// A path for events must not put something that the gateway serves out of reach.
func TestSlackPathsAreTheirOwn(t *testing.T) {
	t.Parallel()
	_, findings := load(t, `{hooks: {path: '/in'}, channels: {slack: {mode: 'http', webhookPath: '/slack/events', accounts: {
  a: {webhookPath: '/tools/invoke'}, b: {webhookPath: '/in/agent'}, c: {webhookPath: '/slack/c'}, d: {webhookPath: '/'}, e: {webhookPath: '/toolsmith'}}}}}`, nil)
	const what = ` is a path at which the gateway serves something else (write one of its own, such as /slack/events)`
	wantFindings(t, findings,
		`error value openclaw.json:2:20: channels.slack.accounts.a.webhookPath: "/tools/invoke"`+what,
		`error value openclaw.json:2:55: channels.slack.accounts.b.webhookPath: "/in/agent"`+what,
		`error value openclaw.json:2:116: channels.slack.accounts.d.webhookPath: "/"`+what)
}
