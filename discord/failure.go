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

// Error is a request that Discord has not done, or of which nobody knows.
type Error struct {
	Deed      string // what was asked for: post a message
	AccountID string
	PlaceID   string // channel, thread or guild; may be ""
	Failure   collaborate.Failure
	Class     collaborate.Class
	Local     bool // it was refused here, in Discord's terms, and nothing was asked
	Mend      string

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
	if e.Mend != "" {
		b.WriteString("; " + e.Mend)
	}
	return coordination.Mask(b.String())
}

// Unwrap gives the error below: of the network, or of the context.
func (e *Error) Unwrap() error { return e.err }

// ErrNoBot is the error of asking an account that is not configured, has no token, or is switched off.
var ErrNoBot = errors.New("there is no such bot")

// ErrFull is the error of asking where too many wait already.
var ErrFull = errors.New("too many wait for this already")

// maxSaid bounds what is kept of Discord's words, in characters.
const maxSaid = 300

// refusal is what Discord says when it refuses.
type refusal struct {
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	RetryAfter float64         `json:"retry_after"` // seconds
	Errors     json.RawMessage `json:"errors"`
}

// failed says what has become of a request that was not done; nil if it was done.
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
	if a.status != 0 && a.status < 400 { // neither done nor refused, e.g. a redirection
		e.Failure.Status = http.StatusBadGateway
	}
	e.Class = collaborate.Classify(e.Failure)
	e.Mend = mendOf(e.Class, account, e.Failure.Code)
	return e
}

// retryAfter is how long Discord wants one to wait: its body says it exactly, its header in whole seconds.
func retryAfter(h http.Header, said float64) time.Duration {
	if said <= 0 {
		said, _ = strconv.ParseFloat(h.Get("Retry-After"), 64)
	}
	return seconds(said)
}

// seconds is a duration that Discord tells; what is out of all bounds is an hour.
func seconds(s float64) time.Duration {
	switch {
	case !(s > 0):
		return 0
	case s > time.Hour.Seconds():
		return time.Hour
	}
	return time.Duration(s * float64(time.Second)).Truncate(time.Millisecond)
}

const tokenMend = "copy the token from the Bot page of the Discord developer portal to channels.discord.accounts.%s.token"

// mendOf says what helps.
func mendOf(c collaborate.Class, account string, code int) string {
	const unknownMessage = 10008
	switch c {
	case collaborate.ClassUnauthorized:
		return fmt.Sprintf(tokenMend, account)
	case collaborate.ClassForbidden:
		return "give the bot's role the permission in the channel: View Channel, Send Messages, Send Messages in Threads, " +
			"Create Public Threads, Read Message History"
	case collaborate.ClassNotFound:
		return cmp.Or(map[int]string{unknownMessage: "the message is no more"}[code], "see that the channel or thread is still there and not archived")
	case collaborate.ClassUnavailable, collaborate.ClassTimeout:
		return "see https://discordstatus.com; it is tried again"
	case collaborate.ClassUnsent:
		return "see that this machine reaches discord.com"
	}
	return ""
}

// local is a refusal of our own.
func local(deed, account, place string, status int, err error, mend string) *Error {
	f := collaborate.Failure{Status: status}
	return &Error{Deed: deed, AccountID: account, PlaceID: place, Failure: f, Class: collaborate.Classify(f), Local: true, Mend: mend, err: err}
}
