package work_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
)

// Each type that means something for the queue means that, also with nothing left of its data; only what was asked for is lost with it.
func TestWhatEventsMean(t *testing.T) {
	t.Parallel()
	run := `{"runId":"r 1","sessionKey":"agent:eden:main","lane":"nested","message":"안녕"}`
	for name, c := range map[string]struct {
		typ, agent, data string
		want             work.Change
		redacted         bool // it means something with nil data
	}{
		"scheduled": {coordination.TypeWorkScheduled, "", `{"effectId":"e1","kind":"post","key":"k","pool":"p","owner":"eden","dueAtMs":7,"maxAttempts":3}`,
			work.Change{Step: work.Add, New: work.New{EffectID: "e1", Kind: "post", Key: "k", Pool: "p", Owner: "eden", DueAt: 7, Most: 3}}, false},
		"queued": {coordination.TypeRunQueued, "", run,
			work.Change{Step: work.Add, New: work.New{EffectID: "run/r 1", Kind: "run", Key: "agent:eden:main", Pool: "nested", Owner: "eden"}}, false},
		"queued again": {coordination.TypeRunQueued, "seum", `{"runId":"r2","sessionKey":"global","retryOf":"r1"}`,
			work.Change{Step: work.Add, New: work.New{EffectID: "run/r2", Kind: "run", Key: "global", Pool: "main", Owner: "seum", First: true}}, false},
		"queued for later": {coordination.TypeRunQueued, "seum", `{"runId":"r3","sessionKey":"global","dueAtMs":7}`,
			work.Change{Step: work.Add, New: work.New{EffectID: "run/r3", Kind: "run", Key: "global", Pool: "main", Owner: "seum", DueAt: 7}}, false},
		"flow": {coordination.TypeA2AJobCreated, "eden", `{"jobId":"j 1","kind":"send","fromAgent":"eden","toAgent":"seum","phase":"waiting","dueAtMs":8}`,
			work.Change{Step: work.Add, New: work.New{EffectID: "job/j 1", Kind: "job", Key: "job/j 1", Pool: "a2a", Owner: "seum", DueAt: 8}}, false},
		"flow comes on":  {coordination.TypeA2AJobRunning, "", `{"jobId":"j","phase":"turn","dueAtMs":9}`, work.Change{Step: work.Return, DueAt: 9}, true},
		"flow completed": {coordination.TypeA2AJobCompleted, "", `{}`, work.Change{Step: work.Remove}, true},
		"flow failed":    {coordination.TypeA2AJobFailed, "", `{}`, work.Change{Step: work.Remove}, true},
		"flow given up":  {coordination.TypeA2AJobAbandoned, "", `{}`, work.Change{Step: work.Remove}, true},
		"flow cancelled": {coordination.TypeA2AJobCancelled, "", `{}`, work.Change{Step: work.Remove}, true},
		"leased":         {coordination.TypeWorkLeased, "", `{"effectId":"e1","leaseUntilMs":9}`, work.Change{Step: work.Lease, Until: 9}, true},
		"started":        {coordination.TypeRunStarted, "", `{"runId":"r","leaseUntilMs":1e3}`, work.Change{Step: work.Lease, Until: 1000}, true},
		"released":       {coordination.TypeWorkReleased, "", `{"dueAtMs":5,"error":"no"}`, work.Change{Step: work.Return, DueAt: 5, Error: "no"}, true},
		"lease expired":  {coordination.TypeWorkLeaseExpired, "", `{"reason":"restart"}`, work.Change{Step: work.Return}, true},
		"completed":      {coordination.TypeWorkCompleted, "", `{}`, work.Change{Step: work.Remove}, true},
		"cancelled":      {coordination.TypeWorkCancelled, "", `{}`, work.Change{Step: work.Remove}, true},
		"ended":          {coordination.TypeRunEnded, "", `{}`, work.Change{Step: work.Remove}, true},
		"failed":         {coordination.TypeRunFailed, "", `{}`, work.Change{Step: work.Remove}, true},
		"aborted":        {coordination.TypeRunAborted, "", `{}`, work.Change{Step: work.Remove}, true},
		"timed out":      {coordination.TypeRunTimedOut, "", `{}`, work.Change{Step: work.Remove}, true},
		"dead":           {coordination.TypeWorkDead, "", `{"error":"gone"}`, work.Change{Step: work.Park, Error: "gone"}, true},
		"resent":         {coordination.TypeWorkResent, "", `{}`, work.Change{Step: work.Resend}, true},
		"nonsense":       {coordination.TypeWorkLeased, "", `{"leaseUntilMs":"x","dueAtMs":-1}`, work.Change{Step: work.Lease}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := work.Of(c.typ, c.agent, json.RawMessage(c.data))
			if diff := cmp.Diff(c.want, got); diff != "" || !ok {
				t.Errorf("%v, -want +got:\n%s", ok, diff)
			}
			if got, ok := work.Of(c.typ, c.agent, nil); ok != c.redacted || ok && got.Step != c.want.Step {
				t.Errorf("redacted it is %+v, %v", got, ok)
			}
		})
	}
	for _, typ := range []string{"task.started", coordination.TypeA2AJobResumed, coordination.TypeA2ASend} {
		if c, ok := work.Of(typ, "", json.RawMessage(`{}`)); ok {
			t.Errorf("%s means %+v", typ, c)
		}
	}
}

