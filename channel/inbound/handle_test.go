package inbound_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Ten bots report the same message, twice each and concurrently, and again after a restart.
func TestInvariant31_OneDecisionAndOneRunForEachMessage(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{agents: team(10)})
	l.collaborates("c1", "agent0", "agent1", 1)
	messages := []channel.Inbound{l.message("bora", general, "<@"+userID("agent3")+"> <@"+userID("agent4")+"> 봐줘"), l.message("bora", general, "안녕"),
		l.message("agent1", thread, "했어요"), l.message("bora", thread, "고마워요")}
	var wg sync.WaitGroup
	for _, in := range messages {
		for _, agent := range l.set.agents {
			for range 2 {
				wg.Go(func() {
					in := in
					in.AccountID, in.BotID = "acc-"+agent, userID(agent)
					l.Handle(t.Context(), in)
				})
			}
		}
	}
	wg.Wait()
	again := l.reopened()
	for _, in := range messages {
		again.hears(in)
	}
	for i, want := range []string{"agent3 agent4", "agent0", "agent0", "agent0 agent1"} {
		id := messages[i].Message.ID
		if got := again.runsOf(id); got != want {
			t.Errorf("message %d has runs of %q, want %q", i, got, want)
		}
		verdicts := map[string]int{}
		for _, d := range again.told(id) {
			for _, agent := range d.Agents {
				verdicts[agent]++
			}
		}
		for _, agent := range strings.Fields(want) {
			verdicts[agent]++
		}
		for agent, n := range verdicts {
			if n != 1 {
				t.Errorf("message %d is decided about %d times for %s, want once", i, n, agent)
			}
		}
	}
	answers := 0
	for _, e := range again.events(coordination.CollabStream("c1")) {
		if e.Type == coordination.TypeA2ACollaborateResponded {
			answers++
		}
	}
	if diff := cmp.Diff([]string{"c1 by " + messages[2].Message.ID}, l.answered); diff != "" || answers != 1 || len(again.answered) != 0 {
		t.Errorf("%d answers are in the log, want one; what follows (-want +got):\n%s", answers, diff)
	}
}

func team(n int) (agents []string) {
	for i := range n {
		agents = append(agents, fmt.Sprintf("agent%d", i))
	}
	return agents
}

// An edit of a message that is not known decides nothing: the message itself is decided when it arrives.
func TestEditsAndDeletionsDecideNothing(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	in := l.message("bora", general, "@eden 봐줘")
	edited := in
	edited.Kind, edited.Message.Content = channel.Edited, mentions("@seum 봐줘")
	l.hears(edited)
	if got := l.told(in.Message.ID); len(got) != 0 {
		t.Errorf("an edit of an unknown message is decided about: %+v", got)
	}
	l.hears(in)
	l.want(in.Message.ID, "eden=mentioned observer:other_mentioned")
}

// What a run is asked.
func TestWhatARunIsAsked(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	in := l.message("bora", general, "@eden @ruda 루다한테도 <@200000000000002001> 봐줘")
	in.Message.Attachments = []channel.Attachment{{Name: "a b.png", Type: "image/png", URL: "https://cdn.test/a.png", Size: 7, Ref: "a"}, {Name: "x"}}
	id := l.hears(in)
	want := coordination.RunQueued{
		Context: coordination.Context{EventRole: l.asked(id, "eden").EventRole}, RunID: "discord:" + id + ":eden", SessionKey: "agent:eden:discord:channel:" + general, Lane: "main",
		Cause: "discord", By: "discord:" + userID("bora"), OnRestart: "retry", Provenance: "external_user",
		Message: "[bora in #general] @이든 @루다 루다한테도 @bora 봐줘", Files: "attachments/discord:" + id + ":eden",
		ExtraSystemPrompt: "당신이 이 요청의 주 담당입니다. 리드하여 응답하세요.",
		Deliver:           true, Channel: "discord", To: "channel:" + general, AccountID: "acc-eden", MessageID: id,
	}
	if diff := cmp.Diff(want, *l.asked(id, "eden")); diff != "" {
		t.Errorf("eden is asked (-want +got):\n%s", diff)
	}
	if got := l.asked(id, "ruda").ExtraSystemPrompt; got != "당신은 보조 역할입니다. 이든의 응답이 있으면 참고하여 보완 의견을 제시하세요." {
		t.Errorf("ruda is told %q, want its part", got)
	}
	if e := l.events(coordination.RunStream("discord:" + id + ":eden"))[0]; e.Actor != eventstore.ActorHuman {
		t.Errorf("%s asks, want a person", e.Actor)
	}
	if got := l.asked(l.says("bora", general, "@ruda 이든한테 물어봐줘"), "ruda").ExtraSystemPrompt; !strings.Contains(got, `collaborate(targetAgent: "eden")`) {
		t.Errorf("ruda is told %q, want how eden is asked", got)
	}
}

