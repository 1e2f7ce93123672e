package eventstore

import (
	"encoding/json"
	"fmt"
)

// Upcasters convert the data of older events to the current shape, so that readers know one shape only. They are
// applied when events are read to be folded or shown; what is stored, hashed, verified and exported stays as it was
// written.
//
// They list the steps by type: the first converts version 1 to version 2, and so on. A step is pure: the same data
// must give the same result forever, because the log is replayed. It may share memory with its argument, but must not
// change it.
type Upcasters map[string][]func(data json.RawMessage) (json.RawMessage, error)

// Version is the newest known version of a type's data: 1 for a type without steps.
func (u Upcasters) Version(typ string) int { return len(u[typ]) + 1 }

// Lift returns e with its data in the newest known version. It returns e itself if its data has that version or was
// removed, or if e was imported: then its data has the shape of another producer, whatever Ver says.
//
// With an error, e is returned as it is stored; the error should be reported and must not stop a reader: a
// *VersionError for data of a version that a newer openclawd wrote, or the error of a step.
func (u Upcasters) Lift(e *Event) (*Event, error) {
	steps := u[e.Type]
	known := len(steps) + 1
	switch {
	case e.Ver == known || e.Redacted() || e.Actor == ActorImport:
		return e, nil
	case e.Ver > known:
		return e, &VersionError{Seq: e.Seq, Type: e.Type, Ver: e.Ver, Known: known}
	}
	data := e.Data
	for ver := max(e.Ver, 1); ver < known; ver++ {
		lifted, err := steps[ver-1](data)
		if err != nil {
			return e, fmt.Errorf("read event %d: %s of version %d as %d: %w", e.Seq, clip(e.Type), ver, ver+1, err)
		}
		data = lifted
	}
	lifted := *e
	lifted.Ver, lifted.Data = known, data
	return &lifted, nil
}

// VersionError says that an event's data has a version that this binary does not know.
type VersionError struct {
	Seq   int64 // 0: it is not stored yet
	Type  string
	Ver   int
	Known int // newest version known to this binary
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("event %d: %s has data of version %d; this binary knows up to %d and reads it unchanged", e.Seq, clip(e.Type), e.Ver, e.Known)
}
func (e *VersionError) Code() string { return "event_version" }
func (e *VersionError) Hint() string { return "run the newer openclawd that wrote this event" }
