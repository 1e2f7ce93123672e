package continuer_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// Two services for the same agents send no prompt twice.
//
// Promise: continuation
func TestBug27_TwoExecutorsSendOnePrompt(t *testing.T) {
	t.Parallel()
	c := setup(t, nil, byHand)
	both := []*continuer.Service{c.Continuer, continuer.New(continuer.Options{Log: c.Log, Queue: c.Queue, Messages: c.Service, Tasks: c.Tasks,
		Config: c.InForce, Now: c.Clock.Now, NewID: newID, Logger: quietly(t)})}
	for _, agent := range []string{"eden", "seum", "ruda"} {
		c.starts(agent, "tile the roof")
	}
	for round := range 4 {
		c.Advance(6 * time.Minute)
		before := len(c.prompts(""))
		var all sync.WaitGroup
		for _, x := range both {
			all.Go(func() {
				if _, err := x.Check(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		c.quiet()
		if n := len(c.prompts("")) - before; n != 3 {
			t.Fatalf("round %d: %d prompts to 3 agents", round, n)
		}
	}
	c.wantOneRunEach()
}

// While the run of one agent takes long, the others are prompted.
func TestBug28_ASlowAgentDelaysNoOther(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	c := setup(t, func(a a2atest.Asked) a2atest.Answer {
		if a.Agent == "eden" {
			select {
			case <-gate:
			case <-a.Context.Done():
			}
		}
		return a2atest.Say("I have looked at it.")
	})
	for _, agent := range []string{"eden", "seum", "ruda"} {
		c.starts(agent, "tile the roof")
	}
	c.Advance(3 * time.Minute)
	over := func(agent string, n int) func() bool {
		return func() bool {
			runs := c.prompts(agent)
			return len(runs) == n && runs[n-1].State == run.OK
		}
	}
	c.wants("the answers of the others", func() bool { return over("seum", 1)() && over("ruda", 1)() && len(c.prompts("eden")) == 1 })
	c.Advance(5 * time.Minute)
	c.wants("the next answers of the others", func() bool { return over("seum", 2)() && over("ruda", 2)() })
	if n := len(c.prompts("eden")); n != 1 {
		t.Errorf("%d prompts to an agent whose run is under way", n)
	}
	close(gate)
	c.wants("the answer of the slow one", over("eden", 1))
	c.quiet()
	c.wantOneRunEach()
}

// namedCall is a call that a prompt tells of.
var namedCall = regexp.MustCompile(`\b((?:task|sessions|plan|milestone)_[a-z_]+) \(([^)]*)\)`)

// Every tool that a prompt names is one that the agent is offered, with the parameters that the prompt names.
func TestBug29_PromptsNameParametersThatThereAre(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer, byHand)
	id := c.starts("eden", "tile the roof", "buy tiles", "lay tiles")
	c.settles()
	c.Ended(c.SayTo("eden", "hello"))
	for range continuation.SameStepLimit { // self-driving, then the same step again and again
		c.Advance(c.settles())
	}
	c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": []string{"seum"}, "unblock_action": "buy tiles"})
	c.does("seum", "task_backlog_add", map[string]any{"description": "paint the wall", "assignee": "ruda"})
	zombie := c.does("ruda", "task_start", map[string]any{"description": "no steps"})
	c.Ended(c.SayTo("ruda", "hello"))
	for wait := c.settles(); c.task(id).EscalationState != "failed"; wait = c.settles() {
		c.Advance(wait)
	}
	c = c.reopened()
	c.after(time.Minute)
	for wait := c.settles(); c.task(zombie).Status != coordination.StateInterrupted && wait > 0; wait = c.settles() {
		c.Advance(25 * time.Hour)
	}
	schemas := map[string]map[string]json.RawMessage{}
	for _, spec := range c.Tools.Offer(a2atest.Caller("eden")) {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		schemas[spec.Name] = schema.Properties
	}
	checked, all := map[string]bool{}, ""
	for _, agent := range c.Configured() {
		for _, prompt := range s.of(agent) {
			all += prompt
			for _, call := range namedCall.FindAllStringSubmatch(prompt, -1) {
				properties, known := schemas[call[1]]
				if !known {
					t.Errorf("the prompt of %s names a tool %s that it does not have:\n%s", agent, call[1], prompt)
				}
				for _, argument := range strings.Split(call[2], ",") {
					name, _, _ := strings.Cut(strings.TrimSpace(argument), " ")
					if _, known := properties[name]; !known {
						t.Errorf("%s has no parameter %q:\n%s", call[1], name, prompt)
					}
				}
				checked[call[1]] = true
			}
		}
	}
	for _, name := range []string{"task_update", "task_complete", "task_block", "task_resume", "task_cancel", "sessions_send"} {
		if !checked[name] {
			t.Errorf("no prompt names %s", name)
		}
	}
	for _, kind := range []string{"Continue", "Define steps", "Stuck", "Unblock request 1 of 3", "ESCALATION", "Still blocked?", "Restart", "Backlog"} {
		if !strings.Contains(all, "["+kind+"]") {
			t.Errorf("there is no prompt [%s]", kind)
		}
	}
}

// A context overflow is read from the run; after the fifth the session starts over.
func TestBug31_OverflowStartsTheSessionOver(t *testing.T) {
	t.Parallel()
	s := says(map[string][]a2atest.Answer{"eden": {tooLong}})
	c := setup(t, s.answer, byHand)
	c.starts("eden", "tile the roof")
	wait := 3 * time.Minute
	for i := range continuation.MaxOverflows {
		if resets := c.Events(coordination.TypeSessionReset); len(resets) != 0 {
			t.Fatalf("it starts over after %d failures", i)
		}
		c.after(wait)
		c = c.crashed()
		wait = time.UnixMilli(c.state("eden").BackoffUntil).Sub(c.Clock.Now())
	}
	if resets := a2atest.Data[coordination.Session](c.Team, coordination.TypeSessionReset, ""); len(resets) != 1 || resets[0].SessionKey != "agent:eden:main" {
		t.Fatalf("%+v, want the main session to start over once", resets)
	}
	if st := c.state("eden"); st.Overflows != 0 || st.Failures != 0 {
		t.Errorf("%+v", st)
	}
	c.rests("eden", continuation.InBackoff, continuation.ResetPause)
	s.will("eden", a2atest.Say("it goes again"))
	c.after(continuation.ResetPause)
	if all := c.prompts("eden"); all[len(all)-1].State != run.OK {
		t.Errorf("%+v", all[len(all)-1])
	}
	if n := len(c.Events(coordination.TypeSessionReset)); n != 1 {
		t.Errorf("it starts over %d times", n)
	}
	c.wantOneRunEach()
}

// After a restart each agent has one prompt, about all its tasks.
func TestBug32_OnePromptForEachAgentAfterARestart(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer)
	ids := map[string][]string{}
	for _, agent := range []string{"eden", "seum"} {
		for i := range 3 {
			ids[agent] = append(ids[agent], c.starts(agent, fmt.Sprintf("work %d", i)))
		}
	}
	c.does("eden", "task_block", map[string]any{"task_id": ids["eden"][0], "reason": "no tiles", "unblock_by": []string{"ruda"}})
	c.Advance(time.Minute)
	c = c.crashed()
	c.wants("a prompt to both", func() bool { return len(c.prompts("eden")) > 0 && len(c.prompts("seum")) > 0 })
	c.quiet()
	c.Advance(time.Minute)
	c = c.crashed() // not told again so soon
	c.looks()
	c.quiet()
	for agent, of := range ids {
		equal(t, agent, c.reasons(agent), []string{"restart"})
		heard := s.of(agent)
		if len(heard) != 1 || !contains(heard[0], of...) {
			t.Errorf("%s has heard %q, want all of %v in one prompt", agent, heard, of)
		}
	}
	c.wantOneRunEach()
}

// A picked task whose prompt fails is prompted again; if the prompt cannot be queued at all, it stays in the backlog.
func TestBug34_APickThatFailsIsToldAgain(t *testing.T) {
	t.Parallel()
	s := says(map[string][]a2atest.Answer{"eden": {a2atest.Fail(400)}})
	c := setup(t, s.answer, byHand)
	id := c.does("seum", "task_backlog_add", map[string]any{"description": "paint the wall", "assignee": "eden"})
	c.sendPolicy("eden", "deny")
	c.settles()
	if got := c.task(id).Status; got != coordination.StateBacklog || len(c.prompts("eden")) != 0 {
		t.Fatalf("it is %s, with %d prompts", got, len(c.prompts("eden")))
	}
	c.rests("eden", continuation.InBackoff, 5*time.Minute)
	c = c.crashed()
	c.rests("eden", continuation.InBackoff, 5*time.Minute)
	c.sendPolicy("eden", "allow")
	c.after(5 * time.Minute)
	if got := c.task(id).Status; got != coordination.StateInProgress {
		t.Fatalf("it is %s", got)
	}
	c.rests("eden", continuation.InBackoff, 10*time.Minute)
	s.will("eden", a2atest.Say("I begin"))
	c = c.crashed()
	for wait := 10 * time.Minute; len(c.prompts("eden")) < 2; {
		wait = c.after(wait)
	}
	heard := s.of("eden")
	if last := heard[len(heard)-1]; !contains(last, id, "paint the wall") {
		t.Errorf("it is told again with %q", last)
	}
	if st := c.state("eden"); st.Failures != 0 {
		t.Errorf("%d failures", st.Failures)
	}
	c.wantOneRunEach()
}
