package inbound_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const group = "telegram:-100123"

// elsewhere is a message in a place of Telegram.
func (l *fixture) elsewhere(id, place, text string) channel.Inbound {
	in := l.message("bora", place, text)
	m := &in.Message
	m.ID, m.GuildID = id, group
	if place != group {
		m.ParentID, m.ThreadName = group, "plans"
	}
	return in
}

// What is heard of another channel is decided in its streams, and run in its sessions.
func TestOtherChannelsHaveTheirOwnStreamsAndSessions(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{channel: "telegram", channels: `"telegram": {"groupPolicy": "open"}`})
	for id, c := range map[string]struct{ place, session string }{
		group + ":5": {group, "agent:eden:telegram:group:-100123"},
		group + ":6": {group + ":topic:7", "agent:eden:telegram:group:-100123:topic:7"},
	} {
		l.hears(l.elsewhere(id, c.place, "@eden 봐줘"))
		events := l.events("telegram/" + strings.TrimPrefix(id, "telegram:"))
		if len(events) == 0 || events[0].Type != coordination.TypeDiscordInboundHandled || events[0].AgentID != "eden" {
			t.Fatalf("%s: the events are %+v, want it handled by eden", id, events)
		}
		if d := read[coordination.DiscordInbound](t, &events[0]); d.Channel != "telegram" || d.MessageID != id || d.RunID != id+":eden" {
			t.Errorf("%s: the decision is %+v", id, d)
		}
		q := l.asked(id, "eden")
		if q == nil || q.SessionKey != c.session || q.Cause != "telegram" || q.By != "telegram:"+userID("bora") || q.Channel != "telegram" || q.To != "channel:"+group {
			t.Errorf("%s: the run is %+v, want it in session %s", id, q, c.session)
		}
	}
	key, err := coordination.ParseSessionKey("agent:ruda:telegram:group:-100123")
	if err != nil {
		t.Fatal(err)
	}
	l.hears(l.elsewhere(group+":8", group, "@eden 그리고"))
	var told string
	_, err = l.db.Decide(t.Context(), func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
		told, err = l.Remembered(tx, key, l.clock())
		return nil, err
	})
	if err != nil || !strings.Contains(told, "그리고") {
		t.Errorf("ruda is told %q, %v, want what it has observed in the group", told, err)
	}
}

// A message with an id of another channel is not decided: neither its stream nor its place is that channel's.
func TestMadeUpIdsAreNotDecided(t *testing.T) {
	t.Parallel()
	for channelName, ids := range map[string][]string{
		"telegram": {"600000000000000001", "slack:c1:5", "telegram:-100123:5:6", "telegram:C1:5"},
		"discord":  {"telegram:-100123:5", "slack:c1:5", "telegram:"},
	} {
		l := setup(t, setting{channel: channelName})
		before, err := l.db.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			in := l.message("bora", general, "@eden 봐줘")
			in.Message.ID = id
			if channelName != "discord" {
				in = l.elsewhere(id, group, "@eden 봐줘")
			}
			l.hears(in)
			foreign := l.elsewhere(group+":77", group, "@eden 봐줘")
			if foreign.Message.ReplyTo = "600000000000000001"; channelName == "telegram" {
				l.hears(foreign)
			}
		}
		if after, err := l.db.Head(t.Context()); err != nil || after.Seq != before.Seq {
			t.Errorf("%s: %d events were written, %v, want none", channelName, after.Seq-before.Seq, err)
		}
	}
}
