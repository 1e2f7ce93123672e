package continuer_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// A request whose run fails counts as not delivered. The next agent in turn is asked, not before its time.
func TestARequestThatFailsIsToldOf(t *testing.T) {
	t.Parallel()
	s := says(map[string][]a2atest.Answer{"seum": {a2atest.Fail(400)}})
	c := setup(t, s.answer, byHand)
	id := c.starts("eden", "tile the roof")
	c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": []string{"seum", "ruda"}})
	c.after(3 * time.Minute)
	failed := a2atest.Data[coordination.Unblock](c.Team, coordination.TypeUnblockFailed, "")
	if len(failed) != 1 || failed[0].TargetAgentID != "seum" || failed[0].Failures != 1 || !strings.Contains(failed[0].Error, "failed") {
		t.Fatalf("%+v", failed)
	}
	c = c.crashed()
	for wait := c.settles(); len(c.Events(coordination.TypeUnblockRequested)) < 2; wait = c.after(wait) {
		if wait == 0 {
			t.Fatal("no other agent is asked")
		}
	}
	again := c.Events(coordination.TypeUnblockRequested)[1]
	if d := a2atest.Decoded[coordination.Unblock](t, &again); d.TargetAgentID != "ruda" || d.RequestCount != 2 || minutesAfter(&again) != "33" {
		t.Errorf("after %s min: %+v", minutesAfter(&again), d)
	}
	c.after(time.Minute)
	if n := len(c.Events(coordination.TypeUnblockFailed)); n != 1 {
		t.Errorf("%d times it is told that a request was not delivered", n)
	}
	c.wantOneRunEach()
}

// A helper without an answer was reached.
func TestASilentHelperWasReached(t *testing.T) {
	t.Parallel()
	s := says(map[string][]a2atest.Answer{"seum": {a2atest.Say("NO_REPLY")}})
	c := setup(t, s.answer, byHand)
	id := c.starts("eden", "tile the roof")
	c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": []string{"seum"}})
	c.after(3 * time.Minute)
	if n := len(c.Events(coordination.TypeUnblockRequested)); n != 1 || len(c.Events(coordination.TypeUnblockFailed)) != 0 {
		t.Errorf("%d requests; %v", n, c.Events(coordination.TypeUnblockFailed))
	}
}

// farAway sends messages that have been passed on too often already, which the messenger refuses.
type farAway struct{ continuer.Messages }

func (f farAway) Ask(tx eventstore.Tx, r messenger.Request, now time.Time) (messenger.Result, []eventstore.StreamAppend, error) {
	far := 1_000
	r.Hop = &far
	return f.Messages.Ask(tx, r, now)
}

// Requests without a taker go to the next agent after five minutes, and after three the lead is told.
func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer, byHand)
	id := c.starts("eden", "tile the roof")
	c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": []string{"seum", "ruda"}})
	for wait := time.Minute; wait > 0; {
		c = c.crashed()
		c.Continuer = continuer.New(continuer.Options{Log: c.Log, Queue: c.Queue, Messages: farAway{c.Service}, Tasks: c.Tasks, Config: c.InForce,
			Now: c.Clock.Now, NewID: newID, Logger: quietly(t)})
		wait = c.after(wait)
	}
	var told []string
	for _, e := range c.Events(coordination.TypeUnblockFailed, coordination.TypeUnblockRequested) {
		d := a2atest.Decoded[coordination.Unblock](t, &e)
		told = append(told, strings.Join([]string{minutesAfter(&e), e.Type, d.TargetAgentID, d.ToldAgentID, d.Reason}, " "))
	}
	equal(t, "told", told, []string{"3 unblock.failed seum  ", "8 unblock.failed ruda  ", "13 unblock.failed seum  ", "13 unblock.failed  main not_delivered"})
	if n := len(c.Events(coordination.TypeA2ADispatchFailed, coordination.TypeA2AForbidden)); n != 3 {
		t.Errorf("%d refusals are reported, want 3", n)
	}
	if heard := s.of("main"); len(heard) != 1 {
		t.Errorf("the lead has heard %q", heard)
	}
	c.wantOneRunEach()
}

