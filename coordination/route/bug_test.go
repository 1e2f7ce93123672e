package route_test

import (
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// One reply was matched once for each bot that saw it.
func TestBug35_AReplyIsOneAnswer(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	m := w.message("eden", thread, "여기")
	answers := 0
	for range 4 {
		if w.hears(m).Answers {
			answers++
		}
	}
	if answers != 1 {
		t.Errorf("%d answers, want one", answers)
	}
}

// Two agents that took half a minute each talked for ever.
func TestBug38_SlowLoopsEnd(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	speaker, said := "eden", 0
	for range 1000 { // handlers answer, and no other agent speaks
		d := w.after(30*time.Second).says(speaker, thread, "고마워요")
		said++
		handlers := d.Handlers()
		if len(handlers) == 0 {
			break
		}
		speaker = handlers[0]
	}
	if said != 13 {
		t.Errorf("%d messages, want 13", said)
	}
}

// A report mentioned an agent, and the agent ran.
func TestBug39_SinkMentionsRunNoAgent(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.want(w.says("eden", "700000000000000099", "@seum a2a.send: 안녕"), "dropped:own_message dropped:sink_thread")
	w.want(w.says("reporter", thread, "@seum a2a.send: 안녕"), "dropped:sink_post")
	if w.participants() != "" || len(w.s.Guard.Places) != 0 {
		t.Errorf("participants %q, guard %+v", w.participants(), w.s.Guard)
	}
}

// What was registered meanwhile was lost when the file was read again: folding the log from its beginning is the same as going on.
func TestBug41_ReplayKeepsParticipants(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	w.after(time.Minute).says("human", thread, "@seum 도 봐줘")
	if w.participants() != "eden ruda seum" {
		t.Fatalf("participants %q", w.participants())
	}
	again := discord(t)
	again.collaborates("ruda", "eden")
	for range 2 { // the same events, and again
		for _, e := range w.events {
			again.fold(e)
		}
	}
	again.now = w.now
	if again.participants() != w.participants() {
		t.Errorf("participants are %q, want %q", again.participants(), w.participants())
	}
	before := w.s.Participants.Clone()
	w.after(time.Minute).says("human", thread, "@dajim 도 봐줘")
	if got := before.Of(thread, w.now, w.s.Policy.ParticipantTTL); len(got) != 3 {
		t.Errorf("a copy has %v", got)
	}
}

// A mention by a person who may not speak made an agent a participant.
func TestBug42_OnlyWhoMaySpeakRegisters(t *testing.T) {
	t.Parallel()
	w := discord(t)
	restricted(w, nil)
	for _, who := range []string{"stranger", "foreign"} {
		d := w.says(who, thread, "@eden @seum")
		if len(d.Enrol) != 0 || len(d.Handlers()) != 0 || d.Turn != route.NoTurn {
			t.Errorf("%s: enrolled %v, %s", who, d.Enrol, short(d))
		}
	}
	w.want(w.says("human", thread, "안녕"), "observer:not_participant")
	w.says("human", thread, "@eden")
	w.want(w.says("human", thread, "안녕"), "eden=participant observer:not_participant")
}

// What came while an agent was told of the rest was deleted with it. Nothing is: what an agent has observed it remembers, also once it was told.
func TestBug43_DeliveredContextStays(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.says("human", channel, "@ruda 하나")
	w.after(time.Second).says("human", channel, "@eden 뭐래?")
	w.after(time.Second).says("human", channel, "@ruda 둘")
	left := w.history.Of("eden", channel, w.now)
	if len(left) != 2 || left[0].Summary != "@루다 하나" || left[1].Summary != "@루다 둘" {
		t.Errorf("left are %+v", left)
	}
}

// What the guard held was nowhere to be seen.
func TestBug46_WhatIsHeldIsRecorded(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	for range 7 {
		w.after(time.Second).says("ruda", thread, "네, 그리고")
	}
	events := 0
	for _, e := range w.events {
		d, ok := inbound(e)
		if ok && d.Reason == string(route.Suspended) {
			events++
			if e.Type != coordination.TypeDiscordInboundObserved || e.AgentID != "eden" || d.Summary != "네, 그리고" {
				t.Errorf("%+v", e)
			}
		}
	}
	if held := w.history.Of("eden", thread, w.now); events != 1 || len(held) != 1 || held[0].Summary != "네, 그리고" {
		t.Errorf("%d events, and eden remembers %+v", events, held)
	}
}

// An agent that may not have another one run mentioned it, and it ran, and took part from then on.
func TestBug47_MentionsFollowThePolicy(t *testing.T) {
	t.Parallel()
	w := discord(t)
	onlySeum(w, nil)
	w.want(w.says("ruda", thread, "@eden 봐줘"), "dropped:own_message observer:a2a_not_allowed observer:not_participant")
	if w.participants() != "ruda" {
		t.Errorf("participants are %q, want ruda alone, who has written", w.participants())
	}
	w.want(w.says("human", thread, "@eden 봐줘"), "eden=mentioned/primary ruda=participant observer:not_participant")
	w.want(w.says("ruda", thread, "@eden 이것도"), "eden=mentioned dropped:own_message observer:not_participant")
}
