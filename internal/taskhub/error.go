package taskhub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Error says why Task-Hub did not fulfil a request.
type Error struct {
	Status  int           // HTTP status; 0: it was not reached, or its answer could not be read
	Text    string        // its message, one line, without secrets
	After   time.Duration // its Retry-After, 0 for none
	Address string        // scheme, host and path; without a query
	Err     error         // underlying error, nil if it has answered
}

var (
	errRedirect = errors.New("redirect refused")
	errLong     = errors.New("its answer is too long")
	errForm     = errors.New("its answer is not JSON")
	errAddress  = errors.New("not a valid address")
	errSegment  = errors.New("not a valid id")
)

func (e *Error) Error() string {
	text := "Task-Hub"
	if e.Address != "" {
		text += " " + e.Address
	}
	if e.Status != 0 {
		text += fmt.Sprintf(": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// RetryAfter returns how long Task-Hub asks to wait, 0 if it does not.
func (e *Error) RetryAfter() time.Duration { return e.After }

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case 0:
		return !errors.Is(e.Err, errSegment)
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status < 400 || e.Status > 499
}

// Unreadable reports whether the answer is not from Task-Hub as expected: not JSON, or too long.
func (e *Error) Unreadable() bool { return errors.Is(e.Err, errForm) || errors.Is(e.Err, errLong) }

// why says in one line what kept Task-Hub from answering, without the address, which may contain secrets.
func (c *Client) why(ctx context.Context, err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "the request was cancelled"
	case ctx.Err() != nil:
		return "no answer in time"
	case errors.Is(err, errRedirect):
		return "it redirects to another server"
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer within %s", c.o.Timeout)
	}
	return "no answer: " + oneLine(cause(err).Error())
}

// cause returns an HTTP client's error without the address.
func cause(err error) error {
	if u, is := errors.AsType[*url.Error](err); is {
		return u.Err
	}
	return err
}

// maxAfter is the longest Retry-After that is accepted.
const maxAfter = 24 * time.Hour

// refusal returns the error of an unsuccessful answer.
func (c *Client) refusal(a *Answer) *Error {
	return &Error{Status: a.Status, Text: oneLine(withoutCookie(messageOf(a), a.cookie)), After: c.after(a.Header.Get("Retry-After")), Address: a.address}
}

// after parses a Retry-After: seconds, or a date.
func (c *Client) after(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(c.o.Now()), 0), maxAfter)
	}
	return 0
}

// messageOf returns the reason in an unsuccessful answer: error or message of an object, or its text. HTML pages are
// ignored.
func messageOf(a *Answer) string {
	body := bytes.TrimSpace(a.Body)
	var object struct {
		Error   json.RawMessage
		Message json.RawMessage
	}
	if json.Unmarshal(body, &object) == nil {
		for _, raw := range []json.RawMessage{object.Error, object.Message} {
			var text string
			var inner struct{ Message string }
			if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &inner) == nil {
				text = inner.Message
			}
			if text != "" {
				return text
			}
		}
		return ""
	}
	if len(body) == 0 || body[0] == '<' || strings.Contains(a.Header.Get("Content-Type"), "html") {
		return ""
	}
	return string(body)
}

// maxText bounds how much of Task-Hub's messages is repeated, in bytes.
const maxText = 300

// oneLine returns the start of a text as one printable line.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), 4*maxText)], "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}

// minValue is the least length in bytes of a cookie value that is masked: shorter ones occur in ordinary words.
const minValue = 4

// withoutCookie masks the sent cookie in an answer.
func withoutCookie(text, cookie string) string {
	if cookie == "" {
		return text
	}
	text = strings.ReplaceAll(text, cookie, "***")
	for pair := range strings.SplitSeq(cookie, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if value == "" {
			value = name
		}
		if len(value) >= minValue {
			text = strings.ReplaceAll(text, value, "***")
		}
	}
	return text
}
