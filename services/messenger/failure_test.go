package messenger_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// turns lets the two talk with each other for so many turns.
func turns(n int) func(*messenger.Request) {
	return func(r *messenger.Request) {
		r.NoTurns = n == 0
		r.Message = "let's discuss " + r.Message
	}
}

func maxTurns(n string) string { return `{"session":{"agentToAgent":{"maxPingPongTurns":` + n + `}}}` }

// Whatever fails: one a2a.send, then one a2a.response at least, then exactly one a2a.complete, and one end of the job. CheckSettled sees that.
//
// Promise: flow-once
func TestInvariant26_EveryFlowEndsOnceInOrder(t *testing.T) {
	t.Parallel()
	first := func(fails a2atest.Answer) func(a2atest.Asked) a2atest.Answer {
		return func(a2atest.Asked) a2atest.Answer { return fails }
	}
	later := func(fails a2atest.Answer) func(a2atest.Asked) a2atest.Answer { // the first answer comes, the turn after it fails
		return func(a a2atest.Asked) a2atest.Answer {
			if a.Agent == "seum" && a.N == 1 {
				return a2atest.Say("a first answer that says something")
			}
			return fails
		}
	}
	for name, c := range map[string]struct {
		answer            func(a2atest.Asked) a2atest.Answer
		outcome, response string // of the flow, and of its last response
		ended             string // why the turns ended
	}{
		"a permanent error":     {first(a2atest.Fail(400)), "no_reply", "no_reply", ""},
		"nothing said":          {first(a2atest.Say("  ")), "no_reply", "no_reply", ""},
		"NO_REPLY":              {first(a2atest.Say("NO_REPLY")), "no_reply", "no_reply", ""},
		"the turn fails":        {later(a2atest.Fail(400)), "ok", "", "agent_error"},
		"the turn is empty":     {later(a2atest.Say(" ")), "ok", "", "empty_reply"},
		"the turn is skipped":   {later(a2atest.Say("REPLY_SKIP")), "ok", "", "explicit_skip"},
		"a tool that is wrong":  {later(a2atest.Use(a2atest.Call{Name: "nonsense", Args: map[string]any{}})), "ok", "", "agent_error"},
		"an answer in the turn": {later(a2atest.Say("all of that is quite enough for me, so let us leave it")), "ok", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			team := setup(t, a2atest.Setting{Config: maxTurns("1"), Answer: c.answer})
			r := team.MustSend("eden", "seum", "it", turns(1))
			row := team.Over(r.JobID)
			team.CheckSettled()
			responses := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, r.JobID)
			if last := responses[len(responses)-1]; row.Outcome != c.outcome || last.Outcome != c.response {
				t.Errorf("outcome %q, of the response %q: %+v", row.Outcome, last.Outcome, last)
			}
			complete := a2atest.Data[coordination.A2AComplete](team, coordination.TypeA2AComplete, r.JobID)[0]
			if complete.TerminationReason != c.ended || c.outcome != "ok" && complete.Outcome != c.outcome {
				t.Errorf("%+v", complete)
			}
		})
	}
}

func TestATransientErrorIsTriedAgain(t *testing.T) {
	t.Parallel()
	busy := 3 // the runner itself asks so often
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		if a.N <= busy {
			return a2atest.Fail(429)
		}
		return a2atest.Say("now I can")
	}})
	r := team.MustSend("eden", "seum", "can you?")
	team.Until(r.JobID, func(f *flows.Row) bool { return f.Attempt == 2 })
	team.Advance(time.Minute)
	row := team.Over(r.JobID)
	team.CheckSettled()
	retries := a2atest.Data[coordination.A2ARetry](team, coordination.TypeA2ARetry, r.JobID)
	if len(retries) != 1 || retries[0].ErrorCategory != "transient" || retries[0].Attempt != 1 || row.Outcome != "ok" || row.Said[0].Text != "now I can" {
		t.Errorf("%+v, %+v", retries, row)
	}
	if again := team.MustSend("eden", "seum", "can you?", wait); again.Reply != "now I can" {
		t.Errorf("%+v", again)
	}
}

