package outbound_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
)

// asked is a run that a person has asked for in a thread.
func asked() *coordination.RunQueued {
	hop := 1
	return &coordination.RunQueued{Context: coordination.Context{WorkSessionID: "ws-1", Hop: &hop}, RunID: "discord:1:ruda", Cause: "discord", Deliver: true,
		Channel: "discord", To: "channel:" + general, AccountID: "ruda", ThreadID: aThread, OnRestart: run.OnRestartRetry}
}

func over(s run.State, o coordination.RunOver) *run.Result {
	return &run.Result{RunID: "discord:1:ruda", AgentID: "ruda", State: s, Over: &o}
}

// replies is what is scheduled at the end of a run; nil if nothing is.
func replies(t *testing.T, r outbound.Replies, q *coordination.RunQueued, result *run.Result) (*coordination.WorkScheduled, *delivery.Delivery) {
	t.Helper()
	appends, err := r.Then(nil, q, result, time.UnixMilli(1_790_000_000_000))
	if err != nil {
		t.Fatal(err)
	}
	if len(appends) == 0 {
		return nil, nil
	}
	e := appends[0].Events[0]
	var what coordination.WorkScheduled
	var d delivery.Delivery
	if err := json.Unmarshal(e.Data, &what); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(what.Payload, &d); err != nil {
		t.Fatal(err)
	}
	if len(appends) != 1 || len(appends[0].Events) != 1 || appends[0].Expect != eventstore.NoStream() || appends[0].Stream != coordination.WorkStream(what.EffectID) {
		t.Errorf("appended is %+v, want one work.scheduled that begins its stream", appends)
	}
	return &what, &d
}

func TestAReplyIsWhatTheRunHasSaid(t *testing.T) {
	t.Parallel()
	what, d := replies(t, team(t), asked(), over(run.OK, coordination.RunOver{Text: "[[reply_to_current]]\n네, @이든"}))
	hop := 1
	want := delivery.Delivery{Context: coordination.Context{WorkSessionID: "ws-1", Hop: &hop}, Purpose: delivery.Reply, AgentID: "ruda", AccountID: "ruda",
		ChannelID: general, ThreadID: aThread, Messages: []string{"네, <@" + edenID + ">"}, Notify: []string{edenID}, RunID: "discord:1:ruda"}
	if diff := cmp.Diff(want, *d); diff != "" {
		t.Errorf("the delivery (-want +got):\n%s", diff)
	}
	if what.EffectID != "reply/discord:1:ruda" || what.Owner != "ruda" || what.WorkSessionID != "ws-1" {
		t.Errorf("scheduled is %+v", what)
	}
}

func TestTheAccountIsTheAgentsUnlessItIsNamed(t *testing.T) {
	t.Parallel()
	q := asked()
	q.AccountID = ""
	result := over(run.OK, coordination.RunOver{Text: "hi"})
	result.AgentID = "eden"
	if _, d := replies(t, team(t), q, result); d.AccountID != "eden-bot" {
		t.Errorf("the account is %q, want eden's", d.AccountID)
	}
	result.AgentID = "yunseul"
	r := team(t)
	if _, err := r.Then(nil, q, result, time.Now()); err == nil {
		t.Error("an agent without a bot answers, want an error that says why not")
	}
}

func TestWhatIsNotPosted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(q *coordination.RunQueued, r *run.Result){
		"not to be delivered":       func(q *coordination.RunQueued, _ *run.Result) { q.Deliver = false },
		"for another channel":       func(q *coordination.RunQueued, _ *run.Result) { q.Channel = "slack" },
		"redacted":                  func(_ *coordination.RunQueued, r *run.Result) { r.Over = nil },
		"nothing said":              func(_ *coordination.RunQueued, r *run.Result) { r.Over.Text = " \n" },
		"NO_REPLY":                  func(_ *coordination.RunQueued, r *run.Result) { r.Over.Text = "NO_REPLY\n" },
		"HEARTBEAT_OK":              func(_ *coordination.RunQueued, r *run.Result) { r.Over.Text = "HEARTBEAT_OK." },
		"ANNOUNCE_SKIP":             func(_ *coordination.RunQueued, r *run.Result) { r.Over.Text = "announce_skip" },
		"REPLY_SKIP":                func(_ *coordination.RunQueued, r *run.Result) { r.Over.Text = "REPLY_SKIP" },
		"directive and silence":     func(_ *coordination.RunQueued, r *run.Result) { r.Over.Text = "[[reply_to_current]]\nNO_REPLY" },
		"stopped by a person":       func(_ *coordination.RunQueued, r *run.Result) { r.State, r.Over.Reason = run.Aborted, "stop" },
		"broken off, to be again":   func(_ *coordination.RunQueued, r *run.Result) { r.State, r.Over.Reason = run.Aborted, "restart" },
		"failed, of an agent":       func(q *coordination.RunQueued, r *run.Result) { r.State, q.FromAgent = run.Failed, "eden" },
		"failed, of a continuation": func(q *coordination.RunQueued, r *run.Result) { r.State, q.Cause = run.Failed, "continuation" },
	} {
		q, result := asked(), over(run.OK, coordination.RunOver{Text: "hi"})
		change(q, result)
		if _, d := replies(t, team(t), q, result); d != nil {
			t.Errorf("%s: %+v is posted, want nothing", name, d)
		}
	}
	for _, text := range []string{"NO_REPLY is what I would say", "HEARTBEAT_OK, but", "hi"} {
		if d := reply(t, team(t), text); d.Messages[0] != text {
			t.Errorf("%q is posted as %q", text, d.Messages)
		}
	}
}

