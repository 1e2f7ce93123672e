package collaborate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// trimmed removes from the request what Discord itself would remove.
func (r Request) trimmed() Request {
	for _, field := range []*string{&r.From, &r.Target, &r.Message, &r.ThreadID, &r.ChannelID, &r.ThreadName, &r.AccountID, &r.Key} {
		*field = coordination.TrimJS(*field)
	}
	return r
}

// valid returns what is wrong with the request itself, nil if nothing is.
func (r *Request) valid() *Refusal {
	for _, f := range []struct{ name, value string }{{"from", r.From}, {"targetAgent", r.Target}} {
		if f.value == "" {
			return invalid(f.name, "", "is missing", "name an agent")
		}
	}
	if r.Message == "" {
		return invalid("message", "", "is empty", "write a message for the other agent")
	}
	if !utf8.ValidString(r.Message) {
		return invalid("message", "", "is not UTF-8", "use UTF-8")
	}
	if n := utf8.RuneCountInString(r.Message); n > MaxMessage {
		return invalid("message", fmt.Sprint(n), fmt.Sprintf("has %d characters; at most %d are allowed", n, MaxMessage),
			"shorten it, or send it in parts with the same threadId")
	}
	for _, f := range []struct {
		name, value string
		most        int
	}{{"from", r.From, MaxID}, {"targetAgent", r.Target, MaxID}, {"threadId", r.ThreadID, MaxID}, {"channelId", r.ChannelID, MaxID},
		{"accountId", r.AccountID, MaxID}, {"idempotencyKey", r.Key, MaxID}, {"threadName", r.ThreadName, 4 * MaxMessage}} {
		switch {
		case len(f.value) > f.most:
			return invalid(f.name, coordination.Head(f.value, MaxTopic), fmt.Sprintf("has %d bytes; at most %d are allowed", len(f.value), f.most), "shorten it")
		case f.name != "threadName" && strings.ContainsFunc(f.value, unicode.IsControl):
			return invalid(f.name, "", "has control characters", "remove them")
		}
	}
	return nil
}

// invalid refuses a field of the request.
func invalid(field, value, fault, hint string) *Refusal {
	text := field + " " + fault
	if value != "" {
		text = fmt.Sprintf("%s %q %s", field, value, fault)
	}
	return &Refusal{Reason: CodeInvalid, Field: field, Value: value, Text: text, HintText: hint}
}
