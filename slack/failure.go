package slack

import (
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

// maxSaid is how many characters of Slack's text an error keeps.
const maxSaid = 300

// said is what every answer of the Web API has.
type said struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Needed string `json:"needed"`
	More   struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
}

// failed classifies the outcome of a request; nil is success. Slack answers with 200 and says in a word what is wrong.
func failed(ctx context.Context, deed, account, place string, a answer, err error) *channel.Error {
	e := &channel.Error{Deed: deed, AccountID: account, PlaceID: place, Err: err}
	var s said
	switch {
	case err != nil:
		var timeout interface{ Timeout() bool }
		e.Failure.Unsent = !a.sent
		e.Failure.TimedOut = ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout())
		if ctx.Err() != nil {
			e.Err = ctx.Err()
		}
	case json.Unmarshal(a.body, &s) == nil && s.OK && a.status == http.StatusOK:
		return nil
	case a.status == http.StatusTooManyRequests:
		e.Failure.Status, e.Failure.RetryAfter, e.Said = a.status, retryAfter(a.header), s.Error
	case s.Error == "": // not Slack's form, such as a page during an outage: it may have been executed
		e.Failure.Status = max(a.status, http.StatusBadGateway)
	default:
		e.Failure.Status = statusOf(a.status, s.Error)
		e.Said = coordination.Head(strings.ToValidUTF8(s.describe(), ""), maxSaid)
	}
	e.Class = collaborate.Classify(e.Failure)
	e.Hint = hintOf(e.Class, account, &s)
	return e
}

// wrongKind explains a token that Slack knows but does not take.
const wrongKind = "the token is of another kind: botToken begins with xoxb-, appToken with xapp-"

func (s *said) describe() string {
	text := s.Error
	if s.Error == codeTokenType {
		text += ": " + wrongKind
	}
	if s.Needed != "" {
		text += ", needed: " + s.Needed
	}
	if len(s.More.Messages) > 0 {
		text += ": " + strings.Join(s.More.Messages, "; ")
	}
	return text
}

// retryAfter is the delay that Slack requests, at least a second and at most an hour.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 1 {
		return time.Second
	}
	return min(time.Duration(seconds)*time.Second, time.Hour)
}

const codeTokenType = "not_allowed_token_type"

// statuses are the HTTP statuses with the meaning of Slack's words. All others mean that the request was refused.
var statuses = map[string]int{
	"not_authed": http.StatusUnauthorized, "invalid_auth": http.StatusUnauthorized, "account_inactive": http.StatusUnauthorized,
	"token_revoked": http.StatusUnauthorized, "token_expired": http.StatusUnauthorized, codeTokenType: http.StatusUnauthorized,

	"missing_scope": http.StatusForbidden, "no_permission": http.StatusForbidden, "not_in_channel": http.StatusForbidden,
	"is_archived": http.StatusForbidden, "restricted_action": http.StatusForbidden, "restricted_action_read_only_channel": http.StatusForbidden,
	"restricted_action_thread_only_channel": http.StatusForbidden, "restricted_action_thread_locked": http.StatusForbidden,
	"cant_update_message": http.StatusForbidden, "cant_delete_message": http.StatusForbidden, "access_denied": http.StatusForbidden,
	"ekm_access_denied": http.StatusForbidden, "edit_window_closed": http.StatusForbidden, "user_not_in_channel": http.StatusForbidden,

	"channel_not_found": http.StatusNotFound, "message_not_found": http.StatusNotFound, "thread_not_found": http.StatusNotFound,
	"user_not_found": http.StatusNotFound, "file_not_found": http.StatusNotFound, "expired_url": http.StatusNotFound, "used_url": http.StatusNotFound,

	"ratelimited": http.StatusTooManyRequests, "rate_limited": http.StatusTooManyRequests,

	// Slack says of these that some of the request may have been done.
	"fatal_error": http.StatusInternalServerError, "internal_error": http.StatusInternalServerError,
	"service_unavailable": http.StatusServiceUnavailable, "request_timeout": http.StatusGatewayTimeout,
}

func statusOf(status int, code string) int {
	if known := statuses[code]; known != 0 {
		return known
	}
	if status >= http.StatusInternalServerError {
		return status
	}
	return http.StatusBadRequest
}

const tokenHint = "copy the tokens from the app's pages at https://api.slack.com/apps to channels.slack.accounts.%s: botToken (xoxb-) from " +
	"OAuth & Permissions, appToken (xapp-) from Basic Information"

// hints are what to do about refusals, by Slack's words.
var hints = map[string]string{
	"not_in_channel":      "invite the app to the channel: /invite @app",
	"channel_not_found":   "check the channel's id, and invite the app to it: /invite @app",
	"is_archived":         "take the channel out of the archive",
	"message_not_found":   "the message no longer exists",
	"thread_not_found":    "the thread's first message no longer exists",
	"msg_too_long":        "use less text",
	"cant_update_message": "only the app's own messages can be changed",
	"expired_url":         "an interaction can be answered for 30 minutes, five times",
	"used_url":            "an interaction can be answered for 30 minutes, five times",
}

// hintOf returns a hint for a failure.
func hintOf(c collaborate.Class, account string, s *said) string {
	if s.Error == "missing_scope" {
		return scopeHint(s.Needed)
	}
	if hint := hints[s.Error]; hint != "" {
		return hint
	}
	switch c {
	case collaborate.ClassUnauthorized:
		return fmt.Sprintf(tokenHint, account)
	case collaborate.ClassUnavailable, collaborate.ClassTimeout:
		return "see https://slack-status.com; it is retried"
	case collaborate.ClassUnsent:
		return "check that this machine can reach slack.com"
	}
	return ""
}

func scopeHint(scopes string) string {
	return fmt.Sprintf("add the bot token scope %s under OAuth & Permissions of the app, and install the app again", scopes)
}

// unreadable is the error of an answer in another form: the request was executed.
func unreadable(deed, account, place string, err error) *channel.Error {
	return &channel.Error{Deed: deed, AccountID: account, PlaceID: place, Class: collaborate.Classify(collaborate.Failure{}),
		Err: fmt.Errorf("read Slack's answer: %w", err)}
}
