package messenger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// toAll sends one message of eden to several agents.
func toAll(t testing.TB, team *a2atest.Team, targets []string, text string, change ...func(*messenger.Request)) messenger.BroadcastResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), a2atest.Patience)
	defer cancel()
	r, err := team.Broadcast(ctx, messenger.Broadcast{Request: team.Message("eden", "", text, change...), Targets: targets})
	if err != nil {
		t.Fatalf("broadcast %q to %v: %v", text, targets, err)
	}
	return r
}

// statuses are those of a broadcast: its own, and for each agent in turn status or code.
func statuses(r *messenger.BroadcastResult) string {
	text := r.Status + ":"
	for _, one := range r.Results {
		text += " " + one.AgentID + " " + one.Status
		if one.Code != "" {
			text += "/" + one.Code
		}
	}
	return text
}

func wantStatuses(t testing.TB, what string, r messenger.BroadcastResult, want string, sent, answered, refused int) {
	t.Helper()
	if got := statuses(&r); got != want || r.Sent != sent || r.Answered != answered || r.Refused != refused {
		t.Errorf("%s: %s, %d sent, %d answered, %d refused\nwant %s, %d, %d, %d", what, got, r.Sent, r.Answered, r.Refused, want, sent, answered, refused)
	}
	if quiet := r.Status == "ok" || r.Status == "accepted"; quiet != (r.Error == "") {
		t.Errorf("%s: %s says %q", what, r.Status, r.Error)
	}
}

// crowd are agents beside eden.
func crowd(n int) (others []string) {
	for i := range n {
		others = append(others, fmt.Sprintf("agent%02d", i))
	}
	return others
}

// One message to twenty is twenty flows, each in a conversation of its own, all in one work session and one append, with one result.
func TestABroadcastIsManyFlowsOfOneWorkSession(t *testing.T) {
	t.Parallel()
	others := crowd(20)
	team := setup(t, a2atest.Setting{Agents: append([]string{"eden"}, others...)})
	first := toAll(t, team, others, "hello", func(r *messenger.Request) { r.TaskID, r.TopicID = "t1", "x1" })
	if first.Status != "accepted" || first.Sent != 20 || first.Answered != 0 || first.Error != "" || !strings.HasPrefix(first.WorkSessionID, "ws_") ||
		first.TaskID != "t1" {
		t.Errorf("%+v", first)
	}
	r := toAll(t, team, others, "how are you?", wait)
	if r.Status != "ok" || r.Sent != 20 || r.Answered != 20 || r.Refused != 0 || r.WorkSessionID == first.WorkSessionID {
		t.Errorf("%+v", r)
	}
	team.CheckSettled()
	for _, b := range []messenger.BroadcastResult{first, r} {
		conversations := map[string]bool{}
		for i, one := range b.Results {
			row := team.Flow(one.JobID)
			if one.AgentID != others[i] || row.ToAgent != others[i] || row.WorkSessionID != b.WorkSessionID || one.WorkSessionID != b.WorkSessionID ||
				row.TaskID != b.TaskID || row.Outcome != "ok" {
				t.Errorf("%+v\n%+v", one, row)
			}
			conversations[one.ConversationID] = true
		}
		if len(conversations) != 20 {
			t.Errorf("%d conversations", len(conversations))
		}
	}
	for i, one := range r.Results {
		if one.Status != "ok" || one.Reply != "echo: [eden]: how are you?" {
			t.Errorf("%s: %+v", others[i], one)
		}
	}
	if runs := team.Runs(); len(runs) != 40 {
		t.Errorf("%d runs", len(runs))
	}
}

// A broadcast is one append: no other event comes between.
func TestABroadcastIsOneAppend(t *testing.T) {
	t.Parallel()
	others := crowd(12)
	team := setup(t, a2atest.Setting{Agents: append([]string{"eden"}, others...), Asleep: true})
	log := team.Log.(*counted)
	before := log.count()
	list := make([]messenger.BroadcastResult, 4)
	together(team, len(list), func(i int) messenger.Result {
		list[i] = toAll(t, team, others, fmt.Sprint("message ", i))
		return messenger.Result{}
	})
	if n := log.count() - before; n != len(list) {
		t.Errorf("%d decisions of %d broadcasts", n, len(list))
	}
	order := ""
	for _, created := range a2atest.Data[coordination.A2AJobCreated](team, coordination.TypeA2AJobCreated, "") {
		which := fmt.Sprint(slices.IndexFunc(list, func(r messenger.BroadcastResult) bool { return r.WorkSessionID == created.WorkSessionID }))
		if !strings.HasSuffix(order, which) {
			order += which
		}
	}
	if len(order) != len(list) {
		t.Errorf("they are mixed: %s", order)
	}
	team.Wake()
	team.CheckSettled()
}

