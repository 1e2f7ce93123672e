package collabtools_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// A requester that was told that its request is under way is told of its failure in the same session; one that was told of the failure
// itself is not told again.
func TestFailureAfterTheToolHasAnswered(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: 10 * time.Millisecond})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: threadRoute}, Times: -1, Effect: discordtest.Forbidden()})
	id := m.asks(caller("ruda"), "질문").text("collabId")
	m.advance(time.Second)
	m.wake()
	m.until("the failure", func() bool { return m.row(id).Delivery == collaborate.StatusFailed })
	if got := m.said("agent:ruda:main"); len(got) != 1 || !strings.HasPrefix(got[0], "[Your request to 이든 was not posted (permission_denied)]\n질문\n\n") {
		t.Errorf("the session that has asked is told %q, want that it has failed, and why", got)
	}
	now := newTeam(t, setting{})
	now.Inject(discordtest.Fault{Match: discordtest.Match{Route: threadRoute}, Times: -1, Effect: discordtest.Forbidden()})
	now.refuses(collaborate.CodeDenied, caller("ruda"), "질문")
	if got := now.said("agent:ruda:main"); len(got) != 0 {
		t.Errorf("the session that has asked is told %q, want nothing: the tool has said it", got)
	}
}

// Where the thread is removed while an answer is awaited, people are told, and the requesting session.
func TestThreadTakenAwayWhileAnAnswerIsWaitedFor(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.DeleteChannel(a.text("threadId"))
	m.advance(5 * time.Minute)
	m.until("the end of the request", func() bool { return m.row(a.text("collabId")).Status == response.StatusFailed })
	if diff := cmp.Diff([]string{"[이든 can no longer answer: thread [협업] 루다 → 이든 · 질문 is gone]\n질문"}, m.said("agent:ruda:main")); diff != "" {
		t.Errorf("the session that has asked is told (-want +got):\n%s", diff)
	}
	m.until("people to be told", func() bool { return len(m.posted(m.alarm.ID)) == 1 })
	if got := m.posted(m.alarm.ID)[0]; got != "<@"+m.bora.ID+">\n**Escalation** · 이든 can no longer answer a request of 루다: thread [협업] 루다 → 이든 · 질문 is gone → repeat the request if it still matters" {
		t.Errorf("people are told %q, want who has asked whom", got)
	}
	m.advance(time.Hour)
	m.until("nothing to be left", m.idle)
	if got := m.posted(m.alarm.ID); len(got) != 1 {
		t.Errorf("people are told %q, want one line", got)
	}
}

// Where the warning cannot be posted in the thread it is retried there; people are told once.
func TestPeopleAreToldOfAnEscalationOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: a.text("threadId")}, Times: -1, Effect: discordtest.Forbidden()})
	m.advance(15 * time.Minute)
	for try := 1; try <= response.MaxEscalate; try++ {
		m.until("a try, and the end of its posts", func() bool { return m.row(a.text("collabId")).Tries == try && m.openWork() <= 1 }) // the tracker is left
		m.advance(time.Minute + time.Second)
	}
	m.until("nothing to be left", m.idle)
	if got := m.posted(m.alarm.ID); len(got) != 1 {
		t.Errorf("people are told %q, want it once", got)
	}
}

// Where even that cannot be posted it is retried, too.
func TestPeopleAreToldLater(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: a.text("threadId")}, Times: -1, Effect: discordtest.Forbidden()})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: m.alarm.ID}, Effect: discordtest.Forbidden()})
	m.advance(15 * time.Minute)
	for try := 1; try <= response.MaxEscalate; try++ {
		m.until("a try, and the end of its posts", func() bool { return m.row(a.text("collabId")).Tries == try && m.openWork() <= 1 }) // the tracker is left
		m.advance(time.Minute + time.Second)
	}
	m.until("nothing to be left", m.idle)
	if got := m.posted(m.alarm.ID); len(got) != 1 {
		t.Errorf("people are told %q, want it once", got)
	}
}

// Where the requesting bot is gone, another one tells people that there is no answer.
func TestPeopleAreToldByAnotherBot(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.set.silent = []string{"ruda"}
	m.again()
	m.advance(15 * time.Minute)
	m.until("a try", func() bool { return m.row(a.text("collabId")).Tries == 1 })
	m.until("people to be told", func() bool { return len(m.posted(m.alarm.ID)) == 1 || len(m.types("work.dead")) == 2 })
	if got := m.posted(m.alarm.ID); len(got) != 1 || !strings.HasPrefix(got[0], m.warning()) {
		t.Errorf("people are told %q, want the warning", got)
	}
}