func TestAPersonIsToldThatNoAnswerComes(t *testing.T) {
	t.Parallel()
	const secret = "sk-abcdefghijklmnopqrstuvwxyz"
	for name, c := range map[string]struct {
		state run.State
		over  coordination.RunOver
		want  string
	}{
		"failed":    {run.Failed, coordination.RunOver{Error: "the model says `no` to <@1> with " + secret + ".", Text: "half a"}, "루다가 응답하지 못했습니다: the model says 'no' to "},
		"timed out": {run.TimedOut, coordination.RunOver{Error: "the run took longer than 10m0s"}, "루다가 제시간에 응답하지 않았습니다: the run took longer than 10m0s."},
		"silent":    {run.Failed, coordination.RunOver{}, "루다가 응답하지 못했습니다: 로그에 이유가 없습니다."},
		"broken":    {run.Aborted, coordination.RunOver{Reason: "restart"}, "루다가 응답하지 못했습니다: 작업하는 동안 openclawd가 다시 시작되었습니다"},
		"long":      {run.Failed, coordination.RunOver{Error: strings.Repeat("가", 5000)}, "루다가 응답하지 못했습니다: 가가"},
	} {
		q := asked()
		q.OnRestart = run.OnRestartReport
		what, d := replies(t, team(t), q, over(c.state, c.over))
		if d == nil {
			t.Errorf("%s: nothing is posted, want a notice", name)
			continue
		}
		text := d.Messages[0]
		if !strings.HasPrefix(text, c.want) || !strings.Contains(text, q.RunID) || strings.Contains(text, secret) || strings.Contains(text, "<@1>") ||
			utf8.RuneCountInString(text) > 600 {
			t.Errorf("%s: the notice is %q, want it to begin with %q and to name the run", name, text, c.want)
		}
		if d.Purpose != delivery.Notice || !d.System || len(d.Notify) != 0 || d.ThreadID != aThread || what.EffectID != "reply/"+q.RunID {
			t.Errorf("%s: the delivery is %+v, want a notice of the system without a notification", name, d)
		}
	}
}

func TestLongRepliesAreDivided(t *testing.T) {
	t.Parallel()
	d := reply(t, team(t), strings.Repeat("가나다 ", 1000)+"```go\n"+strings.Repeat("x := 1\n", 500)+"```")
	for _, m := range d.Messages {
		if n := utf8.RuneCountInString(m); n > 2000 || strings.Count(m, "```")%2 != 0 {
			t.Errorf("a message has %d characters and its code is not closed, or it is too long", n)
		}
	}
	long := reply(t, team(t), strings.Repeat("가나다라마바사아자 ", 20_000))
	if n := len(long.Messages); n != delivery.MaxMessages || !strings.Contains(long.Messages[n-1], "자는 여기에 게시하지 않습니다") {
		t.Errorf("the longest is %d messages, the last one %q, want %d and one that says that it is not all", n, long.Messages[n-1], delivery.MaxMessages)
	}
}

func TestInvalidPlace(t *testing.T) {
	t.Parallel()
	r := team(t)
	q := asked()
	q.To = "user:bora"
	if _, err := r.Then(nil, q, over(run.OK, coordination.RunOver{Text: "hi"}), time.Now()); err == nil {
		t.Error("it is posted nowhere, want an error that says why")
	}
}

