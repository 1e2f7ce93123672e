package slack_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/channel"
)

// What agents write in Markdown arrives in Slack's markup, and nothing in it can notify anyone who is not to be.
func TestMarkdownIsRendered(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.accounts = m.accounts[:1]
	m.start()
	m.post(m.channel.ID, "so that bora is known "+m.bora.Mention())
	m.untilTold("ruda", "created so that bora is known "+m.bora.Mention())
	c := m.settings()
	c.Slack.Collaboration.RateLimit.MessagesPerSecond = 1000
	m.Configure(c)
	fence := "```"
	for from, want := range map[string]string{
		"plain":                              "plain",
		"a < b & c > d":                      "a &lt; b &amp; c &gt; d",
		"**bold** and *italic* and ~~gone~~": "*bold* and _italic_ and ~gone~",
		"__bold__ but snake_case_name":       "*bold* but snake_case_name",
		"2 * 3 * 4 and **open":               "2 * 3 * 4 and **open",
		"# Title **x**":                      "*Title x*",
		"- one\n  * two\n1. three":           "• one\n  • two\n1. three",
		"> quoted < text":                    "> quoted &lt; text",
		"[a|b](https://x.io/?a=1&b=<2>)":     "<https://x.io/?a=1&amp;b=%3C2%3E|a/b>",
		"![pic](https://x.io/p.png)":         "<https://x.io/p.png|pic>",
		"see https://x.io/?a=1&b=2 now":      "see https://x.io/?a=1&amp;b=2 now",
		"<https://x.io>":                     "<https://x.io>",
		"`a < **b**` **c**":                  "`a &lt; **b**` *c*",
		"`` a`b ``":                          "`a'b`",
		fence + "go\nif a < b { **x** }\n" + fence + "\n**y**": fence + "\nif a &lt; b { **x** }\n" + fence + "\n*y*",
		"~~~\n<!here> [a](https://b.c)\n~~~":                   fence + "\n&lt;!here&gt; [a](https://b.c)\n" + fence,
		"<!channel> <!here|x> <#C1|y> <@UNKNOWN>":              "&lt;!channel&gt; &lt;!here|x&gt; &lt;#C1|y&gt; @UNKNOWN",
		"hi " + m.bora.Mention():                               "hi @bora",
		`\*not italic\* \<`:                                    "*not italic* &lt;",
		"한국어 **굵게** 끝":                                         "한국어 *굵게* 끝",
	} {
		if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: from}); err != nil {
			t.Fatal(err)
		}
		if got := m.last(m.channel.ID).Text; got != want {
			t.Errorf("%q is posted as\n%q, want\n%q", from, got, want)
		}
	}
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.place, Content: "hi " + m.bora.Mention(), Notify: []string{m.bora.ID}}); err != nil {
		t.Fatal(err)
	}
	if got := m.last(m.channel.ID).Text; got != "hi "+m.bora.Mention() {
		t.Errorf("the post is %q, want the mention of a user who is to be notified", got)
	}
}

// What people and apps write in Slack's markup arrives as text, and only mentions look like mentions.
func TestTextsAreTranslated(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.accounts = m.accounts[:1]
	m.start()
	for from, want := range map[string]string{
		"a < b & c":                       "a < b & c",
		"hi " + m.ruda.Mention():          "hi " + m.ruda.Mention(),
		"<!here> look":                    "@here look",
		"in <#" + m.channel.ID + "|gone>": "in #gone",
		"in <#" + m.channel.ID + ">":      "in #general",
		"a trap: < @x <@lower>":           "a trap: < @x <\u200b@lower>",
	} {
		m.post(m.channel.ID, from)
		m.untilTold("ruda", "created "+want)
	}
	for from, want := range map[string]string{ // which apps can write
		"<https://x.io|here> <https://y.io>":          "[here](https://x.io) https://y.io",
		"<mailto:a@b.c|a@b.c> <https://z.io|z.io>":    "a@b.c https://z.io",
		"<!subteam^S1|@crew> <!date^1^{date}|Monday>": "@crew Monday",
		"<@" + m.bora.ID + "|bora> is here":           m.bora.Mention() + " is here",
	} {
		m.write(m.eden, m.channel.ID, from)
		m.untilTold("ruda", "created "+want)
	}
	if all := m.told("ruda"); strings.Contains(strings.Join(all, ""), "<@lower") {
		t.Error("a text looks like a mention")
	}
}
