package collabtools_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// unwritten is a request that is posted while the log does not have it yet: the process has died, or Discord has reported the message
// before answering.
func (m *team) unwritten(c tool.Caller, message string) (collabID, thread string) {
	m.t.Helper()
	collabID = m.asks(c, message).text("collabId")
	m.keep.Store(1) // the thread is written
	m.dies.Store(true)
	m.wake()
	select {
	case <-m.died:
	case <-m.ctx.Done():
		m.t.Fatal("it does not die")
	}
	threads := m.threads(m.lobby)
	if len(threads) != 1 || len(m.posted(threads[0])) != 1 {
		m.t.Fatalf("threads are %v, want one with the request", threads)
	}
	m.until("a decision about the request", func() bool { return m.decided(threads[0]) == 1 })
	return collabID, threads[0]
}

// decided returns the number of decided messages of a thread.
func (m *team) decided(thread string) int {
	m.t.Helper()
	seen := map[string]bool{}
	for _, e := range m.events("discord.inbound.") {
		if strings.Contains(string(e.Data), `"threadId":"`+thread+`"`) {
			seen[e.Stream] = true
		}
	}
	return len(seen)
}

// An answer that comes before the log knows that the request was sent counts all the same: no reminder is sent, and the requester is
// told.
func TestAnswerBeforeTheRequestIsKnownToBeSent(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: 10 * time.Millisecond})
	id, thread := m.unwritten(caller("ruda"), "질문")
	m.says("seum", thread, "저는 아닙니다")
	m.says("eden", thread, "답입니다")
	m.says("eden", thread, "덧붙입니다")
	m.again()
	m.wake()
	m.until("the request to be sent", func() bool { return len(m.types(coordination.TypeA2ACollaborateSent)) == 1 })
	row := m.row(id)
	if all := m.Messages(thread); row.Status != response.StatusResponded || row.AnswerID != all[2].ID {
		t.Errorf("the request is %q by %q, want it answered by eden's first message %s", row.Status, row.AnswerID, all[2].ID)
	}
	if diff := cmp.Diff([]string{"[이든 answered in [협업] 루다 → 이든 · 질문]\n답입니다"}, m.said("agent:ruda:main")); diff != "" {
		t.Errorf("the session that has asked is told (-want +got):\n%s", diff)
	}
	m.until("nothing to be left", m.idle)
	m.advance(time.Hour)
	m.until("nothing to be left", m.idle)
	if got := m.posted(thread); len(got) != 4 {
		t.Errorf("posted is %q, want no reminder", got)
	}
}

// One message answers one request, also when a second one is not known to be sent yet.
func TestAnswerToAnotherRequestIsNotTakenTwice(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: 10 * time.Millisecond})
	first := m.asks(caller("ruda"), "하나").text("collabId")
	m.wake()
	m.until("the first request to be sent", func() bool { return len(m.types(coordination.TypeA2ACollaborateSent)) == 1 })
	thread := m.row(first).ThreadID
	m.keep.Store(0)
	m.dies.Store(true)
	second := m.asks(caller("ruda"), "둘").text("collabId")
	select {
	case <-m.died:
	case <-m.ctx.Done():
		t.Fatal("it does not die")
	}
	m.says("eden", thread, "하나의 답")
	m.again()
	m.wake()
	m.until("the second request to be sent", func() bool { return len(m.types(coordination.TypeA2ACollaborateSent)) == 2 })
	if got := []response.Status{m.row(first).Status, m.row(second).Status}; !slices.Equal(got, []response.Status{response.StatusResponded, response.StatusPending}) {
		t.Errorf("the requests are %q, want the first one answered and the second one waiting", got)
	}
	m.says("eden", thread, "둘의 답")
	if row := m.row(second); row.Status != response.StatusResponded {
		t.Errorf("the second request is %q, want it answered by the second message", row.Status)
	}
}

// The target works in the context of the request, also before the log knows that it was sent, and in a reused thread.
func TestWhoIsAskedWorksForTheSameWorkSession(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: 10 * time.Millisecond})
	c := caller("ruda")
	c.TaskID = "task_1"
	m.unwritten(c, "질문")
	asked := last[coordination.RunQueued](m, coordination.TypeRunQueued)
	if asked.WorkSessionID != "ws_test" || asked.TaskID != "task_1" || asked.Hop == nil || *asked.Hop != 1 {
		t.Errorf("eden's run is for work session %q, task %q, hop %v; want those of the request, passed on once", asked.WorkSessionID, asked.TaskID, asked.Hop)
	}
}

// In a reused thread the new request counts, not the one before; but a thread is one work session for all its requests.
func TestWhoIsAskedAgainWorksForTheWorkSessionOfTheThread(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: 10 * time.Millisecond})
	first := m.asks(caller("ruda"), "하나").text("collabId")
	m.wake()
	m.until("the first request to be sent", func() bool { return len(m.types(coordination.TypeA2ACollaborateSent)) == 1 })
	thread := m.row(first).ThreadID
	m.until("a decision about it", func() bool { return m.decided(thread) == 1 })
	m.keep.Store(0)
	m.dies.Store(true)
	other := caller("ruda")
	other.WorkSessionID, other.TaskID = "ws_other", "task_2"
	m.asks(other, "둘")
	select {
	case <-m.died:
	case <-m.ctx.Done():
		t.Fatal("it does not die")
	}
	m.until("a decision about the second one", func() bool { return m.decided(thread) == 2 })
	if asked := last[coordination.RunQueued](m, coordination.TypeRunQueued); asked.WorkSessionID != "ws_test" || asked.TaskID != "task_2" {
		t.Errorf("eden's run is for work session %q, task %q; want that of the thread, and the task of the second request", asked.WorkSessionID, asked.TaskID)
	}
}