// The place of a message decides about the session and the target of the answer.
func TestPlacesHaveSessions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scope, place, session, to, thread string
	}{
		{"a channel", "main", general, "agent:ruda:discord:channel:" + general, "channel:" + general, ""},
		{"a thread", "main", thread, "agent:ruda:discord:channel:" + thread, "channel:" + general, thread},
		{"direct", "main", "", "agent:ruda:main", "channel:500000000000000001", ""},
		{"direct, by person", "per-channel-peer", "", "agent:ruda:discord:direct:" + userID("bora"), "channel:500000000000000001", ""},
	} {
		l := setup(t, setting{config: fmt.Sprintf(`"session": {"dmScope": %q}`, tt.scope), discord: `"dmPolicy": "open"`})
		in := l.message("bora", tt.place, "@ruda 안녕")
		if tt.place == "" {
			in.Message.GuildID, in.Message.ChannelID, in.AccountID = "", "500000000000000001", "acc-ruda"
		}
		q := l.asked(l.hears(in), "ruda")
		if q == nil {
			t.Fatalf("%s: ruda does not run", tt.name)
		}
		if q.SessionKey != tt.session || q.To != tt.to || q.ThreadID != tt.thread || q.AccountID != "acc-ruda" {
			t.Errorf("%s: session %s, answer to %s thread %q by %s; want %s, %s, %q, acc-ruda", tt.name, q.SessionKey, q.To, q.ThreadID, q.AccountID,
				tt.session, tt.to, tt.thread)
		}
		prefix := "[bora] "
		if tt.place != "" {
			prefix = "[bora in #" + l.sight.names[tt.place] + "] "
		}
		if !strings.HasPrefix(q.Message, prefix) {
			t.Errorf("%s: the message is %q, want it to begin with %q", tt.name, q.Message, prefix)
		}
	}
}

// A run is decided and queued in one commit; whatever ends the process after that, it runs, and once.
func TestARestartBetweenDecisionAndRun(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	in := l.message("bora", general, "@eden @ruda 봐줘")
	l.hears(in)
	again := l.reopened()
	again.hears(in)
	again.wake()
	for _, agent := range []string{"eden", "ruda"} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		result, err := again.runner.Wait(ctx, inbound.RunID(in.Message.ID, agent))
		if err != nil || result.State != run.OK {
			t.Fatalf("%s: %v, %+v, want it to have run", agent, err, result)
		}
	}
	again.hears(in)
	var all []string
	err := again.db.View(t.Context(), func(tx *sql.Tx) error {
		list, err := runs.List(t.Context(), tx, runs.Query{})
		for _, r := range list {
			all = append(all, r.RunID)
		}
		return err
	})
	if err != nil || len(all) != 2 {
		t.Errorf("%v, runs %v, want two", err, all)
	}
}

// A refused run leaves the decision as it is, and the person is told; the observed messages are kept for the next run.
func TestRefusedRunsAreTold(t *testing.T) {
	t.Parallel()
	logs := &buffer{}
	l := setup(t, setting{limits: runqueue.Limits{SessionWaiting: 1}, logs: logs})
	l.says("bora", general, "@eden 하나")
	l.says("bora", general, "@ruda 이것은 이든이 관찰한다")
	id := l.after(time.Second).says("bora", general, "@eden 둘")
	l.want(id, "eden=mentioned observer:other_mentioned")
	if got := l.runsOf(id); got != "" {
		t.Errorf("%q run, want none", got)
	}
	if d := l.told(id)[0]; d.RunID != "" {
		t.Errorf("it tells of run %q, want none", d.RunID)
	}
	if n := logs.count("Discord message refused"); n != 1 {
		t.Errorf("it is logged %d times, want once", n)
	}
	events := l.events(coordination.WorkStream("discord/refused/" + id + "/eden"))
	if len(events) != 1 {
		t.Fatalf("%d events ask for a notice, want one", len(events))
	}
	d := notice(t, &events[0])
	want := delivery.Delivery{Purpose: delivery.Notice, AgentID: "eden", AccountID: "acc-eden", GuildID: guild, ChannelID: general,
		Messages: []string{"I cannot take this on: too many requests wait for me already. Please say it again in a while."}, ReplyTo: id, System: true}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("the notice (-want +got):\n%s", diff)
	}
	if id := l.says("ruda", general, "@eden 셋"); l.runsOf(id) != "" || len(l.events(coordination.WorkStream("discord/refused/"+id+"/eden"))) != 0 {
		t.Error("an agent is told that another one does not run, want none to be")
	}
	l.wake()
	l.untilIdle()
	q := l.asked(l.after(time.Second).says("bora", general, "@eden 다섯"), "eden")
	if got := l.remembered("eden", general); q == nil || !strings.Contains(got, "이것은 이든이 관찰한다") {
		t.Errorf("eden is asked %+v and remembers %q, want what it has observed", q, got)
	}
}

func notice(t *testing.T, e *eventstore.Event) (d delivery.Delivery) {
	t.Helper()
	scheduled := read[coordination.WorkScheduled](t, e)
	if e.Type != coordination.TypeWorkScheduled || scheduled.Kind != delivery.Kind {
		t.Fatalf("%s of kind %s, want a delivery", e.Type, scheduled.Kind)
	}
	return read[delivery.Delivery](t, &eventstore.Event{Data: scheduled.Payload})
}

