package notifier_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
)

const reports = "report/discord-conversation/"

// Messages between agents are reported in a thread of their conversation, by one bot, which mentions only the configured people.
func TestConversationIsReportedInAThread(t *testing.T) {
	t.Parallel()
	d := setup(t, sink+", "+bots)
	d.follow(1)
	d.say("c-1", "안녕 <@"+seumBot+"> 과 <@!999999999999991234>, @everyone password=hunter2hunter2")
	first := d.asked(reports, 1)[0]
	if first.EffectID != reports+"c-1/1" || first.DueAtMs != 0 || first.Kind != delivery.Kind || first.EventRole != coordination.RoleObservability {
		t.Errorf("work is %+v", first.WorkScheduled)
	}
	got := first.delivery
	if got.Open.Name != "[리포트] 이든 → 세움 · 안녕 @세움 과 @…1234, @everyone password=***" {
		t.Errorf("the thread is called %q", got.Open.Name)
	}
	got.Open.Name, got.Context = "", coordination.Context{}
	want := delivery.Delivery{Purpose: delivery.Report, AccountID: "seum", GuildID: "400000000000000001", ChannelID: reportChannel, System: true,
		Open: &delivery.Opening{Kind: "report", FromAgent: "eden", ToAgent: "seum"}, Notify: []string{jimin}, ReportOf: "c-1",
		Messages: []string{"<@" + jimin + ">\n**이든 → 세움**\n안녕 @세움 과 @…1234, @\u200beveryone password=***"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delivery (-want +got)\n%s", diff)
	}
	thread := d.posted(&first)
	answer := d.append("conversation/c-1", coordination.TypeA2AResponse, "seum", coordination.A2AResponse{
		Context:   coordination.Context{ConversationID: "c-1", EventRole: coordination.RoleConversation},
		FromAgent: "seum", ToAgent: "eden", Message: "[outcome] no_reply: 응답을 받지 못했습니다", Turn: 1, MaxTurns: 2})
	second := d.asked(reports, 2)[1]
	want = delivery.Delivery{Purpose: delivery.Report, AccountID: "seum", GuildID: "400000000000000001", ChannelID: reportChannel, ThreadID: thread,
		System: true, ReportOf: "c-1", Messages: []string{"**세움 → 이든** · 응답 1/2 · 응답 없음\n응답을 받지 못했습니다"}}
	second.delivery.Context = coordination.Context{}
	if diff := cmp.Diff(want, second.delivery); diff != "" || second.EffectID != fmt.Sprint(reports, answer) {
		t.Errorf("%s (-want +got)\n%s", second.EffectID, diff)
	}
	if strings.Contains(d.logged.String(), "ERROR") {
		t.Error(d.logged.String())
	}
}

// Only what main agents say to each other is reported, and only what they say here.
func TestWhatIsNotReported(t *testing.T) {
	t.Parallel()
	d := setup(t, sink+", "+bots)
	d.say("c-0", "before the sink was configured")
	d.follow(1)
	d.appendAs(eventstore.ActorImport, "conversation/c-1", coordination.TypeA2ASend, "eden", sends("c-1", "imported"))
	d.say("c-2", " \n")
	delegated := sends("c-3", "to a sub-agent")
	delegated.EventRole = coordination.RoleDelegation
	d.append("conversation/c-3", coordination.TypeA2ASend, "eden", delegated)
	d.append("conversation/c-4", coordination.TypeA2AComplete, "eden", coordination.A2AComplete{
		Context: coordination.Context{ConversationID: "c-4", EventRole: coordination.RoleConversation}, FromAgent: "eden", ToAgent: "seum"})
	d.append("job/j", coordination.TypeA2AJobFailed, "eden", coordination.A2AJob{JobID: "j", Error: "message"})
	d.say("c-5", "and this is")
	if got := d.asked("", 1)[0].delivery.ReportOf; got != "c-5" {
		t.Errorf("reported is %s, want c-5", got)
	}
}

// A long message is posted as far as people read it, with its full length.
func TestLongMessagesAreDivided(t *testing.T) {
	t.Parallel()
	d := setup(t, sink+", "+bots)
	d.follow(1)
	d.say("c-1", strings.Repeat("가나다라마바사아자 ", 590))
	d.say("c-2", strings.Repeat("x", 6_500))
	for i, s := range d.asked(reports, 2) {
		text := strings.Join(s.delivery.Messages, "")
		tooLong := func(m string) bool { return utf8.RuneCountInString(m) > collaborate.MaxMessage }
		if len(s.delivery.Messages) < 3 || slices.ContainsFunc(s.delivery.Messages, tooLong) {
			t.Errorf("%d messages: %q", len(s.delivery.Messages), s.delivery.Messages)
		}
		if cut := strings.HasSuffix(text, "\n… (6500자 중 6000자)"); cut != (i == 1) {
			t.Errorf("cut is %t: %s", cut, text[len(text)-60:])
		}
	}
}

// While the thread of a conversation is being opened its other reports wait, whatever restarts: there is never a second thread.
func TestReportsWaitForTheirThread(t *testing.T) {
	t.Parallel()
	d := setup(t, sink+", "+bots)
	d.follow(1)
	d.say("c-1", "first")
	opening := d.asked(reports, 1)[0]
	second, third := d.say("c-1", "second"), d.say("c-1", "third")
	d.restart()
	d.follow(1)
	d.append("log", "custom.thing", "", struct{}{})
	thread := d.posted(&opening)
	for i, s := range d.asked(reports, 3)[1:] {
		if want := fmt.Sprint(reports, []int64{second, third}[i]); s.EffectID != want || s.delivery.ThreadID != thread || s.delivery.Open != nil {
			t.Errorf("%s in %s, want %s in %s", s.EffectID, s.delivery.ThreadID, want, thread)
		}
	}
}

// A thread that could not be opened is opened with the next report, and one that is gone is opened again.
func TestThreadIsOpenedAgain(t *testing.T) {
	t.Parallel()
	d := setup(t, sink+", "+bots)
	d.follow(1)
	d.say("c-1", "first")
	opening := d.asked(reports, 1)[0]
	d.lost(&opening, coordination.DiscordOutbound{Step: "open", ErrorClass: string(collaborate.ClassUnavailable)})
	d.say("c-1", "second")
	again := d.asked(reports, 2)[1]
	if again.EffectID != reports+"c-1/2" || again.delivery.Open == nil {
		t.Errorf("second is %+v", again.delivery)
	}
	gone := d.posted(&again)
	d.say("c-1", "third")
	third := d.asked(reports, 3)[2]
	if third.delivery.ThreadID != gone {
		t.Errorf("third is %+v", third.delivery)
	}
	d.lost(&third, coordination.DiscordOutbound{Step: "post", ErrorClass: string(collaborate.ClassNotFound)})
	d.say("c-1", "fourth")
	fourth := d.asked(reports, 4)[3]
	if fourth.EffectID != reports+"c-1/3" || fourth.delivery.Open == nil {
		t.Errorf("fourth is %+v", fourth.delivery)
	}
	thread := d.posted(&fourth)
	d.say("c-1", "fifth")
	if got := d.asked(reports, 5)[4].delivery.ThreadID; got != thread || got == gone {
		t.Errorf("fifth is in %s, want %s", got, thread)
	}
}

// A sink tells of what is appended after it was configured, also when it was not for a while.
func TestSinkBeginsWhenItIsConfigured(t *testing.T) {
	t.Parallel()
	d := setup(t, "")
	d.follow(0)
	d.say("c-1", "not configured")
	d.configure(sink + ", " + bots)
	d.append("log", "custom.thing", "", struct{}{})
	d.until("it begins", func() bool { return len(d.events("sink.")) == 1 })
	d.say("c-2", "configured")
	d.asked(reports, 1)
	d.configure("")
	d.append("log", "custom.thing", "", struct{}{})
	d.until("it ends", func() bool { return len(d.events("sink.")) == 3 })
	d.say("c-3", "no longer configured")
	d.restart()
	d.configure(sink + ", " + bots)
	d.follow(4)
	d.say("c-4", "configured")
	var got []string
	for _, s := range d.asked(reports, 2) {
		got = append(got, s.delivery.ReportOf)
	}
	if diff := cmp.Diff([]string{"c-2", "c-4"}, got); diff != "" {
		t.Errorf("reported (-want +got)\n%s", diff)
	}
}

// A sink without a bot logs that once, and requests nothing.
func TestSinkWithoutABotSaysSo(t *testing.T) {
	t.Parallel()
	d := setup(t, strings.Replace(sink, "'seum'", "'stranger'", 1)+", "+people)
	d.follow(2)
	d.say("c-1", "hello")
	d.append("task/t1", coordination.TypeZombieAbandoned, "eden", coordination.ZombieAbandoned{
		Context: coordination.Context{TaskID: "t1", EventRole: coordination.RoleOrchestration}, Action: coordination.ZombieEscalated})
	d.asked("escalation/", 1)
	if n := len(d.work(reports)); n != 0 {
		t.Errorf("%d reports", n)
	}
	if n := strings.Count(d.logged.String(), "router_account_id"); n != 1 {
		t.Errorf("said %d times, want once: %s", n, d.logged.String())
	}
}

// After many events of which there was nothing to tell the place is written down, so that a restart does not read them again.
func TestPlaceIsWrittenDownAfterManyEvents(t *testing.T) {
	t.Parallel()
	d := setup(t, sink+", "+bots)
	d.follow(1)
	events := make([]eventstore.NewEvent, 1_200)
	for i := range events {
		events[i] = eventstore.NewEvent{Type: "custom.thing", Data: []byte(`{}`)}
	}
	if _, err := d.db.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: events}); err != nil {
		t.Fatal(err)
	}
	d.until("the place is written down", func() bool { return len(d.events("sink.")) == 2 })
	if n := len(d.work("")); n != 0 {
		t.Errorf("%d things were asked for", n)
	}
}

