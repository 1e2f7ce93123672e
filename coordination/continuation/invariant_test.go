package continuation_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
)

// The end of a run has one prompt, however many ask: what goes on by itself and what goes on with steps are one.
func TestInvariant32_OnePromptAfterARun(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one", "two").well()
	first := w.does(continuation.Continue, continuation.SelfDriving)
	for range 3 {
		w.rests(continuation.Busy, 0)
		w.s.Busy = false // the run is not visible yet
		w.rests(continuation.Busy, 5*time.Minute)
		w.s.Busy = true
	}
	w.after(time.Minute).finishes("task_a", "s1").well()
	second := w.does(continuation.Continue, continuation.SelfDriving)
	if first.Key == second.Key {
		t.Errorf("two causes have the key %s", first.Key)
	}
}

func TestInvariant33_OnePromptWithinTheCooldown(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one", "two").after(3 * time.Minute)
	w.does(continuation.Continue, continuation.Idle)
	w.after(time.Second).ends(coordination.TypeRunAborted, coordination.RunOver{Reason: "stop"}) // a run that did not end well has nothing go on
	w.rests(continuation.Cooldown, 5*time.Minute-time.Second)
	w.after(5*time.Minute-time.Second-time.Millisecond).rests(continuation.Cooldown, time.Millisecond)
	w.after(time.Millisecond).does(continuation.Continue, continuation.Idle)
	w.after(4*time.Minute).ends(coordination.TypeRunAborted, coordination.RunOver{Reason: "stop"}).rests(continuation.Cooldown, 3*time.Minute) // then it is idle, too
}

// A prompt whose run never appears does not block forever, and is no second answer to the previous run.
func TestAPromptThatIsLost(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").well()
	w.does(continuation.Continue, continuation.SelfDriving)
	w.s.Busy = false
	w.rests(continuation.Busy, 5*time.Minute)
	w.after(5*time.Minute).does(continuation.Continue, continuation.Idle)
}

func TestInvariant34_NoPromptWhile(t *testing.T) {
	t.Parallel()
	w := eden(t)
	w.rests(continuation.Done, 0)
	w.waitsForApproval("task_a").after(time.Hour)
	w.rests(continuation.Approval, 0)
	w.adds("task_b").after(time.Hour)
	w.rests(continuation.Approval, 0)
	w.happens(coordination.TypeTaskApproved, "task_a", coordination.TaskState{Context: about("task_a")})
	w.rests(continuation.NotIdle, 3*time.Minute)
	w.after(time.Hour).s.Busy = true
	w.rests(continuation.Busy, 0)
	w.s.Busy = false
	w.does(continuation.Continue, continuation.Idle)
	w.fails("auth", "")
	w.rests(continuation.InBackoff, time.Hour)
	w.happens(coordination.TypeTaskCompleted, "task_a", coordination.TaskState{Context: about("task_a")})
	w.rests(continuation.InBackoff, time.Hour)
	w.after(time.Hour).does(continuation.Pick, continuation.FromBacklog)
	w.happens(coordination.TypeTaskCancelled, "task_b", coordination.TaskState{Context: about("task_b")})
	w.rests(continuation.Done, 0)
}

func TestInvariant36_Zombies(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a")
	for nth := 1; nth <= 3; nth++ {
		since := w.now
		w.after(24 * time.Hour)
		if d := w.next(); d.Kind == continuation.Recover {
			t.Fatalf("taken away after exactly 24 h")
		}
		w.restarts().s.RestartedAt = 0
		d := w.after(time.Millisecond).does(continuation.Recover, continuation.Zombie)
		if d.Attempt != nth || d.AgeHours != float64(w.now-since)/3_600_000 {
			t.Errorf("%+v", d)
		}
		got := w.task("task_a")
		if nth < 3 {
			if got.Status != coordination.StateBacklog || got.Backlog.Reassigned != nth || d.Prompt != "" || d.To != "" {
				t.Fatalf("%d: %+v, %+v", nth, got, d)
			}
			w.does(continuation.Pick, continuation.FromBacklog)
			w.after(time.Second).ends(coordination.TypeRunAborted, coordination.RunOver{Reason: "stop"})
			w.now -= ms(time.Second)
			continue
		}
		if got.Status != coordination.StateInterrupted || d.To != "main" || !d.Visible || d.Prompt == "" {
			t.Fatalf("%+v, %+v", got, d)
		}
	}
	w.rests(continuation.Interrupted, 0)
}

// It is looked at again when it is longer than 24 h, not when it is that.
func TestZombiesAreNotLookedForTooEarly(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").after(23 * time.Hour)
	w.s.State.BackoffUntil = w.now + ms(2*time.Hour)
	w.rests(continuation.InBackoff, time.Hour+time.Millisecond)
	w.after(time.Hour).rests(continuation.InBackoff, time.Millisecond)
	w.after(time.Millisecond).does(continuation.Recover, continuation.Zombie)
}