// A waiting sender gets the answer of the attempt that succeeded.
func TestAWaitingSenderGetsTheAnswerOfTheLastAttempt(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		if a.N <= 3 {
			return a2atest.Fail(503)
		}
		return a2atest.Say("[[reply_to_current]]\nall of the answer")
	}})
	results := make(chan messenger.Result, 1)
	go func() {
		results <- team.MustSend("eden", "seum", "can you?", wait, func(r *messenger.Request) { r.Key = "k" })
	}()
	team.Await("a second attempt", attempt(2))
	team.Advance(time.Minute)
	if r := <-results; r.Status != "ok" || r.Reply != "all of the answer" {
		t.Errorf("%+v", r)
	}
	team.CheckSettled()
}

func TestBug01_AnAbortedRunIsNoTimeout(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Answer: d.answer})
	defer d.release()
	results := make(chan messenger.Result, 1)
	go func() { results <- team.MustSend("eden", "seum", "hello", wait) }()
	d.arrive(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), a2atest.Patience)
	defer cancel()
	jobID := team.Flows()[0].JobID
	if _, err := team.Runner.Stop(ctx, run.Stop{RunID: jobID, Reason: "rpc", By: "a person"}); err != nil {
		t.Fatal(err)
	}
	if r := <-results; r.Status != "error" || r.Code != "no_reply" || !strings.HasPrefix(r.Error, "[outcome] blocked: ") {
		t.Errorf("%+v", r)
	}
	team.CheckSettled()
	response := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, jobID)[0]
	if response.WaitStatus != "aborted" || response.Outcome != "no_reply" || strings.Contains(response.Message, "300") {
		t.Errorf("%+v", response)
	}
	if retries := team.Events(coordination.TypeA2ARetry); len(retries) > 0 || len(team.Runs()) != 1 {
		t.Error("it is tried again")
	}
}

// broken is a channel in which posting panics.
type broken struct{}

func (broken) Account(p messenger.Post) string            { return p.AccountID }
func (broken) Reaches(string) bool                        { return true }
func (broken) Post(context.Context, messenger.Post) error { panic("no such luck") }

func TestBug02_WhatBreaksInsideEndsTheFlow(t *testing.T) {
	t.Parallel()
	var logs strings.Builder
	team := setup(t, a2atest.Setting{Channels: broken{}, Logs: &syncWriter{w: &logs}})
	speak(team, "eden")
	r := team.MustSend("eden", "seum", "hello", func(r *messenger.Request) { r.NoAnnounce = false })
	for n := range 4 {
		team.Until(r.JobID, func(f *flows.Row) bool {
			return f.Phase == a2a.Posting && f.Attempt == n+2 || f.Phase == a2a.Over
		})
		team.Advance(2 * time.Minute)
	}
	row := team.Over(r.JobID)
	team.CheckSettled()
	complete := a2atest.Data[coordination.A2AComplete](team, coordination.TypeA2AComplete, r.JobID)[0]
	if complete.Announced || complete.Error == "" || row.Phase != a2a.Over {
		t.Errorf("%+v", complete)
	}
}

func TestBug03_AndBug04_WhatStandsForAnAnswer(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	delivered := team.MustSend("eden", "seum", "one")
	d.arrive(t, 1)
	blocked := team.MustSend("eden", "seum", "two")
	team.Advance(25 * time.Second)
	team.Over(blocked.JobID)
	team.Advance(a2a.WaitMs * time.Millisecond)
	team.Over(delivered.JobID)
	for id, want := range map[string]string{delivered.JobID: "no_reply", blocked.JobID: "blocked"} {
		got := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, id)[0]
		if got.FromAgent != "seum" || got.ToAgent != "eden" || got.Outcome != want || got.EventRole != coordination.RoleConversation ||
			!strings.HasPrefix(got.Message, "[outcome] blocked: 응답을 받지 못했습니다") {
			t.Errorf("%+v", got)
		}
	}
	timedOut := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, delivered.JobID)[0]
	if timedOut.Message != "[outcome] blocked: 응답을 받지 못했습니다 (대기 시간 300초 초과)" || timedOut.WaitStatus != "timeout" {
		t.Errorf("%+v", timedOut)
	}
	if runs := team.Runs(); len(runs) != 1 || runs[0].State != run.Running {
		t.Errorf("%+v: the run goes on, and there is no other", runs)
	}
	d.release()
	team.CheckSettled()
}

