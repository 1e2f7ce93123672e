package llm

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
)

// Class classifies an Error. Programs may rely on it.
type Class string

const (
	RateLimited     Class = "rate_limited"     // rate limit exceeded
	Overloaded      Class = "overloaded"       // the provider is overloaded
	Unavailable     Class = "unavailable"      // unreachable, failed, or connection lost
	Timeout         Class = "timeout"          // no data for too long
	Malformed       Class = "malformed"        // invalid answer
	TooLarge        Class = "too_large"        // the answer exceeded a limit
	ContextExceeded Class = "context_exceeded" // the request exceeds the context window
	Auth            Class = "auth"             // missing or wrong key, or no credit
	Rejected        Class = "rejected"         // the provider rejects the request
)

// Classes lists all classes.
func Classes() []Class {
	return []Class{RateLimited, Overloaded, Unavailable, Timeout, Malformed, TooLarge, ContextExceeded, Auth, Rejected}
}

// words is a class within a sentence.
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

// Error says why a model did not answer. It contains no secret; Message is one line of bounded length.
type Error struct {
	Class      Class
	Status     int           // HTTP status, or the provider's equivalent; 0 if none
	RetryAfter time.Duration // delay requested by the provider; 0 if none
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

// Retryable reports whether repeating the request later may succeed, not before RetryAfter.
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
		return "check whether models.providers." + e.Provider + ".baseUrl is an OpenAI-compatible endpoint"
	case TooLarge, ContextExceeded:
		return "start the session over with /new, or choose a model with a larger window"
	case Auth:
		return "set models.providers." + e.Provider + ".apiKey, or the environment variable of the provider's key, and check the account's credit"
	default:
		return "check whether the provider has the model " + e.Model + " and what it accepts"
	}
}

// Limits of what an Error repeats from a provider.
const (
	maxMessage  = 400 // characters
	leastSecret = 6   // bytes; shorter secrets would match by chance
)

// Clean turns a foreign text into one line of bounded length. It removes the secrets, in the forms in which providers
// repeat them, truncated ones included, and everything else that looks like a secret.
func Clean(text string, secrets ...string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}), " ")
	for _, secret := range secrets {
		text = removeSecret(text, secret)
	}
	text = coordination.Mask(text)
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "…"
	}
	return text
}

const masked = "***"

func removeSecret(text, secret string) string {
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
