package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// maxSaid is how many characters of Telegram's text an error keeps.
const maxSaid = 300

// failed classifies the outcome of a request; nil is success. Telegram answers most refusals with 400 and says why in
// words only.
func failed(ctx context.Context, deed, account, place string, a answer, err error) *channel.Error {
	e := &channel.Error{Deed: deed, AccountID: account, PlaceID: place, Err: err}
	var said envelope
	switch {
	case err != nil:
		var timeout interface{ Timeout() bool }
		e.Failure.Unsent = !a.sent
		e.Failure.TimedOut = ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout())
		if ctx.Err() != nil {
			e.Err = ctx.Err()
		}
	case a.status == http.StatusOK && json.Unmarshal(a.body, &said) == nil && said.OK:
		return nil
	case a.status == http.StatusOK && said.Code == 0: // not Telegram's form: it may have been executed
		e.Failure.Status = http.StatusBadGateway
	case a.status < http.StatusBadRequest && said.Code == 0: // a redirect, for example
		e.Failure.Status = http.StatusBadGateway
	default:
		_ = json.Unmarshal(a.body, &said) // what is not JSON says nothing
		e.Said = coordination.Head(strings.ToValidUTF8(said.Description, ""), maxSaid)
		e.Failure.Status = statusOf(a.status, said.Description)
		if e.Failure.Status == http.StatusTooManyRequests {
			e.Failure.RetryAfter = min(time.Duration(max(said.Parameters.RetryAfter, 1))*time.Second, time.Hour)
		}
	}
	e.Class = collaborate.Classify(e.Failure)
	e.Hint = hintOf(e.Class, account, said.Description)
	return e
}

// meanings are statuses that fit Telegram's words better than its 400.
var meanings = []struct {
	words  string
	status int
}{
	{"chat not found", http.StatusNotFound},
	{"group chat was upgraded", http.StatusNotFound},
	{"message thread not found", http.StatusNotFound},
	{"TOPIC_DELETED", http.StatusNotFound},
	{"message to edit not found", http.StatusNotFound},
	{"TOPIC_CLOSED", http.StatusForbidden},
	{"not enough rights", http.StatusForbidden},
	{"have no rights", http.StatusForbidden},
	{"need administrator rights", http.StatusForbidden},
	{"CHAT_WRITE_FORBIDDEN", http.StatusForbidden},
	{"the chat is not a forum", http.StatusForbidden},
}

// statusOf is the HTTP status that means what Telegram says.
func statusOf(status int, said string) int {
	if status == http.StatusNotFound { // of methods and of tokens in a wrong form, not of chats
		return http.StatusUnauthorized
	}
	if status != http.StatusBadRequest {
		return status
	}
	for _, m := range meanings {
		if strings.Contains(said, m.words) {
			return m.status
		}
	}
	return status
}

// unparsed reports whether Telegram refused a text for its markup.
func unparsed(e *channel.Error) bool {
	return e != nil && e.Failure.Status == http.StatusBadRequest && strings.Contains(e.Said, "can't parse entities")
}

// movedTo is the new id of a group that has become a supergroup; 0 if that is not why a request failed.
func movedTo(a answer) int64 {
	var said envelope
	if a.status != http.StatusBadRequest || json.Unmarshal(a.body, &said) != nil {
		return 0
	}
	return said.Parameters.MigrateTo
}

const tokenHint = "copy the token from @BotFather to channels.telegram.accounts.%s.botToken"

// hints are what to do about refusals, by Telegram's words.
var hints = []struct{ words, hint string }{
	{"blocked by the user", "the person has blocked the bot and has to restart it in Telegram"},
	{"can't initiate conversation", "the person has to write to the bot first"},
	{"bot was kicked", "add the bot to the group again"},
	{"not a member", "add the bot to the group"},
	{"group chat was upgraded", "the group has become a supergroup: replace its id in the configuration"},
	{"TOPIC_CLOSED", "reopen the topic, or let the bot manage topics"},
	{"not enough rights to create", "make the bot an administrator of the group with the right to manage topics"},
	{"the chat is not a forum", "enable Topics in the group's settings"},
	{"not enough rights", "let the bot send messages in the group's permissions"},
	{"message thread not found", "the topic no longer exists"},
	{"message to edit not found", "the message no longer exists"},
	{"chat not found", "check the chat's id, and that the bot is in it"},
}

// hintOf returns a hint for a failure.
func hintOf(c collaborate.Class, account, said string) string {
	for _, h := range hints {
		if strings.Contains(said, h.words) {
			return h.hint
		}
	}
	switch c {
	case collaborate.ClassUnauthorized:
		return fmt.Sprintf(tokenHint, account)
	case collaborate.ClassUnavailable, collaborate.ClassTimeout:
		return "it is retried"
	case collaborate.ClassUnsent:
		return "check that this machine can reach api.telegram.org"
	}
	return ""
}

// unsent is the failure of a request that only reads, before the one that posts: what says nothing of the place itself means that
// nothing was posted.
func unsent(e *channel.Error) *channel.Error {
	switch e.Class {
	case collaborate.ClassUnavailable, collaborate.ClassTimeout, collaborate.ClassLost:
		e.Failure = collaborate.Failure{Unsent: true}
		e.Class = collaborate.Classify(e.Failure)
	}
	return e
}

// result parses the result of a successful request.
func result[T any](deed, account string, a answer) (v T, err error) {
	v, failure := parsed[T](deed, account, a)
	if failure != nil {
		return v, failure
	}
	return v, nil
}

func parsed[T any](deed, account string, a answer) (v T, failure *channel.Error) {
	var said envelope
	err := json.Unmarshal(a.body, &said)
	if err == nil {
		err = json.Unmarshal(said.Result, &v)
	}
	if err != nil {
		f := collaborate.Failure{}
		return v, &channel.Error{Deed: deed, AccountID: account, Failure: f, Class: collaborate.Classify(f), Err: fmt.Errorf("read Telegram's answer: %w", err)}
	}
	return v, nil
}

// isSame reports whether Telegram refused an edit because it changes nothing.
func isSame(e *channel.Error) bool { return strings.Contains(e.Said, "message is not modified") }
