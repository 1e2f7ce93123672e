package continuation_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
)

var causes = []continuation.Cause{continuation.CauseRateLimit, continuation.CauseTimeout, continuation.CauseUnknown, continuation.CauseOverflow, continuation.CauseBilling, continuation.CauseAuth}

func TestBackoffTable(t *testing.T) {
	t.Parallel()
	m, h := time.Minute, time.Hour
	for _, row := range []struct {
		cause continuation.Cause
		hint  time.Duration
		want  [6]time.Duration // after 1, 2, ... failures
	}{
		{continuation.CauseRateLimit, 0, [6]time.Duration{m, 2 * m, 4 * m, 8 * m, 8 * m, 8 * m}},
		{continuation.CauseRateLimit, time.Second, [6]time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 80 * time.Second, 80 * time.Second}},
		{continuation.CauseRateLimit, 10 * time.Second, [6]time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 80 * time.Second, 80 * time.Second}},
		{continuation.CauseRateLimit, 20 * m, [6]time.Duration{20 * m, 40 * m, 80 * m, 2 * h, 2 * h, 2 * h}},
		{continuation.CauseRateLimit, 5 * h, [6]time.Duration{2 * h, 2 * h, 2 * h, 2 * h, 2 * h, 2 * h}},
		{continuation.CauseTimeout, 20 * m, [6]time.Duration{m, 2 * m, 4 * m, 8 * m, 8 * m, 8 * m}},
		{continuation.CauseUnknown, 0, [6]time.Duration{5 * m, 10 * m, 20 * m, 40 * m, 40 * m, 40 * m}},
		{continuation.CauseOverflow, 0, [6]time.Duration{30 * m, h, 2 * h, 2 * h, 2 * h, 2 * h}},
		{continuation.CauseBilling, 0, [6]time.Duration{h, 2 * h, 2 * h, 2 * h, 2 * h, 2 * h}},
		{continuation.CauseAuth, 0, [6]time.Duration{h, 2 * h, 2 * h, 2 * h, 2 * h, 2 * h}},
	} {
		for i, want := range row.want {
			if got := continuation.Backoff(row.cause, i+1, row.hint); got != want {
				t.Errorf("%s, hint %s, failure %d: %s, want %s", row.cause, row.hint, i+1, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		cause, n := rapid.SampledFrom(causes).Draw(t, "cause"), rapid.OneOf(rapid.IntRange(-2, 20), rapid.Just(math.MaxInt), rapid.Just(math.MinInt)).Draw(t, "failures")
		hint := time.Duration(rapid.Int64().Draw(t, "hint"))
		got := continuation.Backoff(cause, n, hint)
		if got < 10*time.Second || got > 2*time.Hour {
			t.Fatalf("%s", got)
		}
		if n < math.MaxInt && continuation.Backoff(cause, n+1, hint) < got {
			t.Fatalf("less after one more failure")
		}
	})
}

func TestCauseOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		class, text string
		want        continuation.Cause
	}{
		{"rate_limited", "", continuation.CauseRateLimit},
		{"overloaded", "context length exceeded", continuation.CauseRateLimit},
		{"timeout", "", continuation.CauseTimeout},
		{"context_exceeded", "", continuation.CauseOverflow},
		{"auth", "", continuation.CauseAuth},
		{"auth", "your credit balance is too low", continuation.CauseBilling},
		{"", "HTTP 429", continuation.CauseRateLimit},
		{"", "Rate limit reached", continuation.CauseRateLimit},
		{"", "You exceeded your current quota", continuation.CauseRateLimit},
		{"unavailable", "the request timed out", continuation.CauseTimeout},
		{"", "request timeout", continuation.CauseTimeout},
		{"", "your credit balance is too low", continuation.CauseBilling},
		{"", "billing hard limit", continuation.CauseBilling},
		{"rejected", "This model's maximum context length is 8192 tokens", continuation.CauseOverflow},
		{"rejected", "prompt is too long: 210000 tokens", continuation.CauseOverflow},
		{"", "task 14290 of order 4021 is odd", continuation.CauseUnknown},
		{"internal", "boom", continuation.CauseUnknown},
		{"", "", continuation.CauseUnknown},
	} {
		if got := continuation.CauseOf(row.class, row.text); got != row.want {
			t.Errorf("%q, %q: %s, want %s", row.class, row.text, got, row.want)
		}
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"":                                          0,
		"rate limit reached (429)":                  0,
		"; try again in 1m30s":                      90 * time.Second,
		"; try again in 1.5s":                       1500 * time.Millisecond,
		"; try again in 26h0m0s":                    2 * time.Hour,
		"Retry after 45":                            45 * time.Second,
		"retry-after: 45":                           45 * time.Second,
		"limit resets in 3 minutes":                 3 * time.Minute,
		"retry after 20 seconds":                    20 * time.Second,
		"reset after 2 hours":                       2 * time.Hour,
		"try again in 500 ms":                       500 * time.Millisecond,
		"try again in 500ms":                        500 * time.Millisecond,
		"retry after a while":                       0,
		"retry after 99999999999999999999999 hours": 2 * time.Hour,
		"fake/echo-1: rate limit reached; try again in 30.0s": 30 * time.Second,
	} {
		if got := continuation.Hint(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Failures pause what is said to the agent by the table, across a restart, and events say so.
func TestInvariant35_BackoffFollowsTheTableAndSurvivesRestarts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		class, text string
		cause       continuation.Cause
		hint        time.Duration
	}{
		{"rate_limited", "slowly; try again in 2s", continuation.CauseRateLimit, 2 * time.Second},
		{"rate_limited", "slowly; try again in 9h0m0s", continuation.CauseRateLimit, 9 * time.Hour},
		{"rate_limited", "slowly", continuation.CauseRateLimit, 0},
		{"auth", "no credit", continuation.CauseBilling, 0},
		{"auth", "no key", continuation.CauseAuth, 0},
		{"timeout", "", continuation.CauseTimeout, 0},
		{"internal", "boom", continuation.CauseUnknown, 0},
	} {
		t.Run(row.class+" "+row.text, func(t *testing.T) {
			t.Parallel()
			w := eden(t).starts("task_a", "one", "two").after(3 * time.Minute)
			w.s.Policy.ZombieTTL = 0
			for failure := 1; failure <= 6; failure++ {
				d := w.next()
				if d.Kind != continuation.Continue && d.Kind != continuation.Escalate {
					t.Fatalf("failure %d: %s, %s", failure, d.Kind, d.Reason)
				}
				w.take(d)
				w.after(time.Second).fails(row.class, row.text)
				pause := continuation.Backoff(row.cause, failure, row.hint)
				if got := w.s.State.BackoffUntil - w.now; got != ms(pause) {
					t.Fatalf("failure %d: %d ms, want %s", failure, got, pause)
				}
				w.restarts()
				w.s.RestartedAt = 0 // the prompt about it is not what is tested here
				told := continuation.Outcome(&w.s)
				if len(told) != 1 {
					t.Fatalf("failure %d is told %d times", failure, len(told))
				}
				want := coordination.Continuation{Context: about("task_a"), Reason: string(row.cause), ConsecutiveFailures: failure, BackoffMs: ms(pause),
					BackoffUntilMs: w.s.State.BackoffUntil, RunID: d.Key}
				if got := told[0].Data.(coordination.Continuation); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
					t.Fatalf("%+v\nwant %+v", got, want)
				}
				until := w.s.State.BackoffUntil
				w.after(time.Second).happens(told[0].Type, told[0].TaskID, told[0].Data)
				if w.s.State.BackoffUntil != until || len(continuation.Outcome(&w.s)) != 0 {
					t.Fatalf("an event that tells of the back-off has changed it")
				}
				w.does(continuation.Nothing, continuation.InBackoff)
				w.now = until - 1
				w.rests(continuation.InBackoff, time.Millisecond)
				w.now = max(until, w.s.State.Ended.At+ms(3*time.Minute))
			}
			w.does(continuation.Continue, continuation.Idle) // what has failed is not held against the agent
			w.well()
			if st := w.s.State; st.Failures != 0 || st.BackoffUntil != 0 {
				t.Errorf("success leaves %+v", st)
			}
		})
	}
}

