package outbound_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

var _ interface {
	worker.Handler
	worker.Refuser
} = (*outbound.Handler)(nil)

func equal[V any](t *testing.T, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPosts(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Reply] = told.then
	d := o.draft("one <@"+o.eden.ID+">", "two")
	d.Notify = []string{o.eden.ID}
	d.Components = []byte(`[{"type":1,"components":[{"type":2,"style":1,"label":"ok","custom_id":"ok"}]}]`)
	d.Context.WorkSessionID = "ws-1"
	d.ReplyTo = must(t)(o.bora.Post(o.general.ID, "hi")).ID
	o.ask("reply/r1", d)
	o.work()
	equal(t, "history", []string{"scheduled", "leased", "sent post 0", "sent post 1", "completed"}, o.over("reply/r1"))

	posted := o.Messages(o.general.ID)[1:]
	equal(t, "texts", []string{d.Messages[0], "two"}, []string{posted[0].Content, posted[1].Content})
	if len(posted[0].Mentions) != 1 || posted[0].Mentions[0].ID != o.eden.ID || posted[0].Reference == nil || posted[0].Reference.MessageID != d.ReplyTo ||
		len(posted[0].Components) != 0 || len(posted[1].Components) != 1 || posted[1].Reference != nil {
		t.Errorf("posted were %+v\nwant eden mentioned, the first one a reply, buttons below the last one", posted)
	}
	events := o.stream("reply/r1")
	sent := read[coordination.DiscordOutbound](t, events[2])
	equal(t, "discord.sent", coordination.DiscordOutbound{Context: coordination.Context{WorkSessionID: "ws-1", EventRole: coordination.RoleObservability},
		EffectID: "reply/r1", ChannelID: o.general.ID, GuildID: o.guild.ID, MessageID: posted[0].ID, AccountID: "ruda", Nonce: d.Nonce("reply/r1", o.general.ID, 0),
		Purpose: delivery.Reply, Step: delivery.StepPost, Attempt: 1, RunID: "r1"}, sent)
	done := read[coordination.WorkAttempt](t, events[4])
	equal(t, "result", `{"state":"done","messageIds":["`+posted[0].ID+`","`+posted[1].ID+`"]}`, string(done.Result))
	got := told.only(t)
	equal(t, "outcome", delivery.Outcome{State: delivery.Done, MessageIDs: []string{posted[0].ID, posted[1].ID}, SentAt: got.SentAt}, got)
	if got.SentAt == 0 {
		t.Error("nothing says when the first was sent")
	}
}

// Siblings are told of a post once the log records it. What is not recorded is not told: it is looked for.
func TestPostsAreToldOnceRecorded(t *testing.T) {
	t.Parallel()
	o := open(t)
	var told []string
	o.tell = func(id string) {
		recorded := false
		for _, e := range o.stream("reply/r1") {
			recorded = recorded || e.Type == coordination.TypeDiscordSent && read[coordination.DiscordOutbound](t, e).MessageID == id
		}
		if !recorded {
			t.Errorf("%s is told before the log records it", id)
		}
		told = append(told, id)
	}
	o.ask("reply/r1", o.draft("one", "two"))
	o.work()
	o.over("reply/r1")
	o.stop()
	var want []string
	for _, m := range o.Messages(o.general.ID) {
		want = append(want, m.ID)
	}
	equal(t, "told", want, told)
}

