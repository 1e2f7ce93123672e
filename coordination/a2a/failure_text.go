package a2a

import (
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// refused matches the error texts of requests that would be refused again.
var refused = regexp.MustCompile(`\bnot found\b|\binvalid\b|\bdenied\b|\bforbidden\b`)

// maxErrorText bounds the bytes of an error that are read.
const maxErrorText = 4 << 10

// failureOfText classifies by the error text, for runs without a class: those of OpenClaw.
func failureOfText(text string) Failure {
	switch coordination.FailureInText(text) {
	case coordination.ReasonRateLimited:
		return Failure{transient, codeRateLimit, true}
	case coordination.ReasonContextTooLong:
		return Failure{permanent, codeContext, false}
	case coordination.ReasonAuth:
		return Failure{permanent, codeAuth, false}
	case coordination.ReasonOverloaded:
		return Failure{transient, codeOverload, true}
	case coordination.ReasonModelUnavailable:
		return Failure{transient, codeConnection, true}
	}
	if refused.MatchString(strings.ToLower(bounded(text, maxErrorText))) {
		return Failure{permanent, codeRejected, false}
	}
	return Failure{unknown, codeUnknown, true}
}
