package ndjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

// MaxLineBytes is the longest line that is read: the largest event, plus its envelope.
const MaxLineBytes = eventstore.MaxDataBytes + 1<<20

// Line is a parsed line of a log.
type Line struct {
	Blank bool
	Event eventstore.NewEvent
	// Exported is set instead of Event for a line of a full export: the event as it was stored.
	Exported *eventstore.Event
}

// ParseLine parses one line, with or without its line end. The result may share the memory of line.
//
// A line is an event if it is a JSON object whose "type" is a string that is not blank. Keys are case-sensitive, and
// the last of equal ones counts. Invalid UTF-8 is read as U+FFFD, lone surrogate escapes stay as they are written. The
// event has Actor import and
//
//   - Type and AgentID trimmed; no AgentID if it is not a string, holds a NUL or exceeds eventstore.MaxAgentBytes;
//   - TS from timestampMs, else ts (each a number or a numeric string), else timestamp (a written date, UTC if it
//     names no zone), fractions floored; none, which means the store's clock, if all are missing, 0 or unusable;
//   - Data as it is written (without its line breaks), or {} if it is not an object;
//   - ID if the line has an "id" that is a UUID;
//   - Original nil if {type, agentId, ts, data} contain all that the line says, apart from an accepted id; else the
//     line's object, without data if that was an object, and without the accepted id.
func ParseLine(line []byte) (Line, *Rejection) {
	line = trimLine(line)
	if len(line) == 0 {
		return Line{Blank: true}, nil
	}
	parsed, reason := parse(decode(line))
	if reason != "" {
		return Line{}, reject(reason, line)
	}
	return parsed, nil
}

func trimLine(line []byte) []byte { return bytes.TrimFunc(line, isSpace) }

// parse parses a line that is trimmed, not empty and valid UTF-8.
func parse(text []byte) (Line, Reason) {
	switch {
	case len(text) > MaxLineBytes:
		return Line{}, TooLong
	case !json.Valid(text):
		return Line{}, whyInvalid(text)
	case text[0] != '{':
		return Line{}, NotObject
	}
	r := readRecord(text)
	if r.has(fieldSeq, fieldHash, fieldDataHash) {
		if e, ok := ReadFull(text); ok {
			return Line{Exported: e}, ""
		}
	}
	e, reason := r.event()
	return Line{Event: e}, reason
}

func whyInvalid(text []byte) Reason {
	if bytes.IndexByte(text, 0) >= 0 {
		return HasNUL
	}
	if _, depth := skipValue(text, 0); depth > eventstore.MaxDepth {
		return TooDeep // encoding/json stops at 10,000 levels
	}
	return NotJSON
}

// event applies the rules that ParseLine states.
func (r *record) event() (eventstore.NewEvent, Reason) {
	typ, exactType, _ := unquoteTrimmed(r.value(fieldType), trimType)
	switch {
	case typ == "":
		return eventstore.NewEvent{}, NoType
	case strings.IndexByte(typ, 0) >= 0:
		return eventstore.NewEvent{}, TypeNUL
	case len(typ) > eventstore.MaxTypeBytes:
		return eventstore.NewEvent{}, TypeTooLong
	}
	agentID, exactAgent, _ := unquoteTrimmed(r.value(fieldAgentID), trimAgent)
	if len(agentID) > eventstore.MaxAgentBytes || strings.IndexByte(agentID, 0) >= 0 {
		agentID, exactAgent = "", false
	}
	ts, exactTS, hasTS := r.instant()

	e := eventstore.NewEvent{ID: r.id(), Type: typ, AgentID: agentID, Actor: eventstore.ActorImport, Data: json.RawMessage("{}")}
	if hasTS {
		e = e.WithTS(ts)
	}
	hasData := isObject(r.value(fieldData))
	if hasData {
		e.Data = oneLine(r.value(fieldData))
	}
	needed := 4 // type, agentId, ts, data
	if !e.ID.IsZero() {
		needed++
	}
	if !(exactType && exactAgent && exactTS && hasData && len(r.members) == needed) {
		e.Original = r.without(hasData, !e.ID.IsZero())
	}
	switch {
	case len(e.Data)+len(e.Original) > eventstore.MaxDataBytes:
		return eventstore.NewEvent{}, TooLong
	case r.tooDeep(hasData, e.Original != nil):
		return eventstore.NewEvent{}, TooDeep
	}
	return e, ""
}

// tooDeep reports whether a store would refuse the nesting of the data or of the rest.
func (r *record) tooDeep(hasData, keepsRest bool) bool {
	if hasData && r.members[r.last[fieldData]-1].depth > eventstore.MaxDepth {
		return true
	}
	return keepsRest && slices.ContainsFunc(r.members, func(m member) bool {
		return m.depth >= eventstore.MaxDepth && !(hasData && m.field == fieldData)
	})
}

func trimAgent(s string) string { return strings.TrimFunc(s, isSpace) }

// id is the record's own id, or zero if it has none that is valid for an event.
func (r *record) id() eventstore.ID {
	s, _ := unquote(r.value(fieldID))
	id, err := eventstore.ParseID(s)
	if err != nil {
		return eventstore.ID{}
	}
	return id
}

// without returns the record on one line, without its data or the accepted id.
func (r *record) without(data, id bool) json.RawMessage {
	object := []byte{'{'}
	for i, m := range r.members {
		if data && m.field == fieldData || id && i+1 == r.last[fieldID] {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(object, m.key...)
		object = append(object, ':')
		object = append(object, m.value...)
	}
	return oneLine(append(object, '}'))
}

// oneLine removes the line breaks of a valid JSON text, where they can only be insignificant whitespace.
func oneLine(text []byte) json.RawMessage {
	if !hasLineBreak(text) {
		return text
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		panic("ndjson: valid JSON that cannot be compacted: " + err.Error())
	}
	return b.Bytes()
}