func must(t *testing.T) func(discordtest.Message, error) discordtest.Message {
	return func(m discordtest.Message, err error) discordtest.Message {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func TestOpensAThread(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Request] = told.then
	o.ask("collab/c1", o.inThread("hello", "more"))
	o.work()
	equal(t, "history", []string{"scheduled", "leased", "thread.created", "sent post 0", "sent post 1", "completed"}, o.over("collab/c1"))
	threads := o.Threads(o.general.ID)
	if len(threads) != 1 {
		t.Fatalf("%d threads, want one", len(threads))
	}
	equal(t, "texts", []string{"hello", "more"}, o.texts(threads[0].ID))
	events := o.stream("collab/c1")
	equal(t, "thread.created", coordination.Thread{Context: coordination.Context{EventRole: coordination.RoleObservability}, ThreadID: threads[0].ID,
		ChannelID: o.general.ID, Name: "about", GuildID: o.guild.ID, Kind: "collab", EffectID: "collab/c1", CollabID: "c1", ReuseKey: "ruda:eden",
		FromAgent: "ruda", ToAgent: "eden"}, read[coordination.Thread](t, events[2]))
	if sent := read[coordination.DiscordOutbound](t, events[3]); sent.ThreadID != threads[0].ID || sent.ChannelID != o.general.ID {
		t.Errorf("discord.sent says thread %s in channel %s", sent.ThreadID, sent.ChannelID)
	}
	if got := told.only(t); got.ThreadID != threads[0].ID || got.ThreadName != "about" || len(got.MessageIDs) != 2 {
		t.Errorf("the outcome is %+v", got)
	}
}

func TestOpensAThreadInAForum(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		o := open(t)
		forum := o.guild.AddChannel("forum", discordtest.ChannelOptions{Type: discordtest.Forum})
		d := o.inThread("hello", "more")
		d.ChannelID, d.Open.Starter = forum.ID, true
		want := []string{"scheduled", "leased", "thread.created", "sent post 0", "sent post 1", "completed"}
		if lost {
			o.fault(opening, 1, discordtest.LoseAnswer())
			want = []string{"scheduled", "leased", "send_failed open 0 lost", "thread.created", "sent post 0 found", "sent post 1", "completed"}
		}
		o.ask("e", d)
		o.work()
		equal(t, "history", want, o.over("e"))
		threads := o.Threads(forum.ID)
		if len(threads) != 1 {
			t.Fatalf("%d threads, want one", len(threads))
		}
		equal(t, "texts", []string{"hello", "more"}, o.texts(threads[0].ID))
		if sent := read[coordination.DiscordOutbound](t, o.stream("e")[len(want)-3]); sent.MessageID != o.Messages(threads[0].ID)[0].ID {
			t.Errorf("the first message is said to be %s, want %s", sent.MessageID, o.Messages(threads[0].ID)[0].ID)
		}
	}
}

// A refusal by Discord is not retried, and reported with what helps.
func TestRefusalsEndADelivery(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Reply] = told.then
	o.work()
	for _, c := range []struct {
		name        string
		effect      discordtest.Effect
		class, code string
		forget      bool
	}{
		{"forbidden", discordtest.Forbidden(), "forbidden", collaborate.CodeDenied, false},
		{"not found", discordtest.NotFound(discordtest.CodeUnknownChannel), "not_found", collaborate.CodeNotFound, true},
		{"archived", discordtest.Refuse(400, discordtest.CodeThreadArchived, "Thread is archived"), "not_found", collaborate.CodeNotFound, true},
		{"rejected", discordtest.Refuse(400, discordtest.CodeInvalidForm, "Invalid Form Body"), "rejected", collaborate.CodeRejected, false},
		{"token", discordtest.Refuse(401, 0, "401: Unauthorized"), "unauthorized", collaborate.CodeUnauthorized, false},
	} {
		told.list = nil
		o.fault(posting, 1, c.effect)
		o.ask(c.name, o.draft(c.name))
		equal(t, c.name, []string{"scheduled", "leased", "send_failed post 0 " + c.class + " " + c.code, "dead"}, o.over(c.name))
		got := told.only(t)
		if got.State != delivery.Failed || got.Code != c.code || got.Forget != c.forget || !got.Escalate || got.Hint == "" || !strings.Contains(got.Text, "as ruda") {
			t.Errorf("%s: the outcome is %+v, want it failed with %s, and a hint", c.name, got, c.code)
		}
		events := o.stream(c.name)
		if f := read[coordination.DiscordOutbound](t, events[2]); !f.Escalate || f.Error == "" {
			t.Errorf("%s: the event is %+v, want it to escalate and to say why", c.name, f)
		}
		if dead := read[coordination.WorkAttempt](t, events[3]); !strings.Contains(dead.Error, c.code) || !strings.Contains(dead.Error, got.Hint) {
			t.Errorf("%s: it is dead of %q, want the code and the hint", c.name, dead.Error)
		}
	}
	equal(t, "posted", nil, o.texts(o.general.ID))
}

