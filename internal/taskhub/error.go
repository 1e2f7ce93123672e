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

// Error says why Task-Hub did not do what it was asked for.
type Error struct {
	Status  int           // of HTTP; 0: it was not reached, or its answer could not be read
	Text    string        // what it says, one line, without secrets
	After   time.Duration // that it asks to wait, 0 if it does not
	Address string        // scheme, host and path; without a query
	Err     error         // what went wrong below, nil where it has answered
}

var (
	errRedirect = errors.New("redirect refused")
	errLong     = errors.New("its answer is too long")
	errForm     = errors.New("its answer is no JSON")
	errAddress  = errors.New("not an address")
	errSegment  = errors.New("not an id")
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

// RetryAfter is how long Task-Hub asks to wait, 0 if it does not.
func (e *Error) RetryAfter() time.Duration { return e.After }

// Passing reports whether the same request may go right later.
func (e *Error) Passing() bool {
	switch e.Status {
	case 0:
		return !errors.Is(e.Err, errSegment)
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status < 400 || e.Status > 499
}

// Unreadable reports whether something has answered that is not Task-Hub as it should be: what it says is no JSON, or too long.
func (e *Error) Unreadable() bool { return errors.Is(e.Err, errForm) || errors.Is(e.Err, errLong) }

// why says in a line what kept Task-Hub from answering, without the address, which may hold more than it should.
func (c *Client) why(ctx context.Context, err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "nobody waits for its answer any more"
	case ctx.Err() != nil:
		return "no answer in time"
	case errors.Is(err, errRedirect):
		return "it redirects to where it is not asked"
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer within %s", c.o.Timeout)
	}
	return "no answer: " + oneLine(cause(err).Error())
}

// cause is an error of an HTTP client without the address.
func cause(err error) error {
	if u, is := errors.AsType[*url.Error](err); is {
		return u.Err
	}
	return err
}

// maxAfter is the longest wait that is believed.
const maxAfter = 24 * time.Hour

// refusal is what an answer without success comes to.
func (c *Client) refusal(a *Answer) *Error {
	return &Error{Status: a.Status, Text: oneLine(withoutCookie(said(a), a.cookie)), After: c.after(a.Header.Get("Retry-After")), Address: a.address}
}

// after reads a Retry-After: seconds, or a date.
func (c *Client) after(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(c.o.Now()), 0), maxAfter)
	}
	return 0
}

// said is why an answer says that it is none: error or message of an object, or the text. A page for people says nothing here.
func said(a *Answer) string {
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

// maxText bounds what is told of what Task-Hub says, in bytes.
const maxText = 300

// oneLine is the beginning of a text, in one line that can be shown.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), 4*maxText)], "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}

// minValue is from how many bytes on the value of a cookie is not shown: shorter ones stand in every other word.
const minValue = 4

// withoutCookie takes the cookie that was sent out of what came back.
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