// A request that waits too long for its target has not reached it.
func TestARequestThatWaitsTooLong(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	c := setup(t, func(a a2atest.Asked) a2atest.Answer {
		if a.Agent == "seum" {
			select {
			case <-gate:
			case <-a.Context.Done():
			}
		}
		return a2atest.Say("I have looked at it.")
	}, byHand)
	c.over(`{"agents": {"defaults": {"a2aConcurrency": {"maxConcurrentFlows": 1, "queueTimeoutMs": 30000}}, ` + configuration[len(`{"agents": {`):])
	id := c.starts("eden", "tile the roof")
	c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": []string{"seum"}})
	c.MustSend("ruda", "seum", "are you there?")
	c.Advance(3 * time.Minute)
	c.looks()
	asked := a2atest.Data[coordination.Unblock](c.Team, coordination.TypeUnblockRequested, "")
	if len(asked) != 1 {
		t.Fatalf("%+v", asked)
	}
	c.Advance(31 * time.Second)
	if flow := c.Over(asked[0].RunID); flow.Outcome != "blocked" {
		t.Fatalf("%+v", flow)
	}
	c.looks()
	failed := a2atest.Data[coordination.Unblock](c.Team, coordination.TypeUnblockFailed, "")
	if len(failed) != 1 || failed[0].TargetAgentID != "seum" || !strings.Contains(failed[0].Error, "blocked") {
		t.Errorf("%+v", failed)
	}
	close(gate)
	c.quiet()
}

// What a lead cannot be told is told to people: it is neither lost nor retried forever.
func TestALeadThatTakesNothing(t *testing.T) {
	t.Parallel()
	c := setup(t, nil, byHand)
	id := c.starts("eden", "tile the roof")
	c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": []string{"seum"}})
	c.over(pairs("eden", "*"))
	c.sendPolicy("main", "deny")
	c.after(3 * time.Minute)
	told := a2atest.Data[coordination.Unblock](c.Team, coordination.TypeUnblockFailed, "")
	if len(told) != 1 || told[0].ToldAgentID != "" || told[0].RunID != "" || c.task(id).EscalationState != "failed" {
		t.Errorf("%+v, %s", told, c.task(id).EscalationState)
	}
	c.rests("eden", continuation.Told, 0)
}

// If the first lead accepts nothing, the next one is told.
func TestTheNextLeadIsTold(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer, byHand)
	c.over(`{"agents": {"list": [{"id": "main", "default": true, "role": "lead"}, {"id": "eden", "role": "lead"}, {"id": "seum"},
		{"id": "ruda", "role": "lead", "model": "test/ruda"}]},
		"tools": {"agentToAgent": {"enabled": true, "pairs": [{"from": "eden", "to": "*", "allow": false}]}}}`)
	id := c.starts("eden", "tile the roof")
	c.sendPolicy("main", "deny")
	c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": []string{"seum"}})
	c.after(3 * time.Minute)
	told := a2atest.Data[coordination.Unblock](c.Team, coordination.TypeUnblockFailed, "")
	if len(told) != 1 || told[0].ToldAgentID != "ruda" || told[0].RunID == "" || c.task(id).EscalationState != "failed" {
		t.Errorf("%+v", told)
	}
	if heard := s.of("ruda"); len(heard) != 1 || !contains(heard[0], "[ESCALATION]", id) {
		t.Errorf("the lead that is left has heard %q", heard)
	}
	c.wantOneRunEach()
}

// A helper that resumes the task ends the requests, and the agent continues.
func TestAHelperResumesTheTask(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer)
	id := c.starts("eden", "tile the roof")
	s.will("seum", use("task_resume", map[string]any{"task_id": id}), a2atest.Say("there are tiles now"))
	c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": []string{"seum"}})
	c.Advance(3 * time.Minute)
	c.wants("the task to go on", func() bool { return c.task(id).Status == coordination.StateInProgress })
	c.quiet()
	c.Advance(3 * time.Minute)
	c.wants("a prompt to go on", func() bool { return len(c.reasons("eden")) == 1 })
	c.quiet()
	equal(t, "reasons", c.reasons("eden"), []string{"idle"})
	c.wantOneRunEach()
}