func TestServerErrorsAreWaitedFor(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Reply] = told.then
	o.fault(posting, 4, discordtest.Unavailable(503))
	o.ask("e", o.draft("hi"))
	o.work()
	for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		o.released("e", i+1)
		o.later(wait - time.Millisecond)
		if n := len(o.RequestsTo(discordtest.Match{Route: posting})); n != i+1 {
			t.Errorf("%d requests before its time, want %d", n, i+1)
		}
		o.later(time.Millisecond)
	}
	equal(t, "history", []string{"scheduled", "leased", "send_failed post 0 unavailable", "released for 1s", "leased", "send_failed post 0 unavailable",
		"released for 2s", "leased", "send_failed post 0 unavailable", "released for 4s", "leased", "send_failed post 0 unavailable",
		"send_failed post 0 unavailable", "dead"}, o.over("e"))
	if got := told.only(t); got.State != delivery.Failed || got.Code != collaborate.CodeUnavailable || !got.Escalate {
		t.Errorf("the outcome is %+v, want it unavailable: it was looked for and is not there", got)
	}
	equal(t, "posted", nil, o.texts(o.general.ID))

	o.fault(posting, 1, discordtest.Unavailable(500))
	o.ask("f", o.draft("hi again"))
	o.released("f", 1)
	o.later(time.Second)
	equal(t, "history", []string{"scheduled", "leased", "send_failed post 0 unavailable", "released for 1s", "leased", "sent post 0", "completed"}, o.over("f"))
	equal(t, "posted", []string{"hi again"}, o.texts(o.general.ID))
}

func TestRateLimitsAreWaitedFor(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.fault(posting, 1, discordtest.TooManyRequests(300*time.Millisecond, false))
	o.ask("e", o.draft("hi"))
	o.work()
	equal(t, "put off", []string{"scheduled", "leased", "send_failed post 0 rate_limited", "released for 300ms"}, o.released("e", 1))
	o.later(300 * time.Millisecond)
	equal(t, "history", []string{"scheduled", "leased", "send_failed post 0 rate_limited", "released for 300ms", "leased", "sent post 0", "completed"}, o.over("e"))

	o.fault(posting, 1, discordtest.TooManyRequests(2*time.Minute, false))
	o.ask("f", o.draft("hi"))
	equal(t, "history", []string{"scheduled", "leased", "send_failed post 0 rate_limited rate_limited", "dead"}, o.over("f"))
}

// A late answer is requested once more at once, under the same nonce; a lost one is looked up.
func TestLateAndLostAnswers(t *testing.T) {
	t.Parallel()
	o := open(t, func(d *channel.Options) { d.TimeLimit = 1500 * time.Millisecond })
	o.work()
	held := make(chan struct{})
	o.fault(posting, 1, discordtest.HoldAnswer(held))
	o.ask("late", o.draft("late"))
	equal(t, "late", []string{"scheduled", "leased", "send_failed post 0 timeout", "sent post 0", "completed"}, o.over("late"))
	close(held)
	o.fault(posting, 1, discordtest.LoseAnswer())
	o.ask("lost", o.draft("lost"))
	equal(t, "lost", []string{"scheduled", "leased", "send_failed post 0 lost", "sent post 0 found", "completed"}, o.over("lost"))
	o.fault(posting, 1, discordtest.Cut())
	o.ask("cut", o.draft("cut"))
	equal(t, "cut", []string{"scheduled", "leased", "send_failed post 0 lost", "sent post 0", "completed"}, o.over("cut"))
	equal(t, "posted", []string{"late", "lost", "cut"}, o.texts(o.general.ID))
}

// Two messages of a delivery with the same text are two.
func TestTwinsAreTwo(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.Inject(discordtest.Fault{Match: discordtest.Match{Route: posting}, After: 1, Times: 1, Effect: discordtest.Cut()})
	o.ask("e", o.draft("same", "same"))
	o.work()
	equal(t, "history", []string{"scheduled", "leased", "sent post 0", "send_failed post 1 lost", "sent post 1", "completed"}, o.over("e"))
	equal(t, "posted", []string{"same", "same"}, o.texts(o.general.ID))
}