// The wait for the first answer counts from the beginning of its run, however long that has waited for its lane.
func TestTheWaitCountsFromTheBeginningOfTheRun(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Answer: d.answer, Lanes: map[string]int{run.LaneNested: 1}})
	defer d.release()
	team.MustSend("eden", "dajim", "keeps the lane")
	d.arrive(t, 1)
	r := team.MustSend("eden", "seum", "waits for it")
	team.Advance(250 * time.Second)
	d.next()
	d.arrive(t, 1)
	team.Advance(250 * time.Second) // 500 s after it was sent
	before := team.Flow(r.JobID)
	d.next()
	if row := team.Over(r.JobID); row.Outcome != "ok" || before.Phase != a2a.Waiting {
		t.Errorf("%+v, before %+v", row, before)
	}
	team.CheckSettled()
}

func TestBug06_TheReplyIsThatOfTheRun(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		if a.N == 1 {
			return a2atest.Say("the first")
		}
		return a2atest.Say("")
	}})
	if r := team.MustSend("eden", "seum", "one", wait); r.Reply != "the first" {
		t.Fatalf("%+v", r)
	}
	again := func(r *messenger.Request) { r.ConversationID = team.Flows()[0].ConversationID }
	if r := team.MustSend("eden", "seum", "two", wait, again); r.Status != "error" || r.Reply != "" {
		t.Errorf("%+v", r)
	}
	team.CheckSettled()
}

func TestARunThatIsRefusedIsToldAtOnce(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	r := team.MustSend("eden", "seum", "hello", wait, func(r *messenger.Request) { r.Message = strings.Repeat("x", 300<<10) })
	if r.Status != "error" || r.Code != "invalid_request" || r.Hint == "" || r.RunID == "" {
		t.Errorf("%+v", r)
	}
	if got := team.Events(coordination.TypeA2ADispatchFailed); len(got) != 1 {
		t.Errorf("%d events", len(got))
	}
	if flows := team.Flows(); len(flows) > 0 {
		t.Errorf("%+v", flows)
	}
}

// A flow that is stopped ends wherever it is, and with it what its runs have started.
func TestStopReachesWhatTheRunsHaveStarted(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{})
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		if a.Agent == "seum" && !a.AfterTool() {
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": "dajim", "message": "go on", "timeoutSeconds": 60}))
		}
		close(reached)
		<-a.Context.Done()
		return a2atest.Say("too late")
	}})
	first := team.MustSend("eden", "seum", "begin")
	<-reached
	ctx, cancel := context.WithTimeout(t.Context(), a2atest.Patience)
	defer cancel()
	stopped, err := team.Stop(ctx, first.JobID, "boss", "enough")
	if err != nil || len(stopped) != 2 || stopped[0] != first.JobID {
		t.Fatalf("%v, %v", stopped, err)
	}
	team.CheckSettled()
	for _, f := range team.Flows() {
		if f.Outcome != coordination.OutcomeValueCancelled {
			t.Errorf("%+v", f)
		}
	}
	for _, r := range team.Runs() {
		if r.State != run.Aborted {
			t.Errorf("%+v", r)
		}
	}
	if again, err := team.Stop(ctx, first.JobID, "boss", "enough"); len(again) > 0 || err != nil {
		t.Errorf("%v, %v", again, err)
	}
	if none, err := team.Stop(ctx, "nothing", "boss", "enough"); len(none) > 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

var errDown = errors.New("the channel is down")

// attempt reports whether some flow is at its n-th attempt.
func attempt(n int) func(context.Context, *sql.Tx) (bool, error) {
	return func(ctx context.Context, tx *sql.Tx) (bool, error) {
		list, err := flows.List(ctx, tx, flows.Query{Open: true})
		return slices.ContainsFunc(list, func(r flows.Row) bool { return r.Attempt == n }), err
	}
}
