package outbound_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/discord"
)

const (
	rudaID  = "700000000000000001"
	edenID  = "700000000000000002"
	seumID  = "700000000000000003"
	boraID  = "700000000000000009"
	general = "900000000000000001"
	aThread = "900000000000000002"
)

// team is three agents with bots, one without, and a person, in no Discord.
func team(t *testing.T) outbound.Replies {
	t.Helper()
	text := fmt.Sprintf(`{
		"agents": {"list": [{"id": "ruda", "name": "루다"}, {"id": "eden", "name": "이든"}, {"id": "seum", "name": "세움"}, {"id": "yunseul", "name": "윤슬"}]},
		"bindings": [{"agentId": "eden", "match": {"channel": "discord", "accountId": "eden-bot"}}],
		"channels": {"discord": {"mentions": {%q: "보라"}, "accounts": {
			"ruda": {"token": "a", "botUserId": %q}, "eden-bot": {"token": "b", "botUserId": %q}, "seum": {"token": "c", "botUserId": %q}}}}
	}`, boraID, rudaID, edenID, seumID)
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	bots := discord.New(channel.Options{OnMessage: func(channel.Inbound) {}})
	bots.Configure(c)
	return outbound.Replies{Accounts: bots.Registry, Config: func() *config.Config { return c }}
}

// An agent mentions another one by its name; other words, and code, stay as they are.
func TestNamesBecomeMentions(t *testing.T) {
	t.Parallel()
	r := team(t)
	for _, c := range []struct{ text, want, notify string }{
		{"@세움 도 확인해봐", "<@" + seumID + "> 도 확인해봐", seumID},
		{"@세움도 확인해봐", "<@" + seumID + ">도 확인해봐", seumID},
		{"@이든에게 물어봐, @세움님은요?", "<@" + edenID + ">에게 물어봐, <@" + seumID + ">님은요?", edenID + " " + seumID},
		{"(@이든)", "(<@" + edenID + ">)", edenID},
		{"@eden and @EDEN-BOT, @Seum.", "<@" + edenID + "> and <@" + edenID + ">, <@" + seumID + ">.", edenID + " " + seumID},
		{"@eden이 봤어", "<@" + edenID + ">이 봤어", edenID},
		{"@보라 확인 부탁해요", "<@" + boraID + "> 확인 부탁해요", boraID},
		{"<@" + edenID + "> 와 <@!" + seumID + ">", "<@" + edenID + "> 와 <@!" + seumID + ">", edenID + " " + seumID},
		{"<@" + edenID + "> <@" + edenID + ">", "<@" + edenID + "> <@" + edenID + ">", edenID},
		{"<@800000000000000001> 님", "<@800000000000000001> 님", "800000000000000001"},

		{"@루다 나야", "@루다 나야", ""},
		{"<@" + rudaID + ">", "<@" + rudaID + ">", ""},
		{"@윤슬 은 봇이 없다", "@윤슬 은 봇이 없다", ""},
		{"@세움터 에서", "@세움터 에서", ""},
		{"@edenic @eden-2 @eden_x", "@edenic @eden-2 @eden_x", ""},
		{"a@eden b.@eden https://x.com/@eden", "a@eden b.@eden https://x.com/@eden", ""},
		{"@everyone @here <@&123>", "@everyone @here <@&123>", ""},
		{"`@세움` 과 ``a ` @세움`` <@0>", "`@세움` 과 ``a ` @세움`` <@0>", ""},
		{"```\n@세움 <@" + edenID + ">\n``` @이든", "```\n@세움 <@" + edenID + ">\n``` <@" + edenID + ">", edenID},
		{"```go\n@세움", "```go\n@세움", ""},
		{"` @세움", "` <@" + seumID + ">", seumID},
		{"@", "@", ""},
	} {
		d := reply(t, r, c.text)
		if got, notify := strings.Join(d.Messages, "|"), strings.Join(d.Notify, " "); got != c.want || notify != c.notify {
			t.Errorf("%q is posted as %q and notifies %q, want %q and %q", c.text, got, notify, c.want, c.notify)
		}
	}
}

// reply is what is posted where a run of ruda's in a thread has said a text.
func reply(t *testing.T, r outbound.Replies, text string) delivery.Delivery {
	t.Helper()
	_, d := replies(t, r, asked(), over(run.OK, coordination.RunOver{Text: text}))
	if d == nil {
		t.Fatalf("%q is not posted", text)
	}
	return *d
}
