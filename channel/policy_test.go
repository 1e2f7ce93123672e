package channel_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// A place as settings name it.
const (
	guild   = "900000000000000001"
	general = "800000000000000001"
)

// What is not configured is as coordination/route has it, with the bound of chains.
func TestPolicyOfNothing(t *testing.T) {
	t.Parallel()
	want := route.DefaultPolicy()
	want.DefaultAgent, want.MaxHops = "main", 20
	if diff := cmp.Diff(want, channel.PolicyOf(config.Default(), coordination.Discord, "", &route.Message{GuildID: guild})); diff != "" {
		t.Errorf("the policy (-want +got):\n%s", diff)
	}
}

func TestPolicyIsAsConfigured(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Discord.AllowBots, c.Discord.HistoryIncludeBots, c.Discord.RequireMention = route.ForeignMentions, true, true
	c.Discord.DMPolicy, c.Discord.AllowFrom = route.Allowlist, []string{"discord:1", "user:2", "<@3>", "<@!4>", " 5 ", "*"}
	c.Discord.Collaboration.ThreadMention, c.Discord.Collaboration.ParticipantTTL = route.Participants, time.Hour
	p := channel.PolicyOf(c, coordination.Discord, "", &route.Message{GuildID: guild})
	want := route.DefaultPolicy()
	want.DefaultAgent, want.MaxHops = "main", 20
	want.ForeignBots, want.RecordBots, want.RequireMention, want.ThreadMention = route.ForeignMentions, true, true, route.Participants
	want.Direct, want.AllowFrom, want.ParticipantTTL = route.Allowlist, []string{"1", "2", "3", "4", "5", "*"}, time.Hour
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("the policy (-want +got):\n%s", diff)
	}
}

// Whose messages, from which guilds and channels, are handled, as route decides of a message there.
func TestAllowedPlacesAndUsers(t *testing.T) {
	t.Parallel()
	const other = "900000000000000002"
	for _, tt := range []struct {
		name   string
		change func(*config.Channel)
		guild  string
		place  string // a channel
		author string
		want   route.Reason
	}{
		{"all guilds", nil, guild, general, "1", route.ByDefault},
		{"groups off", func(d *config.Channel) { d.GroupPolicy = route.Disabled }, guild, general, "1", route.ChannelsDisabled},
		{"allowlist without guilds", func(d *config.Channel) { d.GroupPolicy = route.Allowlist }, guild, general, "1", route.GuildNotAllowed},
		{"allowlist, listed", listed(route.Allowlist), guild, general, "1", route.ByDefault},
		{"allowlist, another guild", listed(route.Allowlist), other, general, "1", route.GuildNotAllowed},
		{"open, another guild", listed(route.Open), other, general, "1", route.ByDefault},
		{"channels of the guild", listed(route.Allowlist, general), guild, general, "1", route.ByDefault},
		{"another channel of the guild", listed(route.Allowlist, "77"), guild, general, "1", route.ChannelNotAllowed},
		{"open, another channel of the guild", listed(route.Open, "77"), guild, general, "1", route.ChannelNotAllowed},
		{"channels of another guild", listed(route.Open, "77"), other, general, "1", route.ByDefault},
		{"allowed guild", allowed(guild), guild, general, "1", route.ByDefault},
		{"guild that is not allowed", allowed(other), guild, general, "1", route.GuildNotAllowed},
		{"listed, and not allowed", func(d *config.Channel) {
			listed(route.Allowlist)(d)
			allowed(other)(d)
		}, guild, general, "1", route.GuildNotAllowed},
		{"not listed, and allowed", func(d *config.Channel) {
			listed(route.Allowlist)(d)
			allowed(other)(d)
		}, other, general, "1", route.GuildNotAllowed},
		{"allowed channel", channels("77", general), guild, general, "1", route.ByDefault},
		{"default channel", channels(general, "77"), guild, general, "1", route.ByDefault},
		{"channel that is not allowed", channels("77", "78"), guild, general, "1", route.ChannelNotAllowed},
		{"a default channel alone", func(d *config.Channel) { d.Collaboration.DefaultChannel = "77" }, guild, general, "1", route.ByDefault},
		{"the guild's channels come first", func(d *config.Channel) {
			listed(route.Open, general)(d)
			channels("77", "78")(d)
		}, guild, general, "1", route.ByDefault},
		{"users", users([]string{"user:1"}), guild, general, "1", route.ByDefault},
		{"other users", users([]string{"2"}), guild, general, "1", route.AuthorNotAllowed},
		{"roles", users(nil, "dev"), guild, general, "1", route.ByDefault},
		{"other roles", users([]string{"2"}, "ops"), guild, general, "1", route.AuthorNotAllowed},
		{"any user", users([]string{"*"}, "ops"), guild, general, "1", route.ByDefault},
		{"users of another guild", users([]string{"2"}), other, general, "1", route.ByDefault},
	} {
		c := config.Default()
		if tt.change != nil {
			tt.change(&c.Discord)
		}
		s := route.Situation{Bots: []route.Bot{{UserID: "9", AccountID: "main", Agent: "main"}},
			Message: route.Message{ID: "5", GuildID: tt.guild, ChannelID: tt.place, Text: "안녕", Author: route.Author{ID: tt.author, Roles: []string{"dev"}}}}
		s.Policy = channel.PolicyOf(c, coordination.Discord, "", &s.Message)
		d := route.Decide(&s)
		if v, _ := d.Of("main"); v.Reason != tt.want {
			t.Errorf("%s: %s %s, want %s", tt.name, v.Mode, v.Reason, tt.want)
		}
	}
}

func listed(policy string, channels ...string) func(*config.Channel) {
	return func(d *config.Channel) {
		d.GroupPolicy, d.Guilds = policy, []config.Guild{{ID: guild, Channels: channels}}
	}
}

func allowed(guilds ...string) func(*config.Channel) {
	return func(d *config.Channel) { d.Collaboration.AllowedGuilds = guilds }
}

func channels(standard string, others ...string) func(*config.Channel) {
	return func(d *config.Channel) {
		d.Collaboration.DefaultChannel, d.Collaboration.AllowedChannels = standard, others
	}
}

func users(ids []string, roles ...string) func(*config.Channel) {
	return func(d *config.Channel) { d.Guilds = []config.Guild{{ID: guild, Users: ids, Roles: roles}} }
}

func TestBindingsAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Bindings = []config.Binding{
		{AgentID: "eden", Channel: "discord", AccountID: "*", PeerKind: "channel", PeerID: "7", GuildID: "1", Roles: []string{"2"}, TeamID: "3"},
		{AgentID: "ruda", Channel: "slack"},
	}
	want := []route.Binding{
		{Agent: "eden", Channel: "discord", Account: "*", Peer: route.Peer{Kind: "channel", ID: "7"}, Guild: "1", Roles: []string{"2"}, Team: "3"},
		{Agent: "ruda", Channel: "slack"},
	}
	if diff := cmp.Diff(want, channel.BindingsOf(c)); diff != "" {
		t.Errorf("the bindings (-want +got):\n%s", diff)
	}
}
