package coordination

import (
	"cmp"
	"strings"
)

// ReasonCode says why something failed or is blocked, for programs that translate it. The readable reason beside it may come from a
// provider or an agent, in any language.
type ReasonCode string

// Reasons of missing answers.
const (
	ReasonWaitTimeout    ReasonCode = "wait_timeout"    // no answer in time
	ReasonAgentBusy      ReasonCode = "agent_busy"      // the agent had no place for one more exchange
	ReasonRunNotFound    ReasonCode = "run_not_found"   // the state of the awaited run is unknown
	ReasonEmptyAnswer    ReasonCode = "empty_answer"    // the run ended without a text
	ReasonDispatchFailed ReasonCode = "dispatch_failed" // the message was not delivered
	ReasonA2ADenied      ReasonCode = "a2a_denied"      // a policy forbids the message
	ReasonAbandoned      ReasonCode = "abandoned"       // without progress for too long, or after too many restarts
	ReasonCancelled      ReasonCode = "cancelled"       // stopped on request
	ReasonInterrupted    ReasonCode = "interrupted"     // a restart interrupted the run
)

// Reasons of failed runs.
const (
	ReasonModelRejected    ReasonCode = "model_rejected"    // the provider rejects the request
	ReasonContextTooLong   ReasonCode = "context_too_long"  // the request exceeds the model's context
	ReasonRateLimited      ReasonCode = "rate_limited"      // by the provider
	ReasonOverloaded       ReasonCode = "overloaded"        // the provider is overloaded or failing
	ReasonModelUnavailable ReasonCode = "model_unavailable" // the provider is unreachable, or too slow
	ReasonAuth             ReasonCode = "auth"              // missing or wrong key, or no credit
	ReasonAnswerInvalid    ReasonCode = "answer_invalid"    // the model's answer is malformed or too large
	ReasonRunTimeout       ReasonCode = "run_timeout"       // the run exceeded its time
	ReasonToolsFailed      ReasonCode = "tools_failed"
	ReasonPromptFailed     ReasonCode = "prompt_failed" // the prompt could not be built
	ReasonInternal         ReasonCode = "internal"      // a fault of openclawd
	ReasonRunFailed        ReasonCode = "run_failed"    // nothing says more
)

// Other reasons.
const (
	ReasonTaskBlocked ReasonCode = "task_blocked" // the agent says why in its own words
	ReasonOther       ReasonCode = "other"        // nothing says why, or words that are not known
)

// ReasonOf says why an event reports a failure; it is "" for an event that reports none. Codes of the event decide; its texts do only
// where an imported or older event has no code, or one that says only that there was an error.
func ReasonOf(r *Record) ReasonCode {
	switch r.Type {
	case TypeTaskBlocked:
		return ReasonTaskBlocked
	case TypeA2AForbidden, TypeA2ASendPolicyRejected:
		return ReasonA2ADenied
	case TypeA2ADispatchFailed:
		return ReasonDispatchFailed
	case TypeRunTimedOut:
		return ReasonRunTimeout
	case TypeRunAborted:
		return abortReason(r.Reason)
	case TypeRunFailed, TypeA2ARetry, TypeA2AJobFailed, TypeA2AJobAbandoned, TypeA2AJobCancelled:
		return r.whyFailed()
	case TypeA2ASpawnResult:
		if r.Facts.Status != SpawnError && r.Facts.Status != SpawnKilled {
			return ""
		}
		return r.whyFailed()
	case TypeA2AResponse, TypeA2AComplete:
		if r.failure() == "" {
			return ""
		}
		return r.whyFailed()
	}
	return ""
}

// whyFailed is the reason of an event known to report a failure.
func (r *Record) whyFailed() ReasonCode {
	if r.ConcurrencyBlocked {
		return ReasonAgentBusy
	}
	if why := reasonOfClass(r.ErrorClass); why != "" {
		return why
	}
	for _, code := range [...]string{r.ErrorCode, r.WaitStatus, r.Reason} {
		if why := reasonOfCode(code); why != "" {
			return why
		}
	}
	if why := r.reasonInTexts(); why != ReasonOther {
		return why
	}
	for _, code := range [...]string{r.Reason, r.Facts.Outcome, r.Facts.Status, r.WaitStatus} {
		switch code {
		case codeAborted:
			return ReasonCancelled
		case codeError, OutcomeValueFailed:
			if r.Type == TypeA2ASpawnResult {
				return ReasonDispatchFailed
			}
			return ReasonRunFailed
		}
		if why := reasonOfCode(code); why != "" {
			return why
		}
	}
	return ReasonOther
}

func (r *Record) reasonInTexts() ReasonCode {
	_, said, _ := cutOutcome(firstText(r.Message, r.ReplyPreview))
	for _, text := range [...]string{r.WaitError, r.Error, outcomeReason(said), r.Reason} {
		if why := ReasonInText(text); why != ReasonOther {
			return why
		}
	}
	return ReasonOther
}

// ReasonOfRun says why a run ended without success, by its state, the class of its error, and the reason of an abort; "" for a run that
// is open or succeeded.
func ReasonOfRun(state, errorClass, reason string) ReasonCode {
	switch state {
	case "timed_out":
		return ReasonRunTimeout
	case "aborted":
		return abortReason(reason)
	case codeError:
		if why := reasonOfClass(errorClass); why != "" {
			return why
		}
		return knownOr(ReasonInText(reason), ReasonRunFailed)
	}
	return ""
}

// knownOr returns a code, or another one if nothing is known.
func knownOr(code, other ReasonCode) ReasonCode {
	if code == ReasonOther {
		return other
	}
	return code
}

