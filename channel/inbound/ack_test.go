package inbound_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

// ack is the acknowledgement of a message by an agent, nil if there is none.
func (l *fixture) ack(messageID, agent string) *delivery.Ack {
	l.t.Helper()
	events := l.events(coordination.WorkStream(delivery.AckEffect(messageID, agent)))
	if len(events) == 0 {
		return nil
	}
	scheduled, a := read[coordination.WorkScheduled](l.t, &events[0]), &delivery.Ack{}
	if err := json.Unmarshal(scheduled.Payload, a); err != nil || scheduled.Kind != "discord.ack" || scheduled.Pool != "discord" {
		l.t.Fatalf("%+v, %v is no acknowledgement", scheduled, err)
	}
	return a
}

// Only what an agent handles for a person is acknowledged, by its bot, within the scope; and once, however often it is heard.
func TestHandledMessagesAreAcknowledged(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string][3]bool{ // mentioned, not mentioned, direct
		"group-mentions": {true, false, false}, "group-all": {true, true, false}, "direct": {false, false, true}, "all": {true, true, true}, "off": {}, "none": {},
	} {
		l := setup(t, setting{discord: `"dmPolicy": "open"`, config: `"messages": {"ackReaction": "👀", "ackReactionScope": "` + scope + `"}`})
		in := l.message("bora", general, "@eden 봐줘")
		mentioned, plain := l.hears(in), l.after(time.Second).says("bora", general, "누구 있나요?")
		private := l.message("bora", "500000000000000001", "안녕")
		private.AccountID, private.Message.GuildID = "acc-ruda", ""
		direct := l.hears(private)
		l = l.reopened()
		l.hears(in)
		for i, one := range []struct{ id, agent string }{{mentioned, "eden"}, {plain, "ruda"}, {direct, "ruda"}} {
			a := l.ack(one.id, one.agent)
			if (a != nil) != want[i] || a != nil && (a.Emoji != "👀" || a.AccountID != "acc-"+one.agent || a.MessageID != one.id || a.Remove) {
				t.Errorf("%s: message %d is acknowledged by %+v, want %v", scope, i, a, want[i])
			}
		}
		if l.ack(mentioned, "ruda") != nil {
			t.Errorf("%s: an observer acknowledges a message", scope)
		}
	}
}

// Bots are not acknowledged, and without an emoji no one is. A place that makes no sense does not hold up the run.
func TestOthersAreNotAcknowledged(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{config: `"messages": {"ackReactionScope": "all"}`})
	if l.ack(l.says("bora", general, "@eden 봐줘"), "eden") != nil {
		t.Error("a message is acknowledged without an emoji")
	}
	l = setup(t, setting{config: `"messages": {"ackReaction": "👀", "ackReactionScope": "all"}`, logs: &buffer{}})
	if l.ack(l.says("ruda", general, "@eden 봐줘"), "eden") != nil {
		t.Error("an agent's message is acknowledged")
	}
	in := l.message("bora", general, "@eden 봐줘")
	in.Message.ID = "not-a-number"
	if id := l.hears(in); l.runsOf(id) != "eden" || l.ack(id, "eden") != nil {
		t.Errorf("%q run, acknowledged %+v; want eden alone", l.runsOf(id), l.ack(id, "eden"))
	}
}
