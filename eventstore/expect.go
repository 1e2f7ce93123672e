package eventstore

import "fmt"

// Expect is a precondition on the version of a stream. The zero value expects nothing.
type Expect struct {
	kind    expectKind
	version int64
}

type expectKind uint8

const (
	expectAny expectKind = iota
	expectNone
	expectExists
	expectExact
)

// Any expects nothing.
func Any() Expect { return Expect{} }

// NoStream expects that the stream has no event.
func NoStream() Expect { return Expect{kind: expectNone} }

// Exists expects that the stream has at least one event.
func Exists() Expect { return Expect{kind: expectExists} }

// Exactly expects that the stream is at version; Exactly(0) is NoStream.
func Exactly(version int64) Expect { return Expect{kind: expectExact, version: version} }

// Holds reports whether a stream at version actual (0: no event yet) meets the expectation.
func (x Expect) Holds(actual int64) bool {
	switch x.kind {
	case expectNone:
		return actual == 0
	case expectExists:
		return actual > 0
	case expectExact:
		return actual == x.version
	default:
		return true
	}
}

func (x Expect) String() string {
	switch x.kind {
	case expectNone:
		return "no stream"
	case expectExists:
		return "an existing stream"
	case expectExact:
		return fmt.Sprintf("version %d", x.version)
	default:
		return "anything"
	}
}
