package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

func TestTelegram(t *testing.T) {
	t.Parallel()
	const token = "7000001009:AAabcdefghijklmnopqrstuvwxyz01234567"
	c, findings := load(t, `{channels: {telegram: {
  botToken: '`+token+`', dmPolicy: 'allowlist', allowFrom: [42, 'tg:43', 'telegram:44', '@bora'], requireMention: true,
  groups: {'-1001': {requireMention: false, allowFrom: [7]}, '-1002': {groupPolicy: 'open'}, '-1003': {enabled: false}, lab: {}},
  accounts: {eden: {botToken: 'x', webhookUrl: 'https://a.example/hook', webhookSecret: 's'}, ruda: {enabled: false, webhookUrl: 'https://a.example'}},
  collaboration: {defaultChannel: '-1001', allowedChannels: ['telegram:-1002'], escalation: {channelId: 'x', mentionUserId: 42}},
  streaming: 'partial', tokenFile: 'x', unknown: 1}}}`, nil)
	wantFindings(t, findings,
		`warning value openclaw.json:2:98: channels.telegram.allowFrom: "@bora" is not a user id of Telegram: it has no effect (write the person's number; the bot's log has it when the person writes to the bot)`,
		"warning value openclaw.json:3:126: channels.telegram.groups.lab: this is not the id of a group: it has no effect (write the id that the log names when the bot is added to the group, such as -1001234567890)",
		"warning value openclaw.json:4:31: channels.telegram.accounts.eden.botToken: this does not look like a Telegram bot token (copy it from @BotFather in Telegram: a number, a colon and 35 characters)",
		"warning value openclaw.json:4:130: channels.telegram.accounts.ruda.webhookUrl: a webhook needs webhookSecret: updates are polled instead (set webhookSecret to a long random text of letters, digits, _ and -)",
		`warning value openclaw.json:5:105: channels.telegram.collaboration.escalation.channelId: "x" is not the id of a chat in Telegram: it has no effect (write it like -1001234567890, a topic like -1001234567890:topic:7)`,
		"warning unknown_key openclaw.json:6:41: channels.telegram.unknown: unknown key; it has no effect (remove it, or leave it if another program reads it)",
	)
	d := c.Channel("Telegram")
	no := false
	if diff := cmp.Diff([]config.Guild{
		{ID: "telegram:-1001", Users: []string{"7"}, RequireMention: &no},
		{ID: "telegram:-1002"},
		{ID: "telegram:-1003", Users: []string{"42", "43", "44"}, Channels: []string{config.NoChannel}},
	}, d.Guilds); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"42", "43", "44"}, d.AllowFrom); diff != "" {
		t.Errorf("people (-want +got)\n%s", diff)
	}
	if len(d.Accounts) != 3 || d.Accounts[0].ID != config.DefaultAccount || d.Accounts[0].BotUserID != "7000001009" || d.Accounts[1].Webhook.Port != 8787 || d.Accounts[2].Webhook.URL != "" {
		t.Errorf("accounts %+v", d.Accounts)
	}
	if d.GroupPolicy != "allowlist" || d.Collaboration.DefaultChannel != "telegram:-1001" || d.Collaboration.AllowedChannels[0] != "telegram:-1002" ||
		d.Collaboration.Escalation.ChannelID != "" || d.Collaboration.Escalation.MentionUserID != "42" {
		t.Errorf("policy %s, collaboration %+v", d.GroupPolicy, d.Collaboration)
	}
}

// The id of a message is none of a place.
func TestTelegramPlacesAreNoMessages(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{channels: {telegram: {collaboration: {defaultChannel: '-1001:7', escalation: {channelId: '-1001:topic:7'}}}}}`, nil)
	own := c.Channel("telegram").Collaboration
	if own.DefaultChannel != "" || own.Escalation.ChannelID != "telegram:-1001:topic:7" || len(findings) != 1 {
		t.Errorf("the default channel is %q, that of escalations %q, with %v", own.DefaultChannel, own.Escalation.ChannelID, findings)
	}
}

func TestTelegramGroups(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, settings, policy string
		users                  []string // of the settings of all groups; nil if there are none
	}{
		{"as OpenClaw: none", "", "allowlist", nil},
		{"open", "groupPolicy: 'open'", "open", nil},
		{"disabled", "groupPolicy: 'disabled', groups: {'*': {}}", "disabled", []string{}},
		{"all, for no one", "groups: {'*': {}}", "open", []string{"-"}},
		{"all, for those of allowFrom", "allowFrom: [1], groups: {'*': {}}", "open", []string{"1"}},
		{"all, for those of groupAllowFrom", "allowFrom: [1], groupAllowFrom: [2], groups: {'*': {}}", "open", []string{"2"}},
		{"all, for everyone", "groupPolicy: 'open', groups: {'*': {}}", "open", []string{}},
		{"listed ones although open", "groupPolicy: 'open', groups: {'-1': {}}", "allowlist", nil},
	} {
		c, _ := load(t, "{channels: {telegram: {"+tt.settings+"}}}", nil)
		d := c.Channel("telegram")
		if d.GroupPolicy != tt.policy {
			t.Errorf("%s: policy %s, want %s", tt.name, d.GroupPolicy, tt.policy)
		}
		var every *config.Guild
		for i := range d.Guilds {
			if d.Guilds[i].ID == config.EveryGuild {
				every = &d.Guilds[i]
			}
		}
		switch {
		case (every == nil) != (tt.users == nil):
			t.Errorf("%s: %+v, want users %v", tt.name, every, tt.users)
		case every != nil && len(every.Users)+len(tt.users) > 0 && !cmp.Equal(every.Users, tt.users):
			t.Errorf("%s: users %v, want %v", tt.name, every.Users, tt.users)
		}
	}
}