// Who sends the same again under its key finds what there is, however many do at a time, and whether it waits.
func TestABroadcastIsSentOnce(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true, Config: `{"tools":{"agentToAgent":{"pairs":[{"from":"*","to":"miri","allow":false}]}}}`,
		Agents: []string{"eden", "seum", "dajim", "miri", "juno"}})
	keyed := func(r *messenger.Request) { r.Key = "k" }
	targets := []string{"seum", "miri", "dajim"}
	list := make([]messenger.BroadcastResult, 5)
	together(team, len(list), func(i int) messenger.Result {
		list[i] = toAll(t, team, targets, "hello", keyed)
		return messenger.Result{}
	})
	fresh := 0
	for _, r := range list {
		if !r.Duplicate {
			fresh++
		}
		wantStatuses(t, "at once", r, "partial: seum accepted miri forbidden/policy_denied dajim accepted", 2, 0, 1)
		if r.WorkSessionID != list[0].WorkSessionID || r.Results[0].JobID != list[0].Results[0].JobID || r.Results[2].JobID != list[0].Results[2].JobID {
			t.Errorf("%+v\n%+v", r, list[0])
		}
	}
	if n := len(team.Flows()); fresh != 1 || n != 2 {
		t.Errorf("%d were the first, %d flows", fresh, n)
	}
	other := toAll(t, team, append(targets, "juno"), "something else", keyed)
	if other.Status != "error" || other.Code != "idempotency_key_reused" || other.Hint == "" || len(other.Results) != 0 {
		t.Errorf("with another message: %+v", other)
	}
	team.Configure("")
	more := toAll(t, team, append(targets, "juno"), "hello", keyed)
	wantStatuses(t, "who may by now", more, "accepted: seum accepted miri accepted dajim accepted juno accepted", 4, 0, 0)
	if more.Duplicate || more.WorkSessionID != list[0].WorkSessionID || more.Results[1].Duplicate || !more.Results[2].Duplicate {
		t.Errorf("%+v", more)
	}
	for _, f := range team.Flows() {
		if f.WorkSessionID != list[0].WorkSessionID {
			t.Errorf("%+v", f)
		}
	}
	if one := team.MustSend("eden", "seum", "hello", keyed); one.Duplicate || one.JobID == more.Results[0].JobID {
		t.Errorf("a message under the same key: %+v", one)
	}
	team = team.Reopen()
	team.Wake()
	again := toAll(t, team, []string{"juno", "seum"}, "hello", keyed, wait)
	wantStatuses(t, "after a restart", again, "ok: juno ok seum ok", 2, 2, 0)
	if !again.Duplicate || again.Results[1].JobID != more.Results[0].JobID || again.Results[1].Reply == "" {
		t.Errorf("%+v", again)
	}
	team.CheckSettled()
	if n := len(team.Flows()); n != 5 {
		t.Errorf("%d flows", n)
	}
}

