package a2a

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/backoff"
)

// Failure classifies the end of a run.
type Failure struct {
	Category string // transient, permanent, unknown
	Code     string
	Again    bool // a retry may help
}

// Categories of failures.
const (
	transient = "transient"
	permanent = "permanent"
	unknown   = "unknown"
)

// Codes of failures with several causes.
const (
	codeRateLimit  = "rate_limit"
	codeOverload   = "server_overload"
	codeConnection = "gateway_connection"
	codeContext    = "context_exceeded"
	codeAuth       = "auth_failure"
	codeRejected   = "request_rejected"
	codeUnknown    = "error_unknown"
)

// The error classes of runs, as written by the runner: of models, and of their environment. They are repeated here
// because this package does not import the runner; a test checks that both are equal.
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

// Reasons of aborted runs that were not stopped on purpose.
const (
	reasonRestart  = "restart"
	reasonShutdown = "shutdown"
)

// FailureOf classifies the end of a run; nil is a missing run. For our own runs the class decides; the error text only
// if there is no class. An open run fails its waiter, but a retry would do its work twice. A successful run is no
// failure.
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
		return Failure{permanent, "redacted", false} // the request was redacted too
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

var pauses = backoff.Backoff{First: 2 * time.Second, Most: time.Minute}

// Backoff is the pause before retry number n, from 1: 2 s, doubled each time up to a minute, of which jitter, from 0
// to 1, removes up to a half. It is in whole milliseconds.
func Backoff(n int, jitter float64) time.Duration {
	return pauses.Jittered(n, jitter).Truncate(time.Millisecond)
}