// Announcements of flows are posted once per key.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	o := open(t)
	r := team(t)
	a := outbound.Announcements{Log: o.log, Accounts: o.bots.Registry, Config: r.Config, Now: o.clock}
	if !a.Reaches("discord") || a.Reaches("slack") {
		t.Error("it has to reach discord, and nothing else")
	}
	const key = "7d3c.post"
	for range 2 {
		if err := a.Post(o.ctx, key, "ruda", "channel:"+o.general.ID, "", "", "the result\n"+strings.Repeat("줄 ", 1500)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Post(o.ctx, "silent", "ruda", "channel:"+o.general.ID, "", "", "ANNOUNCE_SKIP"); err != nil {
		t.Fatal(err)
	}
	if err := a.Post(o.ctx, "nowhere", "ruda", "general", "", "", "hi"); err == nil {
		t.Error("a place that is none is taken")
	}
	o.work()
	o.over("announce/" + key)
	if texts := o.texts(o.general.ID); len(texts) != 2 || !strings.HasPrefix(texts[0], "the result") {
		t.Errorf("posted were %d messages, want two: %.40q", len(texts), texts)
	}
	if sent := read[coordination.DiscordOutbound](t, o.stream("announce/" + key)[2]); sent.Purpose != delivery.Announce || sent.AccountID != "ruda" {
		t.Errorf("the event is %+v, want an announcement of ruda's", sent)
	}
	if n := len(o.stream("announce/silent")); n != 0 {
		t.Error("silence is posted")
	}
}

// An agent's reply that names another agent mentions it.
func TestANamedAgentIsNotified(t *testing.T) {
	t.Parallel()
	o := open(t)
	r := outbound.Replies{Accounts: o.bots.Registry, Config: team(t).Config}
	q := asked()
	q.To, q.ThreadID = "channel:"+o.general.ID, ""
	appends, err := r.Then(nil, q, over(run.OK, coordination.RunOver{Text: "@이든 도 확인해봐"}), o.clock())
	if err != nil {
		t.Fatal(err)
	}
	o.append(appends...)
	o.work()
	o.over("reply/" + q.RunID)
	m := o.Messages(o.general.ID)[0]
	if len(m.Mentions) != 1 || m.Mentions[0].ID != o.eden.ID {
		t.Errorf("%q mentions %+v, want eden", m.Content, m.Mentions)
	}
}

const typing = "POST /channels/{channel}/typing"

func TestTyping(t *testing.T) {
	t.Parallel()
	o := open(t)
	timers := &timers{}
	shows := &outbound.Typing{Bots: o.bots, Accounts: o.bots.Registry, AfterFunc: timers.after, Logger: discard()}
	t.Cleanup(shows.Close)
	u := run.Update{RunID: "r1", SessionKey: "agent:ruda:discord:channel:" + o.general.ID, AgentID: "ruda", Cause: "discord", Kind: run.Started}
	shown := func() int {
		return len(o.RequestsTo(discordtest.Match{Route: typing, Bot: o.ruda.ID, Channel: o.general.ID}))
	}

	for name, change := range map[string]func(u *run.Update){
		"another cause":    func(u *run.Update) { u.Cause = "chat" },
		"a main session":   func(u *run.Update) { u.SessionKey = "agent:ruda:main" },
		"another channel":  func(u *run.Update) { u.SessionKey = "agent:ruda:slack:channel:1" },
		"an agent no bot":  func(u *run.Update) { u.AgentID = "seum" },
		"text on its way":  func(u *run.Update) { u.Kind = run.Text },
		"a key that is no": func(u *run.Update) { u.SessionKey = "?" },
	} {
		other := u
		change(&other)
		if shows.Update(other); timers.next() != 0 || shown() != 0 {
			t.Errorf("%s: it is shown", name)
		}
	}

	shows.Update(u)
	shows.Update(u)
	for n := 1; n <= 3; n++ {
		timers.fire()
		if got := shown(); got != n {
			t.Errorf("shown %d times, want %d", got, n)
		}
		if d := timers.next(); d != 8*time.Second {
			t.Errorf("shown again after %v, want 8 s", d)
		}
	}
	u.Kind = run.Ended
	shows.Update(u)
	if timers.fire(); shown() != 3 {
		t.Error("it is shown after the run has ended")
	}

	u.Kind, u.RunID = run.Started, "r2"
	shows.Update(u)
	for range 200 {
		timers.fire()
	}
	if got := shown() - 3; got != 75 {
		t.Errorf("shown %d times of a run that does not end, want 75: 10 minutes", got)
	}

	o.fault(typing, 1, discordtest.Forbidden())
	u.RunID = "r3"
	shows.Update(u)
	timers.fire()
	if timers.next() != 0 {
		t.Error("it is tried again where Discord refuses")
	}

	u.RunID = "r4"
	shows.Update(u)
	shows.Close()
	if before := shown(); timers.next() != 0 || shown() != before {
		t.Error("it is shown after Close")
	}
	shows.Update(u)
	if timers.next() != 0 {
		t.Error("it begins after Close")
	}
}

// timers are fired by the test.
type timers struct{ list []*timer }

type timer struct {
	in   time.Duration
	f    func()
	over bool
}

func (t *timer) Stop() bool {
	was := !t.over
	t.over = true
	return was
}

func (l *timers) after(d time.Duration, f func()) channel.Timer {
	t := &timer{in: d, f: f}
	l.list = append(l.list, t)
	return t
}

// next is in which time the next timer fires, 0 if there is none that was set for later.
func (l *timers) next() time.Duration {
	for _, t := range l.list {
		if !t.over {
			return max(t.in, 1)
		}
	}
	return 0
}

// fire fires all that are set now.
func (l *timers) fire() {
	list := l.list
	l.list = nil
	for _, t := range list {
		if t.Stop() {
			t.f()
		}
	}
}
