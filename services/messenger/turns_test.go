package messenger_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// The requester's turn runs in the session whose run has sent, and still goes on: it waits behind that, as long as that takes.
func TestBug07_TheRequestersTurnWaitsBehindItsOwnRun(t *testing.T) {
	t.Parallel()
	busy := make(chan struct{})
	team := setup(t, a2atest.Setting{Config: maxTurns("1"), Answer: func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "seum":
			return a2atest.Say("the work is half done, what about the other half?")
		case strings.Contains(a.Message(), "half done"):
			return a2atest.Say("leave the other half alone for now, please")
		case a.AfterTool():
			<-busy // it does something else
			return a2atest.Say("sent")
		}
		return a2atest.Use(a2atest.Send(map[string]any{"agentId": "seum", "message": "let's discuss the work together", "timeoutSeconds": 0}))
	}})
	told := team.SayTo("eden", "go")
	team.Await("the turn", queued(1))
	close(busy)
	if end := team.Ended(told); end.State != run.OK || end.Over.Text != "sent" {
		t.Errorf("%+v", end)
	}
	team.CheckSettled()
	f := team.Flows()[0]
	responses := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, f.JobID)
	if len(responses) != 2 || responses[1].Turn != 1 || responses[1].FromAgent != "eden" || responses[1].Message != "leave the other half alone for now, please" {
		t.Errorf("%+v", responses)
	}
	if f.Outcome != "ok" || f.RequesterRunID != told || f.WorkSessionID == "" {
		t.Errorf("%+v", f)
	}
}

// What the first turn is compared with is the answer before it, whichever attempt that came from.
func TestARepetitionOfALaterAttemptIsSeen(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Config: maxTurns("3"), Answer: func(a a2atest.Asked) a2atest.Answer {
		if a.Agent == "seum" && a.N <= 3 {
			return a2atest.Fail(429)
		}
		return a2atest.Say("we always say the very same thing to each other, do we not?")
	}})
	r := team.MustSend("eden", "seum", "it", turns(3))
	team.Until(r.JobID, func(f *flows.Row) bool { return f.Attempt == 2 })
	team.Advance(time.Minute)
	team.Over(r.JobID)
	team.CheckSettled()
	complete := a2atest.Data[coordination.A2AComplete](team, coordination.TypeA2AComplete, r.JobID)[0]
	if complete.TerminationReason != "repetition_detected" || complete.ActualTurns != 1 {
		t.Errorf("%+v", complete)
	}
}

// Agents that ask each other, and wait, in a lane with one place: who waits leaves its place to who is asked.
func TestNestedWaitingDoesNotStarve(t *testing.T) {
	t.Parallel()
	agents := []string{"eden", "seum", "dajim", "miri"}
	next := map[string]string{"seum": "dajim", "dajim": "miri"}
	team := setup(t, a2atest.Setting{Agents: agents, Lanes: map[string]int{run.LaneMain: 1, run.LaneNested: 1}, Answer: func(a a2atest.Asked) a2atest.Answer {
		if to := next[a.Agent]; to != "" && !a.AfterTool() {
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": to, "message": "and you?", "timeoutSeconds": 60, "replyBack": false}))
		}
		if a.AfterTool() {
			var r messenger.Result
			if err := json.Unmarshal([]byte(a.Last().Text), &r); err != nil {
				return a2atest.Say(err.Error())
			}
			return a2atest.Say(a.Agent + " < " + r.Reply + r.Error)
		}
		return a2atest.Say(a.Agent)
	}})
	if r := team.MustSend("eden", "seum", "and you?", wait); r.Status != "ok" || r.Reply != "seum < dajim < miri" {
		t.Fatalf("%+v", r)
	}
	team.CheckSettled()
	if left := team.Waiting(); len(left) > 0 {
		t.Errorf("still counted: %v", left)
	}
	hops := map[string]int{}
	for _, s := range a2atest.Data[coordination.A2ASend](team, coordination.TypeA2ASend, "") {
		hops[s.FromAgent] = *s.Hop
		if s.WorkSessionID != team.Flows()[0].WorkSessionID {
			t.Errorf("%s sends in another work session", s.FromAgent)
		}
	}
	if hops["eden"] != 1 || hops["seum"] != 2 || hops["dajim"] != 3 {
		t.Errorf("%v", hops)
	}
}

func TestHopsAreLimited(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	at := func(hop int) messenger.Result {
		return team.MustSend("eden", "seum", "pass it on", func(r *messenger.Request) { r.From.Hop = hop })
	}
	if r := at(19); r.Status != "accepted" {
		t.Errorf("%+v", r)
	}
	if r := at(20); r.Status != "forbidden" || r.Code != "too_many_hops" || r.Hint == "" {
		t.Errorf("%+v", r)
	}
	lowered := 1
	if r := team.MustSend("eden", "seum", "pass it on", func(r *messenger.Request) { r.From.Hop, r.Hop = 20, &lowered }); r.Code != "too_many_hops" {
		t.Errorf("%+v: the sender cannot count less", r)
	}
	refused := a2atest.Data[coordination.A2ARefusal](team, coordination.TypeA2AForbidden, "")
	if len(refused) != 2 || refused[0].Code != "too_many_hops" || refused[0].FromAgent != "eden" || refused[0].ToAgent != "seum" ||
		refused[0].EventRole != coordination.RoleObservability {
		t.Errorf("%+v", refused)
	}
}

