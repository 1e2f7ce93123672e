package eventstore

import (
	"encoding/json"
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

// Limits of one event. They bound what a single append can cost, not what a log can hold.
const (
	MaxDataBytes   = 16 << 20 // Data and Original together
	MaxTypeBytes   = 256
	MaxStreamBytes = 256
	MaxAgentBytes  = 16 << 10
	MaxRefBytes    = 1 << 10 // CorrelationID, CausationID
	MaxDepth       = 500     // nesting of Data and of Original; SQLite's JSON functions end at 1000
)

// NewEvent is an event that has not been stored.
type NewEvent struct {
	ID            ID     // zero: the store makes one. Set it to make a retry idempotent.
	Type          string // required, without surrounding space
	Ver           int    // version of the shape of Data; 0 means 1
	AgentID       string // who it happened to; may be empty on imported lines
	TS            int64  // when it happened, ms since 1970; 0: the store's clock
	CorrelationID string // the exchange it belongs to, usually a conversation id
	CausationID   string // the id of the event that caused it
	Actor         Actor  // empty means system
	Data          json.RawMessage
	// Original is the envelope of an imported line, kept only where Type, AgentID, TS and Data cannot reproduce that line. It is a
	// JSON object, without "data" when the line's data was an object (that is in Data then).
	Original json.RawMessage

	hasTS bool
}

// WithTS returns e with its time set, also when ms is 0: 1970 is a time that imported lines claim.
func (e NewEvent) WithTS(ms int64) NewEvent {
	e.TS, e.hasTS = ms, true
	return e
}

// HasTS reports whether the event names its own time.
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
	RecordedAt    int64 // ms since 1970, when it was stored; never decreases along Seq
	CorrelationID string
	CausationID   string
	Actor         Actor
	Data          json.RawMessage // JSON object; nil once redacted
	Original      json.RawMessage // see NewEvent
	Salt          []byte          // 16 bytes; nil once redacted
	DataHash      Hash            // SHA-256 of salt, data and original
	Hash          Hash            // chain: see ChainHash
}

// Redacted reports whether the event's payload has been blanked. Its place in the log and in the chain remains.
func (e *Event) Redacted() bool { return e.Data == nil }
