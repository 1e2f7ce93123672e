// Package handoff defines what agents hand to each other in machine-readable form: the structured payload beside a message's free text.
// It is pure. The types, their rules and the Korean texts are those of the original gateway. An invalid payload is dropped with a warning, and the free
// text is sent alone.
package handoff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Type is the purpose of a payload.
type Type string

const (
	TaskDelegation Type = "task_delegation"
	StatusReport   Type = "status_report"
	Question       Type = "question"
	Answer         Type = "answer"
)

// MaxPayload is the maximum size of a payload, in bytes.
const MaxPayload = 32 << 10

// Payload is a valid payload.
type Payload struct {
	Type    Type
	Subject string          // its taskId or questionId
	Status  string          // of a status report
	JSON    json.RawMessage // as given
	Hash    string          // canonical: ignores the order of members and white space
	fields  fields
}

// fields are the members of a payload: strings, booleans, json.Number, lists, objects and nil. The last of duplicate members counts.
type fields map[string]any

// text returns a string member, else "".
func (f fields) text(name string) string {
	s, _ := f[name].(string)
	return s
}

// Parse reads a payload. An invalid one is nil, with warnings in the seed's words; blank text is nil without a warning. Unknown members
// are kept.
func Parse(text string) (p *Payload, warnings []string) {
	if coordination.TrimJS(text) == "" {
		return nil, nil
	}
	if len(text) > MaxPayload {
		return nil, []string{fmt.Sprintf("payloadJson은 %d바이트를 넘을 수 없습니다", MaxPayload)}
	}
	f, warning := read(text)
	if warning != "" {
		return nil, []string{warning}
	}
	t := Type(f.text("type"))
	r, known := rulesOf(t)
	if !known {
		return nil, []string{"알 수 없는 페이로드 타입: " + shown(string(t))}
	}
	if warnings = r.check(f); len(warnings) > 0 {
		return nil, warnings
	}
	return &Payload{Type: t, Subject: f.text(r.subject()), Status: f.text("status"), JSON: json.RawMessage(text), Hash: hash(f), fields: f}, nil
}

// read decodes the members of a payload with a type.
func read(text string) (f fields, warning string) {
	if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
		return nil, "payloadJson이 올바른 JSON이 아닙니다"
	}
	if coordination.TrimJS(text)[0] != '{' {
		return nil, "payloadJson은 JSON 객체여야 합니다"
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	if d.Decode(&f) != nil {
		return nil, "payloadJson이 올바른 JSON이 아닙니다"
	}
	switch t, given := f["type"]; {
	case !given || t == nil:
		return nil, "type 필드가 필요합니다"
	default:
		if _, ok := t.(string); !ok {
			return nil, "type 필드는 문자열이어야 합니다"
		}
	}
	return f, ""
}

// shownType limits an unknown type quoted in a warning, in bytes.
const shownType = 64

// shown shortens a text of an invalid payload for a warning.
func shown(text string) string {
	text = coordination.Mask(text)
	if len(text) <= shownType {
		return text
	}
	return strings.ToValidUTF8(text[:shownType], "") + "..."
}