// One original request lets two agents write to each other a limited number of times within a while, whatever ids they use, so loops
// end. A further request of a person starts again, and clients may write as often as they like.
func TestAPairIsLimitedWhateverIdsItUses(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	team.SayTo("eden", "go")
	team.SayTo("eden", "go on")
	send := func(i int, runID string) messenger.Result {
		from, to := "eden", "seum"
		if i%2 == 1 {
			from, to = to, from // both directions count together
		}
		return team.MustSend(from, to, fmt.Sprint("again ", i), func(r *messenger.Request) {
			r.From.RunID, r.WorkSessionID, r.ConversationID, r.TaskID = runID, fmt.Sprint("ws_", i), fmt.Sprint("c", i), fmt.Sprint("t", i)
		})
	}
	most := chain.DefaultLimits().Pair
	for i := range most {
		if r := send(i, "tell-eden-go"); r.Status != "accepted" {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	if r := send(most, "tell-eden-go"); r.Status != "forbidden" || r.Code != "too_many_between" || r.Hint == "" {
		t.Errorf("%+v", r)
	}
	if r := send(most, "tell-eden-go on"); r.Status != "accepted" {
		t.Errorf("after what a person has said: %+v", r)
	}
	if r := send(most, ""); r.Status != "accepted" {
		t.Errorf("of a client: %+v", r)
	}
	if r := team.MustSend("eden", "dajim", "you do it", func(r *messenger.Request) { r.From.RunID = "tell-eden-go" }); r.Status != "accepted" {
		t.Errorf("another pair: %+v", r)
	}
	team.Advance(chain.DefaultLimits().Window)
	if r := send(most+1, "tell-eden-go"); r.Status != "accepted" {
		t.Errorf("after a while: %+v", r)
	}
}

// In its own session an agent reaches itself, but not the run that it is in.
func TestAMessageToOneselfDoesNotWait(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.AfterTool():
			return a2atest.Say(a.Last().Text)
		case strings.Contains(a.Message(), "remember"):
			return a2atest.Say("I do")
		}
		return a2atest.Use(a2atest.Send(map[string]any{"sessionKey": "main", "message": "remember this", "timeoutSeconds": 3600}))
	}})
	end := team.Ended(team.SayTo("eden", "go"))
	var r messenger.Result
	if err := json.Unmarshal([]byte(end.Over.Text), &r); err != nil || r.Status != "accepted" || r.SessionKey != "agent:eden:main" {
		t.Fatalf("%s: %v", end.Over.Text, err)
	}
	team.CheckSettled()
	if f := team.Flow(r.JobID); f.Outcome != "ok" || f.TargetSessionKey != "agent:eden:main" || f.Turn != 0 {
		t.Errorf("%+v", f)
	}
}

// A sender is not waited for by those who are to answer it: otherwise all would wait until a timeout.
func TestWaitingDoesNotGoRoundInACircle(t *testing.T) {
	t.Parallel()
	send := func(to, value, message string) a2atest.Answer {
		return a2atest.Use(a2atest.Send(map[string]any{to: value, "message": message, "timeoutSeconds": 3600, "replyBack": false}))
	}
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		switch message := a.Message(); {
		case a.AfterTool():
			return a2atest.Say(a.Last().Text)
		case strings.Contains(message, "go"):
			return send("agentId", "seum", "first")
		case strings.Contains(message, "first"):
			return send("agentId", "eden", "second")
		case strings.Contains(message, "second"):
			return send("sessionKey", "main", "third")
		}
		return a2atest.Say("here I am")
	}})
	end := team.Ended(team.SayTo("eden", "go"))
	text := end.Over.Text
	for i, want := range []string{"ok", "ok", "accepted"} {
		var r messenger.Result
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Status != want {
			t.Fatalf("message %d: %s: %v", i+1, text, err)
		}
		text = r.Reply
	}
	team.CheckSettled()
	list := team.Flows()
	for i := range list {
		if list[i].Outcome != "ok" {
			t.Errorf("%+v", list[i])
		}
	}
	if len(list) != 3 {
		t.Errorf("%d flows", len(list))
	}
}

// queued reports whether a flow's turn waits for its run.
func queued(turn int) func(context.Context, *sql.Tx) (bool, error) {
	return func(ctx context.Context, tx *sql.Tx) (bool, error) {
		list, err := flows.List(ctx, tx, flows.Query{Open: true})
		return slices.ContainsFunc(list, func(f flows.Row) bool { return f.Phase == a2a.Turn && f.Turn == turn }), err
	}
}