// What asks for nothing that can be done is no item.
func TestInvalidWorkIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for _, data := range []string{
		`{}`, `{"effectId":"e"}`, `{"effectId":"e","kind":"run","key":"k","pool":"p"}`, `{"effectId":"run/e","kind":"k","key":"k","pool":"p"}`,
		`{"effectId":"e","kind":"job","key":"k","pool":"p"}`, `{"effectId":"job/e","kind":"k","key":"k","pool":"p"}`,
		`{"effectId":"` + long + `","kind":"k","key":"k","pool":"p"}`, `{"effectId":"e","kind":"k","key":"` + long + `","pool":"p"}`,
		`{"effectId":"e\u0000","kind":"k","key":"k","pool":"p"}`, `{"effectId":1,"kind":"k","key":"k","pool":"p"}`, `[]`, ``,
	} {
		if c, ok := work.Of(coordination.TypeWorkScheduled, "", json.RawMessage(data)); ok {
			t.Errorf("%.80s is %+v", data, c)
		}
	}
	if c, ok := work.Of(coordination.TypeA2AJobCreated, "eden", json.RawMessage(`{"toAgent":"seum"}`)); ok {
		t.Errorf("a flow without an id is %+v", c)
	}
	for _, data := range []string{`{}`, `{"runId":"r"}`, `{"sessionKey":"agent:eden:main"}`} {
		if c, ok := work.Of(coordination.TypeRunQueued, "eden", json.RawMessage(data)); ok {
			t.Errorf("%s is %+v", data, c)
		}
	}
}

// Work that Check accepts becomes a complete item; a refusal names the field, and the work is no item, or becomes one without that field.
func TestWhatIsCheckedIsAnItem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "a", "run", "run/x", "job", "job/x", "한글 키", "a\x00b", "\xff", strings.Repeat("k", 600), strings.Repeat("k", 5000)})
		w := coordination.WorkScheduled{EffectID: text.Draw(t, "effect"), Kind: text.Draw(t, "kind"), Key: text.Draw(t, "key"), Pool: text.Draw(t, "pool"),
			Owner: text.Draw(t, "owner"), DueAtMs: rapid.Int64().Draw(t, "due"), MaxAttempts: rapid.IntRange(-1, 2_000_000).Draw(t, "most"),
			Payload: json.RawMessage(rapid.SampledFrom([]string{"{}", `{"a":1}`, "[]", "{", "nul"}).Draw(t, "payload"))}
		err := work.Check(&w)
		if err != nil {
			var refusal *work.Refusal
			if !errors.As(err, &refusal) || refusal.Field == "" || refusal.HintText == "" || refusal.Code() != work.CodeInvalid {
				t.Fatalf("%#v", err)
			}
			return
		}
		data, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		c, ok := work.Of(coordination.TypeWorkScheduled, "", data)
		want := work.New{EffectID: w.EffectID, Kind: w.Kind, Key: w.Key, Pool: w.Pool, Owner: w.Owner, DueAt: w.DueAtMs, Most: w.MaxAttempts}
		if diff := cmp.Diff(want, c.New); diff != "" || !ok {
			t.Fatalf("%v, -want +got:\n%s", ok, diff)
		}
	})
}

// Pauses double from a second up to ten minutes, jitter takes at most half, and a hint is the least.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{-1: time.Second, 0: time.Second, 1: time.Second, 2: 2 * time.Second, 10: 512 * time.Second,
		11: 10 * time.Minute, math.MaxInt: 10 * time.Minute} {
		if got := work.Backoff(attempt, 0, 0); got != want {
			t.Errorf("after attempt %d: %s, want %s", attempt, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		attempt, jitter := rapid.Int().Draw(t, "attempt"), rapid.Float64().Draw(t, "jitter")
		hint := time.Duration(rapid.Int64().Draw(t, "hint"))
		full, got := work.Backoff(attempt, 0, 0), work.Backoff(attempt, hint, jitter)
		switch {
		case got < min(hint, 24*time.Hour):
			t.Fatalf("%s is less than the hint %s", got, hint)
		case got < full/2 || got > max(full, min(hint, 24*time.Hour)):
			t.Fatalf("%s, where %s is usual", got, full)
		case attempt < math.MaxInt && work.Backoff(attempt+1, hint, jitter) < got:
			t.Fatalf("less after one more attempt")
		}
	})
	if got := work.Backoff(1, 0, math.NaN()); got != time.Second {
		t.Errorf("with jitter that is no number: %s", got)
	}
}
