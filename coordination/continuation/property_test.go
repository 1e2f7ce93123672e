package continuation_test

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Whatever happens: a decision is the same for the same situation, nothing is looked at again before time can have changed it, and no cause has
// two prompts.
func TestWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := eden(t)
		made := 0
		last := continuation.Decision{}
		for range rapid.IntRange(5, 60).Draw(t, "length") {
			switch rapid.SampledFrom([]string{"time", "time", "time", "time", "event", "event", "run", "run", "restart"}).Draw(t, "what") {
			case "time":
				if last.LookAgainAt > w.now && rapid.Bool().Draw(t, "until it is due") {
					w.now = last.LookAgainAt
				} else {
					w.now += rapid.Int64Range(0, ms(time.Hour)).Draw(t, "ms") * rapid.SampledFrom([]int64{0, 1, 1, 30}).Draw(t, "times")
				}
			case "event":
				made = anything(t, w, made)
			case "run":
				if w.s.Busy || rapid.IntRange(0, 3).Draw(t, "chat") == 0 {
					anyEnd(t, w)
				}
			case "restart":
				w.restarts()
				if sent := w.s.State.Prompt; sent.RunID != "" && !sent.Over {
					w.ends(coordination.TypeRunAborted, coordination.RunOver{Reason: "restart"})
				}
			}
			last = settle(t, w)
		}
		judge(t, w)
	})
}

// settle carries out what is decided until that is nothing, and gives that.
func settle(t *rapid.T, w *world) continuation.Decision {
	for range 30 {
		before := w.s.State
		d := w.next()
		w.again()
		if again := w.next(); !reflect.DeepEqual(d, again) || !reflect.DeepEqual(before, w.s.State) {
			t.Fatalf("%+v, and then %+v", d, again)
		}
		if d.Kind == continuation.Nothing {
			quiet(t, w, d)
			return d
		}
		if d.LookAgainAt != 0 || d.Key == "" {
			t.Fatalf("%+v", d)
		}
		if d.To == "eden" {
			mayBeTold(t, w, d)
		}
		w.take(d)
		if d.Kind == continuation.Ask && rapid.IntRange(0, 9).Draw(t, "undelivered") == 0 {
			e := continuation.Undelivered(w.task(d.TaskID), d.To, "lost")
			w.happens(e.Type, e.TaskID, e.Data)
		}
		for _, e := range continuation.Outcome(&w.s) {
			w.happens(e.Type, e.TaskID, e.Data)
		}
	}
	t.Fatalf("it does not come to rest: %+v", w.next())
	return continuation.Decision{}
}

// quiet fails if time alone changes nothing into something before it is looked at again.
func quiet(t *rapid.T, w *world, d continuation.Decision) {
	if d.LookAgainAt != 0 && d.LookAgainAt <= w.now {
		t.Fatalf("%s is looked at again %d ms ago", d.Reason, w.now-d.LookAgainAt)
	}
	end := d.LookAgainAt
	if end == 0 {
		end = w.now + ms(30*24*time.Hour)
	}
	for _, at := range []int64{end - 1, w.now + rapid.Int64Range(0, end-1-w.now).Draw(t, "between")} {
		if other := continuation.Next(&w.s, at); other.Kind != continuation.Nothing {
			t.Fatalf("%s until +%d ms, but at +%d ms: %s", d.Reason, d.LookAgainAt-w.now, at-w.now, continuation.Explain(other, at))
		}
	}
}

func mayBeTold(t *rapid.T, w *world, d continuation.Decision) {
	working := slices.ContainsFunc(w.s.Tasks, func(t task.Task) bool { return t.Status == coordination.StateInProgress })
	waiting := slices.ContainsFunc(w.s.Tasks, func(t task.Task) bool { return t.Status == coordination.StatePendingApproval })
	switch {
	case w.s.Busy, w.now < w.s.State.BackoffUntil, waiting && !working && d.Kind != continuation.Pick && d.Kind != continuation.Remind && d.Kind != continuation.Restart:
		t.Fatalf("%+v", d)
	case waiting && !working:
		t.Fatalf("it is told while it waits for approval: %+v", d)
	}
}

// judge looks at all that was done.
func judge(t *rapid.T, w *world) {
	keys := map[string]bool{}
	asked := map[string]int64{}
	for i, d := range w.sent {
		if keys[d.Key] {
			t.Fatalf("%s is done twice", d.Key)
		}
		keys[d.Key] = true
		if d.Kind == continuation.Ask {
			if before, is := asked[d.TaskID]; is && d.Attempt > 1 && w.at[i]-before < ms(30*time.Minute) {
				t.Fatalf("asked again after %d ms", w.at[i]-before)
			}
			if d.Attempt > continuation.MaxAsks || slices.Contains(w.s.Barred, d.To) || d.To == "" {
				t.Fatalf("%+v", d)
			}
			asked[d.TaskID] = w.at[i]
		}
		if i == 0 || d.Kind != continuation.Continue || d.Reason != continuation.Idle {
			continue
		}
		if before := w.sent[i-1]; before.Reason == continuation.Idle && before.TaskID == d.TaskID && w.at[i]-w.at[i-1] < ms(3*time.Minute) {
			t.Fatalf("told to go on again after %d ms", w.at[i]-w.at[i-1])
		}
	}
}

