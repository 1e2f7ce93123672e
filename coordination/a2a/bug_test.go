package a2a_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// last is the data of the last event of a type.
func last[T any](t *testing.T, w *world) (data T) {
	t.Helper()
	for _, e := range w.events {
		if d, is := e.Data.(T); is {
			data = d
		}
	}
	return data
}

// A run that was stopped ends its flow at once, as what it is: it is asked for no more, and is no time-out.
func TestBug01_StoppedRunIsNoTimeOut(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"rpc", "stop", "reset", "delete", "restart"} {
		w := send(nil).ends(run.Aborted, coordination.RunOver{Reason: reason}, "")
		response := last[coordination.A2AResponse](t, w)
		if response.WaitStatus != "aborted" || response.Outcome != "no_reply" || strings.Contains(response.Message, "300초") || len(w.asked) != 1 ||
			w.flow.Phase != a2a.Over {
			t.Errorf("%s: %v", reason, w.lines())
		}
	}
}

// What breaks inside ends a flow too, in every phase.
func TestBug02_BrokenFlowHasAnEnd(t *testing.T) {
	t.Parallel()
	for phase, w := range open() {
		w.take(a2a.Fail(w.flow, "no such table", w.now))
		w.checkWhole(t)
		complete := last[coordination.A2AComplete](t, w)
		if w.flow.Outcome != "failed" || complete.Outcome != "failed" || w.count(coordination.TypeA2AJobFailed) != 1 ||
			complete.Error == "" && complete.WaitError == "" {
			t.Errorf("%s: %v", phase, w.lines())
		}
	}
}

// A response that says that a message was blocked goes the way of an answer, and has a role.
func TestBug03_BlockedResponseGoesTheRightWay(t *testing.T) {
	t.Parallel()
	w := full()
	w.now += a2a.QueueMs
	w.take(a2a.Due(w.flow, nil, "", 0, w.now))
	response := last[coordination.A2AResponse](t, w)
	if response.FromAgent != "seum" || response.ToAgent != "eden" || response.EventRole != coordination.RoleConversation || !response.ConcurrencyBlocked ||
		w.events[len(w.events)-3].AgentID != "seum" {
		t.Errorf("%v", w.lines())
	}
}

// Blocked is what did not reach its target: nothing was asked for. What did is without reply, or answered.
func TestBug04_BlockedIsNotDelivered(t *testing.T) {
	t.Parallel()
	blocked := 0
	for _, s := range scenarios() {
		w := s.play()
		outcome := last[coordination.A2AResponse](t, w).Outcome
		if _, delivered := w.asked[jobID]; w.flow.Phase == a2a.Over && delivered == (outcome == "blocked") {
			t.Errorf("%s: %v", s.name, w.lines())
		}
		if outcome == "blocked" {
			blocked++
		}
	}
	if blocked < 4 {
		t.Errorf("only %d are blocked", blocked)
	}
}

// The answer is what that run has said: nothing else stands in for it, neither what was said before nor what was said until it was stopped.
func TestBug06_NoStaleAnswer(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{
		"silent":  send(nil).ends(run.OK, coordination.RunOver{}, reply),
		"stopped": send(nil).ends(run.Aborted, coordination.RunOver{Text: reply}, reply),
		"blank":   send(nil).take(a2a.Step{}).ends(run.OK, coordination.RunOver{Text: " "}, reply),
	} {
		if response := last[coordination.A2AResponse](t, w); response.Outcome != "no_reply" || strings.Contains(response.Message, reply) {
			t.Errorf("%s: %v", name, w.lines())
		}
	}
	if w := send(nil).says(reply, "").says("", reply); w.count(coordination.TypeA2AResponse) != 1 {
		t.Errorf("a turn without an answer: %v", w.lines())
	}
}

// The requester's turn waits behind whatever the requester does, and has 120 s from its own beginning.
func TestBug07_TurnHasItsTime(t *testing.T) {
	t.Parallel()
	w := send(nil).says(reply, "")
	for range 30 { // an hour
		w.due(a2a.TurnMs, run.Queued, 0)
	}
	started := w.now
	w.due(119_999, run.Running, started)
	if w.flow.Phase != a2a.Turn || w.flow.Turn != 1 || w.flow.DueAt != started+a2a.TurnMs {
		t.Fatalf("after 119.999 s: %v", w.lines())
	}
	if w.says(second, reply); w.flow.Turn != 2 {
		t.Errorf("%v", w.lines())
	}
}

