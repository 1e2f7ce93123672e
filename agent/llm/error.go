package llm

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
)

// Class says what kind of failure an Error is. Programs may rely on it.
type Class string

const (
	RateLimited     Class = "rate_limited"     // asked too often
	Overloaded      Class = "overloaded"       // the provider has too much to do
	Unavailable     Class = "unavailable"      // cannot be reached, failed, or broke off
	Timeout         Class = "timeout"          // was silent for too long
	Malformed       Class = "malformed"        // what came is no answer
	TooLarge        Class = "too_large"        // the answer would not end
	ContextExceeded Class = "context_exceeded" // the request is longer than what the model can read
	Auth            Class = "auth"             // no key, a wrong one, or an account without credit
	Rejected        Class = "rejected"         // the provider does not take this request
)

// Classes are all of them.
func Classes() []Class {
	return []Class{RateLimited, Overloaded, Unavailable, Timeout, Malformed, TooLarge, ContextExceeded, Auth, Rejected}
}

// words is a class as it stands in a sentence.
func (c Class) words() string {
	switch c {
	case RateLimited:
		return "rate limit reached"
	case Unavailable:
		return "provider unavailable"
	case Overloaded:
		return "provider overloaded"
	case Timeout:
		return "provider timed out"
	case Malformed:
		return "no valid answer"
	case TooLarge:
		return "answer too large"
	case ContextExceeded:
		return "context too long for the model"
	case Auth:
		return "not authorised"
	default:
		return "request rejected"
	}
}

// Error says why a model has not answered. None of its texts holds a secret; Message is one line of bounded length.
type Error struct {
	Class      Class
	Status     int           // of HTTP, or what a provider says in its place; 0 if there is none
	RetryAfter time.Duration // that the provider asks to wait; 0 if it does not say
	Provider   string
	Model      string
	Message    string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		fmt.Fprintf(&b, "%s/%s: ", e.Provider, e.Model)
	}
	b.WriteString(e.Class.words())
	if e.Status != 0 {
		fmt.Fprintf(&b, " (%d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; try again in %s", e.RetryAfter.Round(time.Second/10))
	}
	return b.String()
}

// Retryable reports whether the same model may answer the same request later, not before RetryAfter.
func (e *Error) Retryable() bool {
	switch e.Class {
	case RateLimited, Overloaded, Unavailable, Timeout, Malformed:
		return true
	}
	return false
}

func (e *Error) Code() string { return "llm_" + string(e.Class) }

// Hint says what an operator can do about it.
func (e *Error) Hint() string {
	switch e.Class {
	case RateLimited, Overloaded, Unavailable, Timeout:
		return "wait, or name fallbacks in agents.defaults.model.fallbacks"
	case Malformed:
		return "see whether models.providers." + e.Provider + ".baseUrl is that of an OpenAI-compatible endpoint"
	case TooLarge, ContextExceeded:
		return "start the session anew with /new, or choose a model with a larger window"
	case Auth:
		return "set models.providers." + e.Provider + ".apiKey, or the environment variable of the provider's key; see to the account's credit"
	default:
		return "see whether the provider has the model " + e.Model + " and what it accepts"
	}
}

// Bounds of what an Error repeats of a provider.
const (
	maxMessage  = 400 // characters
	leastSecret = 6   // bytes; shorter ones would be found by chance, and are none
)

// Clean makes of what somebody else has written a message of bounded length on one line. It takes out the secrets, in the forms in which
// providers repeat them, halves included, and everything else that looks like one.
func Clean(text string, secrets ...string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}), " ")
	for _, secret := range secrets {
		text = without(text, secret)
	}
	text = coordination.Mask(text)
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "…"
	}
	return text
}

const masked = "***"

func without(text, secret string) string {
	if len(secret) < leastSecret {
		return text
	}
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if half := len(secret) / 2; half >= leastSecret {
		forms = append(forms, secret[:half], secret[half:])
	}
	for _, form := range forms {
		text = strings.ReplaceAll(text, form, masked)
	}
	return text
}
