package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrNotJSON is the fault of a frame that cannot be parsed, and therefore not be answered.
var ErrNotJSON = errors.New("the frame is no JSON")

// FrameError is the fault of a frame that is no valid request.
type FrameError struct {
	ID     string // the frame's id; "invalid" if it has no usable one
	Reason string // in the original's words, all faults at once
}

func (e *FrameError) Error() string { return "invalid request frame: " + e.Reason }

// Answer is the error sent to the client.
func (e *FrameError) Answer() *Error { return &Error{Code: CodeInvalidRequest, Message: e.Error()} }

// noID is the id in the answer to a frame without one.
const noID = "invalid"

// ParseRequest parses a client's frame: {type: "req", id, method, params?}, and from clients of protocol 4 traceparent
// and expectedProfileId, which are ignored; no other member. The last of duplicate members counts. Invalid UTF-8 is
// replaced. An error is ErrNotJSON or a *FrameError.
func ParseRequest(text []byte) (Request, error) {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if !json.Valid(text) {
		return Request{}, ErrNotJSON
	}
	if at := space(text, 0); text[at] != '{' {
		return Request{}, &FrameError{noID, "must be object"}
	}
	var kind, id, method, params []byte
	var others []string
	for name, value := range members(text) {
		switch name {
		case "type":
			kind = value
		case "id":
			id = value
		case "method":
			method = value
		case "params":
			params = value
		case "traceparent", "expectedProfileId":
		default:
			if len(others) <= maxFaults && !slices.Contains(others, name) {
				others = append(others, name)
			}
		}
	}
	var reasons []string
	for _, m := range []struct {
		name  string
		value []byte
	}{{"type", kind}, {"id", id}, {"method", method}} {
		if m.value == nil {
			reasons = append(reasons, missing(m.name))
		}
	}
	for _, name := range others {
		reasons = append(reasons, unexpected("", name))
	}
	if kind != nil && textOf(kind) != "req" {
		if kind[0] != '"' {
			reasons = append(reasons, "at /type: must be string")
		}
		reasons = append(reasons, "at /type: must be equal to constant")
	}
	name, fault := nameOf("/id", id)
	reasons = append(reasons, fault...)
	r := Request{ID: name, Params: params}
	if fault != nil || id == nil {
		r.ID = noID
	}
	r.Method, fault = nameOf("/method", method)
	reasons = append(reasons, fault...)
	if bytes.Equal(params, []byte("null")) {
		r.Params = nil
	}
	depth, values := measure(text)
	if depth > MaxDepth {
		reasons = append(reasons, "must NOT be nested deeper than "+strconv.Itoa(MaxDepth)+" levels")
	}
	if values > MaxValues {
		reasons = append(reasons, "must NOT have more than "+strconv.Itoa(MaxValues)+" values")
	}
	if len(reasons) > 0 {
		return Request{}, &FrameError{r.ID, joined(reasons)}
	}
	return r, nil
}

func nameOf(at string, literal []byte) (name string, fault []string) {
	switch {
	case literal == nil:
		return "", nil
	case literal[0] != '"':
		return "", []string{"at " + at + ": must be string"}
	}
	name = textOf(literal)
	switch {
	case name == "":
		return "", []string{"at " + at + ": " + tooShort("characters", 1)}
	case utf8.RuneCountInString(name) > MaxName:
		return "", []string{"at " + at + ": " + tooLong("characters", MaxName)}
	}
	return name, nil
}

// maxFaults is how many faults of one request are reported; the original reports all.
const maxFaults = 20

func joined(faults []string) string {
	if len(faults) > maxFaults {
		return strings.Join(faults[:maxFaults], "; ") + "; and more"
	}
	return strings.Join(faults, "; ")
}

func missing(member string) string { return "must have required property '" + member + "'" }

func unexpected(at, member string) string {
	switch {
	case strings.TrimSpace(member) != "":
	case at == "":
		return "must NOT have additional properties"
	default:
		return "at " + at + ": must NOT have additional properties"
	}
	if at == "" {
		at = "root"
	}
	return "at " + at + ": unexpected property '" + shortened(member) + "'"
}

func tooShort(what string, limit int) string {
	return "must NOT have fewer than " + strconv.Itoa(limit) + " " + what
}

func tooLong(what string, limit int) string {
	return "must NOT have more than " + strconv.Itoa(limit) + " " + what
}

func shortened(text string) string {
	const most = 64
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
