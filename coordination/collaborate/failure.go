package collaborate

import "time"

// Operation is an operation requested of Discord.
type Operation string

const (
	OpenThread  Operation = "open_thread"  // repeating it creates two threads
	PostMessage Operation = "post_message" // repeating it under the same nonce creates one message, for some minutes
)

// Failure is how Discord has refused or failed.
type Failure struct {
	Status     int           // of HTTP; 0 if there was no answer
	Code       int           // Discord's own; 0 if none
	TimedOut   bool          // no answer within TimeLimit
	Unsent     bool          // no answer, and the request was not sent: e.g. no connection
	RetryAfter time.Duration // of 429; 0 if missing
}

// Class groups failures that are handled alike.
type Class string

const (
	ClassForbidden    Class = "forbidden"    // 403, or the thread is locked
	ClassNotFound     Class = "not_found"    // 404, or the thread is archived
	ClassUnauthorized Class = "unauthorized" // 401
	ClassRateLimited  Class = "rate_limited" // 429
	ClassRejected     Class = "rejected"     // everything else between 400 and 499
	ClassUnavailable  Class = "unavailable"  // 5xx
	ClassUnsent       Class = "unsent"
	ClassTimeout      Class = "timeout"
	ClassLost         Class = "lost" // the connection broke, or the process ended, before the answer arrived
)

// Codes of Discord that say more than the status.
const (
	discordUnknownChannel = 10003
	discordThreadArchived = 50083
	discordThreadLocked   = 160005
)

// Classify returns the class of a failure. The zero Failure is ClassLost.
func Classify(f Failure) Class {
	switch {
	case f.Code == discordThreadLocked:
		return ClassForbidden
	case f.Code == discordUnknownChannel || f.Code == discordThreadArchived:
		return ClassNotFound
	case f.Status == 401:
		return ClassUnauthorized
	case f.Status == 403:
		return ClassForbidden
	case f.Status == 404:
		return ClassNotFound
	case f.Status == 429:
		return ClassRateLimited
	case f.Status >= 500:
		return ClassUnavailable
	case f.Status >= 400:
		return ClassRejected
	case f.TimedOut:
		return ClassTimeout
	case f.Unsent:
		return ClassUnsent
	}
	return ClassLost
}

// Codes of requests that were given up.
const (
	CodeDenied       = "permission_denied"
	CodeUnauthorized = "unauthorized"
	CodeRateLimited  = "rate_limited"
	CodeRejected     = "rejected"
	CodeUnavailable  = "unavailable"
	CodeTimeout      = "timeout"
	CodeUnknown      = "delivery_unknown"
)

// Bounds of retrying.
const (
	TimeLimit    = 10 * time.Second // for one answer
	LongestWait  = time.Minute      // longest pause that Discord may ask for; beyond it is given up
	unknownWait  = time.Second      // of 429 without Retry-After
	serverErrors = 3                // number of retries, likewise below
	timeouts     = 3
	rateLimits   = 5
	losses       = 1
)

// Rule is the handling of a class.
type Rule struct {
	Class    Class
	Code     string // code when it is given up
	Retries  int
	Wait     time.Duration // before the first retry, doubled for each further one
	Asked    bool          // Discord says how long to wait
	Unsure   bool          // it may have been done
	Escalate bool          // when it is given up, a person is notified
	Forget   bool          // the thread is not used again
}

// Rules is one rule for each class.
func Rules() []Rule {
	return []Rule{
		{Class: ClassForbidden, Code: CodeDenied, Escalate: true},
		{Class: ClassNotFound, Code: CodeNotFound, Escalate: true, Forget: true},
		{Class: ClassUnauthorized, Code: CodeUnauthorized, Escalate: true},
		{Class: ClassRejected, Code: CodeRejected, Escalate: true},
		{Class: ClassRateLimited, Code: CodeRateLimited, Retries: rateLimits, Asked: true},
		{Class: ClassUnavailable, Code: CodeUnavailable, Retries: serverErrors, Wait: time.Second, Unsure: true, Escalate: true},
		{Class: ClassUnsent, Code: CodeUnavailable, Retries: serverErrors, Wait: time.Second, Escalate: true},
		{Class: ClassTimeout, Code: CodeTimeout, Retries: timeouts, Unsure: true, Escalate: true},
		{Class: ClassLost, Code: CodeUnavailable, Retries: losses, Unsure: true, Escalate: true},
	}
}

// Attempt is a failed operation.
type Attempt struct {
	Deed     Operation
	Route    Route
	Failure  Failure
	Failures int // failures of its class, including this one
}

// Next is what to do after it: retry, decide again, or give up.
type Next struct {
	Retry bool
	Wait  time.Duration

	// Look says that it may have been done: before a retry, or giving up, the place must be checked. What is found
	// there was done; what is missing was not. If the check is impossible, Blind applies instead.
	Look bool

	// Redecide says that the thread was an earlier one that no longer exists: its entry is dropped, and Decide is called
	// again.
	Redecide bool

	Code     string // of what is given up
	Text     string // a sentence with details, added by the caller that observed the failure
	Unknown  bool   // it is unknown whether it was done; it is never retried
	Escalate bool
	Forget   bool
}

// After returns what to do after a failure. A message is retried under its nonce, which makes it one message; a
// thread, and whatever was lost, is searched for first. Nothing that may have been done is given up without a check.
func After(a Attempt) Next {
	r := ruleOf(Classify(a.Failure))
	if r.Forget && a.Route == RouteReused {
		return Next{Redecide: true, Forget: true}
	}
	wait := r.Wait << max(a.Failures-1, 0)
	if r.Asked {
		if wait = a.Failure.RetryAfter; wait <= 0 {
			wait = unknownWait
		}
	}
	if a.Failures <= r.Retries && wait <= LongestWait {
		return Next{Retry: true, Wait: wait, Look: r.Unsure && (a.Deed == OpenThread || r.Class == ClassLost)}
	}
	return Next{Look: r.Unsure, Code: r.Code, Escalate: r.Escalate, Forget: r.Forget}
}

// Blind is what to do if it may have been done and the check is impossible.
func Blind() Next { return Next{Code: CodeUnknown, Unknown: true, Escalate: true} }

func ruleOf(c Class) Rule {
	for _, r := range Rules() {
		if r.Class == c {
			return r
		}
	}
	return Rule{}
}