// What stands against one target is told there, with an event, and the others get it.
func TestSomeOfABroadcastAreRefused(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Config: `{"tools":{"agentToAgent":{"pairs":[{"from":"*","to":"dajim","allow":false}]}}}`})
	from := a2atest.Caller("eden")
	r := toAll(t, team, []string{"dajim", "Seum", "stranger", "eden", " seum ", "SEUM"}, "hello", wait)
	wantStatuses(t, "some", r, "partial: dajim forbidden/policy_denied seum ok stranger error/unknown_agent eden error/invalid_request", 1, 1, 3)
	for _, i := range []int{0, 2, 3} {
		if one := r.Results[i]; one.Error == "" || one.Hint == "" || one.JobID != "" {
			t.Errorf("%+v", one)
		}
	}
	if r.Error != "1 of 4 have answered; 3 did not get it" || r.Code != "" {
		t.Errorf("%+v", r)
	}
	told := a2atest.Data[coordination.A2ARefusal](team, coordination.TypeA2AForbidden, "")
	told = append(told, a2atest.Data[coordination.A2ARefusal](team, coordination.TypeA2ADispatchFailed, "")...)
	if len(told) != 3 {
		t.Fatalf("%+v", told)
	}
	for _, one := range told {
		if one.WorkSessionID != r.WorkSessionID || one.FromAgent != from.AgentID {
			t.Errorf("%+v", one)
		}
	}
	team.CheckSettled()
	if first := team.Events("a2a.")[0]; first.Type != coordination.TypeA2AJobCreated || len(team.Flows()) != 1 {
		t.Errorf("the work session begins with %s, %d flows", first.Type, len(team.Flows()))
	}
	all := toAll(t, team, []string{"dajim"}, "hello")
	wantStatuses(t, "one alone", all, "forbidden: dajim forbidden/policy_denied", 0, 0, 1)
	if all.Code != "policy_denied" || all.Hint == "" || all.WorkSessionID != "" {
		t.Errorf("%+v", all)
	}
	none := toAll(t, team, []string{"dajim", "stranger"}, "hello")
	wantStatuses(t, "stranger", none, "error: dajim forbidden/policy_denied stranger error/unknown_agent", 0, 0, 2)
	if last := a2atest.Data[coordination.A2ARefusal](team, coordination.TypeA2AForbidden, ""); last[len(last)-1].WorkSessionID != "" {
		t.Errorf("a work session of which there is nothing else: %+v", last)
	}
	team.CheckSettled()
}

// A target whose run cannot be queued has a flow that is over, and the others get it.
func TestABroadcastToWhoTakesNoMessages(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{})
	asked := toAll(t, team, []string{"seum", "dajim"}, "hello", wait, func(r *messenger.Request) { r.WorkSessionID = "ws_1" })
	deny(t, team, "agent:seum:a2a:"+asked.Results[0].ConversationID)
	again := func(r *messenger.Request) { r.WorkSessionID, r.Key = "ws_1", "k" }
	r := toAll(t, team, []string{"seum", "dajim"}, "hello again", wait, again)
	wantStatuses(t, "first", r, "partial: seum error/send_denied dajim ok", 1, 1, 1)
	if one := r.Results[0]; one.Delivery == nil || one.Delivery.Status != "blocked" || one.JobID == "" {
		t.Errorf("%+v", one)
	}
	r = toAll(t, team, []string{"seum", "dajim"}, "hello again", wait, again)
	wantStatuses(t, "again", r, "partial: seum error/blocked dajim ok", 1, 1, 1)
	team.CheckSettled()
}

