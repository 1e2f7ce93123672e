package continuations_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// How long prompts pause follows the table for each reason and attempt, is in the log, and is what it was after the database was closed and
// opened again; so is what is decided.
func TestInvariant35_BackoffIsInTheLogAndSurvivesRestarts(t *testing.T) {
	t.Parallel()
	const s, m, h = time.Second, time.Minute, time.Hour
	for _, row := range []struct {
		typ, class, text, cause string
		want                    [6]time.Duration // after 1, 2, ... failures
	}{
		{coordination.TypeRunFailed, "rate_limited", "slowly", "rate_limit", [6]time.Duration{m, 2 * m, 4 * m, 8 * m, 8 * m, 8 * m}},
		{coordination.TypeRunFailed, "overloaded", "slowly", "rate_limit", [6]time.Duration{m, 2 * m, 4 * m, 8 * m, 8 * m, 8 * m}},
		{coordination.TypeRunFailed, "rate_limited", "try again in 2s", "rate_limit", [6]time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 80 * s, 80 * s}},
		{coordination.TypeRunFailed, "rate_limited", "retry after 45", "rate_limit", [6]time.Duration{45 * s, 90 * s, 3 * m, 6 * m, 6 * m, 6 * m}},
		{coordination.TypeRunFailed, "rate_limited", "try again in 20m0s", "rate_limit", [6]time.Duration{20 * m, 40 * m, 80 * m, 2 * h, 2 * h, 2 * h}},
		{coordination.TypeRunFailed, "rate_limited", "try again in 9h0m0s", "rate_limit", [6]time.Duration{2 * h, 2 * h, 2 * h, 2 * h, 2 * h, 2 * h}},
		{coordination.TypeRunFailed, "timeout", "", "timeout", [6]time.Duration{m, 2 * m, 4 * m, 8 * m, 8 * m, 8 * m}},
		{coordination.TypeRunTimedOut, "", "", "timeout", [6]time.Duration{m, 2 * m, 4 * m, 8 * m, 8 * m, 8 * m}},
		{coordination.TypeRunFailed, "auth", "no credit", "billing", [6]time.Duration{h, 2 * h, 2 * h, 2 * h, 2 * h, 2 * h}},
		{coordination.TypeRunFailed, "rejected", "insufficient funds", "billing", [6]time.Duration{h, 2 * h, 2 * h, 2 * h, 2 * h, 2 * h}},
		{coordination.TypeRunFailed, "internal", "boom", "unknown", [6]time.Duration{5 * m, 10 * m, 20 * m, 40 * m, 40 * m, 40 * m}},
		{coordination.TypeRunFailed, "context_exceeded", "", "context_overflow", [6]time.Duration{30 * m, h, 2 * h, 2 * h, 2 * h, 2 * h}},
	} {
		t.Run(row.typ+" "+row.class+" "+row.text, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			now := int64(0) // ms after base
			for i, pause := range row.want {
				n := i + 1
				runID := fmt.Sprint("run of prompt ", n)
				l.append(t, sent(now, "eden", "task_a", runID))
				now += 1_000
				l.append(t, over(now, row.typ, "eden", runID, failed(row.class, row.text)))
				until := base + now + pause.Milliseconds()
				before := l.load(t, "eden")
				if before.BackoffUntil != until || before.Failures != n || before.Cause != row.cause {
					t.Fatalf("failure %d: prompts pause for %d ms, failures %d, %s; want %s, %s", n, before.BackoffUntil-base-now, before.Failures, before.Cause, pause, row.cause)
				}
				l.reopen(t)
				want(t, fmt.Sprintf("failure %d, after a restart", n), l.load(t, "eden"), before)
				for _, at := range []int64{base + now, until - 1, until, until + continuation.SameTask.Milliseconds()} {
					was, is := next(before, at), next(l.load(t, "eden"), at)
					want(t, fmt.Sprintf("failure %d, decided after a restart", n), is, was)
					if paused := is.Reason == continuation.InBackoff; paused != (at < until) && before.Overflows < continuation.MaxOverflows || paused && is.LookAgainAt < until {
						t.Errorf("failure %d, %d ms before the end of the pause: %s, %s, it is looked at again at %d", n, until-at, is.Kind, is.Reason, is.LookAgainAt-base)
					}
				}
				now += pause.Milliseconds()
			}
			l.append(t, over(now, coordination.TypeRunEnded, "eden", "asked by a person"))
			l.reopen(t)
			if state := l.load(t, "eden"); state.Failures != 0 || state.BackoffUntil != 0 || state.Cause != "" {
				t.Errorf("after a run that ended well: %+v", state)
			}
			l.rebuild(t)
		})
	}
}

// next is what is done about eden, who has been at task_a since base.
func next(state continuation.State, now int64) continuation.Decision {
	policy := continuation.DefaultPolicy()
	policy.ZombieTTL = 0
	return continuation.Next(&continuation.Situation{Agent: "eden", Policy: policy, State: state, Lead: "main", Tasks: []task.Task{
		{ID: "task_a", Agent: "eden", Status: coordination.StateInProgress, Description: "tile the roof", ActiveAt: base},
	}}, now)
}
