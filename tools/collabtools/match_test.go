package collabtools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
)

// replies has the bot of an agent post a run's answer in several messages, and waits until they are decided.
func (m *team) replies(agent, thread string, messages ...string) {
	m.t.Helper()
	before := m.decided(thread)
	d := delivery.Delivery{Purpose: delivery.Reply, AgentID: agent, AccountID: accounts[agent], ChannelID: m.lobby.ID, ThreadID: thread, Messages: messages}
	what, err := d.Work("reply/"+agent+messages[0], 0)
	if err != nil {
		m.t.Fatal(err)
	}
	asked, err := worker.Schedule(what)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.db.Append(m.ctx, asked); err != nil {
		m.t.Fatal(err)
	}
	m.until("a decision about the reply", func() bool { return m.decided(thread) == before+len(messages) })
}

// An answer in several messages is one answer: it answers one request, and the requesting session is told all of it.
func TestAnswerInSeveralMessages(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	first, second := m.asks(caller("ruda"), "하나"), m.asks(caller("ruda"), "둘")
	thread := first.text("threadId")
	m.until("decisions about the requests", func() bool { return m.decided(thread) == 2 })
	m.replies("eden", thread, "첫 부분", "둘째 부분", "끝")
	if got := m.row(first.text("collabId")); got.Status != response.StatusResponded {
		t.Errorf("the first request is %q, want it answered", got.Status)
	}
	if got := m.row(second.text("collabId")); got.Status != response.StatusPending {
		t.Errorf("the second request is %q, want it to wait: it has no answer yet", got.Status)
	}
	if diff := cmp.Diff([]string{"[이든 answered in [협업] 루다 → 이든 · 하나]\n첫 부분\n둘째 부분\n끝"}, m.said("agent:ruda:main")); diff != "" {
		t.Errorf("the session that has asked is told (-want +got):\n%s", diff)
	}
	m.replies("eden", thread, "둘의 답")
	if got := m.row(second.text("collabId")); got.Status != response.StatusResponded {
		t.Errorf("the second request is %q, want it answered by the next answer", got.Status)
	}
}

// A request by the other agent in the thread is not an answer, even before the log knows that the first request was sent.
func TestRequestIsNoAnswer(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{wait: 10 * time.Millisecond})
	id := m.asks(caller("ruda"), "질문").text("collabId")
	m.until("the request to be sent", func() bool { return len(m.types(coordination.TypeA2ACollaborateSent)) == 1 })
	thread := m.row(id).ThreadID
	m.until("a decision about it", func() bool { return m.decided(thread) == 1 })
	m.keep.Store(0)
	m.dies.Store(true)
	m.asks(caller("eden"), "이것 좀 봐줘", "targetAgent", "seum", "threadId", thread)
	select {
	case <-m.died:
	case <-m.ctx.Done():
		t.Fatal("it does not die")
	}
	m.until("a decision about eden's request", func() bool { return m.decided(thread) == 2 })
	m.again()
	m.until("it to be sent", func() bool { return len(m.types(coordination.TypeA2ACollaborateSent)) == 2 })
	if got := m.row(id); got.Status != response.StatusPending {
		t.Errorf("ruda's request is %q by %s, want it to wait", got.Status, got.AnswerID)
	}
}

// A request that was posted in part is asked once more: the posted part is not repeated.
func TestAskedAgainAfterHalfOfIt(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	long := strings.Repeat("가나다라 ", 400)
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Bot: m.bot["ruda"].ID}, After: 1, Effect: discordtest.Forbidden()})
	m.refuses(collaborate.CodeDenied, caller("ruda"), long, "threadName", "긴 글")
	a := m.asks(caller("ruda"), long, "threadName", "긴 글")
	got := m.posted(a.text("threadId"))
	if text := strings.Join(got, " "); len(got) != 2 || text != "<@"+m.bot["eden"].ID+">\n\n"+strings.TrimSpace(long) {
		t.Errorf("%d messages of %d bytes are posted, want two that are the whole together", len(got), len(text))
	}
	if row := m.row(a.text("collabId")); len(row.MessageIDs) != 2 || row.Status != response.StatusPending {
		t.Errorf("the request stands in %v and is %q, want both messages, and that it waits", row.MessageIDs, row.Status)
	}
}

// A run that was interrupted by a restart calls the tool again, however late and under another call id: it is the same request.
func TestRunThatIsRepeatedAsksOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	queued := func(id, root string) {
		var earlier []string
		if root != "" {
			earlier = []string{root}
		}
		m.append(coordination.RunStream(id), coordination.TypeRunQueued, coordination.RunQueued{RunID: id, RetryOf: root, Earlier: earlier,
			SessionKey: "agent:ruda:main", Lane: run.LaneMain, Cause: "chat", Message: "m"})
	}
	in := func(runID, callID string) tool.Caller {
		c := caller("ruda")
		c.RunID, c.CallID = runID, callID
		return c
	}
	queued("r1", "")
	first := m.asks(in("r1", "call_1"), "질문")
	m.append(coordination.RunStream("r1"), coordination.TypeRunAborted, coordination.RunOver{RunID: "r1", SessionKey: "agent:ruda:main", Reason: "restart"})
	m.advance(time.Hour)
	queued("r2", "r1")
	again := m.asks(in("r2", "call_2"), "질문")
	if again["duplicate"] != true || again.text("collabId") != first.text("collabId") || len(m.types(coordination.TypeA2ACollaborateRequested)) != 1 {
		t.Errorf("the run that repeats it gets %v, want request %s", again, first.text("collabId"))
	}
	if other := m.asks(in("r2", "call_3"), "다른 질문"); other["duplicate"] == true {
		t.Errorf("what is asked besides is %v, want another request", other)
	}
	queued("r9", "")
	if later := m.asks(in("r9", "call_4"), "질문"); later["duplicate"] == true {
		t.Errorf("what another run asks is %v, want another request", later)
	}
}

// append appends an event of ruda's.
func (m *team) append(stream, typ string, data any) {
	m.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.db.Append(m.ctx, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: "ruda", Data: text}.WithTS(m.now().UnixMilli())}}); err != nil {
		m.t.Fatal(err)
	}
}