// untilIdle waits until no run waits or goes on.
func (l *fixture) untilIdle() {
	l.t.Helper()
	var open []string
	err := l.db.View(l.t.Context(), func(tx *sql.Tx) error {
		list, err := runs.List(l.t.Context(), tx, runs.Query{})
		for _, r := range list {
			if !r.State.Over() {
				open = append(open, r.RunID)
			}
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, id := range open {
		ctx, cancel := context.WithTimeout(l.t.Context(), patience)
		defer cancel()
		if _, err := l.runner.Wait(ctx, id); err != nil {
			l.t.Fatalf("wait for %s: %v", id, err)
		}
	}
}

// A session that takes no messages refuses them.
func TestASessionThatTakesNoMessages(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{logs: &buffer{}, runs: func(r *runqueue.Queue) inbound.Queue {
		return denied{&run.Refusal{Reason: run.CodeNotAllowed, Text: "send blocked by session policy"}}
	}})
	id := l.says("bora", general, "@eden 봐줘")
	l.want(id, "eden=mentioned observer:other_mentioned")
	if d := notice(t, &l.events(coordination.WorkStream("discord/refused/" + id + "/eden"))[0]); !strings.Contains(d.Messages[0], "sendPolicy") {
		t.Errorf("the person is told %q, want why", d.Messages[0])
	}
}

type denied struct{ why error }

func (d denied) Ask(eventstore.Tx, run.Ask, time.Time) ([]eventstore.StreamAppend, error) {
	return nil, d.why
}

// faulty is a log that fails so often.
type faulty struct {
	*sqlite.DB
	left  atomic.Int64
	tries atomic.Int64
	why   error
}

func (f *faulty) Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	f.tries.Add(1)
	if f.left.Add(-1) >= 0 {
		return eventstore.Result{}, f.why
	}
	return f.DB.Decide(ctx, decide)
}

func TestWhatTheLogDoesNotTakeIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := &faulty{why: &eventstore.BusyError{}}
	l := setup(t, setting{logs: &buffer{}, log: func(db *sqlite.DB) inbound.Log { f.DB = db; return f }})
	f.left.Store(3)
	l.want(l.says("bora", general, "@eden 봐줘"), "eden=mentioned observer:other_mentioned")
	if n := f.tries.Load(); n != 4 {
		t.Errorf("it was tried %d times, want 4: the other bots tell of what is known", n)
	}

	f.left.Store(1 << 30)
	ctx, cancel := context.WithCancel(t.Context())
	in := l.message("bora", general, "@eden 또")
	tried := f.tries.Load()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Handle(ctx, in)
	}()
	for f.tries.Load() < tried+2 {
		select {
		case <-done:
			t.Fatal("it was given up, want it to be tried until the end")
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	<-done
	f.left.Store(0)
	l.hears(in) // as after a restart
	l.want(in.Message.ID, "eden=mentioned observer:other_mentioned")
}

// What the log permanently refuses is not retried, and is reported.
func TestWhatTheLogRefusesIsDropped(t *testing.T) {
	t.Parallel()
	logs := &buffer{}
	l := setup(t, setting{logs: logs, runs: func(*runqueue.Queue) inbound.Queue {
		return denied{&eventstore.ConflictError{Stream: "run/other", Expected: eventstore.NoStream(), Actual: 1}}
	}})
	l.want(l.says("bora", general, "@eden 봐줘"), "dropped:internal_error")
	if n := logs.count("; dropped"); n != 1 {
		t.Errorf("it is logged %d times, want once", n)
	}
}

// Someone else was first, in between.
func TestConflictIsIgnored(t *testing.T) {
	t.Parallel()
	logs := &buffer{}
	var in channel.Inbound
	l := setup(t, setting{logs: logs, runs: func(*runqueue.Queue) inbound.Queue { return denied{&conflicting{&in}} }})
	in = l.message("bora", general, "@eden 봐줘")
	l.hears(in)
	if got := l.told(in.Message.ID); len(got) != 0 || logs.text.Len() != 0 {
		t.Errorf("it is decided as %+v, and logged %q; want nothing", got, logs.text.String())
	}
}

// conflicting is a conflict on the stream of a message.
type conflicting struct{ in *channel.Inbound }

func (c *conflicting) Error() string { return "conflict" }

func (c *conflicting) As(target any) bool {
	conflict, is := target.(**eventstore.ConflictError)
	if is {
		*conflict = &eventstore.ConflictError{Stream: coordination.MessageStream(c.in.Message.ID), Expected: eventstore.NoStream(), Actual: 1}
	}
	return is
}

// T7: a thread unknown to the log is answered by the mentioned agents, with one warning; a mentioned agent takes part again.
func TestUnknownParticipantsAreWarnedOfOnce(t *testing.T) {
	t.Parallel()
	logs := &buffer{}
	l := setup(t, setting{logs: logs})
	l.want(l.says("bora", thread, "어때?"), "observer:mention_only")
	l.want(l.says("bora", thread, "@eden 어때?"), "eden=mentioned observer:not_participant")
	l.want(l.says("bora", thread, "어때?"), "eden=participant observer:not_participant")
	if n := logs.count("participants_unknown"); n != 1 {
		t.Errorf("it is warned of %d times, want once", n)
	}
}

// T1 to T6: participation by collaborate, by a mention, or by writing; also after a restart.
func TestParticipants(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	l.collaborates("c1", "ruda", "eden", 1)
	l.want(l.after(time.Second).says("eden", thread, "네"), "ruda=participant observer:not_participant")
	l.want(l.after(time.Second).says("ruda", thread, "고마워요"), "eden=participant observer:not_participant")
	l.want(l.after(time.Second).says("ruda", thread, "@seum 도 봐줘"), "eden=participant observer:not_participant seum=mentioned/primary")
	l = l.reopened()
	l.want(l.after(time.Second).says("bora", thread, "어때?"), "eden=participant ruda=participant seum=participant observer:not_participant")
	l.want(l.after(25*time.Hour).says("bora", thread, "아직?"), "observer:not_participant")
	want := []string{"participant.registered ruda", "participant.registered eden", "participant.registered seum",
		"participant.expired eden", "participant.expired ruda", "participant.expired seum"}
	if diff := cmp.Diff(want, l.inPlace(thread)); diff != "" {
		t.Errorf("in the thread has happened (-want +got):\n%s", diff)
	}
	for _, e := range l.events(coordination.ThreadStream(thread)) {
		if p := read[coordination.ThreadParticipant](t, &e); p.EventRole != coordination.RoleObservability {
			t.Errorf("%s has role %q", e.Type, p.EventRole)
		}
	}
}

// B40: the requester runs in the session of the thread, which is where it was told what it has asked.
func TestBug40_TheRequesterAnswersInTheSessionOfTheThread(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	l.collaborates("c1", "ruda", "eden", 1)
	q := l.asked(l.after(time.Second).says("eden", thread, "했어요"), "ruda")
	if q == nil || q.SessionKey != coordination.ChannelKey("ruda", "discord", thread).String() || q.WorkSessionID != "ws-1" || q.TaskID != "task-1" {
		t.Errorf("ruda is asked %+v, want the thread's session, and the work session and task of the request", q)
	}
}

// B41: later registrations are there after a restart, and after several.
func TestBug41_RestartsLoseNoOne(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	l.collaborates("c1", "ruda", "eden", 1)
	for _, who := range []string{"seum", "dajim"} {
		l.after(time.Second).says("bora", thread, "@"+who+" 도 봐줘")
		l = l.reopened()
	}
	l.want(l.after(time.Second).says("bora", thread, "어때?"), "dajim=participant eden=participant ruda=participant seum=participant")
}

// B42: an author that may not speak registers no one by a mention.
func TestBug42_OnlyWhoMaySpeakRegisters(t *testing.T) {
	t.Parallel()
	l := setup(t, altered(func(d *config.Channel) {
		d.Guilds = []config.Guild{{ID: guild, Users: []string{userID("bora")}}}
	}))
	l.want(l.says("stranger", thread, "@eden @seum"), "dropped:author_not_allowed")
	l.want(l.says("foreign", thread, "@eden @seum"), "dropped:foreign_bot")
	if got := l.inPlace(thread); len(got) != 0 {
		t.Errorf("in the thread has happened %v, want nothing", got)
	}
}

// B43: an agent remembers observed messages in every later run, and those of meanwhile, too; H4: also after a restart.
func TestBug43_DeliveredContextStays(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	l.says("bora", general, "@ruda 하나 https://a.b/c")
	l.after(time.Second).says("bora", general, "@ruda 둘")
	l = l.reopened()
	l.after(time.Second).says("bora", general, "@eden 뭐래?")
	l.after(time.Second).says("bora", general, "@ruda 셋")
	for range 2 {
		l.after(time.Second).says("bora", general, "@eden 또?")
		got := l.remembered("eden", general)
		for _, want := range []string{"하나 https://a.b/c (https://a.b/c)", "둘", "셋"} {
			if !strings.Contains(got, want) {
				t.Errorf("eden remembers %q, want %q in it", got, want)
			}
		}
		l = l.reopened()
	}
	for what, got := range map[string]string{"in another channel": l.remembered("eden", thread), "who handled them": l.remembered("ruda", general),
		"a day later": l.after(25*time.Hour).remembered("eden", general)} {
		if strings.Contains(got, "하나") {
			t.Errorf("%s %q is remembered", what, got)
		}
	}
}

// How much is remembered, and for how long, is as configured.
func TestObserversRememberAsConfigured(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	l.config.Discord.Collaboration.ObserverHistoryLimit, l.config.Discord.Collaboration.ObserverHistoryTTL = 2, time.Hour
	for _, text := range []string{"하나", "둘", "셋"} {
		l.after(time.Second).says("bora", general, "@ruda "+text)
	}
	if got := l.remembered("eden", general); strings.Contains(got, "하나") || !strings.Contains(got, "둘") || !strings.Contains(got, "셋") {
		t.Errorf("eden remembers %q, want the newest two", got)
	}
	if got := l.after(time.Hour).remembered("eden", general); got != "" {
		t.Errorf("an hour later eden remembers %q, want nothing", got)
	}
}

// remembered is what the prompt of a run in a place has of what the agent has observed.
func (l *fixture) remembered(agent, place string) (text string) {
	l.t.Helper()
	err := l.db.View(l.t.Context(), func(tx *sql.Tx) (err error) {
		text, err = l.Remembered(projections.Reading(l.t.Context(), tx), coordination.ChannelKey(agent, "discord", place), time.UnixMilli(l.now.Load()))
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

// B46: a message that the guard holds is in the log, remembered by its target, and shown later.
func TestBug46_WhatIsHeldIsRecorded(t *testing.T) {
	t.Parallel()
	logs := &buffer{}
	l := setup(t, setting{logs: logs})
	l.collaborates("c1", "ruda", "eden", 1)
	var held string
	for i := range 7 {
		held = l.after(time.Second).says("ruda", thread, fmt.Sprintf("네, 그리고 %d", i))
	}
	l.want(held, "observer:not_participant observer:thread_suspended")
	if got := l.inPlace(thread); got[len(got)-1] != "suspended " || logs.count("bots suspended") != 1 {
		t.Errorf("in the thread has happened %v, and it is logged %d times; want a suspension, once", got, logs.count("bots suspended"))
	}
	l.after(time.Second).says("bora", thread, "@eden 뭐라고?")
	if got := l.remembered("eden", thread); !strings.Contains(got, "네, 그리고 6") {
		t.Errorf("eden is told %q, want what was held", got)
	}
}

// The end of a suspension is reported even if no one speaks.
func TestSuspensionsEnd(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{logs: &buffer{}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	l.collaborates("c1", "ruda", "eden", 1)
	for range 7 {
		l.after(time.Second).says("ruda", thread, "네, 그리고")
	}
	suspended := slices.Index(l.inPlace(thread), "suspended ")
	if suspended < 0 {
		t.Fatalf("in the thread has happened %v, want a suspension", l.inPlace(thread))
	}
	l.after(4 * time.Minute).Look()
	l.Look() // Run has taken the first
	if got := l.inPlace(thread); len(got) != suspended+1 {
		t.Errorf("in the thread has happened %v, want the suspension to last", got)
	}
	l.after(2 * time.Minute).Look()
	l.Look()
	l.untilReleased()
	l.want(l.says("eden", thread, "이어서"), "ruda=participant observer:not_participant")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run says %v, want nil", err)
	}
}

// untilReleased waits until the thread is released.
func (l *fixture) untilReleased() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	for !slices.Contains(l.inPlace(thread), "released ") {
		head, err := l.db.Head(ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		if slices.Contains(l.inPlace(thread), "released ") {
			return
		}
		if _, err := l.db.Wait(ctx, head.Seq); err != nil {
			l.t.Fatalf("the thread is not released: %v; %v", err, l.inPlace(thread))
		}
	}
}

// An answer is matched with its request, once; a reply to another message answers that one.
func TestAnswers(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	l.collaborates("c1", "ruda", "eden", 1)
	second := l.after(time.Second).collaborates("c2", "ruda", "eden", 1)
	l.after(time.Second).says("bora", thread, "@eden 안녕")
	l.after(time.Second).says("ruda", thread, "[리마인더] @eden 위 요청 확인 부탁해요.")
	l.after(time.Second).says("seum", thread, "저는요")
	if len(l.answered) != 0 {
		t.Fatalf("%v are answers, want none yet", l.answered)
	}
	in := l.after(time.Second).message("eden", thread, "두 번째 답")
	in.Message.ReplyTo = second
	reply := l.hears(in)
	plain := l.after(time.Second).says("eden", thread, "첫 번째 답")
	more := l.after(time.Second).says("eden", thread, "그리고")
	if diff := cmp.Diff([]string{"c2 by " + reply, "c1 by " + plain}, l.answered); diff != "" {
		t.Errorf("what follows from answers (-want +got):\n%s", diff)
	}
	if l.told(more)[0].Answers != true {
		t.Error("the third message could not have been an answer")
	}
	for _, id := range []string{"c1", "c2"} {
		events := slices.DeleteFunc(l.events(coordination.CollabStream(id)), func(e eventstore.Event) bool { return e.Type == coordination.TypeCollabMessage })
		if last := events[len(events)-1]; last.Type != coordination.TypeA2ACollaborateResponded || last.AgentID != "ruda" {
			t.Errorf("%s ends with %s of %s, want that it was answered", id, last.Type, last.AgentID)
		}
	}
}

// The hop count of a message comes from the run that wrote it, the request that it is, or the request of its thread.
func TestAChainOfCausesIsCounted(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	hop := func(id, agent string) int {
		t.Helper()
		q := l.asked(id, agent)
		if q == nil || q.Hop == nil {
			t.Fatalf("%s is asked %+v, want how often its cause was passed on", agent, q)
		}
		if d := l.told(id)[0]; d.Hop != *q.Hop {
			t.Errorf("the event says %d, and the run %d", d.Hop, *q.Hop)
		}
		return *q.Hop
	}
	if q := l.asked(l.says("bora", general, "@eden 봐줘"), "eden"); q.Hop != nil {
		t.Errorf("what a person says has been passed on %d times, want no word of it", *q.Hop)
	}
	// No one knows what has said it.
	if got := hop(l.after(time.Second).says("eden", general, "@seum 봐줘"), "seum"); got != 1 {
		t.Errorf("hop %d, want 1", got)
	}
	// A run of the third hop has said it, and its post is known.
	three := 3
	l.append(coordination.RunStream("r-3"), coordination.TypeRunQueued, "eden", coordination.RunQueued{Context: coordination.Context{Hop: &three,
		EventRole: coordination.RoleOrchestration}, RunID: "r-3", SessionKey: "agent:eden:main", Lane: "main", Cause: "test", Message: "x"})
	in := l.after(time.Second).message("eden", general, "@seum 또")
	l.append(coordination.WorkStream("reply/r-3"), coordination.TypeDiscordSent, "eden", coordination.DiscordOutbound{Context: observing(), EffectID: "reply/r-3",
		ChannelID: general, MessageID: in.Message.ID, AccountID: "acc-eden", Purpose: "reply", RunID: "r-3"})
	if got := hop(l.hears(in), "seum"); got != 4 {
		t.Errorf("hop %d after a run of hop 3, want 4", got)
	}
	// The same, while its post is under way: Discord tells of it before the log does.
	for i, change := range []func(*delivery.Delivery, *channel.Inbound){
		func(*delivery.Delivery, *channel.Inbound) {},
		func(d *delivery.Delivery, in *channel.Inbound) {
			in.Message.Nonce = d.Nonce("reply/r-3/1", general, 0)
			d.Messages[0] = "something that Discord shows otherwise"
		},
	} {
		in := l.after(10*time.Second).message("eden", general, fmt.Sprintf("@seum 또 %d", i))
		effect := fmt.Sprintf("reply/r-3/%d", i)
		d := delivery.Delivery{Purpose: delivery.Reply, AgentID: "eden", AccountID: "acc-eden", GuildID: guild, ChannelID: general, RunID: "r-3",
			Messages: []string{in.Message.Content}}
		change(&d, &in)
		l.lease(&d, effect)
		if got := hop(l.hears(in), "seum"); got != 4 {
			t.Errorf("hop %d after a run of hop 3 whose post is under way, want 4", got)
		}
		l.append(coordination.WorkStream(effect), coordination.TypeWorkCompleted, "eden", coordination.WorkAttempt{Context: observing(), EffectID: effect})
	}
	// The same after a restart, while the post waits for its next attempt.
	in = l.after(10*time.Second).message("eden", general, "@dajim 또 한 번")
	d := delivery.Delivery{Purpose: delivery.Reply, AgentID: "eden", AccountID: "acc-eden", GuildID: guild, ChannelID: general, RunID: "r-3",
		Messages: []string{mentions("**@dajim** 또 한 번"), "the second part"}}
	l.lease(&d, "reply/r-3/again")
	l.append(coordination.WorkStream("reply/r-3/again"), coordination.TypeWorkLeaseExpired, "eden", coordination.WorkAttempt{Context: observing(),
		EffectID: "reply/r-3/again", Attempt: 1, Reason: "restart"})
	in.Message.Nonce = d.Nonce("reply/r-3/again", general, 0)
	if got := hop(l.hears(in), "dajim"); got != 4 {
		t.Errorf("hop %d after a run of hop 3 whose post is to be attempted again, want 4", got)
	}
	in = l.message("eden", general, "@dajim 둘째")
	in.Message.Nonce = d.Nonce("reply/r-3/again", general, 1)
	l.want(l.hears(in), "dropped:continuation")
	// The same where it is unknown whether it was posted.
	l.says("bora", general, "@eden 계속")
	in = l.after(10*time.Second).message("eden", general, "@dajim 셋째")
	lost := delivery.Delivery{Purpose: delivery.Reply, AgentID: "eden", AccountID: "acc-eden", GuildID: guild, ChannelID: "800000000000000009", RunID: "r-3",
		Messages: []string{mentions("**@dajim** 셋째")}}
	in.Message.ChannelID = lost.ChannelID
	l.lease(&lost, "reply/r-3/lost")
	l.append(coordination.WorkStream("reply/r-3/lost"), coordination.TypeWorkDead, "eden", coordination.WorkAttempt{Context: observing(), EffectID: "reply/r-3/lost",
		Attempt: 1, Error: "delivery_unknown"})
	in.Message.Nonce = lost.Nonce("reply/r-3/lost", lost.ChannelID, 0)
	if got := hop(l.hears(in), "dajim"); got != 4 {
		t.Errorf("hop %d after a run of hop 3 whose post was given up, want 4", got)
	}
	// A request, and what is said in its thread.
	l.collaborates("c1", "ruda", "eden", 5)
	if got := hop(l.after(10*time.Second).says("eden", thread, "했어요"), "ruda"); got != 5 {
		t.Errorf("hop %d in the thread of a request of hop 5, want 5", got)
	}
}

// lease has a delivery under way.
func (l *fixture) lease(d *delivery.Delivery, effect string) {
	l.t.Helper()
	scheduled, err := d.Work(effect, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	l.append(coordination.WorkStream(effect), coordination.TypeWorkScheduled, d.AgentID, scheduled)
	l.append(coordination.WorkStream(effect), coordination.TypeWorkLeased, d.AgentID, coordination.WorkAttempt{
		Context: observing(), EffectID: effect, Attempt: 1, LeaseUntilMs: l.now.Load() + 60_000})

}

// tells posts a text as several messages, of which Discord tells while it is under way; their ids.
func (l *fixture) tells(agent, place string, messages ...string) (ids []string) {
	l.t.Helper()
	d := delivery.Delivery{Purpose: delivery.Reply, AgentID: agent, AccountID: "acc-" + agent, GuildID: guild, ChannelID: place}
	if place == thread {
		d.ChannelID, d.ThreadID = general, thread
	}
	for _, text := range messages {
		d.Messages = append(d.Messages, mentions(text))
	}
	effect := fmt.Sprint("reply/", l.ids.Add(1))
	l.lease(&d, effect)
	for _, text := range messages {
		ids = append(ids, l.says(agent, place, text))
	}
	l.append(coordination.WorkStream(effect), coordination.TypeWorkCompleted, agent, coordination.WorkAttempt{Context: observing(), EffectID: effect})
	return ids
}

// A text that an agent posts as several messages is one text to the others: who handles it runs once, and is asked all of it.
func TestATextOfSeveralMessagesIsHandledOnce(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	l.collaborates("c1", "ruda", "eden", 1)
	ids := l.tells("eden", thread, "첫째 부분", "둘째 부분", "셋째 부분은 @seum 것")
	l.want(ids[0], "observer:not_participant ruda=participant seum=mentioned/primary")
	if q := l.asked(ids[0], "seum"); q == nil || q.Message != "[이든 in #[협업] 루다 → 이든] 첫째 부분\n둘째 부분\n셋째 부분은 @세움 것" {
		t.Errorf("seum is asked %+v, want all three parts", q)
	}
	for _, id := range ids[1:] {
		l.want(id, "dropped:continuation")
	}
	// The same where the log knows of the messages before they are heard.
	effect := "reply/known"
	d := delivery.Delivery{Purpose: delivery.Reply, AgentID: "eden", AccountID: "acc-eden", GuildID: guild, ChannelID: general, ThreadID: thread,
		Messages: []string{"다시 첫째", "다시 둘째"}}
	l.after(10*time.Second).lease(&d, effect)
	var heard []channel.Inbound
	for i, text := range d.Messages {
		in := l.message("eden", thread, text)
		l.append(coordination.WorkStream(effect), coordination.TypeDiscordSent, "eden", coordination.DiscordOutbound{Context: observing(), EffectID: effect,
			ChannelID: general, ThreadID: thread, MessageID: in.Message.ID, AccountID: "acc-eden", Purpose: delivery.Reply, Index: i})
		heard = append(heard, in)
	}
	l.append(coordination.WorkStream(effect), coordination.TypeWorkCompleted, "eden", coordination.WorkAttempt{Context: observing(), EffectID: effect})
	first, second := l.hears(heard[0]), l.hears(heard[1])
	l.want(first, "ruda=participant seum=participant observer:not_participant")
	if q := l.asked(first, "ruda"); q == nil || !strings.HasSuffix(q.Message, "다시 첫째\n다시 둘째") {
		t.Errorf("ruda is asked %+v, want both parts", q)
	}
	l.want(second, "dropped:continuation")
}

// Many requests of one agent to another one are all accepted, whether the log knows their posts yet or not.
func TestRequestsAreNotHeldForTheirPair(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	for i := range 8 {
		in := l.after(time.Second).message("ruda", fmt.Sprintf("8000000000000001%02d", i), "@eden 봐줘")
		effect := fmt.Sprintf("collab/c%d", i)
		d := delivery.Delivery{Purpose: delivery.Request, AgentID: "ruda", AccountID: "acc-ruda", GuildID: guild, ChannelID: general,
			ThreadID: in.Message.ChannelID, Messages: []string{in.Message.Content}}
		if i%2 == 0 {
			l.lease(&d, effect)
		} else {
			l.append(coordination.WorkStream(effect), coordination.TypeDiscordSent, "ruda", coordination.DiscordOutbound{Context: observing(), EffectID: effect,
				ChannelID: general, ThreadID: d.ThreadID, MessageID: in.Message.ID, AccountID: d.AccountID, Purpose: d.Purpose})
		}
		l.want(l.hears(in), "eden=mentioned observer:other_mentioned")
		if i%2 == 0 {
			l.append(coordination.WorkStream(effect), coordination.TypeWorkCompleted, "ruda", coordination.WorkAttempt{Context: observing(), EffectID: effect})
		}
	}
	l.want(l.after(time.Second).says("eden", general, "@ruda 했어요"), "observer:other_mentioned observer:pair_limited")
}

// A notice of ours that is under way calls no one, though it is not known as posted yet.
func TestANoticeThatIsUnderWayIsOurs(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	l.collaborates("c1", "ruda", "eden", 1)
	in := l.message("ruda", thread, "실행이 실패했습니다")
	l.lease(&delivery.Delivery{Purpose: delivery.Notice, AgentID: "ruda", AccountID: "acc-ruda", GuildID: guild, ChannelID: general, ThreadID: thread,
		Messages: []string{in.Message.Content}, System: true}, "notice/1")
	l.want(l.hears(in), "observer:system_text")
	// A person who says the same is a person.
	l.want(l.says("bora", thread, "실행이 실패했습니다"), "eden=participant ruda=participant observer:not_participant")
	// And one whose client gives messages such a nonce, too.
	sly := l.message("bora", thread, "봐줘")
	sly.Message.Nonce = "sys0123456789abcdef012345"
	l.want(l.hears(sly), "eden=participant ruda=participant observer:not_participant")
}

// A stop word of a person ends what runs there; the decision stays, without a run.
func TestStopWordsStopWhoWouldHandleThem(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{stop: true})
	first := l.says("bora", general, "@eden 오래 걸리는 일")
	other := l.says("bora", thread, "@eden 다른 일")
	id := l.says("bora", general, "@eden stop")
	l.want(id, "eden=mentioned observer:other_mentioned")
	if got := l.runsOf(id); got != "" {
		t.Errorf("%q run, want none", got)
	}
	for messageID, want := range map[string]run.State{first: run.Aborted, other: run.Queued} {
		result, found, err := l.runner.Get(t.Context(), inbound.RunID(messageID, "eden"))
		if err != nil || !found || result.State != want {
			t.Errorf("%v, %s, want %s", err, result.State, want)
		}
	}
	if id := l.says("ruda", general, "@eden stop"); l.runsOf(id) != "eden" {
		t.Error("a stop word of an agent stops, want it to be a message like any other")
	}
}

// Errors of the log within a decision store nothing of it.
func TestADecisionIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	broken := &sometimes{}
	l := setup(t, setting{logs: &buffer{}, runs: func(q *runqueue.Queue) inbound.Queue { broken.Queue = q; return broken }})
	broken.left.Store(2)
	in := l.message("bora", thread, "@eden 봐줘")
	l.hears(in)
	l.want(in.Message.ID, "eden=mentioned observer:other_mentioned")
	if got := l.inPlace(thread); len(got) != 1 {
		t.Errorf("in the thread has happened %v, want one registration", got)
	}
}

// sometimes fails so often.
type sometimes struct {
	inbound.Queue
	left atomic.Int64
}

func (s *sometimes) Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error) {
	if s.left.Add(-1) >= 0 {
		return nil, errors.New("the disk is slow")
	}
	return s.Queue.Ask(tx, ask, now)
}

// Decisions are read as they are by those who ask why.
func TestDecisionsCanBeRead(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	id := l.says("bora", general, "@eden @ruda 봐줘")
	var all []routing.Message
	err := l.db.View(t.Context(), func(tx *sql.Tx) (err error) {
		all, err = routing.Messages(t.Context(), tx, routing.MessageQuery{ID: id})
		return err
	})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %d messages, want one", err, len(all))
	}
	var got []string
	for _, v := range all[0].Verdicts {
		got = append(got, fmt.Sprintf("%s %s %s %s", v.AgentID, v.Mode, v.Reason, v.RunID))
	}
	want := []string{"dajim observer other_mentioned ", "eden handler mentioned discord:" + id + ":eden", "ruda handler mentioned discord:" + id + ":ruda",
		"seum observer other_mentioned "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the verdicts (-want +got):\n%s", diff)
	}
}

// A message without an effect, or without a possible decision, is not decided again after a restart.
func TestUnaddressedMessageStaysUnhandled(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{logs: &buffer{}})
	bots := l.sight.bots
	l.sight.bots = nil
	botless := l.message("bora", thread, "@eden 봐줘")
	l.hears(botless)
	l.sight.bots = bots
	l.sight.broken(true)
	broken := l.message("bora", general, "@eden 봐줘")
	l.hears(broken)
	l.sight.broken(false)
	l.Service = l.Forgotten()
	l.hears(botless)
	l.hears(broken)
	l.want(botless.Message.ID, "dropped:no_bot")
	l.want(broken.Message.ID, "dropped:internal_error")
	if l.runsOf(botless.Message.ID)+l.runsOf(broken.Message.ID) != "" {
		t.Error("an agent runs, want none")
	}
}

// A dropped direct message records its conversation, so that what comes after it is not missed.
func TestDroppedDirectMessagesHaveAMark(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		set    setting
		broken bool
		want   string
	}{
		{"not paired", altered(func(d *config.Channel) { d.DMPolicy = route.Pairing }), false, "dropped:dm_not_paired"},
		{"of no one", setting{alter: func(c *config.Config) { c.Discord.DMPolicy = route.Open }, bots: &sight{}}, false, "dropped:no_bot"},
		{"undecided", setting{}, true, "dropped:internal_error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t, tt.set)
			l.sight.broken(tt.broken)
			id := direct(l)
			l.want(id, tt.want)
			var marks []routing.Mark
			err := l.db.View(t.Context(), func(tx *sql.Tx) (err error) {
				marks, err = routing.Marks(t.Context(), tx)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			want := []routing.Mark{{PlaceID: "500000000000000001", AccountID: "acc-ruda", LastMessageID: id}}
			if diff := cmp.Diff(want, marks); diff != "" {
				t.Errorf("the marks (-want +got):\n%s", diff)
			}
		})
	}
}
