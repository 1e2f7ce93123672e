package collaborate

import "time"

// Deed is what Discord was asked to do.
type Deed string

const (
	OpenThread  Deed = "open_thread"  // twice makes two threads
	PostMessage Deed = "post_message" // twice makes one, under the same nonce, for some minutes
)

// Failure is how Discord has not done it.
type Failure struct {
	Status     int           // of HTTP; 0 if there was no answer
	Code       int           // Discord's own; 0 if it has told none
	TimedOut   bool          // no answer within TimeLimit
	Unsent     bool          // no answer, and the request has not left: e.g. no connection
	RetryAfter time.Duration // of 429; 0 if it was not told
}

// Class is what failures are treated alike by.
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
	ClassLost         Class = "lost" // the connection broke, or the process ended, before the answer came
)

// Codes of Discord that say more than the status.
const (
	discordUnknownChannel = 10003
	discordThreadArchived = 50083
	discordThreadLocked   = 160005
)

// Classify says of which class a failure is. The zero Failure is ClassLost.
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

// Bounds of trying again.
const (
	TimeLimit    = 10 * time.Second // for one answer
	LongestWait  = time.Minute      // that Discord may ask for; longer, and it is given up
	unknownWait  = time.Second      // of 429 without Retry-After
	serverErrors = 3                // how often it is tried again, likewise below
	timeouts     = 3
	rateLimits   = 5
	losses       = 1
)

// Rule is what follows from a class.
type Rule struct {
	Class    Class
	Code     string // when it is given up
	Retries  int
	Wait     time.Duration // before the first retry, twice as long before each further one
	Asked    bool          // Discord says how long to wait
	Unsure   bool          // it may have been done
	Escalate bool          // when it is given up, a person is told
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

// Attempt is a deed that has failed.
type Attempt struct {
	Deed     Deed
	Route    Route
	Failure  Failure
	Failures int // of its class, this one included
}

// Next is what is done after it: it is tried again, decided anew, or given up.
type Next struct {
	Retry bool
	Wait  time.Duration

	// Look says that it may have been done: before it is tried again, or given up, the place is looked at. What is found there was done; what is
	// not there was not. Where nobody can look, Blind is what follows instead.
	Look bool

	// Anew says that the thread was one from before that is no more: its entry is forgotten, and Decide is asked again.
	Anew bool

	Code     string // of what is given up
	Text     string // what is so, in a sentence: added by whoever has heard of the failure
	Unknown  bool   // nobody knows whether it was done; it is never tried again
	Escalate bool
	Forget   bool
}

// After says what is done after a failure. A message is tried again under its nonce, which makes it one message; a thread, and whatever was lost,
// is looked for first. Nothing is given up that may have been done without a look.
func After(a Attempt) Next {
	r := ruleOf(Classify(a.Failure))
	if r.Forget && a.Route == RouteReused {
		return Next{Anew: true, Forget: true}
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

// Blind is what follows where it may have been done and nobody can look.
func Blind() Next { return Next{Code: CodeUnknown, Unknown: true, Escalate: true} }

func ruleOf(c Class) Rule {
	for _, r := range Rules() {
		if r.Class == c {
			return r
		}
	}
	return Rule{}
}
