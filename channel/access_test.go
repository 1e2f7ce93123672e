package channel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// verdict is what the agent of an account is told of a message under settings of a channel, as they are written.
func verdict(t *testing.T, name, settings, account string, m route.Message) route.Reason {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(`{channels: {`+name+`: {`+settings+`}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	m.ID, m.Text, m.At = "5", "안녕", 1
	if m.GuildID == "" {
		m.AccountID = account
	}
	s := route.Situation{Message: m, Policy: channel.PolicyOf(c, name, m.AccountID, &m), Participants: route.Attendance{},
		Bots: []route.Bot{{UserID: "8", AccountID: "one", Agent: "one"}, {UserID: "9", AccountID: "two", Agent: "two"}}}
	s.Policy.DefaultAgent = account
	channel.Narrow(c, name, &s, true)
	d := route.Decide(&s)
	v, _ := d.Of(account)
	return v.Reason
}

// What is written for one channel, topic or account holds there.
func TestSettingsOfOnePlace(t *testing.T) {
	t.Parallel()
	const open = route.ByDefault
	for _, tt := range []struct {
		channel, settings, place, user string
		want                           route.Reason
	}{
		{coordination.Slack, "channels: {C1A: {users: ['U1A'], requireMention: false}}", "slack:c1a", "U1A", open},
		{coordination.Slack, "channels: {C1A: {users: ['U1A']}}", "slack:c1a", "U2A", route.AuthorNotAllowed},
		{coordination.Slack, "channels: {C1A: {users: ['U1A']}}", "slack:c1a:thread:17.000100", "U2A", route.AuthorNotAllowed},
		{coordination.Slack, "channels: {C1A: {users: ['@bora']}}", "slack:c1a", "U1A", route.AuthorNotAllowed},
		{coordination.Slack, "channels: {C1A: {requireMention: true}}", "slack:c1a", "U1A", route.NeedsMention},
		{coordination.Slack, "requireMention: true, channels: {C1A: {requireMention: false}}", "slack:c1a", "U1A", open},
		{coordination.Slack, "channels: {'*': {}, C2A: {enabled: false}}", "slack:c2a", "U1A", route.ChannelNotAllowed},
		{coordination.Slack, "groupPolicy: 'open', channels: {C2A: {allow: false}}", "slack:c2a", "U1A", route.ChannelNotAllowed},
		{coordination.Slack, "groupPolicy: 'open', channels: {C2A: {allow: false}}", "slack:c1a", "U1A", open},
		{coordination.Slack, "groupPolicy: 'open', channels: {'*': {enabled: false}, C1A: {}}", "slack:c2a", "U1A", route.ChannelNotAllowed},
		{coordination.Slack, "channels: {'*': {users: ['U1A']}, C1A: {requireMention: false}}", "slack:c2a", "U2A", route.AuthorNotAllowed},
		{coordination.Discord, "guilds: {'" + guild + "': {channels: {'*': {}, '" + general + "': {users: ['1']}}}}", general, "2", route.AuthorNotAllowed},
		{coordination.Discord, "guilds: {'" + guild + "': {users: ['2'], channels: {'" + general + "': {users: ['1']}}}}", general, "1", open},
		{coordination.Discord, "guilds: {'" + guild + "': {channels: {'*': {}, '" + general + "': {enabled: false}}}}", general, "2", route.ChannelNotAllowed},
		{coordination.Discord, "guilds: {'" + guild + "': {channels: {'" + general + "': {requireMention: true}}}}", general, "2", route.NeedsMention},
		{coordination.Telegram, "allowFrom: [1], groups: {'-1': {topics: {'7': {enabled: false}}}}", "telegram:-1:topic:7", "1", route.ChannelNotAllowed},
		{coordination.Telegram, "groupPolicy: 'open', groups: {'-1': {topics: {'7': {allowFrom: [2]}}}}", "telegram:-1:topic:7", "1", route.NotParticipant},
		{coordination.Telegram, "allowFrom: [1], groups: {'-1': {topics: {'7': {allowFrom: [2]}}}}", "telegram:-1:topic:7", "1", route.AuthorNotAllowed},
		{coordination.Telegram, "allowFrom: [1], groups: {'-1': {topics: {'7': {allowFrom: [2]}}}}", "telegram:-1:topic:8", "1", route.NotParticipant},
		{coordination.Telegram, "allowFrom: [1], groups: {'-1': {topics: {'7': {groupPolicy: 'disabled'}}}}", "telegram:-1:topic:7", "1", route.ChannelNotAllowed},
		{coordination.Telegram, "allowFrom: [1], groups: {'*': {topics: {'7': {enabled: false}}}}", "telegram:-1:topic:7", "1", route.ChannelNotAllowed},
		{coordination.Telegram, "allowFrom: [1], groups: {'-1': {topics: {'*': {enabled: false}}}}", "telegram:-1:topic:9", "1", route.ChannelNotAllowed},
		{coordination.Telegram, "allowFrom: [1], groups: {'-1': {topics: {'1': {enabled: false}}}}", "telegram:-1", "1", route.ChannelNotAllowed},
		{coordination.Telegram, "allowFrom: [1], groups: {'-1': {topics: {'1': {enabled: false}}}}", "telegram:-1:topic:9", "1", route.NotParticipant},
	} {
		t.Run(tt.channel+" "+tt.settings+" "+tt.place+" "+tt.user, func(t *testing.T) {
			t.Parallel()
			if got := verdict(t, tt.channel, tt.settings, "one", in(tt.channel, tt.place, tt.user)); got != tt.want {
				t.Errorf("the agent is told %q, want %q", got, tt.want)
			}
		})
	}
}

// in is a message of a user in a place or thread.
func in(name, place, user string) route.Message {
	m := route.Message{ChannelID: place, GuildID: place, Author: route.Author{ID: user}}
	if id, _ := coordination.ParseChatID(place); id.Thread != "" {
		parent := coordination.ChatID{Channel: id.Channel, Chat: id.Chat}.String()
		m.ChannelID, m.ThreadID, m.GuildID = parent, place, parent
	}
	switch name {
	case coordination.Discord:
		m.GuildID = guild
	case coordination.Slack:
		m.GuildID = "slack:t1"
	}
	return m
}

// An account's own settings replace the channel's for its agent alone.
func TestSettingsOfOneAccount(t *testing.T) {
	t.Parallel()
	direct := route.Message{ChannelID: "telegram:1.8", Author: route.Author{ID: "1"}}
	group := route.Message{ChannelID: "telegram:-1", GuildID: "telegram:-1", Author: route.Author{ID: "1"}}
	for _, tt := range []struct {
		settings string // of account one
		channel  string
		m        route.Message
		one, two route.Reason
	}{
		{"dmPolicy: 'disabled'", "allowFrom: [1]", direct, route.DirectDisabled, route.ByDefault},
		{"dmPolicy: 'allowlist', allowFrom: [2]", "dmPolicy: 'open'", direct, route.DirectNotAllowed, route.ByDefault},
		{"allowFrom: [1]", "allowFrom: [2]", direct, route.ByDefault, route.DirectNotPaired},
		{"groupPolicy: 'disabled'", "groupPolicy: 'open'", group, route.ChannelsDisabled, route.ByDefault},
		{"groupPolicy: 'allowlist', allowFrom: [2]", "groupPolicy: 'open', groups: {'*': {}}", group, route.AuthorNotAllowed, route.ByDefault},
		{"groups: {'-2': {}}", "groupPolicy: 'open', groups: {'*': {}}", group, route.GuildNotAllowed, route.ByDefault},
		{"groups: {'-1': {allowFrom: [1]}}", "allowFrom: [2]", group, route.ByDefault, route.GuildNotAllowed},
		{"name: 'x'", "allowFrom: [1], groups: {'-1': {}}", group, route.ByDefault, route.ByDefault},
	} {
		settings := tt.channel + ", accounts: {one: {" + tt.settings + "}, two: {}}"
		t.Run(strings.ReplaceAll(settings, "/", " "), func(t *testing.T) {
			t.Parallel()
			if one, two := verdict(t, coordination.Telegram, settings, "one", tt.m), verdict(t, coordination.Telegram, settings, "two", tt.m); one != tt.one || two != tt.two {
				t.Errorf("one is told %q, want %q; two %q, want %q", one, tt.one, two, tt.two)
			}
		})
	}
}
