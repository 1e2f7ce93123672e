package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Response encodes the answer to a request. payload is encoded as JSON, nil as null. A json.RawMessage is trusted to
// be JSON, since it may be large and is ours: only its first and last bytes are checked. Invalid UTF-8 is replaced.
func Response(id string, payload any) ([]byte, error) {
	f := begin("res", "id", orInvalid(id), payload)
	f = append(f, `,"ok":true,"payload":`...)
	f, err := appendJSON(f, payload)
	if err != nil {
		return nil, fmt.Errorf("encode a response: %w", err)
	}
	return append(f, '}'), nil
}

// Failure encodes an error answer, with a payload unless nil. A missing code or message is filled in: clients drop a
// frame without.
func Failure(id string, e *Error, payload any) ([]byte, error) {
	f := begin("res", "id", orInvalid(id), payload)
	f = append(f, `,"ok":false,"error":`...)
	f, err := appendJSON(f, e.complete())
	if err == nil && payload != nil {
		f, err = appendJSON(append(f, `,"payload":`...), payload)
	}
	if err != nil {
		return nil, fmt.Errorf("encode a failure: %w", err)
	}
	return append(f, '}'), nil
}

// Event encodes an event. payload, seq and v are left out if nil. Payloads are handled as in Response.
func Event(name string, payload any, seq *int64, v *StateVersion) ([]byte, error) {
	if name == "" {
		return nil, errors.New("encode an event: it has no name")
	}
	f, err := begin("event", "event", name, payload), error(nil)
	if payload != nil {
		f, err = appendJSON(append(f, `,"payload":`...), payload)
	}
	if seq != nil {
		if *seq < 0 {
			return nil, fmt.Errorf("encode the event %s: seq %d is below 0", name, *seq)
		}
		f = strconv.AppendInt(append(f, `,"seq":`...), *seq, 10)
	}
	if v != nil {
		f = strconv.AppendInt(append(f, `,"stateVersion":{"presence":`...), max(v.Presence, 0), 10)
		f = strconv.AppendInt(append(f, `,"health":`...), max(v.Health, 0), 10)
		f = append(f, '}')
	}
	if err != nil {
		return nil, fmt.Errorf("encode the event %s: %w", name, err)
	}
	return append(f, '}'), nil
}

// complete completes an error so that clients accept it.
func (e *Error) complete() Error {
	if e == nil {
		e = &Error{}
	}
	t := *e
	if t.Code == "" {
		t.Code = CodeUnavailable
	}
	if t.Message == "" {
		t.Message = "the gateway gave no reason"
	}
	t.RetryAfter = max(t.RetryAfter, 0)
	return t
}

// begin starts a frame with room for a payload of about this size.
func begin(kind, member, name string, payload any) []byte {
	const usual = 256
	raw, _ := payload.(json.RawMessage)
	f := append(make([]byte, 0, usual+len(raw)), `{"type":"`...)
	f = append(f, kind...)
	f = append(f, `","`...)
	f = append(f, member...)
	f = append(f, `":`...)
	if isPlain(name) {
		return append(append(append(f, '"'), name...), '"')
	}
	f, _ = appendJSON(f, name) // encoding a string cannot fail
	return f
}

// isPlain reports whether a text needs no escaping in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func orInvalid(id string) string {
	if id == "" {
		return noID
	}
	return id
}

func appendJSON(to []byte, v any) ([]byte, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return appendRaw(to, raw)
	}
	if v == nil {
		return append(to, "null"...), nil
	}
	buffer := bytes.NewBuffer(to)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	if !utf8.Valid(text[len(to):]) { // raw JSON within v
		text = append(to, bytes.ToValidUTF8(text[len(to):], []byte("\uFFFD"))...)
	}
	return text, nil
}

func appendRaw(to []byte, raw json.RawMessage) ([]byte, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return append(to, "null"...), nil
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	whole := false
	switch last := raw[len(raw)-1]; raw[0] {
	case '{':
		whole = last == '}' && len(raw) > 1
	case '[':
		whole = last == ']' && len(raw) > 1
	case '"':
		whole = last == '"' && len(raw) > 1
	default:
		whole = json.Valid(raw)
	}
	if !whole {
		return nil, errors.New("the payload is not one JSON value")
	}
	return append(to, raw...), nil
}
