// Package handoff says what agents hand to each other in a form that programs read: the structured payload beside a message's free text.
// It is pure. The types, their rules and the Korean texts are those of seed 002; where a payload keeps none of the rules, the free text
// goes on alone, and the reason is told.
package handoff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Type is what a payload is for.
type Type string

const (
	TaskDelegation Type = "task_delegation"
	StatusReport   Type = "status_report"
	Question       Type = "question"
	Answer         Type = "answer"
)

// MaxPayload is how many bytes a payload has at most.
const MaxPayload = 32 << 10

// Payload is one that keeps the rules of its type.
type Payload struct {
	Type    Type
	Subject string          // its taskId or questionId
	Status  string          // of a status report
	JSON    json.RawMessage // as it was given
	Hash    string          // of what it says: the same for members in another order and other white space
	fields  fields
}

// fields are the members of a payload: texts, flags, json.Number, lists, objects and nil. Of members with one name the last counts.
type fields map[string]any

// text is a member that is a text, else "".
func (f fields) text(name string) string {
	s, _ := f[name].(string)
	return s
}

// Parse reads a payload. One that keeps not all rules of its type is nil, and warnings say why in the words of the seed; text that is blank
// is no payload and no reason to warn. Members that the type does not know are kept.
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

// read reads the members of a payload that has a type.
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

// shownType is how many bytes of a type that there is not are told.
const shownType = 64

// shown is a text of a payload that is refused, as a warning has it.
func shown(text string) string {
	text = coordination.Mask(text)
	if len(text) <= shownType {
		return text
	}
	return strings.ToValidUTF8(text[:shownType], "") + "..."
}
