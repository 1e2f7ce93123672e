package messenger_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// together sends messages at the same time, and gives what came of each.
func together(team *a2atest.Team, n int, send func(i int) messenger.Result) []messenger.Result {
	results := make([]messenger.Result, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range results {
		wg.Go(func() {
			<-start
			results[i] = send(i)
		})
	}
	close(start)
	wg.Wait()
	return results
}

// Promise: one-key
func TestInvariant29_OneKeyIsOneRun(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{})
	results := together(team, 5, func(int) messenger.Result {
		return team.MustSend("eden", "seum", "once", wait, func(r *messenger.Request) { r.Key = "k" })
	})
	again := 0
	for _, r := range results {
		if r.Duplicate {
			again++
		}
		if r.Status != "ok" || r.RunID != results[0].RunID || r.Reply != "echo: [eden]: once" || r.ConversationID != results[0].ConversationID {
			t.Errorf("%+v", r)
		}
	}
	team.CheckSettled()
	if runs := team.Runs(); again != 4 || len(runs) != 1 || len(team.Events(coordination.TypeA2ASend)) != 1 {
		t.Errorf("%d repetitions, %d runs", again, len(runs))
	}
	if r := team.MustSend("eden", "seum", "once", func(r *messenger.Request) { r.Key = "k" }); r.Status != "ok" || !r.Duplicate || r.Reply != "echo: [eden]: once" {
		t.Errorf("later, without waiting: %+v", r)
	}
	if r := team.MustSend("eden", "seum", "something else", func(r *messenger.Request) { r.Key = "k" }); r.Status != "error" || r.Code != "idempotency_key_reused" {
		t.Errorf("with another message: %+v", r)
	}
	if r := team.MustSend("dajim", "seum", "once", func(r *messenger.Request) { r.Key = "k" }); r.Status != "accepted" || r.Duplicate {
		t.Errorf("of another session: %+v", r)
	}
	team.CheckSettled()
}

// A restart has a run begin again, and its model asks again: for the same, by the same call.
func TestARepeatedRunSendsOnce(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	team.SayTo("eden", "go")
	from := a2atest.Caller("eden")
	from.Entry, from.RunID, from.CallID = tool.ByRun, "tell-eden-go", "call_1"
	send := func(message, call string) messenger.Result {
		return team.MustSend("eden", "seum", message, func(r *messenger.Request) { r.From, r.Key = from, call })
	}
	first := send("look", "call_1")
	if again := send("look", "call_1"); !again.Duplicate || again.RunID != first.RunID {
		t.Errorf("the same call: %+v", again)
	}
	if other := send("look", "call_2"); other.Duplicate || other.RunID == first.RunID || other.WorkSessionID != first.WorkSessionID {
		t.Errorf("another call: %+v", other)
	}
	if other := send("look there", "call_1"); other.Duplicate || other.Status != "accepted" || other.WorkSessionID != first.WorkSessionID {
		t.Errorf("the id of another call: %+v", other)
	}
}

// What a run has sent before a kill is not sent again when the run is repeated, though its model gives its calls other ids then. What it means
// to send twice is sent twice.
func TestARunThatIsBrokenOffSendsOnce(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{})
	var broken atomic.Bool
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent != "seum":
			return a2atest.Say("seen")
		case !a.AfterTool():
			look := a2atest.Send(map[string]any{"agentId": "dajim", "message": "look", "timeoutSeconds": 0, "replyBack": false})
			return a2atest.Use(look, look)
		case broken.CompareAndSwap(false, true):
			close(sent)
			<-a.Context.Done()
		}
		return a2atest.Say("done")
	}})
	r := team.MustSend("eden", "seum", "go")
	<-sent
	team = team.Crash()
	if row := team.Over(r.JobID); row.Outcome != "ok" {
		t.Errorf("%+v", row)
	}
	team.CheckSettled()
	sends := 0
	for _, send := range a2atest.Data[coordination.A2ASend](team, coordination.TypeA2ASend, "") {
		if send.ToAgent == "dajim" {
			sends++
		}
	}
	if sends != 2 {
		t.Errorf("%d messages to dajim, want 2", sends)
	}
}

