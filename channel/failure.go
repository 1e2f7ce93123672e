package channel

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Error is a failed request, or one whose outcome is unknown. Class is what follows from Failure by
// collaborate.Classify: forbidden, not found, unauthorized, rate-limited or rejected were not executed, and unsent was
// not sent; unavailable, timeout and lost may have been executed.
type Error struct {
	Deed      string // the action: post a message
	AccountID string
	PlaceID   string // channel, thread or guild; may be ""
	Failure   collaborate.Failure
	Class     collaborate.Class
	Local     bool // refused locally, in the service's terms; nothing was sent
	Hint      string

	Said string // by the service
	Err  error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s as %s", e.Deed, e.AccountID)
	if e.PlaceID != "" {
		fmt.Fprintf(&b, " in %s", e.PlaceID)
	}
	fmt.Fprintf(&b, ": %s", e.Class)
	if e.Failure.Status != 0 && !e.Local {
		fmt.Fprintf(&b, " (HTTP %d, code %d)", e.Failure.Status, e.Failure.Code)
	}
	if e.Said != "" {
		b.WriteString(": " + e.Said)
	} else if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return coordination.Mask(b.String())
}

// Unwrap returns the underlying error: the network's, or the context's.
func (e *Error) Unwrap() error { return e.Err }

// ErrNoBot is the error for an account that is not configured, has no token, or is disabled.
var ErrNoBot = errors.New("no such bot")

// ErrAccepted is the error for a post that the service has accepted and whose message has not appeared in time. It may appear yet.
var ErrAccepted = errors.New("it was accepted, and its message has not appeared")

// ErrNotReady is the error for a bot that has not logged in yet.
var ErrNotReady = errors.New("the bot has not logged in yet")

// ErrFull is the error for a full queue.
var ErrFull = errors.New("too many requests are waiting already")

// ErrBlind is the error of a search in a service that bots cannot search.
var ErrBlind = errors.New("bots cannot look for messages there")

// Local is a refusal before anything is sent. status is the HTTP status with the same meaning.
func Local(deed, account, place string, status int, err error, hint string) *Error {
	f := collaborate.Failure{Status: status}
	return &Error{Deed: deed, AccountID: account, PlaceID: place, Failure: f, Class: collaborate.Classify(f), Local: true, Hint: hint, Err: err}
}

// Blind is the error of a search in a service that bots cannot search: the caller says that the outcome is unknown.
func Blind(deed, account, place, hint string) *Error {
	return Local(deed, account, place, http.StatusBadRequest, ErrBlind, hint)
}

// NoBot is the error for a missing bot. Nothing was sent, and the bot may be available soon.
func NoBot(channel, deed, account, place string) *Error {
	f := collaborate.Failure{Unsent: true}
	return &Error{Deed: deed, AccountID: account, PlaceID: place, Failure: f, Class: collaborate.Classify(f), Local: true, Err: ErrNoBot,
		Hint: fmt.Sprintf("check that channels.%s.accounts.%s is enabled and has a token", channel, account)}
}

// NotReady is the error of what only a bot that has logged in can do. Nothing was sent; it may be tried again soon.
func NotReady(deed, account, place string) *Error {
	f := collaborate.Failure{Unsent: true}
	return &Error{Deed: deed, AccountID: account, PlaceID: place, Failure: f, Class: collaborate.Classify(f), Local: true, Err: ErrNotReady}
}

// Queued is the error of a request that got no turn in its lane. Nothing was sent.
func Queued(channel, deed, account, place string, err error) *Error {
	f, hint := collaborate.Failure{Unsent: true}, ""
	var held *HeldError
	switch {
	case errors.As(err, &held):
		f = collaborate.Failure{Status: http.StatusTooManyRequests, RetryAfter: held.Wait}
	case errors.Is(err, ErrFull):
		f = collaborate.Failure{Status: http.StatusTooManyRequests, RetryAfter: time.Second}
		hint = "post less, or raise channels." + channel + ".collaboration.rateLimit"
	}
	return &Error{Deed: deed, AccountID: account, PlaceID: place, Failure: f, Class: collaborate.Classify(f), Local: true, Hint: hint, Err: err}
}