func TestLeadIsNotNotifiedOfItself(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a")
	w.s.Lead = "eden"
	w.s.Tasks[0].Backlog.Reassigned = 2
	if d := w.after(25*time.Hour).does(continuation.Recover, continuation.Zombie); d.To != "" || !d.Visible || d.Prompt == "" {
		t.Errorf("%+v", d)
	}
}

// Three requests, half an hour apart, in rotation, then an escalation; across restarts.
func TestInvariant37_Unblock(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		by, barred []string
		want       []string
	}{
		"in turn":         {[]string{"seum", "ruda"}, nil, []string{"seum", "ruda", "seum"}},
		"one":             {[]string{"seum"}, nil, []string{"seum", "seum", "seum"}},
		"more than asked": {[]string{"a", "b", "c", "d"}, nil, []string{"a", "b", "c"}},
		"one is barred":   {[]string{"seum", "ruda", "nara"}, []string{"ruda"}, []string{"seum", "nara", "seum"}},
		"all are barred":  {[]string{"seum", "ruda"}, []string{"ruda", "seum"}, nil},
		"no agent":        {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := eden(t).starts("task_a").blocks("task_a", row.by...)
			w.s.Barred = row.barred
			w.rests(continuation.Blocked, 3*time.Minute)
			w.after(3*time.Minute - time.Millisecond)
			w.rests(continuation.Blocked, time.Millisecond)
			w.after(time.Millisecond)
			var asked []string
			var at []int64
			for w.now < begin+ms(3*time.Hour) {
				d := w.next()
				if d.Kind == continuation.Nothing {
					if w.restarts().s.RestartedAt = 0; d.LookAgainAt == 0 {
						break
					}
					w.now = d.LookAgainAt
					continue
				}
				w.take(d)
				switch d.Kind {
				case continuation.Ask:
					if d.Attempt != len(asked)+1 || d.Visible != (d.Attempt == 3) {
						t.Errorf("%+v", d)
					}
					asked, at = append(asked, d.To), append(at, w.now)
				case continuation.Remind:
					w.well()
				}
			}
			if !slices.Equal(asked, row.want) {
				t.Errorf("asked %v, want %v", asked, row.want)
			}
			told := w.tells(continuation.Escalate)
			if len(told) != 1 || told[0].To != "main" || !told[0].Visible || w.task("task_a").Blocked.Escalation != "failed" {
				t.Fatalf("%+v, %+v", told, w.task("task_a").Blocked)
			}
			want, reason := []int64(nil), continuation.NobodyToAsk
			if row.want != nil {
				want, reason = []int64{3, 33, 63}, continuation.NoAnswer
			}
			if got := minutes(t, at); !slices.Equal(got, want) || told[0].Reason != reason {
				t.Errorf("asked after %v min, told because of %s", got, told[0].Reason)
			}
			w.rests(continuation.Told, 0)
			w.happens(coordination.TypeTaskResumed, "task_a", coordination.TaskState{Context: about("task_a")})
			w.blocks("task_a", "seum").rests(continuation.Blocked, 3*time.Minute)
		})
	}
}

// Requests that do not arrive are made again to the next one, and are not made for ever.
func TestRequestsThatDoNotArrive(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").blocks("task_a", "seum", "ruda").after(3 * time.Minute)
	for i, to := range []string{"seum", "ruda", "seum"} {
		d := w.next()
		if d.Kind != continuation.Ask || d.To != to || d.Attempt != 1 {
			t.Fatalf("%d: %+v", i, d)
		}
		e := continuation.Undelivered(w.task("task_a"), d.To, "no such session")
		w.happens(e.Type, e.TaskID, e.Data)
		if i < 2 {
			w.rests(continuation.Blocked, 5*time.Minute)
			w.after(5 * time.Minute)
		}
	}
	w.does(continuation.Escalate, continuation.NotDelivered)
	w.rests(continuation.Told, 0)
	if b := w.task("task_a").Blocked; b.Failures != 3 || b.Requests != 0 {
		t.Errorf("%+v", b)
	}
}

func TestReminders(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").blocks("task_a", "seum").after(3 * time.Minute)
	var at []int64
	for range 50 {
		d := w.next()
		if d.Kind == continuation.Nothing {
			w.now = d.LookAgainAt
			continue
		}
		if w.take(d); d.Kind == continuation.Remind {
			at = append(at, w.now)
			w.well()
		}
		if d.Attempt == 3 {
			break
		}
	}
	if got := minutes(t, at); !slices.Equal(got, []int64{6, 12, 24, 36, 42, 54}) {
		t.Errorf("reminded after %v min", got)
	}
}

