package collabtools_test

import (
	"context"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// forum is what the bots of two agents know of a group of Telegram with topics.
type forum struct{}

const (
	telegramGroup   = "telegram:-1001234567890"
	telegramPrivate = "telegram:42.7"
)

func (forum) Name() string { return coordination.Telegram }

func (forum) Connected() []collaborate.Bot {
	return []collaborate.Bot{{AccountID: "ruda", UserID: "7", Agent: "ruda"}, {AccountID: "eden", UserID: "8", Agent: "eden"}}
}

func (forum) Known(id string) (p collaborate.Place, is bool) {
	switch id {
	case telegramGroup:
		return collaborate.Place{ID: id, Kind: collaborate.Text, GuildID: id}, true
	case telegramPrivate:
		return collaborate.Place{ID: id, Kind: collaborate.Direct}, true
	}
	return p, false
}

func (f forum) Place(_ context.Context, _, id string) (p collaborate.Place, is bool, err error) {
	p, is = f.Known(id)
	return p, is, nil
}

// A request is posted in the channel of the place that it names, else in that of its session if both agents are there and threads can be
// opened, else where the agents' meeting is configured.
func TestChannelOfARequest(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: 1, forum: true})
	inGroup := caller("ruda")
	inGroup.SessionKey, inGroup.Channel = "agent:ruda:telegram:group:-1001234567890", "telegram"
	direct := caller("ruda")
	direct.Channel, direct.To, direct.AccountID = "telegram", "channel:"+telegramPrivate, "ruda"
	for _, c := range []struct {
		what string
		from tool.Caller
		args []string
		want string
	}{
		{"a web session", caller("ruda"), nil, m.lobby.ID},
		{"a group of Telegram", inGroup, nil, telegramGroup},
		{"a private chat of Telegram", direct, nil, m.lobby.ID},
		{"a group of Telegram, for an agent that is not there", inGroup, []string{"targetAgent", "seum"}, m.lobby.ID},
		{"a group of Telegram, naming a channel of Discord", inGroup, []string{"channelId", m.lab.ID}, m.lab.ID},
		{"a web session, naming a group of Telegram", caller("ruda"), []string{"channelId", telegramGroup}, telegramGroup},
	} {
		a := m.asks(c.from, c.what, append([]string{"threadName", c.what}, c.args...)...)
		if a.text("channelId") != c.want || a.text("status") != "accepted" {
			t.Errorf("%s: %v, want a request in %s", c.what, a, c.want)
		}
	}
	for place, code := range map[string]string{"telegram:-1009": collaborate.CodeNotFound, "slack:c0123456789": collaborate.CodeMapping, "telegram:-1:5": collaborate.CodeNotFound} {
		m.refuses(code, inGroup, "to "+place, "channelId", place)
	}
}
