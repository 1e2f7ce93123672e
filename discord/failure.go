package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Error is a failed request, or one whose outcome is unknown.
type Error struct {
	Deed      string // the action: post a message
	AccountID string
	PlaceID   string // channel, thread or guild; may be ""
	Failure   collaborate.Failure
	Class     collaborate.Class
	Local     bool // refused locally, in Discord's terms; nothing was sent
	Hint      string

	said string // by Discord
	err  error
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
	if e.said != "" {
		b.WriteString(": " + e.said)
	} else if e.err != nil {
		b.WriteString(": " + e.err.Error())
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return coordination.Mask(b.String())
}

// Unwrap returns the underlying error: the network's, or the context's.
func (e *Error) Unwrap() error { return e.err }

// ErrNoBot is the error for an account that is not configured, has no token, or is disabled.
var ErrNoBot = errors.New("no such bot")

// ErrFull is the error for a full queue.
var ErrFull = errors.New("too many requests are waiting already")

// maxSaid is how many characters of Discord's text an error keeps.
const maxSaid = 300

type refusal struct {
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	RetryAfter float64         `json:"retry_after"` // seconds
	Errors     json.RawMessage `json:"errors"`
}

func failed(ctx context.Context, deed, account, place string, a answer, err error) *Error {
	e := &Error{Deed: deed, AccountID: account, PlaceID: place, err: err}
	switch {
	case err != nil:
		var timeout interface{ Timeout() bool }
		e.Failure.Unsent = !a.sent
		e.Failure.TimedOut = ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout())
		if ctx.Err() != nil {
			e.err = ctx.Err()
		}
	case a.status >= 200 && a.status < 300:
		return nil
	default:
		var said refusal
		if json.Unmarshal(a.body, &said) == nil {
			e.Failure.Code, e.said = said.Code, said.Message
			if len(said.Errors) > 0 {
				e.said += " " + string(said.Errors)
			}
		}
		e.said = coordination.Head(strings.ToValidUTF8(e.said, ""), maxSaid)
		e.Failure.Status = a.status
		if a.status == http.StatusTooManyRequests {
			e.Failure.RetryAfter = retryAfter(a.header, said.RetryAfter)
		}
	}
	if a.status != 0 && a.status < 400 { // neither success nor error, e.g. a redirect
		e.Failure.Status = http.StatusBadGateway
	}
	e.Class = collaborate.Classify(e.Failure)
	e.Hint = hintOf(e.Class, account, e.Failure.Code)
	return e
}

// retryAfter is the delay Discord requests: exact in its body, in whole seconds in its header.
func retryAfter(h http.Header, said float64) time.Duration {
	if said <= 0 {
		said, _ = strconv.ParseFloat(h.Get("Retry-After"), 64)
	}
	return seconds(said)
}

// seconds converts a duration from Discord; unreasonable values become an hour.
func seconds(s float64) time.Duration {
	switch {
	case !(s > 0):
		return 0
	case s > time.Hour.Seconds():
		return time.Hour
	}
	return time.Duration(s * float64(time.Second)).Truncate(time.Millisecond)
}

const tokenHint = "copy the token from the Bot page of the Discord developer portal to channels.discord.accounts.%s.token"

// hintOf returns a hint for a failure.
func hintOf(c collaborate.Class, account string, code int) string {
	const unknownMessage = 10008
	switch c {
	case collaborate.ClassUnauthorized:
		return fmt.Sprintf(tokenHint, account)
	case collaborate.ClassForbidden:
		return "give the bot's role the permission in the channel: View Channel, Send Messages, Send Messages in Threads, " +
			"Create Public Threads, Read Message History"
	case collaborate.ClassNotFound:
		return cmp.Or(map[int]string{unknownMessage: "the message no longer exists"}[code], "check that the channel or thread still exists and is not archived")
	case collaborate.ClassUnavailable, collaborate.ClassTimeout:
		return "see https://discordstatus.com; it is retried"
	case collaborate.ClassUnsent:
		return "check that this machine can reach discord.com"
	}
	return ""
}

// local is a refusal before anything is sent.
func local(deed, account, place string, status int, err error, hint string) *Error {
	f := collaborate.Failure{Status: status}
	return &Error{Deed: deed, AccountID: account, PlaceID: place, Failure: f, Class: collaborate.Classify(f), Local: true, Hint: hint, err: err}
}