// A backlog task begins when its dependencies are completed, even other agents', or when its day has come.
func TestTheBacklogIsPicked(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	first := c.starts("seum", "buy tiles")
	waits := c.does("eden", "task_backlog_add", map[string]any{"description": "lay tiles", "depends_on": []string{first}})
	day := c.Clock.Now().Add(12 * time.Hour)
	later := c.does("ruda", "task_backlog_add", map[string]any{"description": "paint", "start_date": day.UTC().Format(time.RFC3339)})
	c.does("ruda", "task_backlog_add", map[string]any{"description": "never", "depends_on": []string{waits}})
	c.looks()
	if e := c.explains("eden"); e.Reason != continuation.NotYet || e.LookAgainAt != 0 {
		t.Fatalf("%s", e.Text)
	}
	if e := c.explains("ruda"); e.Reason != continuation.NotYet || e.LookAgainAt != day.UTC().Truncate(time.Second).UnixMilli() {
		t.Fatalf("%s", e.Text)
	}
	c.does("seum", "task_complete", map[string]any{"task_id": first})
	c.wants("the next task to begin", func() bool { return c.task(waits).Status == coordination.StateInProgress })
	c.Advance(12 * time.Hour)
	c.wants("the task to begin on its day", func() bool { return c.task(later).Status == coordination.StateInProgress })
	picked := c.Events(coordination.TypeBacklogAutoPicked)
	if len(picked) != 2 || picked[0].AgentID != "eden" || picked[1].AgentID != "ruda" {
		t.Errorf("%d tasks are started, want that of eden and then that of ruda", len(picked))
	}
	for _, e := range picked {
		if d := a2atest.Decoded[coordination.TaskState](t, &e); d.WorkSessionID == "" || d.SessionKey != coordination.MainKey(e.AgentID).String() {
			t.Errorf("%+v", d)
		}
	}
}

// Where continuation is switched off no agent is prompted, and it can be switched on.
func TestItIsSwitchedOffAndOn(t *testing.T) {
	t.Parallel()
	c := setup(t, nil, byHand)
	c.starts("eden", "tile the roof")
	c.over(`{"agents": {"defaults": {"taskContinuation": {"enabled": false}}, "list": [{"id": "eden"}]}}`)
	c.Advance(time.Hour)
	c.rests("eden", continuation.Disabled, 0)
	c.over(`{}`)
	c.after(0)
	equal(t, "reasons", c.reasons("eden"), []string{"idle"})
}

// troubled manages tasks, and fails for those of one agent as long as it is told to.
type troubled struct {
	continuer.Tasks
	agent string
	how   func() error
	tries atomic.Int64
}

func (x *troubled) Renewed(tx eventstore.Tx, t *task.Task, now int64) (string, error) {
	if t.Agent == x.agent && x.how != nil {
		x.tries.Add(1)
		if err := x.how(); err != nil {
			return "", err
		}
	}
	return x.Tasks.Renewed(tx, t, now)
}

// An agent that cannot be checked, or whose check panics, does not affect the others.
func TestTroubleWithOneAgentHarmsNoOther(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func() error{
		"error": func() error { return errors.New("no") },
		"panic": func() error { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, nil, byHand)
			service := &troubled{Tasks: c.Tasks, agent: "eden", how: how}
			x := continuer.New(continuer.Options{Log: c.Log, Queue: c.Queue, Messages: c.Service, Tasks: service, Config: c.InForce,
				Now: c.Clock.Now, NewID: newID, Logger: quietly(t)})
			for _, agent := range []string{"eden", "seum", "ruda"} {
				c.does(agent, "task_backlog_add", map[string]any{"description": "paint"})
			}
			_, err := x.Check(t.Context())
			if err == nil || !strings.Contains(err.Error(), "eden") || strings.Contains(err.Error(), "seum") {
				t.Errorf("%v", err)
			}
			if picked := c.Events(coordination.TypeBacklogAutoPicked); len(picked) != 2 || len(c.prompts("eden")) != 0 {
				t.Errorf("%+v is started, and the one in trouble has %d prompts", picked, len(c.prompts("eden")))
			}
			c.quiet()
			service.how = nil
			if _, err := x.Check(t.Context()); err != nil {
				t.Error(err)
			}
			c.quiet()
			if reasons := c.reasons("eden"); len(reasons) == 0 || reasons[0] != "backlog" {
				t.Errorf("once it is out of trouble it is told %v", reasons)
			}
			c.wantOneRunEach()
		})
	}
}

// Run ends with the log, and with its context.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	c := setup(t, nil, byHand)
	done := make(chan error, 1)
	go func() { done <- c.Continuer.Run(t.Context()) }()
	c.starts("eden", "tile the roof")
	c.Advance(3 * time.Minute)
	c.wants("a prompt", func() bool { return len(c.prompts("eden")) == 1 })
	c.quiet()
	c.Close()
	if err := <-done; !errors.Is(err, eventstore.ErrClosed) {
		t.Errorf("%v", err)
	}
}