func TestOverflowsEndInAReset(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").after(3 * time.Minute)
	w.s.Policy.ZombieTTL = 0
	for range continuation.MaxOverflows {
		w.take(w.next())
		w.after(time.Second).fails("context_exceeded", "")
		w.restarts().s.RestartedAt = 0
		if d := w.next(); w.s.State.Overflows < continuation.MaxOverflows {
			if d.Reason != continuation.InBackoff {
				t.Fatalf("%+v", d)
			}
			w.now = w.s.State.BackoffUntil
		}
	}
	w.does(continuation.Reset, continuation.Overflow)
	if w.s.State.Failures != 0 || w.s.State.Overflows != 0 {
		t.Errorf("%+v", w.s.State)
	}
	w.rests(continuation.InBackoff, 30*time.Minute)
	w.after(30*time.Minute).does(continuation.Continue, continuation.Idle)
}

// Another failure in between resets the count.
func TestOverflowsCountInARow(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").after(3 * time.Minute)
	for _, class := range []string{"context_exceeded", "context_exceeded", "context_exceeded", "context_exceeded", "timeout", "context_exceeded"} {
		w.take(w.next())
		w.fails(class, "")
		w.now = max(w.s.State.BackoffUntil, w.now+ms(3*time.Minute))
	}
	if w.s.State.Overflows != 1 || w.s.State.Failures != 6 {
		t.Errorf("%+v", w.s.State)
	}
}

func TestUnsent(t *testing.T) {
	t.Parallel()
	w := eden(t).starts("task_a").after(3 * time.Minute)
	d := w.next()
	e := continuation.Unsent(&w.s, &d, "too many runs are waiting", w.now)
	w.happens(e.Type, e.TaskID, e.Data)
	w.rests(continuation.InBackoff, 5*time.Minute)
	if again := w.after(5 * time.Minute).next(); again.Kind != continuation.Continue || again.Key == d.Key {
		t.Errorf("%+v", again)
	}
}
