package sessions

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// eventData is what the fold reads of an event's data. A missing member or one of another type is blank.
type eventData struct {
	sessionKey, parent, sessionID, reason string
	kept                                  bool // transcriptKept
	internal                              bool

	set   map[string]json.RawMessage
	unset []string

	author, text, by, runID        string
	provider, model, stopReason    string
	usage                          *usage
	channel, to, account, threadID string
}

type usage struct {
	input, output, total, cacheRead, cacheWrite int64
	cost                                        *[5]int64 // nil: unknown
}

// streamPrefix is the prefix of the names of sessions' streams.
const streamPrefix = "session/"

// read parses an event's data. For a redacted one the stream still identifies the session.
func read(e *projections.Event) *eventData {
	var d eventData
	if e.Redacted() {
		d.sessionKey = strings.TrimPrefix(e.Stream, streamPrefix)
		return &d
	}
	_ = coordination.EachField(e.Data, func(name string, raw []byte) bool { // the store accepts only objects
		switch name {
		case "internal":
			d.internal = string(raw) == "true"
		case "transcriptKept":
			d.kept = string(raw) == "true"
		case "set":
			d.set = readObject(raw)
		case "unset":
			if json.Unmarshal(raw, &d.unset) != nil {
				d.unset = nil
			}
		case "usage":
			d.usage = readUsage(raw)
		default:
			if text := d.member(name); text != nil {
				*text, _ = coordination.StringValue(raw)
			}
		}
		return true
	})
	if !isID(d.sessionID) {
		d.sessionID = ""
	}
	return &d
}

// member returns the destination for a text of that name, or nil.
func (d *eventData) member(name string) *string {
	switch name {
	case "sessionKey":
		return &d.sessionKey
	case "parentSessionKey":
		return &d.parent
	case "sessionId":
		return &d.sessionID
	case "reason":
		return &d.reason
	case "author":
		return &d.author
	case "text":
		return &d.text
	case "by":
		return &d.by
	case "runId":
		return &d.runID
	case "provider":
		return &d.provider
	case "model":
		return &d.model
	case "stopReason":
		return &d.stopReason
	case "channel":
		return &d.channel
	case "to":
		return &d.to
	case "accountId":
		return &d.account
	case "threadId":
		return &d.threadID
	}
	return nil
}

// readObject parses an object into its members, nil for anything else.
func readObject(raw []byte) map[string]json.RawMessage {
	object := map[string]json.RawMessage{}
	if coordination.EachField(raw, func(name string, value []byte) bool {
		object[name] = value
		return true
	}) != nil {
		return nil
	}
	return object
}

// maxCount is the largest number of tokens that is accepted; JSON numbers are exact up to there.
const maxCount = 1 << 53

func readUsage(raw []byte) *usage {
	var u usage
	if coordination.EachField(raw, func(name string, value []byte) bool {
		if name == "cost" {
			u.cost = readCost(value)
		} else if n := u.count(name); n != nil {
			count, _ := coordination.NumberValue(value)
			*n = int64(min(max(count, 0), maxCount))
		}
		return true
	}) != nil {
		return nil
	}
	return &u
}

// count returns the destination for a number of that name, or nil.
func (u *usage) count(name string) *int64 {
	switch name {
	case "input":
		return &u.input
	case "output":
		return &u.output
	case "total":
		return &u.total
	case "cacheRead":
		return &u.cacheRead
	case "cacheWrite":
		return &u.cacheWrite
	}
	return nil
}

// isID reports whether text can be the name of a transcript.
func isID(text string) bool {
	return len(text) <= coordination.MaxKeyPart && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar
	})
}
