package collaborate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	decide "github.com/pronto-lab/openclawd/coordination/collaborate"
	tracking "github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// Who was told that its request is under way is told that it has failed, in the session that has asked; who was told of the failure itself is not told
// again.
func TestFailureAfterTheToolHasAnswered(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: 10 * time.Millisecond})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: threadRoute}, Times: -1, Effect: discordtest.Forbidden()})
	id := m.asks(caller("ruda"), "질문").text("collabId")
	m.advance(time.Second)
	m.wake()
	m.until("the failure", func() bool { return m.row(id).Delivery == decide.StatusFailed })
	if got := m.said("agent:ruda:main"); len(got) != 1 || !strings.HasPrefix(got[0], "[Your request to 이든 was not posted (permission_denied)]\n질문\n\n") {
		t.Errorf("the session that has asked is told %q, want that it has failed, and why", got)
	}
	now := newTeam(t, setting{})
	now.Inject(discordtest.Fault{Match: discordtest.Match{Route: threadRoute}, Times: -1, Effect: discordtest.Forbidden()})
	now.refuses(decide.CodeDenied, caller("ruda"), "질문")
	if got := now.said("agent:ruda:main"); len(got) != 0 {
		t.Errorf("the session that has asked is told %q, want nothing: the tool has said it", got)
	}
}

// Where the thread is taken away while an answer is waited for, nobody can answer any more: people are told, and the session that has asked.
func TestThreadTakenAwayWhileAnAnswerIsWaitedFor(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.DeleteChannel(a.text("threadId"))
	m.advance(5 * time.Minute)
	m.until("the end of the request", func() bool { return m.row(a.text("collabId")).Status == tracking.StatusFailed })
	if diff := cmp.Diff([]string{"[이든 cannot answer any more: thread [협업] 루다 → 이든 · 질문 is gone]\n질문"}, m.said("agent:ruda:main")); diff != "" {
		t.Errorf("the session that has asked is told (-want +got):\n%s", diff)
	}
	m.until("people to be told", func() bool { return len(m.posted(m.alarm.ID)) == 1 })
	if got := m.posted(m.alarm.ID)[0]; got != "<@"+m.bora.ID+">\n**Escalation** · 이든 cannot answer a request of 루다 any more: thread [협업] 루다 → 이든 · 질문 is gone → have it asked again if it still matters" {
		t.Errorf("people are told %q, want who has asked whom", got)
	}
	m.advance(time.Hour)
	m.until("nothing to be left", m.idle)
	if got := m.posted(m.alarm.ID); len(got) != 1 {
		t.Errorf("people are told %q, want one line", got)
	}
}

// Where the warning cannot be posted in the thread it is tried again there; where people are told of it they are told once.
func TestPeopleAreToldOfAnEscalationOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: a.text("threadId")}, Times: -1, Effect: discordtest.Forbidden()})
	m.advance(15 * time.Minute)
	for try := 1; try <= tracking.MaxEscalate; try++ {
		m.until("a try", func() bool { return m.row(a.text("collabId")).Tries == try })
		m.advance(time.Minute + time.Second)
	}
	m.until("nothing to be left", m.idle)
	if got := m.posted(m.alarm.ID); len(got) != 1 {
		t.Errorf("people are told %q, want it once", got)
	}
}

// Where even that cannot be posted it is tried again, too.
func TestPeopleAreToldLater(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: a.text("threadId")}, Times: -1, Effect: discordtest.Forbidden()})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: m.alarm.ID}, Effect: discordtest.Forbidden()})
	m.advance(15 * time.Minute)
	for try := 1; try <= tracking.MaxEscalate; try++ {
		m.until("a try", func() bool { return m.row(a.text("collabId")).Tries == try })
		m.advance(time.Minute + time.Second)
	}
	m.until("nothing to be left", m.idle)
	if got := m.posted(m.alarm.ID); len(got) != 1 {
		t.Errorf("people are told %q, want it once", got)
	}
}

// Where the bot that has asked is gone, another one tells people that nobody has answered.
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