func TestHandoffsAreSentOnceWhileTheyAreOpen(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	ask := func(payload string) messenger.Result {
		return team.MustSend("eden", "seum", "please", func(r *messenger.Request) { r.Payload = payload })
	}
	first := ask(`{"type":"question","questionId":"q1","question":"how?"}`)
	if first.PayloadType != "question" || first.Duplicate || len(first.PayloadWarnings) > 0 {
		t.Fatalf("%+v", first)
	}
	if again := ask(`{"question": "how?", "questionId": "q1", "type": "question"}`); !again.Duplicate || again.RunID != first.RunID || again.Status != "accepted" {
		t.Errorf("an equal one: %+v", again)
	}
	changed := ask(`{"type":"question","questionId":"q1","question":"why?"}`)
	if changed.Duplicate || changed.RunID == first.RunID || len(changed.PayloadWarnings) != 1 {
		t.Errorf("a changed one: %+v", changed)
	}
	sends := a2atest.Data[coordination.A2ASend](team, coordination.TypeA2ASend, "")
	if len(sends) != 2 || len(sends[1].PayloadWarnings) != 1 || sends[1].PayloadType != "question" {
		t.Errorf("%+v", sends)
	}
	if broken := ask(`{"type":"question"}`); broken.Status != "accepted" || broken.PayloadType != "" || len(broken.PayloadWarnings) == 0 {
		t.Errorf("a broken one: %+v", broken)
	}
	team.Wake()
	team.CheckSettled()
	if later := ask(`{"type":"question","questionId":"q1","question":"why?"}`); later.Duplicate {
		t.Errorf("after it was answered: %+v", later)
	}
	team.CheckSettled()
}

// Who sends an equal handoff again, and waits, gets the answer to the first.
func TestAnEqualHandoffIsWaitedFor(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Answer: d.answer})
	defer d.release()
	log := team.Log.(*counted)
	payload := func(r *messenger.Request) { r.Payload = `{"type":"question","questionId":"q1","question":"how?"}` }
	first := team.MustSend("eden", "seum", "please", payload)
	d.arrive(t, 1)
	before, results := log.count(), make(chan messenger.Result, 2)
	for range 2 {
		go func() { results <- team.MustSend("eden", "seum", "again", payload, wait) }()
	}
	log.until(before + 4) // each has seen that it is open, and then waits
	d.next()
	for range 2 {
		if r := <-results; r.Status != "ok" || !r.Duplicate || r.RunID != first.RunID || r.Reply == "" {
			t.Errorf("%+v", r)
		}
	}
	team.CheckSettled()
	if sent := team.Events(coordination.TypeA2ASend); len(sent) != 1 {
		t.Errorf("%d were sent", len(sent))
	}
}

// Routes: concurrent first messages of a pair are one conversation, also where both write to each other.
func TestBug17_ConcurrentFirstSendsAreOneConversation(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{})
	inSession := func(r *messenger.Request) { r.WorkSessionID = "ws_1" }
	results := together(team, 6, func(i int) messenger.Result {
		if i%2 == 0 {
			return team.MustSend("eden", "seum", "hello", inSession)
		}
		return team.MustSend("seum", "eden", "hello", inSession)
	})
	for _, r := range results {
		if r.Status != "accepted" || r.ConversationID != results[0].ConversationID {
			t.Errorf("%+v", r)
		}
	}
	if other := team.MustSend("eden", "seum", "hello", func(r *messenger.Request) { r.WorkSessionID = "ws_2" }); other.ConversationID == results[0].ConversationID {
		t.Error("another work session has the same conversation")
	}
	team.CheckSettled()
}

// A message that names a parent continues it, as in S0 (7.2): for all participants, and without making it the default conversation of
// the two.
func TestBug11_ParentConversationsAreUsedAsTheyAre(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	beside := func(r *messenger.Request) { r.WorkSessionID, r.ParentConversationID = "ws_1", "c-parent" }
	for _, pair := range [][2]string{{"eden", "seum"}, {"eden", "dajim"}, {"seum", "eden"}} {
		if sent := team.MustSend(pair[0], pair[1], "of "+pair[0], beside); sent.ConversationID != "c-parent" {
			t.Errorf("%s to %s: %+v", pair[0], pair[1], sent)
		}
	}
	main := team.MustSend("eden", "seum", "four", func(r *messenger.Request) { r.WorkSessionID = "ws_1" })
	if main.ConversationID == "c-parent" {
		t.Error("a parent entered the routes")
	}
	named := team.MustSend("eden", "seum", "five", func(r *messenger.Request) {
		r.WorkSessionID, r.ConversationID, r.ParentConversationID = "ws_1", "Mine: all mine", "c-parent"
	})
	if named.ConversationID != "Mine: all mine" {
		t.Errorf("%+v", named)
	}
	team.Wake()
	team.CheckSettled()
}
