package collabtools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// later advances the clock while a call waits for the outcome of its request, as long as steps says.
func (m *team) later(steps ...time.Duration) (ended chan struct{}) {
	m.t.Helper()
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		for i, step := range steps {
			for len(m.types(coordination.TypeDiscordSendFailed)) <= i {
				head, err := m.db.Head(m.ctx)
				if err != nil {
					return
				}
				if len(m.types(coordination.TypeDiscordSendFailed)) > i {
					break
				}
				if _, err := m.db.Wait(m.ctx, head.Seq+1); err != nil {
					return
				}
			}
			m.advance(step)
		}
	}()
	return ended
}

// Checklist E1, E2 and C5: what Discord forbids or does not find is not retried; one escalation tells people.
func TestBoxE1E2C5_NotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect discordtest.Effect
		code   string
	}{"E1": {discordtest.Forbidden(), collaborate.CodeDenied}, "E2": {discordtest.NotFound(discordtest.CodeUnknownChannel), collaborate.CodeNotFound},
		"C5": {discordtest.Refuse(403, discordtest.CodeMissingAccess, "Missing Access"), collaborate.CodeDenied}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTeam(t, setting{})
			m.Inject(discordtest.Fault{Match: discordtest.Match{Route: threadRoute}, Times: -1, Effect: c.effect})
			a := m.refuses(c.code, caller("ruda"), "질문")
			if a.text("status") != "failed" {
				t.Errorf("the answer is %v, want that it has failed", a)
			}
			if n := len(m.RequestsTo(discordtest.Match{Route: threadRoute})); n != 1 {
				t.Errorf("Discord was asked %d times, want once", n)
			}
			if e := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateFailed); e.ErrorCode != c.code || !e.Escalate || e.FromAgent != "ruda" || e.ToAgent != "eden" {
				t.Errorf("the event says %+v", e)
			}
			m.until("the escalation", func() bool { return len(m.posted(m.alarm.ID)) > 0 })
			got := m.posted(m.alarm.ID)
			if len(got) != 1 || !strings.HasPrefix(got[0], "<@"+m.bora.ID+">\n**Escalation** · a request of 루다 to 이든 was not posted ("+c.code+": ") {
				t.Errorf("people are told %q, want one line with who, whom and why", got)
			}
			if one := m.Messages(m.alarm.ID)[0]; len(one.Mentions) != 1 || one.Mentions[0].ID != m.bora.ID || one.Author.ID == m.bot["ruda"].ID {
				t.Errorf("it calls %v by the bot of %s, want bora, by a bot that has not failed", one.Mentions, one.Author.Username)
			}
		})
	}
}

// Without a channel for notices only the event tells.
func TestEscalationWithoutAChannel(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{config: map[string]any{"escalation": map[string]any{}}})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: threadRoute}, Effect: discordtest.Forbidden()})
	m.refuses(collaborate.CodeDenied, caller("ruda"), "질문")
	if e := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateFailed); !e.Escalate || len(m.types(coordination.TypeWorkScheduled)) != 1 {
		t.Errorf("the event says %+v, and %d things are to be done; want the request alone", e, len(m.types(coordination.TypeWorkScheduled)))
	}
}

// Where only another channel has notices, people are told there.
func TestEscalationInAnotherChannel(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{config: map[string]any{"escalation": map[string]any{}}, forum: true, notices: true})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: threadRoute}, Effect: discordtest.Forbidden()})
	m.refuses(collaborate.CodeDenied, caller("ruda"), "질문")
	work := last[coordination.WorkScheduled](m, coordination.TypeWorkScheduled)
	var d delivery.Delivery
	if err := json.Unmarshal(work.Payload, &d); err != nil {
		t.Fatal(err)
	}
	if work.Kind != coordination.Telegram || d.ChannelID != telegramGroup || d.GuildID != "" || d.Purpose != delivery.Escalate {
		t.Errorf("to be done is %s %+v, want a notice in Telegram", work.Kind, d)
	}
}

// Checklist E3: Discord says how long to wait; then it succeeds.
func TestBoxE3_RetryAfter(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: threadRoute}, Effect: discordtest.TooManyRequests(2*time.Second, false)})
	started := m.now()
	ended := m.later(2 * time.Second)
	m.asks(caller("ruda"), "질문")
	<-ended
	r := m.RequestsTo(discordtest.Match{Route: threadRoute})
	if len(r) != 2 || r[1].At.Sub(started) < 2*time.Second {
		t.Errorf("Discord was asked %d times, the second time after %s; want twice, 2 s later", len(r), r[len(r)-1].At.Sub(started))
	}
}

// Checklist E4: retried after 1, 2 and 4 s; then it has failed, and people are told.
func TestBoxE4_Unavailable(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID}, Times: -1, Effect: discordtest.Unavailable(503)})
	ended := m.later(time.Second, 2*time.Second, 4*time.Second)
	a := m.refuses(collaborate.CodeUnavailable, caller("ruda"), "질문")
	<-ended
	r := m.RequestsTo(discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID})
	if len(r) != 4 {
		t.Fatalf("Discord was asked %d times, want 4", len(r))
	}
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := r[i+1].At.Sub(r[i].At); got < want || got > want+time.Second {
			t.Errorf("attempt %d came %s after the one before, want %s", i+2, got, want)
		}
	}
	m.until("the escalation", func() bool { return len(m.posted(m.alarm.ID)) > 0 })
	if got := m.threads(m.lobby); len(got) != 1 || a.text("threadId") != got[0] {
		t.Errorf("threads are %v, want the one of the answer %v", got, a)
	}
}

