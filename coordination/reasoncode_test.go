package coordination

import "testing"

// TestReasonOf reads each kind of failure: from codes first, and from the words of imported and older events, which have nothing else.
func TestReasonOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, typ, data string
		want            ReasonCode
	}{
		{"an answer", "a2a.response", `{"message":"네, timeout 을 늘렸습니다"}`, ""},
		{"a question about an error", "a2a.send", `{"message":"rate limit 에 걸렸나요?"}`, ""},
		{"an ordinary end", "a2a.complete", `{"waitStatus":"timeout"}`, ""},
		{"a started task", "task.started", `{"reason":"timeout"}`, ""},

		{"status and no text", "a2a.response", `{"outcome":"no_reply","waitStatus":"timeout"}`, ReasonWaitTimeout},
		{"status before a text", "a2a.response", `{"outcome":"blocked","waitStatus":"timeout","waitError":"LLM request rejected"}`, ReasonWaitTimeout},
		{"status before the message", "a2a.response", `{"outcome":"blocked","waitStatus":"not_found","message":"[outcome] blocked: 응답 없음 (대기 시간 300초 초과)"}`, ReasonRunNotFound},
		{"no permit", "a2a.response", `{"outcome":"blocked","waitStatus":"queue_timeout"}`, ReasonAgentBusy},
		{"blocked by concurrency", "a2a.complete", `{"concurrencyBlocked":true}`, ReasonAgentBusy},
		{"empty answer", "a2a.response", `{"outcome":"no_reply","waitStatus":"empty"}`, ReasonEmptyAnswer},
		{"dispatch", "a2a.response", `{"outcome":"blocked","waitStatus":"dispatch_failed","waitError":"the queue is full"}`, ReasonDispatchFailed},
		{"abandoned", "a2a.complete", `{"outcome":"abandoned","waitStatus":"abandoned"}`, ReasonAbandoned},
		{"stopped", "a2a.complete", `{"outcome":"cancelled","waitStatus":"cancelled"}`, ReasonCancelled},
		{"killed", "a2a.complete", `{"outcome":"killed"}`, ReasonCancelled},
		{"restart", "a2a.response", `{"outcome":"no_reply","waitStatus":"aborted","waitError":"aborted: restart"}`, ReasonInterrupted},
		{"aborted by a client", "a2a.response", `{"outcome":"no_reply","waitStatus":"aborted","waitError":"aborted: rpc"}`, ReasonCancelled},
		{"aborted, nothing more", "a2a.response", `{"outcome":"no_reply","waitStatus":"aborted"}`, ReasonCancelled},
		{"an error, nothing more", "a2a.response", `{"outcome":"no_reply","waitStatus":"error"}`, ReasonRunFailed},

		{"class before a text", "a2a.response", `{"outcome":"no_reply","waitStatus":"error","errorClass":"context_exceeded","waitError":"openai/x: 429"}`, ReasonContextTooLong},
		{"class of a silent model", "run.failed", `{"errorClass":"timeout","error":"no data for 60 s"}`, ReasonModelUnavailable},
		{"class of a run", "run.failed", `{"errorClass":"auth","error":"x"}`, ReasonAuth},
		{"class tools", "run.failed", `{"errorClass":"tools"}`, ReasonToolsFailed},
		{"class prompt", "run.failed", `{"errorClass":"prompt"}`, ReasonPromptFailed},
		{"class internal", "run.failed", `{"errorClass":"internal"}`, ReasonInternal},
		{"class malformed", "run.failed", `{"errorClass":"malformed"}`, ReasonAnswerInvalid},
		{"class too large", "run.failed", `{"errorClass":"too_large"}`, ReasonAnswerInvalid},
		{"class rejected", "run.failed", `{"errorClass":"rejected"}`, ReasonModelRejected},
		{"class overloaded", "run.failed", `{"errorClass":"overloaded"}`, ReasonOverloaded},
		{"run without a class", "run.failed", `{}`, ReasonOther},
		{"run too long", "run.timed_out", `{}`, ReasonRunTimeout},
		{"run and restart", "run.aborted", `{"reason":"shutdown"}`, ReasonInterrupted},
		{"run and client", "run.aborted", `{"reason":"stop"}`, ReasonCancelled},
		{"code of a retry", "a2a.retry", `{"errorCode":"rate_limit","reason":"429 from provider"}`, ReasonRateLimited},
		{"text of a retry", "a2a.retry", `{"errorCode":"error_unknown","reason":"socket hang up"}`, ReasonModelUnavailable},

		{"words of the sample", "a2a.response", `{"outcome":"blocked","waitStatus":"error","waitError":"LLM request rejected"}`, ReasonModelRejected},
		{"words in the message", "a2a.response", `{"outcome":"blocked","waitStatus":"error","message":"[outcome] blocked: 응답 없음 (LLM request rejected: context too long)"}`, ReasonContextTooLong},
		{"seconds in the message", "a2a.response", `{"message":"[outcome] blocked: 응답을 받지 못했습니다 (대기 시간 300초 초과)"}`, ReasonWaitTimeout},
		{"no state in the message", "a2a.response", `{"message":"[outcome] blocked: 응답을 받지 못했습니다 (실행 상태를 찾을 수 없음)"}`, ReasonRunNotFound},
		{"error in the message", "a2a.response", `{"message":"[outcome] blocked: 응답을 받지 못했습니다 (실행 오류)"}`, ReasonRunFailed},
		{"no details", "a2a.response", `{"message":"[outcome] blocked: 응답을 받지 못했습니다"}`, ReasonOther},
		{"unknown words", "a2a.response", `{"outcome":"blocked","waitError":"고양이가 선을 뽑았습니다"}`, ReasonOther},
		{"http status", "a2a.response", `{"outcome":"blocked","waitError":"HTTP 529"}`, ReasonOverloaded},
		{"401", "a2a.response", `{"outcome":"blocked","waitError":"401 for sk-abcdefghijklmnop1234"}`, ReasonAuth},
		{"timed out", "a2a.response", `{"outcome":"blocked","waitError":"request timed out"}`, ReasonModelUnavailable},

		{"policy", "a2a.forbidden", `{"code":"not_allowed","reason":"x"}`, ReasonA2ADenied},
		{"send policy", "a2a.send.policy_rejected", `{"code":"x"}`, ReasonA2ADenied},
		{"not dispatched", "a2a.dispatch_failed", `{"code":"queue_full"}`, ReasonDispatchFailed},
		{"no sub-agent", "a2a.spawn_result", `{"status":"error","error":"gateway closed"}`, ReasonDispatchFailed},
		{"sub-agent killed", "a2a.spawn_result", `{"status":"killed"}`, ReasonCancelled},
		{"sub-agent at work", "a2a.spawn_result", `{"status":"accepted"}`, ""},
		{"blocked task", "task.blocked", `{"reason":"외부 API 키 대기"}`, ReasonTaskBlocked},
		{"job", "a2a.job.abandoned", `{"outcome":"abandoned","reason":"abandoned"}`, ReasonAbandoned},
		{"failed job", "a2a.job.failed", `{"outcome":"no_reply","reason":"timeout"}`, ReasonWaitTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := read(t, RulesV2, c.typ, "eden", c.data)
			if got := ReasonOf(&r); got != c.want {
				t.Errorf("%s %s: %q, want %q", c.typ, c.data, got, c.want)
			}
		})
	}
}

