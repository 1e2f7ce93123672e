package a2a_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
)

func key(t *testing.T, text string) coordination.SessionKey {
	t.Helper()
	k, err := coordination.ParseSessionKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// asked is an ask as all asks of exchanges are, in a session, with what another session's agent says.
func asked(t *testing.T, id, session, from, source, message string) run.Ask {
	t.Helper()
	hop := 1
	return run.Ask{
		RunQueued: coordination.RunQueued{
			Context: coordination.Context{
				WorkSessionID: "ws_1", TaskID: "task_1", ConversationID: "c1", ParentRunID: "r0", TopicID: "topic", Hop: &hop,
				EventRole: coordination.RoleConversation, FromSessionType: coordination.SessionMain, ToSessionType: coordination.SessionMain,
			},
			RunID: id, SessionKey: session, Lane: "nested", Cause: "a2a", JobID: jobID, OnRestart: "retry", Message: message, Provenance: "inter_session",
			FromAgent: from, SourceSessionKey: source, SourceChannel: "discord", SourceTool: "sessions_send",
		},
		Session: key(t, session),
	}
}

func TestAsksOfAnExchange(t *testing.T) {
	t.Parallel()
	const eden, seum = "agent:eden:main", "agent:seum:a2a:c1"
	w := send(func(c *coordination.A2AJobCreated) { c.AnnounceChannel = "discord" })
	w.fails("rate_limited", "429").says("[[reply_to_current]]\n"+reply, "").says(second, reply).says(third, second)
	retry := asked(t, "j1.r2", seum, "eden", eden, "[eden]: "+message)
	retry.DueAtMs = start + 2_000
	turn := asked(t, "j1.t1", eden, "seum", seum, "[seum]: "+reply)
	turn.Internal = true // eden's people speak with it in that session
	want := []run.Ask{
		asked(t, "j1", seum, "eden", eden, "[eden]: "+message),
		retry,
		turn,
		asked(t, "j1.t2", seum, "eden", eden, "[eden]: "+second),
		asked(t, "j1.a", seum, "eden", eden, "Agent-to-agent announce step."),
	}
	for i, id := range w.order {
		have := w.asked[id]
		if have.ExtraSystemPrompt == "" {
			t.Errorf("%s: no rules", id)
		}
		have.ExtraSystemPrompt = ""
		if diff := cmp.Diff(want[i], have); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	if len(w.order) != len(want) {
		t.Errorf("%v", w.order)
	}
}

// The message is the one of seed 002, with the payload in words that agents read.
func TestAskWithPayload(t *testing.T) {
	t.Parallel()
	w := send(func(c *coordination.A2AJobCreated) {
		c.PayloadType, c.PayloadSubject, c.PayloadJSON = "question", "q-1", `{"type":"question","questionId":"q-1","question":"언제 배포하나요?"}`
	})
	ask := w.asked[jobID]
	if want := "[eden] (question): " + message + "\n\n--- 구조화 페이로드 ---\n질문 ID: q-1\n질문: 언제 배포하나요?"; ask.Message != want {
		t.Errorf("%q\nwant %q", ask.Message, want)
	}
	if !strings.Contains(ask.ExtraSystemPrompt, `{"type":"answer","questionId":"q-1","answer":"..."}`) {
		t.Errorf("how to answer: %s", ask.ExtraSystemPrompt)
	}
}

// What looks like a secret in a payload is masked, and the payload stays one.
func TestPayloadIsMasked(t *testing.T) {
	t.Parallel()
	const secret = "-----BEGIN RSA PRIVATE KEY----- abcdef"
	w := send(func(c *coordination.A2AJobCreated) {
		c.PayloadType, c.PayloadSubject, c.PayloadJSON = "question", "q-1", `{"questionId":"q-1","question":"`+secret+`","type":"question","n":1.50}`
	})
	sent := last[coordination.A2ASend](t, w)
	if want := `{"n":1.50,"question":"***","questionId":"q-1","type":"question"}`; sent.PayloadJSON != want {
		t.Errorf("%s\nwant %s", sent.PayloadJSON, want)
	}
	if text := w.asked[jobID].Message; strings.Contains(text, "PRIVATE KEY") || !strings.Contains(text, "질문 ID: q-1") {
		t.Errorf("%s", text)
	}
}

// What a name tells to be a secret is masked also where masking the text as a whole would break it, and no text gets longer by it.
func TestPayloadIsMaskedMemberByMember(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("<&>", 5_000)
	w := send(func(c *coordination.A2AJobCreated) {
		c.PayloadType, c.PayloadSubject = "question", "q-1"
		c.PayloadJSON = `{"type":"question","questionId":"q-1","question":"` + many + `","password":"hunter2hunter2","token":123456789,"deep":{"api_key":["abcdefghij"]}}`
	})
	sent := last[coordination.A2ASend](t, w)
	if want := `{"deep":{"api_key":["***"]},"password":"***","question":"` + many + `","questionId":"q-1","token":"***","type":"question"}`; sent.PayloadJSON != want {
		t.Errorf("%s", sent.PayloadJSON)
	}
	if text := w.asked[jobID].Message; !strings.Contains(text, "질문 ID: q-1\n질문: "+many) {
		t.Errorf("%.200s", text)
	}
}

// No text of an agent or a person is logged with a secret.
func TestWhatNamesAFlowIsMasked(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef0123456789"
	w := spawn(func(c *coordination.A2AJobCreated) {
		c.Label, c.IdempotencyKey, c.PayloadSubject = "with "+secret, secret, secret
	})
	for _, e := range w.events {
		data, err := json.Marshal(e.Data)
		if err != nil || strings.Contains(string(data), secret) {
			t.Errorf("%s: %s %v", e.Type, data, err)
		}
	}
	if label := w.asked[jobID].Label; label != "with ***" {
		t.Errorf("%q", label)
	}
}

func TestAskOfASubAgent(t *testing.T) {
	t.Parallel()
	const parent, child = "agent:eden:main", "agent:seum:subagent:j1"
	w := spawn(nil).says(reply, "")
	depth, ms := 1, int64(60_000)
	want := asked(t, jobID, child, "eden", parent, message)
	want.Lane, want.Cause, want.SourceTool, want.Model, want.Thinking, want.TimeoutMs = "subagent", "spawn", "sessions_spawn", "openai/gpt", "low", &ms
	want.Label, want.SpawnedBy, want.Depth = "review", parent, &depth
	want.EventRole, want.ToSessionType = coordination.RoleDelegation, coordination.SessionSubagent
	have := w.asked[jobID]
	for _, part := range []string{"sub-agent", "Eden boss (eden)", parent, child, "depth 1", "review"} {
		if !strings.Contains(have.ExtraSystemPrompt, part) {
			t.Errorf("no %q in %s", part, have.ExtraSystemPrompt)
		}
	}
	have.ExtraSystemPrompt = ""
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}

	want = asked(t, "j1.p", parent, "seum", child, "A subagent has finished: review\nStatus: completed successfully\nDuration: 1.5s\nSession: "+child+
		" (run j1)\n\nFindings:\n"+reply)
	want.Lane, want.Cause, want.SourceTool = "", "subagent", "sessions_spawn"
	want.EventRole, want.FromSessionType = coordination.RoleDelegation, coordination.SessionSubagent
	have = w.asked["j1.p"]
	have.ExtraSystemPrompt = ""
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

// A parent that is a sub-agent itself keeps its depth; one that people talk with on a channel answers there.
func TestReportGoesWhereTheParentIs(t *testing.T) {
	t.Parallel()
	depth := 3
	w := spawn(func(c *coordination.A2AJobCreated) {
		c.Depth, c.RequesterSessionKey = &depth, "agent:eden:subagent:s1"
		c.AnnounceChannel, c.AnnounceTo, c.AnnounceAccountID, c.AnnounceThreadID = "discord", "42", "bot", "7"
	}).says(reply, "")
	report := w.asked["j1.p"]
	if report.Depth == nil || *report.Depth != 2 || *w.asked[jobID].Depth != 3 {
		t.Errorf("depth: %v", report.Depth)
	}
	if !report.Deliver || report.Channel != "discord" || report.To != "42" || report.AccountID != "bot" || report.ThreadID != "7" {
		t.Errorf("%+v", report.RunQueued)
	}
}

func TestReportStatesOutcome(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]*world{
		"Status: failed: rate limit":  spawn(nil).fails("rate_limited", "rate\nlimit"),
		"Status: timed out\n":         spawn(nil).ends(run.TimedOut, coordination.RunOver{}, ""),
		"Status: stopped: aborted: ":  spawn(nil).ends(run.Aborted, coordination.RunOver{Reason: "rpc"}, ""),
		"Findings:\n(no output)":      spawn(nil).says("NO_REPLY", ""),
		"finished: " + message + "\n": spawn(func(c *coordination.A2AJobCreated) { c.Label = "" }).says(reply, ""),
	} {
		if text := w.asked["j1.p"].Message; !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	long := spawn(nil).says(strings.Repeat("결과 ", 40_000), "").asked["j1.p"].Message
	if len(long) > a2a.MaxMessage || !strings.HasSuffix(long, "[cut: the message had 280000 bytes]") {
		t.Errorf("%d bytes: ...%s", len(long), long[len(long)-60:])
	}
}

// A run is stopped only when nothing else can use it any more.
func TestStepsStopUnwantedRuns(t *testing.T) {
	t.Parallel()
	turn := send(nil).says(reply, "")
	for name, c := range map[string]struct {
		step a2a.Step
		want string
	}{
		"stopped":               {a2a.Stop(turn.flow, "op", "", start), "j1.t1"},
		"killed":                {a2a.Stop(spawn(nil).flow, "op", "", start), jobID},
		"stopped while queued":  {a2a.Stop(full().flow, "op", "", start), ""},
		"stopped while posting": {a2a.Stop(announced().says(reply, "").flow, "op", "", start), ""},
		"too late to announce":  {a2a.Due(announced().flow, &run.Result{RunID: "j1.a", State: run.Running, StartedAt: start}, "", 0, start+a2a.TurnMs), "j1.a"},
		"too late to answer":    {a2a.Due(send(nil).flow, &run.Result{RunID: jobID, State: run.Running, StartedAt: start}, "", 0, start+a2a.WaitMs), ""},
		"too late for a turn":   {a2a.Due(turn.flow, &run.Result{RunID: "j1.t1", State: run.Running, StartedAt: start}, "", 0, start+a2a.TurnMs), ""},
		"an abandoned child":    {a2a.Resume(spawn(nil).flow, start+a2a.StaleMs+1), jobID},
		"abandoned":             {a2a.Resume(send(nil).flow, start+a2a.StaleMs+1), ""},
	} {
		if !c.step.Over || c.step.StopRun != c.want {
			t.Errorf("%s: over %v, stops %q, want %q", name, c.step.Over, c.step.StopRun, c.want)
		}
	}
}

// Warnings about a payload stand in the event; who waits for a permit comes after those who wait already.
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		most, active, waiting int
		phase                 string
		asks                  int
	}{{3, 0, 0, "waiting", 1}, {3, 2, 0, "waiting", 1}, {3, 3, 0, "dispatching", 0}, {3, 4, 0, "dispatching", 0}, {3, 2, 1, "dispatching", 0}, {0, 9, 9, "waiting", 1}} {
		s := a2a.Begin(exchange(func(e *coordination.A2AJobCreated) { e.MaxFlows, e.QueueTimeoutMs = c.most, 5_000 }), c.active, c.waiting, []string{"경고"}, start)
		created, sent := s.Events[0].Data.(coordination.A2AJobCreated), s.Events[1].Data.(coordination.A2ASend)
		if created.Kind != "send" || created.Phase != c.phase || len(s.Asks) != c.asks || len(sent.PayloadWarnings) != 1 || sent.Origin != "tool" {
			t.Errorf("%+v: %+v", c, s)
		}
		if due := created.DueAtMs - start; c.asks == 0 && due != 5_000 || c.asks == 1 && due != a2a.WaitMs {
			t.Errorf("%+v: due after %d", c, due)
		}
	}
}

func TestWhichRunsAreWantedOnceTheirFlowIsOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    a2a.Kind
		outcome string
		root    string
		want    bool
	}{
		{a2a.Send, a2a.OutcomeOK, "j", true},
		{a2a.Send, coordination.OutcomeValueNoReply, "j.r2", true}, // it took too long
		{a2a.Send, a2a.OutcomeOK, "j.t1", true},
		{a2a.Send, a2a.OutcomeOK, "j.a", false},
		{a2a.Send, coordination.OutcomeValueAbandoned, "j", true},
		{a2a.Send, coordination.OutcomeValueCancelled, "j", false},
		{a2a.Send, coordination.OutcomeValueCancelled, "j.t2", false},
		{a2a.Spawn, coordination.OutcomeValueKilled, "j", false},
		{a2a.Spawn, coordination.OutcomeValueFailed, "j", false},
		{a2a.Spawn, coordination.OutcomeValueFailed, "j.p", true},
		{a2a.Spawn, a2a.OutcomeOK, "j.p", true},
	} {
		if got := a2a.StillWanted(c.kind, c.outcome, "j", c.root); got != c.want {
			t.Errorf("%s %s %s: %v", c.kind, c.outcome, c.root, got)
		}
	}
}