// What others are asked for waits neither for approval nor for the idleness of the one who is blocked; what the agent is told does.
func TestApprovalHoldsNoRequests(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").blocks("task_a", "seum").waitsForApproval("task_b").after(3 * time.Minute).well()
	if d := w.does(continuation.Ask, continuation.UnblockRequest); d.To != "seum" {
		t.Errorf("%+v", d)
	}
	w.after(10*time.Minute).rests(continuation.Approval, 20*time.Minute)
}

// Each prompt that brings nothing has the next one wait longer, from 30 s on, doubled, up to 2 h: twenty of them do not go out within a second.
func TestPromptsWithoutProgressSlowDown(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one", "two").well()
	var escalated []int
	var waited []time.Duration
	const prompts = 14 // twelve hours of them: after a day the task is taken away
	for prompt := range prompts {
		d, began := w.next(), w.now
		for d.Kind == continuation.Nothing {
			if d.Reason != continuation.Cooldown || d.LookAgainAt <= w.now {
				t.Fatalf("prompt %d: %s, %s, look at %d", prompt+1, d.Kind, d.Reason, d.LookAgainAt)
			}
			w.now = d.LookAgainAt
			d = w.next()
		}
		waited = append(waited, time.Duration(w.now-began)*time.Millisecond)
		w.take(d)
		if d.Kind == continuation.Escalate {
			escalated = append(escalated, prompt+1)
		}
		w.after(time.Second).well()
	}
	want := []time.Duration{0}
	for pause := 30 * time.Second; len(want) < len(waited); pause = min(2*pause, 2*time.Hour) {
		want = append(want, pause)
	}
	if !slices.Equal(waited, want) || !slices.Equal(escalated, []int{3, 8, 13}) {
		t.Errorf("they wait %v, want %v; %v of them ask what is wrong", waited, want, escalated)
	}
	w.finishes("task_a", "s1").does(continuation.Continue, continuation.SelfDriving)
}

// Steps where there were none are progress: the agent goes on with them at once.
func TestDefinedStepsAreProgress(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").well()
	w.does(continuation.Continue, continuation.StepsMissing)
	w.happens(coordination.TypeTaskUpdated, "task_a", coordination.TaskUpdated{Context: about("task_a"),
		Steps: []coordination.TaskStep{{ID: "s1", Content: "one", Status: "in_progress", Order: 1}}})
	w.after(time.Second).well().does(continuation.Continue, continuation.SelfDriving)
}

// The step changes with each prompt, but none is done.
func TestNoProgressIsAskedAfter(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one", "two").well()
	var escalated []string
	for i := range 12 {
		d := w.next()
		w.take(d)
		if d.Kind == continuation.Escalate {
			escalated = append(escalated, strconv.Itoa(i+1)+" "+string(d.Reason))
		}
		steps := slices.Clone(w.task("task_a").Steps)
		steps[0].Status, steps[1].Status = steps[1].Status, steps[0].Status
		w.happens(coordination.TypeTaskUpdated, "task_a", coordination.TaskUpdated{Context: about("task_a"), Steps: steps})
		w.after(time.Second).well().after(2 * time.Hour)
	}
	if !slices.Equal(escalated, []string{"5 no_progress", "10 no_progress"}) {
		t.Errorf("%v", escalated)
	}
}

// A prompt that asks what is wrong, and does not get to the agent, is sent again.
func TestAnEscalationThatFailsIsRepeated(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one").well()
	for range 2 {
		w.does(continuation.Continue, continuation.SelfDriving)
		w.after(time.Second).well().after(time.Minute)
	}
	w.does(continuation.Escalate, continuation.SameStep)
	w.fails("timeout", "").after(3*time.Minute).does(continuation.Escalate, continuation.SameStep)
	w.well().after(2*time.Minute).does(continuation.Continue, continuation.SelfDriving)
}

func TestStepsAreAskedForThreeTimes(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").well()
	for range continuation.MaxDefines {
		w.does(continuation.Continue, continuation.StepsMissing)
		w.after(time.Second).well().after(time.Minute)
	}
	w.does(continuation.Nothing, continuation.Cooldown)
	simple := eden(t).starts("task_a")
	simple.s.Tasks[0].Simple = true
	simple.well().rests(continuation.NotIdle, 3*time.Minute)
}

// Runs of other sessions, and of sub-agents, have nothing go on.
func TestOnlyTheMainSessionDrives(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a", "one")
	for _, key := range []string{"agent:eden:subagent:u1", "agent:eden:a2a:c1", "agent:eden:discord:channel:1", "agent:seum:main", "nonsense"} {
		w.ends(coordination.TypeRunEnded, coordination.RunOver{SessionKey: key})
		w.rests(continuation.NotIdle, 3*time.Minute)
	}
}
