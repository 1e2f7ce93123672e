package collabtools_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// Checklist R1, R2 and R5: a thread is reused within six hours of its last use, for the same direction and topic; later there is a new
// one.
func TestBoxR1R2R5_ThreadsAreUsedAgain(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	first := m.asks(caller("ruda"), "하나")
	thread := first.text("threadId")
	m.advance(5 * time.Hour)
	again := m.asks(caller("ruda"), "둘")
	if again.text("threadId") != thread || again.text("threadName") != first.text("threadName") || again.text("channelId") != m.lobby.ID {
		t.Errorf("the second is in %v, want thread %s", again, thread)
	}
	if row := m.row(again.text("collabId")); row.Route != "reuse_thread" {
		t.Errorf("its mode is %s, want reuse_thread", row.Route)
	}
	if other := m.asks(caller("ruda"), "셋", "threadName", "다른 주제").text("threadId"); other == thread {
		t.Error("another topic is in the same thread, want another one")
	}
	if other := m.asks(caller("eden"), "넷", "targetAgent", "ruda").text("threadId"); other == thread {
		t.Error("the other direction is in the same thread, want another one")
	}
	m.advance(6*time.Hour + time.Second)
	if late := m.asks(caller("ruda"), "다섯").text("threadId"); late == thread {
		t.Error("after six hours it is the same thread, want a new one")
	}
}

// Checklist R3: a named thread is used regardless of earlier threads and the time.
func TestBoxR3_NamedThread(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	own, err := m.bora.StartThread(m.lab.ID, "사람의 스레드")
	if err != nil {
		t.Fatal(err)
	}
	m.asks(caller("ruda"), "하나")
	m.advance(7 * time.Hour)
	a := m.asks(caller("ruda"), "둘", "threadId", own.ID)
	if a.text("threadId") != own.ID || a.text("channelId") != m.lab.ID || a.text("threadName") != "사람의 스레드" || len(m.posted(own.ID)) != 1 {
		t.Errorf("the answer is %v, want the thread that is named", a)
	}
	m.refuses("invalid_request", caller("ruda"), "셋", "threadId", m.lab.ID)
	officeThread, err := m.bora.StartThread(m.office.ID, "nicht")
	if err != nil {
		t.Fatal(err)
	}
	m.refuses("channel_not_allowed", caller("ruda"), "넷", "threadId", officeThread.ID)
}

// Checklist R4: after a restart the thread is the same.
func TestBoxR4_AfterARestart(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	thread := m.asks(caller("ruda"), "하나").text("threadId")
	m.again()
	if again := m.asks(caller("ruda"), "둘").text("threadId"); again != thread {
		t.Errorf("after a restart it is thread %s, want %s", again, thread)
	}
}

// Checklist R6: a thread that is archived, locked or deleted is not reused.
func TestBoxR6_ThreadsThatAreGone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(m *team, thread string) error{
		"archived": func(m *team, thread string) error {
			m.guild.Grant(m.bora.ID, discordtest.ManageThreads)
			return m.bora.SetArchived(thread, true)
		},
		"locked": func(m *team, thread string) error {
			m.guild.Grant(m.bora.ID, discordtest.ManageThreads)
			return m.bora.SetLocked(thread, true)
		},
		"deleted": func(m *team, thread string) error { m.DeleteChannel(thread); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTeam(t, setting{})
			thread := m.asks(caller("ruda"), "하나").text("threadId")
			if err := end(m, thread); err != nil {
				t.Fatal(err)
			}
			a := m.asks(caller("ruda"), "둘")
			if a.text("threadId") == thread || len(m.posted(a.text("threadId"))) != 1 {
				t.Errorf("it is thread %s, want a new one", a.text("threadId"))
			}
			if again := m.asks(caller("ruda"), "셋").text("threadId"); again != a.text("threadId") {
				t.Errorf("the third is in %s, want %s", again, a.text("threadId"))
			}
		})
	}
}

// R6, the worst case: the thread goes between the decision and the post. The request is decided again, once, and counts once for the
// pair.
func TestBoxR6_ThreadGoesMeanwhile(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	thread := m.asks(caller("ruda"), "하나").text("threadId")
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: thread}, Times: -1, Effect: discordtest.NotFound(discordtest.CodeUnknownChannel)})
	a := m.asks(caller("ruda"), "둘")
	if got := m.posted(a.text("threadId")); a.text("threadId") == thread || len(got) != 1 || !strings.HasSuffix(got[0], "둘") || a.text("note") != noteOfEden {
		t.Errorf("the answer is %v, posted is %q; want a new thread with the request", a, got)
	}
	asked, failed := m.events(coordination.TypeA2ACollaborateRequested), m.events(coordination.TypeA2ACollaborateFailed)
	if len(asked) != 3 || len(failed) != 1 || asked[1].Stream != asked[2].Stream || !strings.Contains(string(failed[0].Data), `"anew":true`) {
		t.Errorf("requested %d times, failed %d times; want 3 and 1, the last two of one request", len(asked), len(failed))
	}
	for i := range 8 {
		m.asks(caller("ruda"), "그리고 "+string(rune('a'+i)))
	}
	m.refuses("pair_rate_limited", caller("ruda"), "열한 번째")
}

// The same request within five minutes is one request, with one thread and one message, by whichever caller; so is one with the same
// key.
func TestSameRequestIsOne(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	first := m.asks(caller("ruda"), "하나")
	again := m.asks(caller("ruda"), "하나")
	if again["duplicate"] != true || again.text("collabId") != first.text("collabId") || again.text("messageId") != first.text("messageId") || again.text("note") != noteOfEden {
		t.Errorf("again it is %v, want %v and that it is a duplicate", again, first)
	}
	keyed := m.asks(caller("ruda"), "둘", "idempotencyKey", "k")
	if same := m.asks(caller("ruda"), "둘", "idempotencyKey", "k"); same.text("collabId") != keyed.text("collabId") {
		t.Errorf("the same key is request %v, want %v", same, keyed)
	}
	m.refuses("idempotency_conflict", caller("ruda"), "셋", "idempotencyKey", "k")
	if got := m.posted(first.text("threadId")); len(got) != 2 {
		t.Errorf("posted is %q, want two messages", got)
	}
	m.advance(5*time.Minute + time.Second)
	if later := m.asks(caller("ruda"), "하나"); later["duplicate"] != nil || later.text("collabId") == first.text("collabId") {
		t.Errorf("after five minutes it is %v, want a request of its own", later)
	}
}

// A call that a run repeats after a restart is the same request, however late, unless that has failed.
func TestACallThatIsRepeatedIsOneRequest(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	c := caller("ruda")
	c.RunID, c.CallID = "run-1", "call-1"
	first := m.asks(c, "하나")
	m.advance(time.Hour)
	again := m.asks(c, "하나")
	requests := slices.DeleteFunc(m.posted(first.text("threadId")), func(text string) bool { return !strings.HasSuffix(text, "하나") })
	if again.text("collabId") != first.text("collabId") || again["duplicate"] != true || len(requests) != 1 {
		t.Errorf("again it is %v, want %v; posted is %q", again, first, requests)
	}
}