// What answers a question, or reports, goes on for as long as that needs.
func TestBug08_PayloadsBoundTurns(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]int{
		`{"type":"answer","questionId":"q1","answer":"42"}`:                                        0,
		`{"type":"question","questionId":"q1","question":"언제?"}`:                                   1,
		`{"type":"status_report","taskId":"t1","status":"completed"}`:                              1,
		`{"type":"task_delegation","taskId":"t1","taskTitle":"배포","taskDescription":"오늘 안에 배포하기"}`: 5,
	} {
		p, warnings := handoff.Parse(payload)
		if p == nil {
			t.Fatal(warnings)
		}
		w := send(func(c *coordination.A2AJobCreated) {
			c.PayloadType, c.PayloadJSON, c.EffectiveTurns = string(p.Type), payload, a2a.IntentOf(message, p).Within(5, false)
		})
		w.says(reply, "")
		for n, texts := 0, []string{second, third}; w.flow.Phase == a2a.Turn; n++ {
			w.says(texts[n%2], texts[1-n%2])
		}
		if w.flow.Turn != want || w.flow.Outcome != a2a.OutcomeOK {
			t.Errorf("%s: %d turns, want %d: %v", p.Type, w.flow.Turn, want, w.lines())
		}
		sent, response := last[coordination.A2ASend](t, w), w.events[2].Data.(coordination.A2AResponse)
		if sent.PayloadType != string(p.Type) || sent.PayloadJSON != payload || response.InResponseToPayload != string(p.Type) {
			t.Errorf("%s: %+v, %+v", p.Type, sent, response)
		}
	}
}

// A flow that goes on after a restart is not sent again, and does not end for that.
func TestBug10_ResumedFlowGoesOn(t *testing.T) {
	t.Parallel()
	w := send(noTurns).resume(30_000)
	if w.flow.Phase != a2a.Waiting || w.count(coordination.TypeA2ASend) != 1 || len(w.asked) != 1 {
		t.Errorf("%v", w.lines())
	}
	if w.says(reply, ""); w.flow.Outcome != a2a.OutcomeOK || w.flow.Said[0].Text != reply {
		t.Errorf("%v", w.lines())
	}
}

// Whatever keeps a sub-agent from beginning, what became of it is said.
func TestBug14_EachSpawnHasAResult(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.refused(a2a.BeginSpawn(delegation(nil), w.now))
	if result := last[coordination.A2ASpawnResult](t, w); w.count(coordination.TypeA2ASpawnResult) != 1 || result.Status != "error" || result.Error == "" {
		t.Errorf("%v", w.lines())
	}
}

// What came of a sub-agent is told once, however often its end is.
func TestBug15_ResultIsToldOnce(t *testing.T) {
	t.Parallel()
	w := spawn(nil)
	ended := w.result(run.OK, coordination.RunOver{Text: reply})
	for range 3 {
		w.take(a2a.Ended(w.flow, ended, "", 0, w.now))
		w.take(a2a.Due(w.flow, ended, "", 0, w.now))
	}
	w.checkWhole(t)
	if w.count(coordination.TypeA2AResponse) != 1 || len(w.asked) != 2 {
		t.Errorf("%v", w.lines())
	}
}

// Texts in events are bounded, and hold no secrets; what the other agent gets is whole, up to 64 KiB.
func TestBug19_TextsAreBounded(t *testing.T) {
	t.Parallel()
	long := "[[reply_to_current]]\napi_key=sk-aaaaaaaaaaaaaaaaaaaaaaaa " + strings.Repeat("가나다 ", 2_500)
	w := send(func(c *coordination.A2AJobCreated) { c.Message, c.EffectiveTurns = long, 1 }).says(coordination.Mask(long), "")
	sent, response := last[coordination.A2ASend](t, w), last[coordination.A2AResponse](t, w)
	for name, text := range map[string]string{"sent": sent.Message, "response": response.Message} {
		if n := utf8.RuneCountInString(text); n < 3_900 || n > 4_000 || !strings.HasPrefix(text, "api_key=*** 가나다") {
			t.Errorf("%s: %d characters: %.80s", name, n, text)
		}
	}
	if n := utf8.RuneCountInString(response.ReplyPreview); n < 190 || n > 200 {
		t.Errorf("preview: %d characters", n)
	}
	for id, ask := range w.asked {
		if !strings.HasSuffix(ask.Message, "가나다 ") || strings.Contains(ask.Message, "sk-aaaa") {
			t.Errorf("%s: %d bytes, %.80s", id, len(ask.Message), ask.Message)
		}
	}
	if created := w.events[0].Data.(coordination.A2AJobCreated); strings.Contains(created.Message, "sk-aaaa") || len(created.Message) < 20_000 {
		t.Errorf("created: %.80s", created.Message)
	}

	huge := strings.Repeat("가나다 ", 10_000)
	w = send(func(c *coordination.A2AJobCreated) { c.Message, c.EffectiveTurns = huge, 1 }).says(huge, "")
	for id, ask := range w.asked {
		if len(ask.Message) > a2a.MaxMessage+100 || !strings.HasSuffix(ask.Message, "[cut: the message had 100000 bytes]") || !utf8.ValidString(ask.Message) {
			t.Errorf("%s: %d bytes: ...%s", id, len(ask.Message), ask.Message[len(ask.Message)-60:])
		}
	}
}
