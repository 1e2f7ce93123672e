package protocol

import (
	"encoding/json"
	"time"
)

// Supported protocol versions. Clients up to 2026.5.7 speak only 3, those from 2026.5.12 on only 4.
const (
	Oldest = 3
	Newest = 4
)

// Client features, by the version that introduced them.
const (
	SincePages       = 4 // long lists are paged
	SinceOwners      = 4 // owner, creator and creation time of a session
	SinceLeastScopes = 4 // a method needs the least sufficient scope, and a missing scope has its own code
	SinceAdvice      = 4 // a refused handshake gives the exact reason and fix
	SinceHelloAuth   = 4 // hello-ok always says how and as what a client was authorized
)

// Limits of frames. The first ones are the original's, which has none on a frame's structure.
const (
	MaxPayload        = 25 << 20 // of a client's frame
	MaxUnknownPayload = 64 << 10 // of a client's frame before authentication
	MaxBuffered       = 50 << 20 // buffered for one client
	TickInterval      = 30 * time.Second
	HandshakeTime     = 10 * time.Second

	MaxName   = 256     // characters of a request's id and method: both are echoed
	MaxDepth  = 128     // nesting of objects and arrays
	MaxValues = 100_000 // per frame: decoded values take many times the memory of the text
)

// Request is a request frame. Params are nil if absent or null; otherwise JSON in UTF-8 within MaxDepth and MaxValues.
// They share memory with the frame.
type Request struct {
	ID     string
	Method string
	Params json.RawMessage
}

// StateVersion counts changes of the state that an event shows.
type StateVersion struct {
	Presence int64 `json:"presence"`
	Health   int64 `json:"health"`
}

// Error is why a request failed. Clients drop a frame whose error has no code or message.
type Error struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Details    any    `json:"details,omitempty"`
	Retryable  bool   `json:"retryable,omitempty"`
	RetryAfter int64  `json:"retryAfterMs,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Error codes.
const (
	CodeInvalidRequest = "INVALID_REQUEST" // the request is invalid or not allowed
	CodeUnavailable    = "UNAVAILABLE"     // the request is valid but could not be done
	CodeNotPaired      = "NOT_PAIRED"
	CodeForbidden      = "FORBIDDEN" // protocol 4: a scope is missing
)
