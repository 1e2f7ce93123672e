package continuation

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/internal/backoff"
)

// Cause is why a prompt has failed, as far as it determines the pause.
type Cause string

const (
	CauseRateLimit Cause = "rate_limit"
	CauseBilling   Cause = "billing"
	CauseAuth      Cause = "auth" // no key, or one that is not taken
	CauseTimeout   Cause = "timeout"
	CauseOverflow  Cause = "context_overflow"
	CauseUnknown   Cause = "unknown"
)

// Classes of run errors that determine the cause, see coordination.RunOver.
const (
	classRateLimited = "rate_limited"
	classOverloaded  = "overloaded"
	classTimeout     = "timeout"
	classOverflow    = "context_exceeded"
	classAuth        = "auth"
)

// Bounds of Backoff.
const (
	leastHint    = 10 * time.Second
	longestPause = 2 * time.Hour
	ResetPause   = 30 * time.Minute // after a session was made to start over
)

// CauseOf uses the class of the error, or its text if the class does not determine the cause.
func CauseOf(class, text string) Cause {
	switch class {
	case classRateLimited, classOverloaded:
		return CauseRateLimit
	case classTimeout:
		return CauseTimeout
	case classOverflow:
		return CauseOverflow
	}
	cause := CauseUnknown
	for _, c := range causeWords {
		if c.words.MatchString(text) {
			cause = c.cause
			break
		}
	}
	if class == classAuth && cause != CauseBilling {
		return CauseAuth
	}
	return cause
}

// causeWords determine the cause from a text. Numbers are codes only as separate words.
var causeWords = []struct {
	cause Cause
	words *regexp.Regexp
}{
	{CauseOverflow, regexp.MustCompile(`(?i)context[ _-]?(?:length|window|size|limit|overflow|exceeded|too long)|` +
		`(?:prompt|request|input) is too long|too many tokens|token limit|maximum context`)},
	{CauseBilling, regexp.MustCompile(`(?i)\bbilling\b|\bcredits?\b|\bpayment required\b|insufficient[ _](?:funds|balance|quota)|\b402\b`)},
	{CauseRateLimit, regexp.MustCompile(`(?i)rate[ _-]?limit|\bquota\b|too many requests|\b429\b`)},
	{CauseTimeout, regexp.MustCompile(`(?i)time[ -]?out|timed out|deadline exceeded`)},
}

// retryHint matches what providers, and our own errors, say about how long to wait.
var retryHint = regexp.MustCompile(`(?i)(?:retry|try again|resets?)(?:[ -]after|[ -]in)?[:= ]+` +
	`((?:\d+(?:\.\d+)?(?:ms|h|m|s))+|\d+(?:\.\d+)?)` +
	`(?: ?(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h))?\b`)

// Hint is how long an error asks to wait, 0 if it does not say. A number without a unit is seconds.
func Hint(text string) time.Duration {
	m := retryHint.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	if d, err := time.ParseDuration(strings.ToLower(m[1])); err == nil {
		return min(d, longestPause)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	unit := time.Second
	switch word := strings.ToLower(m[2]); {
	case word == "ms" || strings.HasPrefix(word, "milli"):
		unit = time.Millisecond
	case strings.HasPrefix(word, "m"):
		unit = time.Minute
	case strings.HasPrefix(word, "h"):
		unit = time.Hour
	}
	return time.Duration(min(n*float64(unit), float64(longestPause)))
}

// Backoff is how long no prompt is sent after so many failures in a row, counted from 1:
//
//	rate_limit        1 min, or what the provider asks for, at least 10 s
//	timeout           1 min
//	unknown           5 min
//	context_overflow  30 min
//	billing, auth     60 min
//
// twice as long with each further failure, up to 8 times, and 2 h at most.
func Backoff(cause Cause, failures int, hint time.Duration) time.Duration {
	base := 5 * time.Minute
	switch cause {
	case CauseRateLimit:
		base = time.Minute
		if hint > 0 {
			base = max(hint, leastHint)
		}
	case CauseTimeout:
		base = time.Minute
	case CauseOverflow:
		base = 30 * time.Minute
	case CauseBilling, CauseAuth:
		base = time.Hour
	}
	base = min(base, longestPause)
	return backoff.Backoff{First: base, Most: min(8*base, longestPause)}.After(failures)
}