// Another delivery's post is not mistaken for this one's, though the text is the same.
func TestTheSameTextOfAnotherDelivery(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.work()
	o.ask("one", o.draft("yes"))
	o.over("one")
	o.fault(posting, 1, discordtest.Cut())
	o.ask("two", o.draft("yes"))
	equal(t, "never posted", []string{"scheduled", "leased", "send_failed post 0 lost", "sent post 0", "completed"}, o.over("two"))
	o.fault(posting, 1, discordtest.LoseAnswer())
	o.ask("three", o.draft("yes"))
	equal(t, "posted", []string{"scheduled", "leased", "send_failed post 0 lost", "sent post 0 found", "completed"}, o.over("three"))
	equal(t, "texts", []string{"yes", "yes", "yes"}, o.texts(o.general.ID))

	o.ask("four", o.inThread("hello"))
	o.over("four")
	o.fault(opening, 1, discordtest.Cut())
	o.ask("five", o.inThread("hello"))
	equal(t, "never opened", []string{"scheduled", "leased", "send_failed open 0 lost", "thread.created", "sent post 0", "completed"}, o.over("five"))
	if n := len(o.Threads(o.general.ID)); n != 2 {
		t.Errorf("%d threads, want two", n)
	}
}

// A message of unknown delivery that was received is not mistaken for that of a later delivery.
func TestSameTextOfUnknownOrigin(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.fault(posting, 1, discordtest.LoseAnswer())
	o.fault(reading, 1, discordtest.Forbidden())
	o.work()
	o.ask("one", o.draft("yes"))
	equal(t, "no one knows", []string{"scheduled", "leased", "send_failed post 0 lost", "send_failed look 0 forbidden", "delivery_unknown post 0 delivery_unknown", "dead"},
		o.over("one"))
	heard, err := json.Marshal(coordination.DiscordInbound{Context: coordination.Context{EventRole: coordination.RoleObservability}, MessageID: o.Messages(o.general.ID)[0].ID,
		ChannelID: o.general.ID, GuildID: o.guild.ID, AuthorID: o.ruda.ID, AuthorAgent: "ruda", Decision: "dropped", Reason: "own_message", Agents: []string{"ruda"}})
	if err != nil {
		t.Fatal(err)
	}
	o.append(eventstore.StreamAppend{Stream: coordination.MessageStream(o.Messages(o.general.ID)[0].ID),
		Events: []eventstore.NewEvent{{Type: coordination.TypeDiscordInboundDropped, Data: heard}}})
	o.fault(posting, 1, discordtest.Cut())
	o.ask("two", o.draft("yes"))
	equal(t, "posted", []string{"scheduled", "leased", "send_failed post 0 lost", "sent post 0", "completed"}, o.over("two"))
	equal(t, "texts", []string{"yes", "yes"}, o.texts(o.general.ID))
}

// Where the bot may not read, the result is unknown.
func TestUnseenIsUnknown(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.work()
	o.Permit(o.general.ID, o.ruda.ID, 0, discordtest.ReadMessageHistory)
	o.fault(posting, 1, discordtest.LoseAnswer())
	o.ask("e", o.draft("hi"))
	equal(t, "message", []string{"scheduled", "leased", "send_failed post 0 lost", "send_failed look 0 forbidden", "delivery_unknown post 0 delivery_unknown", "dead"},
		o.over("e"))
	equal(t, "posted", []string{"hi"}, o.texts(o.general.ID))

	o.fault("GET /channels/{channel}", -1, discordtest.Forbidden())
	o.fault(opening, 1, discordtest.LoseAnswer())
	o.ask("f", o.inThread("hello"))
	equal(t, "thread", []string{"scheduled", "leased", "send_failed open 0 lost", "send_failed look 0 forbidden", "delivery_unknown open 0 delivery_unknown", "dead"},
		o.over("f"))
	if n := len(o.Threads(o.general.ID)); n != 1 {
		t.Errorf("%d threads, want one", n)
	}
}

func TestGoesOnInTheThreadThatItHasOpened(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.fault(posting, 1, discordtest.Unavailable(502))
	o.ask("e", o.inThread("hello"))
	o.work()
	o.released("e", 1)
	o.later(time.Second)
	equal(t, "history", []string{"scheduled", "leased", "thread.created", "send_failed post 0 unavailable", "released for 1s", "leased", "sent post 0", "completed"},
		o.over("e"))
	threads := o.Threads(o.general.ID)
	if len(threads) != 1 {
		t.Fatalf("%d threads, want one", len(threads))
	}
	equal(t, "posted", []string{"hello"}, o.texts(threads[0].ID))
}

