package ndjson

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/pronto-lab/openclawd/eventstore"
)

// exported is a line of a full export. Every member is always present; data, original and salt are null if the event
// has none.
//
// A payload is written byte for byte, because its hash covers the bytes. A payload that contains a line break, or
// begins or ends with space, is therefore written as a JSON string that contains its text. (Above 8 MiB such a string
// may exceed MaxLineBytes and cannot be imported. Producers write data on one line.)
type exported struct {
	eventstore.Envelope
	Data     json.RawMessage `json:"data"`
	Original json.RawMessage `json:"original"`
	Salt     string          `json:"salt"` // hexadecimal
	DataHash eventstore.Hash `json:"dataHash"`
	Hash     eventstore.Hash `json:"hash"`
}

// AppendFull appends e as a line of a full export, without a line break; encoding/json would not preserve the bytes.
func AppendFull(dst []byte, e *eventstore.Event) []byte {
	integer := func(key string, n int64) { dst = strconv.AppendInt(append(dst, key...), n, 10) }
	text := func(key, s string) { dst = appendString(append(dst, key...), s) }

	integer(`{"seq":`, e.Seq)
	text(`,"id":`, e.ID.String())
	text(`,"stream":`, e.Stream)
	integer(`,"version":`, e.Version)
	text(`,"type":`, e.Type)
	integer(`,"ver":`, int64(e.Ver))
	text(`,"agentId":`, e.AgentID)
	integer(`,"ts":`, e.TS)
	integer(`,"recordedAt":`, e.RecordedAt)
	text(`,"correlationId":`, e.CorrelationID)
	text(`,"causationId":`, e.CausationID)
	text(`,"actor":`, string(e.Actor))
	dst = appendPayload(append(dst, `,"data":`...), e.Data)
	dst = appendPayload(append(dst, `,"original":`...), e.Original)
	if e.Salt == nil {
		dst = append(dst, `,"salt":null`...)
	} else {
		text(`,"salt":`, hex.EncodeToString(e.Salt))
	}
	text(`,"dataHash":`, e.DataHash.String())
	text(`,"hash":`, e.Hash.String())
	return append(dst, '}')
}

func appendPayload(dst []byte, payload json.RawMessage) []byte {
	switch {
	case payload == nil:
		return append(dst, "null"...)
	case hasLineBreak(payload) || payload[0] != '{' || payload[len(payload)-1] != '}':
		return appendString(dst, string(payload))
	}
	return append(dst, payload...)
}

// ReadFull parses a line made by AppendFull. ok is false for any other line, also for a record that only resembles one.
// Hashes are returned unchecked: the caller must verify them.
func ReadFull(text []byte) (e *eventstore.Event, ok bool) {
	var x exported
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, false
	}
	e = &eventstore.Event{
		Seq: x.Seq, ID: x.ID, Stream: x.Stream, Version: x.Version, Type: x.Type, Ver: x.Ver, AgentID: x.AgentID, TS: x.TS,
		RecordedAt: x.RecordedAt, CorrelationID: x.CorrelationID, CausationID: x.CausationID, Actor: x.Actor,
		DataHash: x.DataHash, Hash: x.Hash,
	}
	salt, err := hex.DecodeString(x.Salt)
	if err != nil {
		return nil, false
	}
	var okData, okOriginal bool
	e.Data, okData = readPayload(x.Data)
	e.Original, okOriginal = readPayload(x.Original)
	if !okData || !okOriginal {
		return nil, false
	}
	if !e.Redacted() {
		e.Salt = salt
	}
	return e, e.Seq > 0 && e.Version > 0 && !e.ID.IsZero() && storable(e)
}

func readPayload(value json.RawMessage) (payload json.RawMessage, ok bool) {
	if s, isString := unquote(value); isString {
		return json.RawMessage(s), true
	}
	if isObject(value) {
		return value, true
	}
	return nil, value == nil || string(value) == "null"
}

// storable reports whether a store would accept e, ignoring a payload that was removed.
func storable(e *eventstore.Event) bool {
	plain := newEvent(e)
	if e.Redacted() {
		if e.Original != nil {
			return false
		}
		plain.Data = json.RawMessage("{}")
	}
	return (&eventstore.StreamAppend{Stream: e.Stream, Events: []eventstore.NewEvent{plain}}).Check() == nil
}

// newEvent returns e without its place in a log.
func newEvent(e *eventstore.Event) eventstore.NewEvent {
	return eventstore.NewEvent{
		ID: e.ID, Type: e.Type, Ver: e.Ver, AgentID: e.AgentID, CorrelationID: e.CorrelationID, CausationID: e.CausationID,
		Actor: e.Actor, Data: e.Data, Original: e.Original,
	}.WithTS(e.TS)
}
