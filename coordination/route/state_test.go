package route_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// The scenarios T1 to T8 and EC: who takes part in a thread, in the order of a story.
func TestParticipants(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	if w.participants() != "eden ruda" {
		t.Fatalf("T1: participants are %q", w.participants())
	}
	w.want(w.says("ruda", thread, "@eden\n\n코드 리뷰 해줘"), "eden=mentioned dropped:own_message observer:not_participant")
	w.want(w.says("eden", thread, "봤습니다"), "ruda=participant dropped:own_message observer:not_participant")
	w.want(w.says("ruda", thread, "고마워, 한 가지 더"), "eden=participant dropped:own_message observer:not_participant")
	w.want(w.says("ruda", thread, "@seum 도 확인해봐"), "eden=participant seum=mentioned/primary dropped:own_message observer:not_participant")
	if w.count(coordination.TypeThreadParticipantRegistered) != 1 {
		t.Errorf("T4: %+v", w.events)
	}
	w.want(w.says("human", thread, "어때요?"), "eden=participant ruda=participant seum=participant observer:not_participant")
	w.want(w.says("dajim", thread, "저도 있습니다"), "eden=participant ruda=participant seum=participant dropped:own_message")
	if w.participants() != "dajim eden ruda seum" {
		t.Errorf("who posts takes part: %q", w.participants())
	}

	stored := w.s.Participants
	w.s.Participants = nil
	d := w.says("human", thread, "다시 시작했다")
	if w.want(d, "observer:mention_only"); !slices.Contains(d.Warnings, route.WarnParticipantsUnknown) {
		t.Errorf("T7: warned of %v", d.Warnings)
	}
	w.s.Participants = route.Attendance{}
	w.want(w.says("human", thread, "@eden 안녕"), "eden=mentioned observer:not_participant")
	w.want(w.says("human", thread, "안녕"), "eden=participant observer:not_participant")
	w.s.Participants = stored
	w.want(w.says("human", thread, "돌아왔다"), "dajim=participant eden=participant ruda=participant seum=participant")
}