// An objection to the message holds for all targets: none gets it, and nothing is appended.
func TestABroadcastThatIsNone(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	many := crowd(messenger.MaxTargets + 1)
	for name, c := range map[string]struct {
		targets []string
		change  func(*messenger.Request)
		says    string
	}{
		"no one":         {nil, func(*messenger.Request) {}, "no target"},
		"no id":          {[]string{"seum", "*"}, func(*messenger.Request) {}, "agents[1]"},
		"too many":       {many, func(*messenger.Request) {}, "more than 50 agents"},
		"no message":     {[]string{"seum"}, func(r *messenger.Request) { r.Message = " \n" }, "message is missing"},
		"a long message": {[]string{"seum", "eden"}, func(r *messenger.Request) { r.Message = strings.Repeat("x", messenger.MaxMessage+1) }, "bytes"},
		"a long key":     {[]string{"seum"}, func(r *messenger.Request) { r.Key = strings.Repeat("x", messenger.MaxKey+1) }, "idempotencyKey"},
		"a long id":      {[]string{"seum"}, func(r *messenger.Request) { r.WorkSessionID = strings.Repeat("x", messenger.MaxID+1) }, "workSessionId"},
		"no session":     {[]string{"seum"}, func(r *messenger.Request) { r.From.SessionKey = "nowhere" }, "no session"},
	} {
		r := toAll(t, team, c.targets, "hello", wait, c.change)
		if r.Status != "error" || r.Code != "invalid_request" || !strings.Contains(r.Error, c.says) || r.Hint == "" || r.Results == nil ||
			len(r.Results) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if n := len(team.Events("a2a.")); n != 0 {
		t.Errorf("%d events", n)
	}
	some := append(slices.Clone(many[:messenger.MaxTargets]), many[0], "AGENT01")
	if r := toAll(t, team, some, "hello"); len(r.Results) != messenger.MaxTargets || r.Refused != messenger.MaxTargets {
		t.Errorf("as many as may be, some of them twice: %+v", r)
	}
}

// Who is late is told so, and goes on; who fails is told so; one time is for all.
func TestABroadcastThatNotAllAnswerInTime(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	team := setup(t, a2atest.Setting{Agents: []string{"eden", "seum", "dajim", "miri", "juno"}, Answer: func(a a2atest.Asked) a2atest.Answer {
		switch a.Agent {
		case "seum":
			return a2atest.Say("here I am")
		case "dajim":
			return a2atest.Fail(400)
		}
		select {
		case <-free:
		case <-a.Context.Done():
		}
		return a2atest.Say("after all")
	}})
	const limit = 2 * time.Second // enough for two answers on a busy machine
	short := func(r *messenger.Request) { r.Wait = limit }
	began := time.Now()
	r := toAll(t, team, []string{"miri", "seum", "juno", "dajim"}, "how long?", short, func(r *messenger.Request) { r.Key = "k" })
	if took := time.Since(began); took < limit {
		t.Errorf("it waited %s", took)
	}
	wantStatuses(t, "in time", r, "partial: miri timeout seum ok juno timeout dajim error/no_reply", 4, 1, 0)
	if r.Error != "1 of 4 have answered; 2 may still answer, do not send it to them again; 1 got it and will not answer" {
		t.Errorf("%q", r.Error)
	}
	if one := r.Results[0]; one.Error == "" || one.Delivery == nil || one.Delivery.Status != "delivered" || one.ConversationID == "" {
		t.Errorf("%+v", one)
	}
	wantStatuses(t, "none in time", toAll(t, team, []string{"miri", "juno"}, "and now?", short), "timeout: miri timeout juno timeout", 2, 0, 0)
	wantStatuses(t, "none ever", toAll(t, team, []string{"dajim"}, "and you?", wait), "error: dajim error/no_reply", 1, 0, 0)
	close(free)
	r = toAll(t, team, []string{"miri", "seum", "juno", "dajim"}, "how long?", wait, func(r *messenger.Request) { r.Key = "k" })
	wantStatuses(t, "later", r, "partial: miri ok seum ok juno ok dajim error/no_reply", 4, 3, 0)
	team.CheckSettled()
}

// The end of the context ends the waiting alone.
func TestABroadcastGoesOnWithoutWhoSentIt(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Answer: d.answer})
	defer d.release()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan messenger.BroadcastResult, 1)
	go func() {
		r, err := team.Broadcast(ctx, messenger.Broadcast{Request: team.Message("eden", "", "hello", wait), Targets: []string{"seum", "dajim"}})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	d.arrive(t, 2)
	cancel()
	r := <-done
	wantStatuses(t, "left", r, "timeout: seum timeout dajim timeout", 2, 0, 0)
	d.release()
	for _, one := range r.Results {
		if row := team.Over(one.JobID); row.Outcome != "ok" {
			t.Errorf("%+v", row)
		}
	}
	team.CheckSettled()
}

// A run that waits for all takes no place of its lane, and those who are to answer it do not wait for it.
func TestABroadcastDoesNotGoRoundInACircle(t *testing.T) {
	t.Parallel()
	var team *a2atest.Team
	var lanes atomic.Int64
	tell := func(text string, agents ...string) a2atest.Answer {
		return a2atest.Use(a2atest.Call{Name: "sessions_broadcast", Args: map[string]any{"message": text, "agents": agents, "timeoutSeconds": 3600}})
	}
	team = setup(t, withBroadcast(a2atest.Setting{Config: maxTurns("0"), Lanes: map[string]int{"main": 1, "nested": 4},
		Answer: func(a a2atest.Asked) a2atest.Answer {
			switch message := a.Message(); {
			case a.AfterTool():
				return a2atest.Say(a.Last().Text)
			case strings.Contains(message, "go"):
				return tell("first", "seum", "dajim")
			case strings.Contains(message, "first") && a.Agent == "seum":
				lanes.Store(int64(team.Waiting()["main"]))
				return tell("second", "dajim", "eden")
			}
			return a2atest.Say("here I am")
		}}))
	r := broadcastOf(t, team.Ended(team.SayTo("eden", "go")).Over.Text)
	wantStatuses(t, "eden's", r, "ok: seum ok dajim ok", 2, 2, 0)
	wantStatuses(t, "seum's", broadcastOf(t, r.Results[0].Reply), "ok: dajim ok eden ok", 2, 2, 0)
	if n := lanes.Load(); n != 1 {
		t.Errorf("%d runs of the lane waited", n)
	}
	team.CheckSettled()
}

