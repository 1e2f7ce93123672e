package a2a

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// Failure says what kind of failure the end of a run is.
type Failure struct {
	Category string // transient, permanent, unknown
	Code     string
	Again    bool // another attempt may help
}

// Categories of failures.
const (
	transient = "transient"
	permanent = "permanent"
	unknown   = "unknown"
)

// Codes of failures that several things lead to.
const (
	codeRateLimit  = "rate_limit"
	codeOverload   = "server_overload"
	codeConnection = "gateway_connection"
	codeContext    = "context_exceeded"
	codeAuth       = "auth_failure"
	codeRejected   = "request_rejected"
	codeUnknown    = "error_unknown"
)

// The error classes of runs, as those who run them write them: of models, and of what surrounds them. They are said once more here since a
// decision knows nobody who runs anything; that they are the same words is tested where both are known.
const (
	classRateLimited     = "rate_limited"
	classOverloaded      = "overloaded"
	classUnavailable     = "unavailable"
	classTimeout         = "timeout"
	classMalformed       = "malformed"
	classTooLarge        = "too_large"
	classContextExceeded = "context_exceeded"
	classAuth            = "auth"
	classRejected        = "rejected"
	classTools           = "tools"
	classPrompt          = "prompt"
	classInternal        = "internal"
)

// Reasons of aborted runs that nobody wanted to stop.
const (
	reasonRestart  = "restart"
	reasonShutdown = "shutdown"
)

// FailureOf tells what kind of failure the end of a run is; nil is a run that there is not. Of runs of ours the class tells; the words of the
// error only where there is none. A run that is not over fails its waiter, but another attempt would do its work twice. One that has ended well
// is no failure.
func FailureOf(r *run.Result) Failure {
	switch {
	case r == nil:
		return Failure{permanent, "run_not_found", false}
	case !r.State.Over():
		return Failure{transient, "wait_chunk_timeout", false}
	case r.State == run.OK:
		return Failure{}
	case r.State == run.TimedOut:
		return Failure{transient, "run_timed_out", false}
	case r.Over == nil:
		return Failure{permanent, "redacted", false} // what was asked for is gone, too
	case r.State == run.Aborted && (r.Over.Reason == reasonRestart || r.Over.Reason == reasonShutdown):
		return Failure{transient, "run_lost", true}
	case r.State == run.Aborted:
		return Failure{permanent, "aborted", false}
	case r.Over.ErrorClass == "":
		return failureOfText(r.Over.Error)
	}
	return failureOfClass(r.Over.ErrorClass)
}

func failureOfClass(class string) Failure {
	switch class {
	case classRateLimited:
		return Failure{transient, codeRateLimit, true}
	case classOverloaded:
		return Failure{transient, codeOverload, true}
	case classUnavailable, classTimeout:
		return Failure{transient, codeConnection, true}
	case classMalformed:
		return Failure{transient, "malformed_answer", true}
	case classContextExceeded:
		return Failure{permanent, codeContext, false}
	case classAuth:
		return Failure{permanent, codeAuth, false}
	case classRejected:
		return Failure{permanent, codeRejected, false}
	case classTooLarge:
		return Failure{permanent, "answer_too_large", false}
	case classTools:
		return Failure{permanent, "tools_failed", false}
	case classPrompt:
		return Failure{permanent, "prompt_failed", false}
	case classInternal:
		return Failure{unknown, "internal", true}
	}
	return Failure{unknown, codeUnknown, true}
}

// Bounds of pauses.
const (
	firstPause   = 2 * time.Second
	longestPause = time.Minute
)

// Backoff is how long to wait before retry number n, from 1: 2 s, doubled each time up to a minute, of which jitter, from 0 to 1, takes up to
// a half. It is whole milliseconds.
func Backoff(n int, jitter float64) time.Duration {
	pause := firstPause
	for ; n > 1 && pause < longestPause; n-- {
		pause *= 2
	}
	pause = min(pause, longestPause)
	return (pause - time.Duration(float64(pause)/2*min(max(jitter, 0), 1))).Truncate(time.Millisecond)
}