func TestAThreadThatMayBeOpenIsLookedFor(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.fault(opening, 1, discordtest.LoseAnswer())
	o.ask("e", o.inThread("hello"))
	o.work()
	equal(t, "history", []string{"scheduled", "leased", "send_failed open 0 lost", "thread.created", "sent post 0", "completed"}, o.over("e"))
	if n := len(o.Threads(o.general.ID)); n != 1 {
		t.Errorf("%d threads, want one", n)
	}
}

// The loss of an existing thread is reported to the requester, which decides again.
func TestAThreadFromBeforeThatIsNoMore(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Request] = told.then
	d := o.inThread("hello")
	d.Open, d.ThreadID, d.Route = nil, "900000000000000009", collaborate.RouteReused
	o.ask("e", d)
	o.work()
	equal(t, "history", []string{"scheduled", "leased", "send_failed post 0 not_found", "completed"}, o.over("e"))
	if got := told.only(t); got.State != delivery.Reroute || !got.Forget {
		t.Errorf("the outcome is %+v, want it to be decided again", got)
	}
}

// The process dies between the request and its event: the result is looked up, and the request not repeated.
func TestKilledBetweenDeedAndEvent(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string][]string{
		coordination.TypeThreadCreated: {"scheduled", "leased", "lease_expired", "leased", "thread.created", "sent post 0", "sent post 1", "completed"},
		coordination.TypeDiscordSent:   {"scheduled", "leased", "thread.created", "lease_expired", "leased", "sent post 0 found", "sent post 1", "completed"},
		coordination.TypeWorkCompleted: {"scheduled", "leased", "thread.created", "sent post 0", "sent post 1", "lease_expired", "leased", "completed"},
	} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			o := open(t)
			told := &outcomes{}
			o.then[delivery.Request] = told.then
			dead := o.log.dieAt(typ)
			o.ask("e", o.inThread("hello", "more"))
			o.work()
			<-dead
			o.stop()
			told.list = nil // what died with the process
			o.restart()
			equal(t, "history", want, o.over("e"))
			threads := o.Threads(o.general.ID)
			if len(threads) != 1 {
				t.Fatalf("%d threads, want one", len(threads))
			}
			equal(t, "posted", []string{"hello", "more"}, o.texts(threads[0].ID))
			if got := told.only(t); got.State != delivery.Done {
				t.Errorf("the outcome is %+v", got)
			}
		})
	}
}

// Two deliveries for one place are posted in the order of their requests, also where the first one is postponed.
func TestOrderOfDeliveries(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.fault(posting, 1, discordtest.Unavailable(500))
	o.ask("one", o.draft("1", "2"))
	o.ask("two", o.draft("3"))
	elsewhere := o.guild.AddChannel("elsewhere", discordtest.ChannelOptions{})
	free := o.draft("free")
	free.ChannelID = elsewhere.ID
	o.work()
	o.released("one", 1)
	o.ask("free", free)
	o.over("free")
	equal(t, "the second one", []string{"scheduled"}, o.history("two"))
	o.later(time.Second)
	o.over("two")
	equal(t, "posted", []string{"1", "2", "3"}, o.texts(o.general.ID))
}

// Where a post may exist and cannot be looked up the result is unknown, and it is never repeated automatically; an operator may resend
// it.
func TestDeliveryUnknown(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Reply] = told.then
	lost := o.fault(posting, 1, discordtest.Cut())
	blind := o.fault(reading, -1, discordtest.Forbidden())
	o.ask("e", o.draft("hi"))
	o.work()
	unknown := []string{"scheduled", "leased", "send_failed post 0 lost", "send_failed look 0 forbidden", "delivery_unknown post 0 delivery_unknown", "dead"}
	equal(t, "history", unknown, o.over("e"))
	if lost.Hits() != 1 || blind.Hits() != 1 {
		t.Fatalf("%d posts and %d looks failed, want one each", lost.Hits(), blind.Hits())
	}
	got := told.only(t)
	if got.State != delivery.Unknown || got.Code != collaborate.CodeUnknown || !got.Escalate || !strings.Contains(got.Hint, "resend") {
		t.Errorf("the outcome is %+v", got)
	}
	o.resend("e")
	o.last("e", 1, coordination.TypeWorkCompleted)
	equal(t, "history", append(unknown, "resent", "leased", "send_failed look 0 forbidden", "sent post 0", "completed"), o.history("e"))
	equal(t, "posted", []string{"hi"}, o.texts(o.general.ID))
	if n := len(told.list); n != 2 || told.list[1].State != delivery.Done {
		t.Errorf("reported %+v, want it done in the end", told.list)
	}
}