// A session does one thing at a time: what waits for it, in a circle, is not waited for.
func TestABroadcastBackIntoAWaitingSession(t *testing.T) {
	t.Parallel()
	team := setup(t, withBroadcast(a2atest.Setting{Config: maxTurns("0"),
		Answer: func(a a2atest.Asked) a2atest.Answer {
			message := a.Message()
			talk := func(text string, agents ...string) a2atest.Answer {
				return a2atest.Use(a2atest.Call{Name: "sessions_broadcast", Args: map[string]any{"message": text, "agents": agents, "timeoutSeconds": 3600,
					"workSessionId": "ws_1"}})
			}
			switch {
			case a.AfterTool():
				return a2atest.Say(a.Last().Text)
			case strings.Contains(message, "go"):
				return talk("first", "seum")
			case strings.Contains(message, "first"): // eden answers it in the session of their conversation
				return talk("second", "eden", "dajim")
			case strings.Contains(message, "second") && a.Agent == "eden": // seum answers it in the session that waits
				return talk("third", "seum", "dajim")
			}
			return a2atest.Say("here I am")
		}}))
	r := broadcastOf(t, team.Ended(team.SayTo("eden", "go")).Over.Text)
	wantStatuses(t, "first", r, "ok: seum ok", 1, 1, 0)
	r = broadcastOf(t, r.Results[0].Reply)
	wantStatuses(t, "second", r, "ok: eden ok dajim ok", 2, 2, 0)
	wantStatuses(t, "third", broadcastOf(t, r.Results[0].Reply), "partial: seum accepted dajim ok", 2, 1, 0)
	team.CheckSettled()
}

