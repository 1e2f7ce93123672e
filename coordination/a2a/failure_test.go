package a2a_test

import (
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Each text of seed 000 §11.2 stands here as it stands there.
func TestOutcomesAreSaidInTheWordsOfTheSeed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ waitError, waitStatus, want string }{
		{"gateway timeout", "timeout", "[outcome] blocked: 응답을 받지 못했습니다 (gateway timeout)"},
		{"x", "not_found", "[outcome] blocked: 응답을 받지 못했습니다 (x)"},
		{"", "not_found", "[outcome] blocked: 응답을 받지 못했습니다 (실행 상태를 찾을 수 없음)"},
		{"", "error", "[outcome] blocked: 응답을 받지 못했습니다 (실행 오류)"},
		{"", "timeout", "[outcome] blocked: 응답을 받지 못했습니다 (대기 시간 300초 초과)"},
		{"", "aborted", "[outcome] blocked: 응답을 받지 못했습니다"},
		{"", "", "[outcome] blocked: 응답을 받지 못했습니다"},
	} {
		if got := a2a.OutcomeText(c.waitError, c.waitStatus); got != c.want {
			t.Errorf("%q, %q: %s", c.waitError, c.waitStatus, got)
		}
	}
}

func TestFailuresOfRuns(t *testing.T) {
	t.Parallel()
	over := func(s run.State, o coordination.RunOver) *run.Result { return &run.Result{State: s, Over: &o} }
	failed := func(class llm.Class) *run.Result {
		return over(run.Failed, coordination.RunOver{ErrorClass: string(class), Error: "429 too many requests, 503, context length, invalid"})
	}
	for name, c := range map[string]struct {
		of   *run.Result
		want a2a.Failure
	}{
		"none":             {nil, a2a.Failure{Category: "permanent", Code: "run_not_found"}},
		"not started":      {&run.Result{State: run.Queued}, a2a.Failure{Category: "transient", Code: "wait_chunk_timeout"}},
		"goes on":          {&run.Result{State: run.Running}, a2a.Failure{Category: "transient", Code: "wait_chunk_timeout"}},
		"ended well":       {over(run.OK, coordination.RunOver{}), a2a.Failure{}},
		"too long":         {over(run.TimedOut, coordination.RunOver{Error: "overloaded"}), a2a.Failure{Category: "transient", Code: "run_timed_out"}},
		"redacted":         {&run.Result{State: run.Failed}, a2a.Failure{Category: "permanent", Code: "redacted"}},
		"stopped":          {over(run.Aborted, coordination.RunOver{Reason: "rpc"}), a2a.Failure{Category: "permanent", Code: "aborted"}},
		"reset":            {over(run.Aborted, coordination.RunOver{Reason: "reset"}), a2a.Failure{Category: "permanent", Code: "aborted"}},
		"restart":          {over(run.Aborted, coordination.RunOver{Reason: "restart"}), a2a.Failure{Category: "transient", Code: "run_lost", Again: true}},
		"shutdown":         {over(run.Aborted, coordination.RunOver{Reason: "shutdown"}), a2a.Failure{Category: "transient", Code: "run_lost", Again: true}},
		"rate limited":     {failed(llm.RateLimited), a2a.Failure{Category: "transient", Code: "rate_limit", Again: true}},
		"overloaded":       {failed(llm.Overloaded), a2a.Failure{Category: "transient", Code: "server_overload", Again: true}},
		"unavailable":      {failed(llm.Unavailable), a2a.Failure{Category: "transient", Code: "gateway_connection", Again: true}},
		"silent":           {failed(llm.Timeout), a2a.Failure{Category: "transient", Code: "gateway_connection", Again: true}},
		"malformed":        {failed(llm.Malformed), a2a.Failure{Category: "transient", Code: "malformed_answer", Again: true}},
		"too large":        {failed(llm.TooLarge), a2a.Failure{Category: "permanent", Code: "answer_too_large"}},
		"context exceeded": {failed(llm.ContextExceeded), a2a.Failure{Category: "permanent", Code: "context_exceeded"}},
		"auth":             {failed(llm.Auth), a2a.Failure{Category: "permanent", Code: "auth_failure"}},
		"rejected":         {failed(llm.Rejected), a2a.Failure{Category: "permanent", Code: "request_rejected"}},
		"prompt":           {failed("prompt"), a2a.Failure{Category: "permanent", Code: "prompt_failed"}},
		"tools":            {failed("tools"), a2a.Failure{Category: "permanent", Code: "tools_failed"}},
		"internal":         {failed("internal"), a2a.Failure{Category: "unknown", Code: "internal", Again: true}},
		"a class to come":  {failed("else"), a2a.Failure{Category: "unknown", Code: "error_unknown", Again: true}},
	} {
		if got := a2a.FailureOf(c.of); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// ofText is what is made of an error that has no class.
func ofText(text string) a2a.Failure {
	return a2a.FailureOf(&run.Result{State: run.Failed, Over: &coordination.RunOver{Error: text}})
}

func TestFailuresThatOnlyWordsTell(t *testing.T) {
	t.Parallel()
	for want, texts := range map[a2a.Failure][]string{
		{Category: "transient", Code: "rate_limit", Again: true}: {"Rate limit reached", "rate_limited", "429", "HTTP 429", "Too Many Requests", "status code 429, invalid key",
			"status=429", "got (429)", "429: slow down", "error:429"},
		{Category: "permanent", Code: "context_exceeded"}: {"context length exceeded", "token limit", "prompt is too long", "this model's maximum context is 8192 tokens"},
		{Category: "transient", Code: "server_overload", Again: true}: {"Overloaded", "529", "at capacity", "Internal Server Error", "HTTP/1.1 500", "502 Bad Gateway",
			"503.", "status: 503, server not found"},
		{Category: "transient", Code: "gateway_connection", Again: true}: {"timeout", "request timed out after 500 ms", "connection reset by peer", "connection refused",
			"read ECONNRESET", "socket hang up", "dns lookup", "fetch failed", "dial 127.0.0.1:503: connection refused"},
		{Category: "permanent", Code: "auth_failure"}: {"Unauthorized", "401", "HTTP 403 forbidden"},
		{Category: "permanent", Code: "request_rejected"}: {"model not found", "invalid request", "access denied", "forbidden", "invalid: 500 tokens", "port 500 is invalid",
			"invalid id 429-a", "invalid amount 1,500", "invalid v1.500"},
		{Category: "unknown", Code: "error_unknown", Again: true}: {"", "boom", "4290", "x429", "error4291", "underloaded", "incapacityx", "invalidate nothing", "deniedx"},
	} {
		for _, text := range texts {
			if got := ofText(text); got != want {
				t.Errorf("%q: %+v, not %+v", text, got, want)
			}
		}
	}
}

func TestBug18_APortIsNoStatus(t *testing.T) {
	t.Parallel()
	unknown := a2a.Failure{Category: "unknown", Code: "error_unknown", Again: true}
	for _, text := range []string{"port 5003", "cannot listen on port 5003", "localhost:5030", "localhost:500", "port 503", "port: 503", "line 500", "id 15003", "52900 items"} {
		if got := ofText(text); got != unknown {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{
		-1: 2 * time.Second, 0: 2 * time.Second, 1: 2 * time.Second, 2: 4 * time.Second, 3: 8 * time.Second, 5: 32 * time.Second, 6: time.Minute, 7: time.Minute, 1 << 40: time.Minute,
	} {
		for jitter, took := range map[float64]time.Duration{0: 0, 1: want / 2, 0.5: want / 4, -1: 0, 2: want / 2} {
			if got := a2a.Backoff(n, jitter); got != want-took {
				t.Errorf("%d, %v: %v", n, jitter, got)
			}
		}
	}
	if got := a2a.Backoff(1, 1.0/3); got != 1666*time.Millisecond {
		t.Errorf("%v", got)
	}
}
