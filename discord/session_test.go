package discord_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

func TestSessionsAreThoseOfPlaces(t *testing.T) {
	t.Parallel()
	inGuild := channel.Where{AccountID: "Main Bot", GuildID: "1", ChannelID: "42", UserID: "7"}
	alone := channel.Where{AccountID: "Main Bot", ChannelID: "43", UserID: "7"}
	for _, c := range []struct {
		dmScope, scope string
		at             channel.Where
		want           string
	}{
		{"main", "per-sender", inGuild, "agent:ruda:discord:channel:42"},
		{"per-peer", "global", inGuild, "agent:ruda:discord:channel:42"},
		{"per-peer", "per-sender", channel.Where{ChannelID: "44", UserID: "7", Group: true}, "agent:ruda:discord:group:44"},
		{"main", "per-sender", alone, "agent:ruda:main"},
		{"", "", alone, "agent:ruda:main"},
		{"main", "global", alone, "global"},
		{"per-peer", "global", alone, "agent:ruda:direct:7"},
		{"per-channel-peer", "per-sender", alone, "agent:ruda:discord:direct:7"},
		{"per-account-channel-peer", "per-sender", alone, "agent:ruda:discord:main-bot:direct:7"},
		{"per-account-channel-peer", "per-sender", channel.Where{ChannelID: "43", UserID: "7"}, "agent:ruda:discord:default:direct:7"},
		{"per-peer", "per-sender", channel.Where{ChannelID: "43"}, "agent:ruda:main"},
	} {
		conf := config.Default()
		conf.Session.DMScope, conf.Session.Scope = c.dmScope, c.scope
		key := channel.SessionOf(conf, "Ruda", c.at)
		if got := key.String(); got != c.want {
			t.Errorf("with dmScope %q and scope %q, %+v is session %s, want %s", c.dmScope, c.scope, c.at, got, c.want)
		}
		if back, err := coordination.ParseSessionKey(key.String()); err != nil || back != key {
			t.Errorf("%s is read back as %+v, %v, want %+v", key, back, err, key)
		}
	}
}

func TestMessagesAndInteractionsHaveOneSession(t *testing.T) {
	t.Parallel()
	m, c := newClerks(t, func(c *clerk, i channel.Interaction) {
		c.answer(i, channel.InteractionAnswer{Text: "x", Private: true})
	})
	m.start()
	m.registered(m.ruda)
	thread, err := m.bora.StartThread(m.channel.ID, "plans")
	if err != nil {
		t.Fatal(err)
	}
	talk, err := m.bora.Conversation(m.ruda.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"main", "per-peer", "per-account-channel-peer"} {
		conf := config.Default()
		conf.Session.DMScope = scope
		for _, place := range []string{m.channel.ID, thread.ID, talk.ID} {
			text := scope + " " + place
			m.post(place, text)
			m.untilTold("ruda", "created "+text)
			in := m.fact("ruda", "created "+text)
			m.untilAnswered(m.slash(place, m.ruda, "status"))
			told := c.told()
			i := told[len(told)-1]
			if a, b := channel.SessionOf(conf, "ruda", in.Where()), channel.SessionOf(conf, "ruda", i.Where()); a != b {
				t.Errorf("with dmScope %s in %s, messages are of session %s and commands of %s, want one", scope, place, a, b)
			}
		}
	}
}