func TestReasonOfRunsAndFlows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, class, reason string
		want                 ReasonCode
	}{
		{"ok", "", "", ""}, {"queued", "", "", ""}, {"running", "", "", ""},
		{"error", "rate_limited", "", ReasonRateLimited}, {"error", "", "", ReasonRunFailed}, {"error", "a class to come", "", ReasonRunFailed},
		{"timed_out", "", "", ReasonRunTimeout}, {"aborted", "", "restart", ReasonInterrupted}, {"aborted", "", "rpc", ReasonCancelled},
	} {
		if got := ReasonOfRun(c.state, c.class, c.reason); got != c.want {
			t.Errorf("run %s %q %q: %q, want %q", c.state, c.class, c.reason, got, c.want)
		}
	}
	for _, c := range []struct {
		outcome, reason string
		want            ReasonCode
	}{
		{"", "", ""}, {"ok", "explicit_skip", ""}, {"no_reply", "timeout", ReasonWaitTimeout}, {"no_reply", "", ReasonOther},
		{"blocked", "queue_timeout", ReasonAgentBusy}, {"failed", "error", ReasonRunFailed}, {"abandoned", "", ReasonAbandoned},
		{"cancelled", "아직 필요 없음", ReasonCancelled}, {"killed", "", ReasonCancelled}, {"timeout", "", ReasonWaitTimeout},
	} {
		if got := ReasonOfFlow(c.outcome, c.reason); got != c.want {
			t.Errorf("flow %s %q: %q, want %q", c.outcome, c.reason, got, c.want)
		}
	}
}

// TestReasonInTextPrefersWhatIsPrecise: words said in passing neither beat the failure of a provider nor the beginning of our own reasons.
func TestReasonInTextPrefersWhatIsPrecise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ReasonCode{
		"rate limited: request aborted, retry later":                ReasonRateLimited,
		"429 Too Many Requests (cancelled)":                         ReasonRateLimited,
		"the request was not cancelled but the key is invalid: 401": ReasonAuth,
		"The request took too long to complete":                     ReasonModelUnavailable,
		"The prompt took too long":                                  ReasonModelUnavailable,
		"prompt is too long: 210000 tokens > 200000 maximum":        ReasonContextTooLong,
		"Input is too long for requested model.":                    ReasonContextTooLong,
		"context too long":                                          ReasonContextTooLong,
		"the name is too long":                                      ReasonOther,
		"429: 컨텍스트 캐시가 찼습니다":                                        ReasonRateLimited,
		"모델 컨텍스트 초과":                                                ReasonContextTooLong,
		"컨텍스트를 모으는 중":                                               ReasonOther,
		"503 동안 대기 시간이 길었음":                                         ReasonOverloaded,
		"대기 시간 503초 초과":                                             ReasonWaitTimeout,
		"aborted: restart":                                          ReasonInterrupted,
		"aborted: rpc":                                              ReasonCancelled,
		"LLM request rejected, the rest was cancelled":              ReasonModelRejected,
		"canceled by the user":                                      ReasonCancelled,
	} {
		if got := ReasonInText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