// Whatever ends, and whenever, nothing is reported twice, nothing is left out, and no conversation has a thread more than could not be opened.
//
// Promise: posted-once
func TestNothingTwiceAndNothingLeftOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		d := setup(t, sink+", "+bots)
		d.follow(1)
		want := map[string][]string{}
		running, said, unopened := true, 0, map[string]int{}
		undone := func() (list []scheduled) {
			for _, s := range d.work(reports) {
				version, err := d.db.StreamVersion(t.Context(), coordination.WorkStream(s.EffectID))
				if err != nil {
					r.Fatal(err)
				}
				if version == 1 {
					list = append(list, s)
				}
			}
			return list
		}
		post := func() {
			for _, s := range undone() {
				d.posted(&s)
			}
		}
		for range rapid.IntRange(3, 25).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"say", "say", "say", "post", "lose", "end", "begin", "two", "restart"}).Draw(r, "step") {
			case "say":
				said++
				c := rapid.SampledFrom([]string{"c-1", "c-2", "c-3"}).Draw(r, "conversation")
				text := fmt.Sprintf("message %d", said)
				d.say(c, text)
				want[c] = append(want[c], text)
			case "post":
				post()
			case "lose":
				for _, s := range undone() {
					d.lost(&s, coordination.DiscordOutbound{Step: "open", ErrorClass: string(collaborate.ClassUnavailable)})
					if s.delivery.Open != nil {
						unopened[s.delivery.ReportOf]++
					}
				}
			case "end":
				d.stop()
				d.stop, running = func() {}, false
			case "begin", "two":
				d.run(d.follower())
				running = true
			case "restart":
				d.restart()
				running = false
			}
		}
		if !running {
			d.follow(0)
		}
		d.until("all is reported", func() bool {
			post()
			return len(d.work(reports)) >= said
		})
		got, threads := map[string][]string{}, map[string]int{}
		for _, s := range d.work(reports) {
			_, text, _ := strings.Cut(s.delivery.Messages[0], "**\n")
			got[s.delivery.ReportOf] = append(got[s.delivery.ReportOf], text)
			if s.delivery.Open != nil {
				threads[s.delivery.ReportOf]++
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("reported (-want +got)\n%s", diff)
		}
		for c, n := range threads {
			if n > 1+unopened[c] {
				r.Fatalf("%d threads are asked for, of %s, of which %d were not opened", n, c, unopened[c])
			}
		}
		d.close()
	})
}