// resend is what an operator does.
func (o *fixture) resend(effectID string) {
	o.t.Helper()
	if err := o.hand.Resend(o.ctx, effectID, "bora"); err != nil {
		o.t.Fatal(err)
	}
}

// No one is notified twice of the same end.
func TestTheSameEndIsToldOnce(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Reply] = told.then
	o.fault(posting, 2, discordtest.Forbidden())
	o.ask("e", o.draft("hi"))
	o.work()
	o.over("e")
	o.resend("e")
	equal(t, "history", []string{"scheduled", "leased", "send_failed post 0 forbidden permission_denied", "dead", "resent", "leased",
		"send_failed post 0 forbidden permission_denied", "dead"}, o.last("e", 2, coordination.TypeWorkDead))
	told.only(t)
}

func TestABotThatIsNotThere(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Reply] = told.then
	d := o.draft("hi")
	d.AccountID = "stranger"
	o.ask("e", d)
	o.work()
	equal(t, "history", []string{"scheduled", "leased", "send_failed post 0 no_bot unknown_account", "dead"}, o.over("e"))
	if got := told.only(t); got.Code != collaborate.CodeAccount || !strings.Contains(got.Hint, "channels.discord.accounts.stranger") {
		t.Errorf("the outcome is %+v, want a hint that names the account", got)
	}
}

// A program told to end releases what it has not done, and the next one continues.
func TestDrained(t *testing.T) {
	t.Parallel()
	o := open(t)
	held := make(chan struct{})
	defer close(held)
	o.fault(posting, 1, discordtest.HoldAnswer(held))
	o.ask("e", o.draft("1", "2"))
	o.work()
	if _, err := o.WaitRequest(o.ctx, discordtest.Match{Route: posting}); err != nil {
		t.Fatal(err)
	}
	o.restart()
	equal(t, "history", []string{"scheduled", "leased", "lease_expired", "leased", "sent post 0 found", "sent post 1", "completed"}, o.over("e"))
	equal(t, "posted", []string{"1", "2"}, o.texts(o.general.ID))
}

// What waits in a queue when the program is told to end was not sent: it is released as such.
func TestDrainedInTheQueue(t *testing.T) {
	t.Parallel()
	o := open(t)
	held := make(chan struct{})
	defer close(held)
	o.fault(posting, 1, discordtest.Hold(held))
	ctx, cancel := context.WithCancel(o.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := o.bots.Send(ctx, channel.Post{AccountID: "eden", ChannelID: o.general.ID, Content: "in the way", Nonce: "n"})
		done <- err
	}()
	if _, err := o.WaitRequest(o.ctx, discordtest.Match{Route: posting}); err != nil {
		t.Fatal(err)
	}
	o.ask("e", o.draft("hi"))
	o.work()
	o.last("e", 1, coordination.TypeWorkLeased)
	o.stop()
	cancel()
	if err := <-done; err == nil {
		t.Fatal("what is in the way was posted")
	}
	equal(t, "history", []string{"scheduled", "leased", "released"}, o.history("e"))
	o.restart()
	equal(t, "history", []string{"scheduled", "leased", "released", "leased", "sent post 0", "completed"}, o.over("e"))
	if n := len(o.RequestsTo(discordtest.Match{Route: reading})); n != 0 {
		t.Errorf("%d looks, want none: nothing can have been posted", n)
	}
}