// Each message of a broadcast counts among those that one cause may pass on in a while, whatever work sessions they belong to.
func TestABroadcastIsWithinWhatOneCauseMayPassOn(t *testing.T) {
	t.Parallel()
	others := crowd(10)
	team := setup(t, a2atest.Setting{Agents: append([]string{"eden"}, others...), Asleep: true})
	team.SayTo("eden", "go")
	in := func(i int) func(*messenger.Request) {
		return func(r *messenger.Request) { r.From.RunID, r.WorkSessionID = "tell-eden-go", fmt.Sprint("ws_", i) }
	}
	most := chain.DefaultLimits().Cause
	for i := range most/10 - 1 {
		if r := toAll(t, team, others, fmt.Sprint("again ", i), in(i)); r.Status != "accepted" {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	if r := toAll(t, team, others[:6], "more", in(most)); r.Status != "accepted" {
		t.Fatalf("%+v", r)
	}
	r := toAll(t, team, others, "too many", in(most+1))
	if r.Status != "partial" || r.Sent != 4 || r.Refused != 6 || r.Results[3].Status != "accepted" || r.Results[4].Code != "too_many_flows" {
		t.Errorf("%+v", r)
	}
}

// A broadcast that meets agents with too much to do waits for their permits, each for itself.
func TestABroadcastWaitsForPermits(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	team.MustSend("dajim", "seum", "first")
	d.arrive(t, 1)
	r := toAll(t, team, []string{"seum", "dajim"}, "hello")
	wantStatuses(t, "busy", r, "accepted: seum accepted dajim accepted", 2, 0, 0)
	wantPhases(t, team, "seum", 1, 1, 0)
	wantPhases(t, team, "dajim", 1, 0, 0)
	d.arrive(t, 1)
	d.release()
	wantPhases(t, team, "dajim", 0, 0, 1)
	d.arrive(t, 1)
	wantPhases(t, team, "seum", 1, 0, 1)
	d.release()
	team.CheckSettled()
}

// A broadcast of a run belongs where what the run sends belongs, with the task that its agent has in focus.
func TestTheWorkSessionOfABroadcast(t *testing.T) {
	t.Parallel()
	team := setup(t, withTasks(a2atest.Setting{Asleep: true}))
	in := a2atest.Caller("eden")
	in.Entry, in.RunID = tool.ByRun, team.SayTo("eden", "go")
	of := func(from tool.Caller, ws, task string) func(*messenger.Request) {
		return func(r *messenger.Request) { r.From, r.WorkSessionID, r.TaskID = from, ws, task }
	}
	one := team.MustSend("eden", "seum", "hello", of(in, "", ""))
	both := []string{"seum", "dajim"}
	if r := toAll(t, team, both, "hello", of(in, "", "")); r.WorkSessionID != one.WorkSessionID || r.Results[0].ConversationID != one.ConversationID ||
		r.Results[1].ConversationID == one.ConversationID {
		t.Errorf("of a run: %+v, a message is in %s, %s", r, one.WorkSessionID, one.ConversationID)
	}
	beginTask(team, t, "eden", "t_focus", "ws_focus")
	beginTask(team, t, "seum", "t1", "ws_task")
	inherited := in
	inherited.WorkSessionID, inherited.TaskID = "ws_own", "t_own"
	for name, c := range map[string]struct {
		change           func(*messenger.Request)
		wantWS, wantTask string
	}{
		"named":     {of(in, "ws_named", ""), "ws_named", ""},
		"a task's":  {of(in, "", "t1"), "ws_task", "t1"},
		"inherited": {of(inherited, "", ""), "ws_own", "t_own"},
		"in focus":  {of(a2atest.Caller("eden"), "", ""), "ws_focus", "t_focus"},
	} {
		r := toAll(t, team, both, "hello", c.change)
		for _, one := range r.Results {
			if one.WorkSessionID != c.wantWS || one.TaskID != c.wantTask || r.WorkSessionID != c.wantWS || r.TaskID != c.wantTask {
				t.Errorf("%s: %+v, want %s, %s", name, r, c.wantWS, c.wantTask)
			}
		}
	}
}

// A run that is broken off while it waits sends nothing again when it is repeated, though its model gives its calls other ids then.
func TestARunThatIsBrokenOffBroadcastsOnce(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	var slow atomic.Bool
	slow.Store(true)
	team := setup(t, withBroadcast(a2atest.Setting{Config: maxTurns("0"),
		Answer: func(a a2atest.Asked) a2atest.Answer {
			switch {
			case a.AfterTool():
				return a2atest.Say(a.Last().Text)
			case a.Agent == "eden":
				return a2atest.Use(a2atest.Call{Name: "sessions_broadcast", Args: map[string]any{"team": "all", "message": "look", "timeoutSeconds": 3600}})
			case slow.Load():
				asked <- struct{}{}
				<-a.Context.Done()
			}
			return a2atest.Say("seen")
		}}))
	runID := team.SayTo("eden", "go")
	<-asked
	<-asked
	slow.Store(false)
	team = team.Crash()
	team.CheckSettled()
	var last messenger.BroadcastResult
	for _, r := range team.Runs() {
		if r.RetryOf == runID && r.State == "ok" {
			last = broadcastOf(t, team.Ended(r.RunID).Over.Text)
		}
	}
	wantStatuses(t, "repeated", last, "ok: seum ok dajim ok", 2, 2, 0)
	if n := len(team.Flows()); n != 2 || !last.Duplicate {
		t.Errorf("%d flows, want 2; %+v", n, last)
	}
}

// A transaction that fails on its way has sent it to no target.
func TestABroadcastThatCannotBeStoredIsSentToNoOne(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	r, err := team.Broadcast(t.Context(), messenger.Broadcast{Targets: []string{"seum", "dajim"},
		Request: team.Message("eden", "", "hello", func(r *messenger.Request) { r.From.AskedID = strings.Repeat("x", eventstore.MaxRefBytes+1) })})
	if err == nil || len(r.Results) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := len(team.Events("a2a.", "run.")); n != 0 {
		t.Errorf("%d events", n)
	}
	whole := toAll(t, team, []string{"seum", "dajim"}, "hello")
	if diff := cmp.Diff("accepted: seum accepted dajim accepted", statuses(&whole)); diff != "" {
		t.Error(diff)
	}
}

// What a broadcast says of one agent is what a message to it alone says.
func TestABroadcastSaysOfEachWhatAMessageSays(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{})
	in := func(r *messenger.Request) { r.WorkSessionID, r.TaskID, r.NoAnnounce = "ws_1", "t1", false }
	for name, change := range map[string]func(*messenger.Request){"at once": func(*messenger.Request) {}, "waiting": wait} {
		one := team.MustSend("eden", "seum", "hello", in, change)
		all := toAll(t, team, []string{"seum"}, "hello", in, change)
		if diff := cmp.Diff(one, all.Results[0].Result, cmpopts.IgnoreFields(messenger.Result{}, "RunID", "JobID")); diff != "" {
			t.Errorf("%s: (-message +broadcast)\n%s", name, diff)
		}
	}
	team.CheckSettled()
}
