package eventstore

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Actor says what kind of party caused an event.
type Actor string

const (
	ActorHuman    Actor = "human"
	ActorAgent    Actor = "agent"
	ActorSystem   Actor = "system"
	ActorSchedule Actor = "schedule"
	ActorImport   Actor = "import"
)

// Valid reports whether a is one of the five kinds.
func (a Actor) Valid() bool {
	return slices.Contains([]Actor{ActorHuman, ActorAgent, ActorSystem, ActorSchedule, ActorImport}, a)
}

// Limits of one event. They bound the cost of a single append, not the size of a log.
const (
	MaxDataBytes   = 16 << 20 // Data and Original together
	MaxTypeBytes   = 256
	MaxStreamBytes = 256
	MaxAgentBytes  = 16 << 10
	MaxRefBytes    = 1 << 10 // CorrelationID, CausationID
	MaxDepth       = 500     // nesting of Data and of Original; SQLite's JSON functions accept at most 1000
)

// NewEvent is an event that has not been stored yet.
type NewEvent struct {
	ID            ID     // zero: the store creates one. Set it to make a retry idempotent.
	Type          string // required, without surrounding space
	Ver           int    // version of the shape of Data; 0 means 1
	AgentID       string // the agent concerned; may be empty on imported lines
	TS            int64  // when it happened, ms since 1970; 0: the store's clock
	CorrelationID string // the exchange it belongs to, usually a conversation id
	CausationID   string // the id of the event that caused it
	Actor         Actor  // empty means system
	Data          json.RawMessage
	// Original is the envelope of an imported line, kept only if Type, AgentID, TS and Data cannot reproduce that
	// line. It is a JSON object, without "data" if the line's data was an object (then that is in Data).
	Original json.RawMessage

	hasTS bool
}

// WithTS returns e with its time set, even if ms is 0: imported lines may claim 1970.
func (e NewEvent) WithTS(ms int64) NewEvent {
	e.TS, e.hasTS = ms, true
	return e
}

// With returns e with v, written as JSON, as its data, and with its time set to ms.
func (e NewEvent) With(v any, ms int64) (NewEvent, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return e, fmt.Errorf("write %s: %w", e.Type, err)
	}
	e.Data = text
	return e.WithTS(ms), nil
}

// One appends a single event to a stream, whatever version the stream has: e, with v as its data and ms as its time.
func One(stream string, e NewEvent, v any, ms int64) ([]StreamAppend, error) {
	e, err := e.With(v, ms)
	if err != nil {
		return nil, err
	}
	return []StreamAppend{{Stream: stream, Events: []NewEvent{e}}}, nil
}

// HasTS reports whether the event has an explicit time.
func (e *NewEvent) HasTS() bool { return e.hasTS || e.TS != 0 }

// Event is a stored event. It is immutable; callers must not change its slices.
type Event struct {
	Seq           int64 // position in the log, from 1, without gaps
	ID            ID
	Stream        string // e.g. task/task_ab12, conversation/<uuid>
	Version       int64  // position in the stream, from 1
	Type          string
	Ver           int
	AgentID       string
	TS            int64 // ms since 1970, when it happened; never orders the log
	RecordedAt    int64 // ms since 1970, when it was stored; never decreases with Seq
	CorrelationID string
	CausationID   string
	Actor         Actor
	Data          json.RawMessage // JSON object; nil once redacted
	Original      json.RawMessage // see NewEvent
	Salt          []byte          // 16 bytes; nil once redacted
	DataHash      Hash            // SHA-256 of salt, data and original
	Hash          Hash            // chain: see ChainHash
}

// Envelope is an event without its payload and hashes, as exports and answers have it.
type Envelope struct {
	Seq           int64  `json:"seq"`
	ID            ID     `json:"id"`
	Stream        string `json:"stream"`
	Version       int64  `json:"version"`
	Type          string `json:"type"`
	Ver           int    `json:"ver"`
	AgentID       string `json:"agentId"`
	TS            int64  `json:"ts"`
	RecordedAt    int64  `json:"recordedAt"`
	CorrelationID string `json:"correlationId"`
	CausationID   string `json:"causationId"`
	Actor         Actor  `json:"actor"`
}

// Envelope returns the envelope of the event.
func (e *Event) Envelope() Envelope {
	return Envelope{e.Seq, e.ID, e.Stream, e.Version, e.Type, e.Ver, e.AgentID, e.TS, e.RecordedAt, e.CorrelationID, e.CausationID, e.Actor}
}

// Redacted reports whether the event's payload has been blanked. Its place in the log and in the chain remains.
func (e *Event) Redacted() bool { return e.Data == nil }