// The consequences of the end are stored with it, and cannot prevent it.
func TestThen(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	o.then[delivery.Reply] = told.then
	o.then[delivery.Notice] = func(eventstore.Tx, string, *delivery.Delivery, *delivery.Outcome, time.Time) ([]eventstore.StreamAppend, error) {
		panic("no")
	}
	o.then[delivery.Report] = func(eventstore.Tx, string, *delivery.Delivery, *delivery.Outcome, time.Time) ([]eventstore.StreamAppend, error) {
		return nil, errors.New("no")
	}
	o.then[delivery.Announce] = func(eventstore.Tx, string, *delivery.Delivery, *delivery.Outcome, time.Time) ([]eventstore.StreamAppend, error) {
		return []eventstore.StreamAppend{{Stream: coordination.WorkStream("reply"), Expect: eventstore.NoStream(),
			Events: []eventstore.NewEvent{{Type: "test.late", Data: []byte("{}")}}}}, nil
	}
	o.work()
	for _, purpose := range []string{delivery.Reply, delivery.Notice, delivery.Report, delivery.Announce, delivery.Reminder} {
		d := o.draft(purpose)
		d.Purpose = purpose
		o.ask(purpose, d)
		equal(t, purpose, []string{"scheduled", "leased", "sent post 0", "completed"}, o.over(purpose))
	}
	events := o.stream(delivery.Reply)
	next, err := o.db.Event(t.Context(), events[3].Seq+1)
	if err != nil || next.Type != "test.told" || next.RecordedAt != events[3].RecordedAt {
		t.Errorf("behind the end stands %s (%v), want what follows from it, stored at once", next.Type, err)
	}
}

func TestSystemNonces(t *testing.T) {
	t.Parallel()
	o := open(t)
	d := o.draft("[리마인더] 확인 부탁해요.")
	d.Purpose, d.System = delivery.Reminder, true
	o.ask("e", d)
	o.work()
	o.over("e")
	nonce := string(o.Messages(o.general.ID)[0].Nonce)
	if sent := read[coordination.DiscordOutbound](t, o.stream("e")[2]); !response.SystemNonce(strings.Trim(nonce, `"`)) || !sent.System || !slices.Contains([]string{nonce}, `"`+sent.Nonce+`"`) {
		t.Errorf("the nonce is %s, the event %+v, want those of the system", nonce, sent)
	}
}

// A scheduled delivery that can no longer be read cannot be posted.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.append(eventstore.StreamAppend{Stream: coordination.WorkStream("broken"), Events: []eventstore.NewEvent{{Type: coordination.TypeWorkScheduled, AgentID: "ruda",
		Data: []byte(`{"effectId":"broken","kind":"discord","key":"k","pool":"discord","payload":{"messages":7}}`)}}})
	o.ask("redacted", o.draft("hi"))
	if err := o.db.Redact(t.Context(), o.stream("redacted")[0].Seq); err != nil {
		t.Fatal(err)
	}
	o.work()
	for _, effect := range []string{"broken", "redacted"} {
		o.over(effect)
		if all := o.stream(effect); all[len(all)-1].Type != coordination.TypeWorkDead {
			t.Errorf("%s ends with %s, want it dead", effect, all[len(all)-1].Type)
		}
	}
	equal(t, "posted", nil, o.texts(o.general.ID))
}

// What the worker gives up has failed, or is unknown if it may have been done.
func TestRefused(t *testing.T) {
	t.Parallel()
	o := open(t)
	told := &outcomes{}
	h := outbound.New(outbound.Options{Log: o.db, Then: map[string]outbound.Then{delivery.Reply: told.then}, Now: o.clock, Logger: discard()})
	for effect, want := range map[string][]string{
		"waits":  {"scheduled", "send_failed post 0 unavailable", "dead"},
		"leased": {"scheduled", "leased", "delivery_unknown post 0 delivery_unknown", "dead"},
	} {
		told.list = nil
		o.ask(effect, o.draft("hi"))
		if effect == "leased" {
			o.append(eventstore.StreamAppend{Stream: coordination.WorkStream(effect), Events: []eventstore.NewEvent{
				{Type: coordination.TypeWorkLeased, AgentID: "ruda", Data: []byte(`{"attempt":1}`)}}})
		}
		_, err := o.db.Decide(o.ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			item, _, err := workqueue.Load(tx, effect)
			if err != nil {
				return nil, err
			}
			return h.Refused(tx, item, errors.New("no"), o.clock())
		})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, effect, want, o.history(effect))
		if got := told.only(t); !got.Escalate || !strings.Contains(got.Text, "no") {
			t.Errorf("%s: the outcome is %+v", effect, got)
		}
	}
}
