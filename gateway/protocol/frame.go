package protocol

import (
	"encoding/json"
	"time"
)

// Versions of the protocol that are spoken. Clients up to 2026.5.7 speak 3 only, those from 2026.5.12 on 4 only.
const (
	Oldest = 3
	Newest = 4
)

// What clients know, by the version from which on they do.
const (
	SincePages       = 4 // long lists come in pages
	SinceOwners      = 4 // whose a session is, who began it and when
	SinceLeastScopes = 4 // a method takes the least scope that will do, and a missing one is told as such
	SinceAdvice      = 4 // a refusal at the door says exactly why, and what to do about it
	SinceHelloAuth   = 4 // hello-ok always says how a client was let in, and as what
)

// Limits of the wire. The first ones are those of the original; it has none for how a frame is built.
const (
	MaxPayload        = 25 << 20 // of a frame that a client sends
	MaxUnknownPayload = 64 << 10 // of one that it sends before it is let in
	MaxBuffered       = 50 << 20 // waiting for one client
	TickInterval      = 30 * time.Second
	HandshakeTime     = 10 * time.Second

	MaxName   = 256     // characters of the id of a request, and of its method: both are told again in answers
	MaxDepth  = 128     // objects and arrays in each other
	MaxValues = 100_000 // in one frame: what is decoded takes many times the room of its text
)

// Request is a frame that asks for something. Params are nil where the frame has none, or null; otherwise they are JSON in UTF-8, no deeper
// than MaxDepth and with no more than MaxValues values. They share memory with the frame.
type Request struct {
	ID     string
	Method string
	Params json.RawMessage
}

// StateVersion counts changes of what an event shows a state of.
type StateVersion struct {
	Presence int64 `json:"presence"`
	Health   int64 `json:"health"`
}

// Error is why a request was not done. Clients drop a frame whose error has no code or no message.
type Error struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Details    any    `json:"details,omitempty"`
	Retryable  bool   `json:"retryable,omitempty"`
	RetryAfter int64  `json:"retryAfterMs,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Codes of errors.
const (
	CodeInvalidRequest = "INVALID_REQUEST" // the request is wrong, or may not be made
	CodeUnavailable    = "UNAVAILABLE"     // it was right, and could not be done
	CodeNotPaired      = "NOT_PAIRED"
	CodeForbidden      = "FORBIDDEN" // of protocol 4: a scope is missing
)