// anything has something happen to a task, be it one that it does nothing to.
func anything(t *rapid.T, w *world, made int) int {
	id := "task_" + strconv.Itoa(rapid.IntRange(0, made).Draw(t, "task"))
	if w.task(id) == nil {
		id, made = "task_"+strconv.Itoa(made), made+1
		switch rapid.SampledFrom([]string{"started", "started", "waits", "added", "depends", "blocked"}).Draw(t, "begin") {
		case "started":
			w.starts(id, []string{"one", "two", "three"}[:rapid.IntRange(0, 3).Draw(t, "steps")]...)
		case "waits":
			w.waitsForApproval(id)
		case "added":
			w.adds(id)
		case "depends":
			w.adds(id, "task_"+strconv.Itoa(rapid.IntRange(0, made).Draw(t, "on")))
		case "blocked":
			w.starts(id).blocks(id, []string{"seum", "ruda"}[:rapid.IntRange(0, 2).Draw(t, "helpers")]...)
		}
		return made
	}
	switch rapid.SampledFrom([]string{"step", "step", "line", "block", "resume", "approve", "complete", "cancel", "bar"}).Draw(t, "event") {
	case "step":
		for _, s := range w.task(id).Steps {
			if s.Status == "in_progress" {
				w.finishes(id, s.ID)
				return made
			}
		}
	case "line":
		w.happens(coordination.TypeTaskUpdated, id, coordination.TaskUpdated{Context: about(id), Progress: "something"})
	case "block":
		if w.task(id).Status == coordination.StateInProgress {
			w.blocks(id, "seum", "ruda", "nara")
		}
	case "resume":
		w.happens(coordination.TypeTaskResumed, id, coordination.TaskState{Context: about(id)})
	case "approve":
		w.happens(coordination.TypeTaskApproved, id, coordination.TaskState{Context: about(id)})
	case "complete":
		w.happens(coordination.TypeTaskCompleted, id, coordination.TaskState{Context: about(id)})
	case "cancel":
		w.happens(coordination.TypeTaskCancelled, id, coordination.TaskState{Context: about(id)})
	case "bar":
		if len(w.s.Barred) == 0 && len(w.tells(continuation.Ask)) == 0 {
			w.s.Barred = []string{"ruda"}
		}
	}
	return made
}

func anyEnd(t *rapid.T, w *world) {
	switch rapid.SampledFrom([]string{"well", "well", "well", "limit", "billing", "overflow", "timeout", "stop"}).Draw(t, "end") {
	case "well":
		w.well()
	case "limit":
		w.fails("rate_limited", "try again in "+strconv.Itoa(rapid.IntRange(0, 9000).Draw(t, "hint"))+"s")
	case "billing":
		w.fails("auth", "")
	case "overflow":
		w.fails("context_exceeded", "")
	case "timeout":
		w.ends(coordination.TypeRunTimedOut, coordination.RunOver{})
	case "stop":
		w.ends(coordination.TypeRunAborted, coordination.RunOver{Reason: "stop"})
	}
}

// Left alone, an agent whose runs change nothing ends with every task interrupted, or blocked and told: nothing is forgotten, and it comes to
// rest. Each prompt is answered by a run of a minute.
func TestNothingIsForgotten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := eden(t)
		for i := range rapid.IntRange(1, 4).Draw(t, "tasks") {
			id := "task_" + strconv.Itoa(i)
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				w.starts(id, "one", "two")
			case 1:
				w.adds(id)
			case 2:
				w.starts(id).blocks(id, "seum", "ruda")
			case 3:
				w.adds(id, "task_x").stands("task_x", rapid.SampledFrom([]string{"", "cancelled", "abandoned", "failed"}).Draw(t, "other"))
			}
		}
		fail := rapid.SampledFrom([]string{"", "", "auth", "timeout", "context_exceeded"}).Draw(t, "fails")
		for range 20_000 {
			d := w.next()
			switch {
			case d.Kind != continuation.Nothing:
				w.take(d)
			case w.s.Busy && fail != "":
				w.after(time.Minute).fails(fail, "")
			case w.s.Busy:
				w.after(time.Minute).well()
			case d.LookAgainAt == 0:
				for _, left := range w.s.Tasks {
					if left.Status == coordination.StateBacklog && w.s.State.Tasks[left.ID].Gone != "" {
						continue
					}
					if left.Status != coordination.StateInterrupted && (left.Status != coordination.StateBlocked || left.Blocked.Escalation != "failed") {
						t.Fatalf("%s is left %s: %s", left.ID, left.Status, continuation.Explain(d, w.now))
					}
				}
				return
			default:
				w.now = d.LookAgainAt
			}
		}
		t.Fatalf("after %s it has not come to rest", time.Duration(w.now-begin)*time.Millisecond)
	})
}
