package coordination_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

func TestLinksLeadToTheMessageAndBack(t *testing.T) {
	t.Parallel()
	sites := []coordination.Site{{GuildID: "slack:t1", URL: "https://team.slack.com/"}, {GuildID: "slack:t2", URL: "https://other.slack.com/"}}
	for _, c := range []struct{ guild, place, message, link, back string }{
		{"1", "2", "3", "https://discord.com/channels/1/2/3", "3"},
		{"", "2", "3", "https://discord.com/channels/@me/2/3", "3"},
		{"1", "2", "", "https://discord.com/channels/1/2", ""},
		{"telegram:-1001234", "telegram:-1001234", "telegram:-1001234:55", "https://t.me/c/1234/55", "telegram:-1001234:55"},
		{"telegram:-1001234", "telegram:-1001234:topic:7", "telegram:-1001234:55", "https://t.me/c/1234/7/55", "telegram:-1001234:55"},
		{"telegram:-1001234", "telegram:-1001234:topic:7", "", "https://t.me/c/1234/7", "telegram:-1001234:7"}, // a topic has the number of its first message
		{"telegram:-1001234", "telegram:-1001234:topic:7", "slack:c1:1.000001", "https://t.me/c/1234/7", "telegram:-1001234:7"},
		{"telegram:-1001234", "telegram:-1001234", "", "", ""},
		{"telegram:-77", "telegram:-77", "telegram:-77:hab", "", ""},
		{"", "telegram:7.8", "telegram:7.8:9", "", ""},
		{"slack:t1", "slack:c0a", "slack:c0a:1700000000.000100", "https://team.slack.com/archives/C0A/p1700000000000100", "slack:c0a:1700000000.000100"},
		{"slack:t1", "slack:c0a:thread:1700000000.000100", "slack:c0a:1700000009.000200",
			"https://team.slack.com/archives/C0A/p1700000009000200?cid=C0A&thread_ts=1700000000.000100", "slack:c0a:1700000009.000200"},
		{"slack:t1", "slack:c0a:thread:1700000000.000100", "", "https://team.slack.com/archives/C0A/p1700000000000100", "slack:c0a:1700000000.000100"},
		{"slack:t2", "slack:c0a", "", "https://other.slack.com/archives/C0A", ""},
		{"slack:t3", "slack:c0a", "slack:c0a:1700000000.000100", "https://app.slack.com/client/T3/C0A", ""},
		{"", "slack:d0a", "slack:d0a:1700000000.000100", "", ""}, // whose workspace is not known
		{"slack:t1", "slack:c0a:1:2:3", "", "", ""},
	} {
		link := coordination.Link(c.guild, c.place, c.message, sites)
		if link != c.link {
			t.Errorf("%s %s: %q, want %q", c.place, c.message, link, c.link)
		}
		if back := coordination.MessageOfLink(link); back != c.back {
			t.Errorf("%q leads to %q, want %q", link, back, c.back)
		}
	}
	if link := coordination.Link("", "slack:d0a", "slack:d0a:1700000000.000100", sites[:1]); link != "https://team.slack.com/archives/D0A/p1700000000000100" {
		t.Errorf("%q, want the only workspace's", link)
	}
}

func TestOtherLinksNameNoMessage(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"", "3", "https://example.com/channels/1/2/3", "https://notdiscord.com/channels/1/2/3", "https://discord.com/channels/1/2/x",
		"https://t.me/team/55", "https://t.me/c/1234", "https://team.slack.com/archives/C0A", "https://team.slack.com/archives/C0A/p1", "ftp://t.me/c/1/2",
		"https://t.me/c/12:3/5"} {
		if id := coordination.MessageOfLink(link); id != "" {
			t.Errorf("%q names %q, want none", link, id)
		}
	}
}