// Checklist E5: without an answer it is retried three times.
func TestBoxE5_TimeOut(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{limit: 300 * time.Millisecond})
	never := make(chan struct{})
	defer close(never)
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID}, Times: -1, Effect: discordtest.Hold(never)})
	m.refuses(collaborate.CodeTimeout, caller("ruda"), "질문")
	if n := len(m.RequestsTo(discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID})); n != 4 {
		t.Errorf("Discord was asked %d times, want 4", n)
	}
	if e := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateFailed); !e.Escalate || e.ErrorCode != collaborate.CodeTimeout {
		t.Errorf("the event says %+v", e)
	}
}

// Checklist E7: the thread is opened, the message fails; a new request goes to that thread.
func TestBoxE7_TheThreadIsKept(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	fault := m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID}, Times: -1, Effect: discordtest.Forbidden()})
	m.refuses(collaborate.CodeDenied, caller("ruda"), "질문")
	fault.Remove()
	a := m.asks(caller("ruda"), "질문")
	if got := m.threads(m.lobby); len(got) != 1 || a.text("threadId") != got[0] || len(m.posted(got[0])) != 1 {
		t.Errorf("threads are %v, want one with one message", got)
	}
	if e := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateSent); !e.Tracked {
		t.Errorf("sent says %+v", e)
	}
}

// A dead letter that an operator resends continues where it was, and is tracked then.
func TestSentAgainByAnOperator(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	fault := m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID}, Times: -1, Effect: discordtest.Forbidden()})
	id := m.refuses(collaborate.CodeDenied, caller("ruda"), "질문").text("collabId")
	fault.Remove()
	if err := m.worker.Resend(m.ctx, "collab/"+id, "test"); err != nil {
		t.Fatal(err)
	}
	m.until("the request to be sent", func() bool { return m.row(id).Delivery == collaborate.StatusSent })
	if got, row := m.threads(m.lobby), m.row(id); len(got) != 1 || len(m.posted(got[0])) != 1 || row.Status != "pending" {
		t.Errorf("threads are %v, the request is %q; want one thread with one message, and that it waits", got, row.Status)
	}
	m.advance(5 * time.Minute)
	m.reaches(id, "pending", 1)
}

// Bug 45: the thread is opened, the message fails and is retried in it.
func TestBug45_NoOrphanThreads(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID}, Effect: discordtest.Unavailable(502)})
	ended := m.later(time.Second)
	a := m.asks(caller("ruda"), "질문")
	<-ended
	if got := m.threads(m.lobby); len(got) != 1 || len(m.posted(got[0])) != 1 || a["success"] != true {
		t.Errorf("threads are %v, want one with one message", got)
	}
}

// Where the answer is lost and no lookup is possible, the result is reported as unknown, and the post is never repeated.
func TestDeliveryUnknown(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID}, Times: -1, Effect: discordtest.LoseAnswer()})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: "GET /channels/{channel}/messages"}, Times: -1, Effect: discordtest.Forbidden()})
	a := m.refuses(collaborate.CodeUnknown, caller("ruda"), "질문")
	if a.text("status") != "delivery_unknown" {
		t.Errorf("the answer is %v", a)
	}
	if again := m.refuses(collaborate.CodeUnknown, caller("ruda"), "질문"); again["duplicate"] != true {
		t.Errorf("again it is %v, want the same", again)
	}
	if n := len(m.RequestsTo(discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID})); n > 2 {
		t.Errorf("it was posted %d times", n)
	}
}

// A request without a result in time is under way; a repetition refers to the same one.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: 10 * time.Millisecond})
	a := m.asks(caller("ruda"), "질문")
	if a.text("status") != "accepted" || a.text("note") == "" || a.text("note") == noteOfEden || a.text("threadId") != "" {
		t.Errorf("the answer is %v, want that it is under way", a)
	}
	if b := m.asks(caller("ruda"), "질문"); b.text("collabId") != a.text("collabId") || b["duplicate"] != true {
		t.Errorf("again it is %v, want the same", b)
	}
	m.wake()
	m.until("the request to be sent", func() bool { return len(m.types(coordination.TypeA2ACollaborateSent)) == 1 })
	if c := m.asks(caller("ruda"), "질문"); c.text("collabId") != a.text("collabId") || c.text("note") != noteOfEden {
		t.Errorf("in the end it is %v", c)
	}
}

// The process dies after posting, before recording it: the request is posted once all the same.
func TestCrashBetweenPostAndEvent(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]int64{"the thread": 0, "the message": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTeam(t, setting{asleep: true, wait: 10 * time.Millisecond})
			collabID := m.asks(caller("ruda"), "질문").text("collabId")
			m.keep.Store(keep)
			m.dies.Store(true)
			m.wake()
			select {
			case <-m.died:
			case <-m.ctx.Done():
				t.Fatal("it does not die")
			}
			m.again()
			m.wake()
			m.until("the request to be sent", func() bool { return len(m.types(coordination.TypeA2ACollaborateSent)) == 1 })
			threads := m.threads(m.lobby)
			if len(threads) != 1 || len(m.posted(threads[0])) != 1 {
				t.Fatalf("threads are %v, want one with one message", threads)
			}
			if row := m.row(collabID); row.Status != "pending" || row.ThreadID != threads[0] {
				t.Errorf("the request is %+v", row)
			}
			if diff := cmp.Diff([]string{"eden", "ruda"}, m.participants(threads[0])); diff != "" {
				t.Errorf("participants (-want +got):\n%s", diff)
			}
		})
	}
}