// T8: a participant stays until 24 hours of silence. Messages of any author count.
func TestParticipantsExpire(t *testing.T) {
	t.Parallel()
	const ttl = 24 * time.Hour
	w := discord(t)
	w.collaborates("ruda", "eden")
	restricted(w, nil)
	w.after(ttl-time.Millisecond).says("stranger", thread, "지나가다")
	w.after(ttl - time.Millisecond)
	sent, _ := json.Marshal(coordination.DiscordOutbound{ChannelID: channel, ThreadID: thread})
	if means, err := w.s.Participants.Apply(coordination.TypeDiscordSent, "ruda", sent, w.now); !means || err != nil {
		t.Fatalf("what is posted means %v, %v", means, err)
	}
	end := w.now + ttl.Milliseconds()
	if events, next := w.s.Participants.Due(end-1, ttl); len(events) != 0 || next != end {
		t.Errorf("%d are due, the next at %d, want %d", len(events), next, end)
	}
	if w.now = end - 1; w.participants() != "eden ruda" {
		t.Errorf("participants are %q after all but 24 hours", w.participants())
	}
	w.now = end
	if w.participants() != "" {
		t.Errorf("participants are %q after 24 hours", w.participants())
	}
	events, next := w.s.Participants.Due(end, ttl)
	if len(events) != 2 || next != 0 || events[0].AgentID != "eden" || events[0].Type != coordination.TypeThreadParticipantExpired {
		t.Errorf("%+v are due, next %d", events, next)
	}

	// A message does not bring expired participants back, with or without an event of the end.
	d := w.says("human", thread, "아직 있어요?")
	w.want(d, "observer:not_participant")
	if w.count(coordination.TypeThreadParticipantExpired) != 2 || !slices.Equal(d.Lapsed, []string{"eden", "ruda"}) {
		t.Errorf("lapsed are %v", d.Lapsed)
	}
	w.want(w.says("human", thread, "저기요"), "observer:not_participant")
	w.collaborates("ruda", "eden")
	unrecorded := w.s.Participants.Clone()
	if _, err := unrecorded.Apply(coordination.TypeDiscordSent, "ruda", sent, w.now+ttl.Milliseconds()); err != nil {
		t.Fatal(err)
	}
	if got := unrecorded.Of(thread, w.now+ttl.Milliseconds(), ttl); len(got) != 0 {
		t.Errorf("%v participate again after a message", got)
	}
	if got := unrecorded.Of(thread, w.now+ttl.Milliseconds(), 2*ttl); len(got) != 2 {
		t.Errorf("%v are there if silence may be longer", got)
	}
	w.s.Participants = unrecorded
	w.after(ttl).collaborates("ruda", "eden")
	if w.participants() != "eden ruda" {
		t.Errorf("participants are %q once they are registered again", w.participants())
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	b := func(agent string, change func(*route.Binding)) route.Binding {
		binding := route.Binding{Agent: agent, Channel: "discord", Account: "a1"}
		change(&binding)
		return binding
	}
	all := []route.Binding{
		b("any", func(b *route.Binding) { b.Account = "*" }),
		b("account", func(*route.Binding) {}),
		b("team", func(b *route.Binding) { b.Team = "T" }),
		b("guild", func(b *route.Binding) { b.Guild = "G" }),
		b("roles", func(b *route.Binding) { b.Guild, b.Roles = "G", []string{"r1", "r2"} }),
		b("peer", func(b *route.Binding) { b.Peer = route.Peer{Kind: "channel", ID: "P"} }),
		b("second", func(b *route.Binding) { b.Peer = route.Peer{Kind: "channel", ID: "P"} }),
	}
	full := route.Spot{Channel: "Discord", Accounts: []string{"a2", "a1"}, Peer: route.Peer{Kind: "channel", ID: "P"}, Guild: "G",
		Roles: []string{"r2"}, Team: "T", Direct: true}
	for _, tt := range []struct {
		name   string
		change func(*route.Spot)
		want   string
	}{
		{"peer", func(*route.Spot) {}, "peer peer"},
		{"the thread's channel", func(s *route.Spot) { s.Parent, s.Peer.ID = s.Peer, "thread" }, "peer peer.parent"},
		{"another kind of peer", func(s *route.Spot) { s.Peer.Kind = "direct" }, "roles guild.roles"},
		{"roles", func(s *route.Spot) { s.Peer.ID = "" }, "roles guild.roles"},
		{"guild", func(s *route.Spot) { s.Peer.ID, s.Roles = "", nil }, "guild guild"},
		{"team", func(s *route.Spot) { s.Peer.ID, s.Guild = "", "" }, "team team"},
		{"account", func(s *route.Spot) { s.Peer.ID, s.Guild, s.Team = "", "", "" }, "account account"},
		{"not of a channel", func(s *route.Spot) { s.Peer.ID, s.Guild, s.Team, s.Direct = "", "", "", false }, "any channel"},
		{"another account", func(s *route.Spot) { s.Accounts = []string{"a2"} }, "any channel"},
		{"another channel", func(s *route.Spot) { s.Channel = "slack" }, "fallback default"},
	} {
		spot := full
		tt.change(&spot)
		agent, tier, _ := route.Resolve(all, &spot, func(string) bool { return true }, "fallback")
		if got := agent + " " + string(tier); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	agent, tier, bound := route.Resolve(all, &full, func(a string) bool { return a != "peer" }, "fallback")
	if agent != "fallback" || tier != route.TierDefault || bound != "peer" {
		t.Errorf("an agent that is not there is %s of %s, bound %s", agent, tier, bound)
	}
	without := []route.Binding{{Agent: "Eden", Channel: "discord"}}
	for account, want := range map[string]string{"default": "eden", "a1": "fallback"} {
		spot := route.Spot{Channel: "discord", Accounts: []string{account}, Direct: true}
		if agent, _, _ := route.Resolve(without, &spot, func(string) bool { return true }, "fallback"); agent != want {
			t.Errorf("a binding without an account gives %s to %s, want %s", account, agent, want)
		}
	}
}

// The account that an agent speaks through makes it no owner of every channel.
func TestAccountsOwnNoChannel(t *testing.T) {
	t.Parallel()
	w := discord(t)
	for _, b := range w.s.Bots {
		w.s.Bindings = append([]route.Binding{{Agent: b.Agent, Channel: "discord", Account: b.AccountID}}, w.s.Bindings...)
	}
	w.want(w.says("human", channel, "안녕"), "ruda=default_agent observer:not_owner")
}

func TestEvents(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	w.says("human", thread, "token=0123456789abcdef0123 @seum @ruda 이거")
	type line struct{ typ, agent, decision, reason, order, turn, agents string }
	var got []line
	for _, e := range w.events {
		if e.At != w.now {
			t.Errorf("%s is at %d, want %d", e.Type, e.At, w.now)
		}
		l := line{typ: e.Type, agent: e.AgentID}
		if d, ok := inbound(e); ok {
			l.decision, l.reason, l.order, l.turn, l.agents = d.Decision, d.Reason, d.Order, d.Turn, strings.Join(d.Agents, " ")
			if strings.Contains(d.Text+d.Summary, "0123456789abcdef") || d.EventRole != coordination.RoleObservability {
				t.Errorf("%+v", d)
			}
		}
		got = append(got, l)
	}
	want := []line{
		{coordination.TypeDiscordInboundHandled, "eden", "handler", "participant", "", "human", ""},
		{coordination.TypeDiscordInboundHandled, "ruda", "handler", "mentioned", "secondary", "", ""},
		{coordination.TypeDiscordInboundHandled, "seum", "handler", "mentioned", "primary", "", ""},
		{coordination.TypeDiscordInboundObserved, "dajim", "observer", "not_participant", "", "", "dajim"},
		{typ: coordination.TypeThreadParticipantRegistered, agent: "seum"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for i := range w.s.Bots {
		w.s.Bots[i].Blind = w.s.Bots[i].Agent != "eden"
	}
	w.says("eden", thread, "혼자입니다")
	if d, ok := inbound(w.events[0]); !ok || d.Reason != string(route.OwnMessage) || d.Turn != "bot" || !d.Answers || w.events[0].AgentID != "eden" {
		t.Errorf("where no other agent sees it: %+v", w.events)
	}
	if d := w.says("reporter", thread, "x"); d.Turn != route.NoTurn || w.count(coordination.TypeDiscordInboundDropped) != 1 {
		t.Errorf("a report: %+v", w.events)
	}
}

// What cannot be read changes nothing and is an error; what is redacted, or of another kind, means nothing.
func TestApplyWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	w.says("ruda", thread, "@eden 네")
	states := map[string]func(string, string, []byte, int64) (bool, error){
		"participants": w.s.Participants.Apply, "guard": w.s.Guard.Apply, "history": w.history.Apply, "ledger": w.ledger.Apply,
	}
	handled := map[string][]string{
		"participants": {coordination.TypeThreadParticipantRegistered, coordination.TypeThreadParticipantExpired, coordination.TypeDiscordInboundDropped},
		"guard":        {coordination.TypeThreadSuspended, coordination.TypeThreadReleased, coordination.TypeDiscordInboundHandled},
		"history":      {coordination.TypeDiscordInboundObserved},
		"ledger":       {coordination.TypeDiscordInboundObserved},
	}
	before := [2]any{w.s.Participants.Clone(), w.s.Guard.Clone()}
	for name, apply := range states {
		for _, typ := range handled[name] {
			if means, err := apply(typ, "eden", []byte(`{"threadId":7}`+"["), w.now); means || err == nil || !strings.Contains(err.Error(), typ) {
				t.Errorf("%s: %s that cannot be read: %v, %v", name, typ, means, err)
			}
			if means, err := apply(typ, "eden", nil, w.now+minute); means || err != nil {
				t.Errorf("%s: %s that is redacted: %v, %v", name, typ, means, err)
			}
		}
		if means, err := apply(coordination.TypeTaskStarted, "eden", []byte("["), w.now); means || err != nil {
			t.Errorf("%s: another event: %v, %v", name, means, err)
		}
	}
	if diff := cmp.Diff(before, [2]any{w.s.Participants, w.s.Guard}); diff != "" {
		t.Errorf("it has changed: -before +after\n%s", diff)
	}
}

// What is kept in memory for long does not grow for ever.
func TestForget(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.ledger = route.NewLedger(10)
	for range 30 {
		w.after(time.Minute).says("ruda", thread, "@eden 네")
	}
	m := w.message("human", channel, "안녕")
	w.hears(m)
	if w.ledger.Earlier(m.ID) == nil || w.ledger.Earlier("5000001") != nil {
		t.Error("the ledger remembers something else than the newest messages")
	}
	w.s.Guard.Forget(w.now)
	if len(w.s.Guard.Pairs) != 1 || len(w.s.Guard.Places) != 1 {
		t.Errorf("forgotten too early: %+v", w.s.Guard)
	}
	for place := range w.s.Guard.Places {
		w.fold(route.Released(place, w.now))
	}
	w.says("ruda", thread, "@eden 네")
	w.s.Guard.Forget(w.now + 25*hour)
	if len(w.s.Guard.Pairs) != 0 || len(w.s.Guard.Places) != 0 {
		t.Errorf("kept: %+v", w.s.Guard)
	}
}

// What is folded for the second time changes nothing but counters of the guard, which the log holds once.
func TestFoldingAnEventAgain(t *testing.T) {
	t.Parallel()
	w := discord(t)
	m := w.message("human", channel, "@ruda @eden 하나")
	d := w.hears(m)
	for _, e := range w.events {
		w.fold(e)
	}
	if n := w.history.Len("seum", channel); n != 1 {
		t.Errorf("seum remembers %d messages", n)
	}
	if earlier := w.ledger.Earlier(m.ID); len(earlier.Verdicts) != len(d.Verdicts) {
		t.Errorf("the ledger has %d verdicts of %d", len(earlier.Verdicts), len(d.Verdicts))
	}
	// As another producer may have it.
	one := coordination.DiscordInbound{MessageID: "1", ChannelID: channel, AuthorID: "77", Decision: "observer", Summary: "s"}
	w.fold(route.Event{Type: coordination.TypeDiscordInboundObserved, AgentID: "dajim", At: w.now + 1, Data: one})
	if left := w.history.Of("dajim", channel, w.now); len(left) != 2 || left[1].Sender != "77" {
		t.Errorf("dajim remembers %+v", left)
	}
	gone := coordination.ThreadParticipant{ThreadID: thread, AgentID: "dajim"}
	data, _ := json.Marshal(gone)
	if means, err := w.s.Participants.Apply(coordination.TypeThreadParticipantExpired, "dajim", data, w.now); means || err != nil {
		t.Errorf("the end of what was not there: %v, %v", means, err)
	}
}

// Nothing but the message and the bots is needed.
func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	w := discord(t)
	claimed := route.Bot{UserID: userID("eden"), AccountID: "z", Agent: "zz"} // a user id that is another agent's
	none := route.Bot{Agent: "nix"}
	bots := append(team(), claimed, none)
	d := route.Decide(&route.Situation{Message: w.message("ruda", channel, "@eden 네"), Bots: bots, Policy: policy()})
	w.want(d, "eden=mentioned dropped:own_message observer:other_mentioned")
	if len(d.Verdicts) != 4 {
		t.Errorf("%d verdicts", len(d.Verdicts))
	}
}

// A reminder registers whom it mentions, as after a restart that has lost everything, but not the agent in whose name it is.
func TestRemindersRegisterWhoIsMentioned(t *testing.T) {
	t.Parallel()
	w := discord(t)
	m := w.message("ruda", thread, "[리마인더] @eden 위 요청 확인 부탁해요.")
	m.System = true
	w.hears(m)
	if w.participants() != "eden" {
		t.Errorf("participants are %q, want eden", w.participants())
	}
}

// Of those who handle a message in a thread the one that is mentioned is told that it leads, and participants to whom it is addressed.
func TestParticipantsAreToldToWhomAMessageIsAddressed(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.collaborates("ruda", "eden")
	d := w.says("human", thread, "@seum @dajim 도 확인해봐")
	addressed := "이 메시지는 세움, 다짐에게 한 말입니다. 덧붙일 것이 있을 때만 답하고, 없으면 NO_REPLY라고만 답하세요."
	for agent, want := range map[string]string{"seum": "당신이 이 요청의 주 담당입니다. 리드하여 응답하세요.",
		"dajim": "당신은 보조 역할입니다. 세움의 응답이 있으면 참고하여 보완 의견을 제시하세요.", "ruda": addressed, "eden": addressed} {
		if v, _ := d.Of(agent); v.Mode != route.Handler || strings.Join(v.Hints, "\n") != want {
			t.Errorf("%s, a %s, is told %q, want %q", agent, v.Mode, v.Hints, want)
		}
	}
	d = w.says("ruda", thread, "@eden 확인해봐")
	if v, _ := d.Of("seum"); v.Mode != route.Handler || len(v.Hints) != 1 || !strings.Contains(v.Hints[0], "이든에게 한 말") {
		t.Errorf("seum, who takes part by now, is a %s and told %q", v.Mode, v.Hints)
	}
	d = w.says("human", thread, "어때요?")
	if v, _ := d.Of("eden"); len(v.Hints) != 0 {
		t.Errorf("eden gets hints %q for a message without mentions", v.Hints)
	}
}
