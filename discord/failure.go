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

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// maxSaid is how many characters of Discord's text an error keeps.
const maxSaid = 300

type refusal struct {
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	RetryAfter float64         `json:"retry_after"` // seconds
	Errors     json.RawMessage `json:"errors"`
}

func failed(ctx context.Context, deed, account, place string, a answer, err error) *channel.Error {
	e := &channel.Error{Deed: deed, AccountID: account, PlaceID: place, Err: err}
	switch {
	case err != nil:
		var timeout interface{ Timeout() bool }
		e.Failure.Unsent = !a.sent
		e.Failure.TimedOut = ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout())
		if ctx.Err() != nil {
			e.Err = ctx.Err()
		}
	case a.status >= 200 && a.status < 300:
		return nil
	default:
		var said refusal
		if json.Unmarshal(a.body, &said) == nil {
			e.Failure.Code, e.Said = said.Code, said.Message
			if len(said.Errors) > 0 {
				e.Said += " " + string(said.Errors)
			}
		}
		e.Said = coordination.Head(strings.ToValidUTF8(e.Said, ""), maxSaid)
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

// applyRateLimit applies the rate-limit headers of an answer.
func (b *Bots) applyRateLimit(lane, account string, a answer) {
	wait := time.Duration(0)
	switch {
	case a.status == http.StatusTooManyRequests:
		wait = retryAfter(a.header, header(a.header, "X-RateLimit-Reset-After"))
	case a.header.Get("X-RateLimit-Remaining") == "0":
		wait = seconds(header(a.header, "X-RateLimit-Reset-After"))
	}
	if a.header.Get("X-RateLimit-Global") != "" {
		lane = ""
	}
	b.lanes.Hold(lane, account, wait)
}

func header(h http.Header, name string) float64 {
	n, err := strconv.ParseFloat(h.Get(name), 64)
	if err != nil {
		return 0
	}
	return n
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
