package continuer_test

import (
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// wantOneRunEach fails unless each prompt that an event tells of was asked for once, and nothing else was.
func (c *crew) wantOneRunEach() {
	c.t.Helper()
	told := map[string]int{}
	for _, e := range c.own() {
		d := a2atest.Decoded[struct {
			RunID         string `json:"runId"`
			TargetAgentID string `json:"targetAgentId"`
		}](c.t, &e)
		if d.RunID != "" && e.Type != coordination.TypeContinuationBackoff && e.Type != coordination.TypeUnblockRequested {
			told[d.RunID]++
		}
	}
	for _, r := range c.prompts("") {
		if told[r.RunID] != 1 {
			c.t.Errorf("%d events tell of the run %s", told[r.RunID], r.RunID)
		}
		delete(told, r.RunID)
	}
	for id := range told {
		c.t.Errorf("an event tells of a run %s that is not there", id)
	}
}

// use is an answer that calls one tool.
func use(name string, args map[string]any) a2atest.Answer {
	return a2atest.Use(a2atest.Call{Name: name, Args: args})
}

// The end of a run has one prompt, however many checks happen at the same time.
func TestInvariant32_OnePromptAfterARun(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer)
	id := c.starts("eden", "tile the roof", "buy tiles", "lay tiles")
	s.will("eden", a2atest.Say("hello"),
		use("task_update", map[string]any{"task_id": id, "action": "complete_step", "step_id": "s1"}), a2atest.Say("tiles are there"),
		use("task_update", map[string]any{"task_id": id, "action": "complete_step", "step_id": "s2"}), a2atest.Say("all tiles are laid"))
	other := continuer.New(continuer.Options{Log: c.Log, Queue: c.Queue, Messages: c.Service, Tasks: c.Tasks, Config: c.InForce,
		Now: c.Clock.Now, NewID: func() string { return "0" }, Logger: quietly(t)})
	c.Ended(c.SayTo("eden", "hello"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if _, err := other.Check(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	c.wants("two prompts that are over", func() bool { return len(c.prompts("eden")) == 2 && c.task(id).Steps[1].Status == "done" })
	c.quiet()
	equal(t, "reasons", c.reasons("eden"), []string{"self_driving", "self_driving"})
	c = c.reopened()
	c.rests("eden", continuation.Cooldown, 5*time.Minute)
	if n := len(c.prompts("eden")); n != 2 {
		t.Errorf("%d prompts, want 2", n)
	}
	c.wantOneRunEach()
}

// An agent is told to go on with a task at most once within five minutes, whatever causes the check.
func TestInvariant33_OnePromptWithinTheCooldown(t *testing.T) {
	t.Parallel()
	c := setup(t, nil, byHand)
	c.starts("eden", "tile the roof")
	c.rests("eden", continuation.NotIdle, 3*time.Minute)
	c.after(3 * time.Minute)
	c.rests("eden", continuation.Cooldown, 5*time.Minute)
	c = c.reopened()
	c.rests("eden", continuation.Cooldown, 5*time.Minute)
	c.after(5*time.Minute - time.Millisecond)
	equal(t, "reasons", c.reasons("eden"), []string{"idle"})
	c.after(time.Millisecond)
	equal(t, "reasons", c.reasons("eden"), []string{"idle", "idle"})
	c.wantOneRunEach()
}

func TestInvariant34_NoPromptWhile(t *testing.T) {
	t.Parallel()
	s := says(nil)
	gate := make(chan struct{})
	c := setup(t, func(a a2atest.Asked) a2atest.Answer {
		if a.Message() == "wait" {
			select {
			case <-gate:
			case <-a.Context.Done():
			}
		}
		return s.answer(a)
	}, byHand)
	c.rests("eden", continuation.Done, 0)
	id := c.does("eden", "task_start", map[string]any{"description": "spend money", "requires_approval": true, "simple": true})
	c.Advance(time.Hour)
	c.rests("eden", continuation.Approval, 0)
	c = c.crashed()
	c.rests("eden", continuation.Approval, 0)
	c.does("main", "task_approve", map[string]any{"task_id": id})
	c.quiet() // it is told so
	c.rests("eden", continuation.NotIdle, 3*time.Minute)

	runID := c.SayTo("eden", "wait")
	c.wants("the run to begin", func() bool { return c.Runs()[1].State == run.Running })
	c.Advance(5 * time.Minute)
	c.rests("eden", continuation.Busy, 0)
	close(gate)
	c.Ended(runID)
	c.rests("eden", continuation.NotIdle, 3*time.Minute)

	s.will("eden", a2atest.Fail(401))
	c.after(3 * time.Minute)
	c.rests("eden", continuation.InBackoff, time.Hour)
	c = c.crashed()
	c.rests("eden", continuation.InBackoff, time.Hour)

	c.does("eden", "task_cancel", map[string]any{"task_id": id, "reason": "too dear"})
	c.Advance(48 * time.Hour)
	c.rests("eden", continuation.Done, 0)
	equal(t, "reasons", c.reasons("eden"), []string{"idle"})
	c.wantOneRunEach()
}

// The back-off after each failure is as the table says, and a restart forgets none of it.
func TestInvariant35_BackoffOutlivesRestarts(t *testing.T) {
	t.Parallel()
	minutes := func(n ...int) (list []time.Duration) {
		for _, m := range n {
			list = append(list, time.Duration(m)*time.Minute)
		}
		return list
	}
	for name, row := range map[string]struct {
		fails  a2atest.Answer
		cause  string
		pauses []time.Duration
	}{
		"billing":               {a2atest.Fail(402), "billing", minutes(60, 120, 120)},
		"auth":                  {a2atest.Fail(401), "auth", minutes(60, 120, 120)},
		"unknown":               {a2atest.Fail(400), "unknown", minutes(5, 10, 20, 40, 40)},
		"rate limit":            {a2atest.Fail(429), "rate_limit", minutes(1, 2, 4, 8, 8)},
		"rate limit, with hint": {a2atest.Answer{Status: 429, RetryAfter: "600"}, "rate_limit", minutes(10, 20, 40, 80, 80)},
		"rate limit, for long":  {a2atest.Answer{Status: 429, RetryAfter: "90000"}, "rate_limit", minutes(120, 120)},
		"context overflow":      {tooLong, "context_overflow", minutes(30, 60, 120, 120)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := says(map[string][]a2atest.Answer{"eden": {row.fails}})
			c := setup(t, s.answer, byHand)
			c.starts("eden", "tile the roof")
			wait := 3 * time.Minute
			for i, want := range row.pauses {
				c.after(wait)
				if st := c.state("eden"); st.Failures != i+1 || st.Cause != row.cause || st.BackoffMs != want.Milliseconds() {
					t.Fatalf("after failure %d: %d, %s, %d ms; want %s, %s", i+1, st.Failures, st.Cause, st.BackoffMs, row.cause, want)
				}
				c = c.crashed()
				c.rests("eden", continuation.InBackoff, want)
				wait = max(want, 3*time.Minute)
			}
			var told []time.Duration
			for _, b := range a2atest.Data[coordination.Continuation](c.Team, coordination.TypeContinuationBackoff, "") {
				told = append(told, time.Duration(b.BackoffMs)*time.Millisecond)
			}
			if len(told) != len(row.pauses) {
				t.Errorf("told %v, want %v", told, row.pauses)
			}
			s.will("eden", a2atest.Say("it goes again"))
			c.after(wait)
			if st := c.state("eden"); st.Failures != 0 || st.BackoffUntil != 0 {
				t.Errorf("a run that ends well leaves %d failures", st.Failures)
			}
			c.wantOneRunEach()
		})
	}
}

// tooLong is what a provider says of a prompt that does not fit.
var tooLong = a2atest.Answer{Status: 400, Error: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}

// A task without activity for more than a day goes back twice; then it is interrupted, and the lead is told.
func TestInvariant36_Zombies(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer, byHand)
	id := c.starts("eden", "tile the roof")
	for nth := 1; nth <= 3; nth++ {
		c.after(24 * time.Hour)
		if got := c.task(id).Status; got != coordination.StateInProgress {
			t.Fatalf("after exactly 24 h it is %s", got)
		}
		c = c.crashed()
		c.after(time.Millisecond)
		all := a2atest.Data[coordination.ZombieAbandoned](c.Team, coordination.TypeZombieAbandoned, "")
		if len(all) != nth || all[nth-1].ReassignCount != nth {
			t.Fatalf("%d: %+v", nth, all)
		}
		if nth == 3 {
			break
		}
		if got := c.task(id).Status; got != coordination.StateBacklog || all[nth-1].Action != coordination.ZombieMovedToBacklog {
			t.Fatalf("%d: it is %s, %+v", nth, got, all)
		}
		c.after(2 * time.Minute)
		if got := c.task(id).Status; got != coordination.StateInProgress {
			t.Fatalf("it is not started again: %s", got)
		}
	}
	last := a2atest.Data[coordination.ZombieAbandoned](c.Team, coordination.TypeZombieAbandoned, "")[2]
	if got := c.task(id).Status; got != coordination.StateInterrupted || last.Action != coordination.ZombieEscalated || last.ToldAgentID != "main" {
		t.Errorf("it is %s, %+v", got, last)
	}
	c.Ended(last.RunID)
	if heard := s.of("main"); len(heard) != 1 || !contains(heard[0], id, "eden", "interrupted") {
		t.Errorf("the lead has heard %q", heard)
	}
	c.rests("eden", continuation.Interrupted, 0)
	c = c.reopened()
	c.Advance(48 * time.Hour)
	c.rests("eden", continuation.Interrupted, 0)
	c.wantOneRunEach()
}

// At most three requests, half an hour apart, in turn, to those who may be asked, and then the lead is told; regardless of restarts.
func TestInvariant37_Unblock(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		config string
		by     []string
		want   []string
		reason continuation.Reason
	}{
		"in turn":       {"", []string{"seum", "ruda"}, []string{"3 seum", "33 ruda", "63 seum"}, continuation.NoAnswer},
		"one is barred": {pairs("eden", "seum"), []string{"seum", "ruda"}, []string{"3 ruda", "33 ruda", "63 ruda"}, continuation.NoAnswer},
		"all are":       {pairs("eden", "*"), []string{"seum", "ruda"}, nil, continuation.NobodyToAsk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := says(nil)
			c := setup(t, s.answer, byHand)
			id := c.starts("eden", "tile the roof")
			c.does("eden", "task_block", map[string]any{"task_id": id, "reason": "no tiles", "unblock_by": row.by, "unblock_action": "buy tiles"})
			if row.config != "" {
				c.over(row.config)
			}
			for range 100 {
				wait := c.settles()
				if wait == 0 {
					break
				}
				if c = c.crashed(); row.config != "" {
					c.over(row.config)
				}
				c.Advance(wait)
			}
			var asked []string
			for i, e := range c.Events(coordination.TypeUnblockRequested) {
				d := a2atest.Decoded[coordination.Unblock](t, &e)
				asked = append(asked, minutesAfter(&e)+" "+d.TargetAgentID)
				flow := c.Flow(d.RunID)
				if d.RequestCount != i+1 || flow.ToAgent != d.TargetAgentID || flow.TaskID != id || flow.FromAgent != "eden" {
					t.Errorf("%+v asks by %+v", d, flow)
				}
			}
			equal(t, "asked", asked, row.want)
			told := a2atest.Data[coordination.Unblock](c.Team, coordination.TypeUnblockFailed, "")
			if len(told) != 1 || told[0].ToldAgentID != "main" || told[0].Reason != string(row.reason) || c.task(id).EscalationState != "failed" {
				t.Fatalf("%+v, %s", told, c.task(id).EscalationState)
			}
			if heard := s.of("main"); len(heard) != 1 || !contains(heard[0], id, "eden", "no tiles") {
				t.Errorf("the lead has heard %q", heard)
			}
			c.rests("eden", continuation.Told, 0)
			c.wantOneRunEach()
		})
	}
}