// ReasonOfFlow says why a flow ended without success, by its outcome and the code of its end; "" for one that is open or succeeded.
func ReasonOfFlow(outcome, reason string) ReasonCode {
	switch outcome {
	case "", "ok":
		return ""
	}
	for _, code := range [...]string{reason, outcome} {
		if why := reasonOfCode(code); why != "" {
			return why
		}
	}
	if outcome == OutcomeValueFailed {
		return knownOr(ReasonInText(reason), ReasonRunFailed)
	}
	return ReasonInText(reason)
}

// abortReason tells an interrupted run from one that was stopped on request.
func abortReason(reason string) ReasonCode {
	switch reason {
	case "restart", "shutdown":
		return ReasonInterrupted
	}
	return ReasonCancelled
}

// reasonOfClass reads the class of a run's error; "" for an unknown one. A model that is silent for too long has the class timeout.
func reasonOfClass(class string) ReasonCode {
	switch class {
	case "rejected":
		return ReasonModelRejected
	case "context_exceeded":
		return ReasonContextTooLong
	case "rate_limited":
		return ReasonRateLimited
	case "overloaded":
		return ReasonOverloaded
	case "unavailable", "timeout":
		return ReasonModelUnavailable
	case "auth":
		return ReasonAuth
	case "malformed", "too_large":
		return ReasonAnswerInvalid
	case "tools":
		return ReasonToolsFailed
	case "prompt":
		return ReasonPromptFailed
	case "internal":
		return ReasonInternal
	}
	return ""
}

// Values of waitStatus and other codes that say little; a text beside them may say more.
const (
	codeAborted = "aborted"
	codeError   = "error"
)

// reasonOfCode reads a waitStatus, the code of a retry or an outcome. It is "" for a code that says only that something failed.
func reasonOfCode(code string) ReasonCode {
	switch code {
	case "timeout", "wait_chunk_timeout":
		return ReasonWaitTimeout
	case "queue_timeout":
		return ReasonAgentBusy
	case "not_found", "run_not_found":
		return ReasonRunNotFound
	case "empty":
		return ReasonEmptyAnswer
	case "dispatch_failed":
		return ReasonDispatchFailed
	case "run_lost":
		return ReasonInterrupted
	case "cancelled", "killed":
		return ReasonCancelled
	case "abandoned":
		return ReasonAbandoned
	case "request_rejected":
		return ReasonModelRejected
	case "context_exceeded":
		return ReasonContextTooLong
	case "rate_limit":
		return ReasonRateLimited
	case "server_overload":
		return ReasonOverloaded
	case "gateway_connection":
		return ReasonModelUnavailable
	case "auth_failure":
		return ReasonAuth
	case "malformed_answer", "answer_too_large":
		return ReasonAnswerInvalid
	case "run_timed_out":
		return ReasonRunTimeout
	case "tools_failed":
		return ReasonToolsFailed
	case "prompt_failed":
		return ReasonPromptFailed
	case "internal":
		return ReasonInternal
	}
	return ""
}

// ReasonInText reads a reason from an error text of another program, or from our own readable reasons. It is ReasonOther for unknown
// words. What a text begins with decides first, then the failure of a provider, then words that may also be said in passing.
func ReasonInText(text string) ReasonCode {
	if text == "" {
		return ReasonOther
	}
	lower := TrimJS(strings.ToLower(head(text, maxErrorText)))
	if code := reasonAmong(ownReasons[:], lower, strings.HasPrefix); code != "" {
		return code
	}
	if code := FailureInText(text); code != "" {
		return code
	}
	return cmp.Or(reasonAmong(ownReasons[:], lower, strings.Contains), reasonAmong(vagueReasons[:], lower, strings.Contains), ReasonOther)
}

type reasonWords struct {
	words string // lower case
	code  ReasonCode
}

// reasonAmong is the first reason whose words a text has; "" for none.
func reasonAmong(known []reasonWords, lower string, has func(text, words string) bool) ReasonCode {
	for _, k := range known {
		if has(lower, k.words) {
			return k.code
		}
	}
	return ""
}

// ownReasons are the readable reasons that openclawd and OpenClaw write; the first match counts.
var ownReasons = [...]reasonWords{
	{"동시 처리", ReasonAgentBusy},
	{"agent busy", ReasonAgentBusy},
	{"대기 시간", ReasonWaitTimeout},
	{"실행 상태를 찾을 수 없", ReasonRunNotFound},
	{"run not found", ReasonRunNotFound},
	{"빈 응답", ReasonEmptyAnswer},
	{"실행 중단", ReasonCancelled},
	{"전달 실패", ReasonDispatchFailed},
	{"취소됨", ReasonCancelled},
	{"중지됨", ReasonCancelled},
	{"포기됨", ReasonAbandoned},
	{"aborted: restart", ReasonInterrupted},
	{"aborted: shutdown", ReasonInterrupted},
}

// vagueReasons match only what nothing more precise does.
var vagueReasons = [...]reasonWords{
	{"컨텍스트 초과", ReasonContextTooLong},
	{"컨텍스트 길이", ReasonContextTooLong},
	{"컨텍스트가 너무", ReasonContextTooLong},
	{"request rejected", ReasonModelRejected},
	{"실행 오류", ReasonRunFailed},
	{"invalid request", ReasonModelRejected},
	{"invalid_request", ReasonModelRejected},
	{"a2a_denied", ReasonA2ADenied},
	{"agent-to-agent", ReasonA2ADenied},
	{"aborted", ReasonCancelled},
	{"cancelled", ReasonCancelled},
	{"canceled", ReasonCancelled},
}
