package eventstore

import (
	"encoding/json"
	"fmt"
)

// Upcasters bring the data of older events into the shape in which it is written today, so that readers know one shape only. They are
// applied when events are read to be folded or shown; what is stored, hashed, verified and exported stays as it was written.
//
// By type they list the steps: the first makes version 2 of version 1, and so on. A step is pure: the same data gives the same result
// for ever, because replaying the log must. It may share memory with its argument, and must not change it.
type Upcasters map[string][]func(data json.RawMessage) (json.RawMessage, error)

// Version is the newest version of a type's data that is known: 1 for a type without steps.
func (u Upcasters) Version(typ string) int { return len(u[typ]) + 1 }

// Lift returns e with its data in the newest known version, or e itself where there is nothing to do: because the data is of that version
// or is gone, or because e was imported, so that its data has the shape that another producer gave it, whatever Ver says.
//
// An error comes with e as it is stored, and is to be reported, never to stop a reader: a *VersionError for data of a version that a newer
// openclawd wrote, or that of a step.
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

// VersionError says that an event's data is of a version that this binary does not know.
type VersionError struct {
	Seq   int64 // 0: it is not stored yet
	Type  string
	Ver   int
	Known int // newest version that this binary knows
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("event %d: %s has data of version %d; this binary knows up to %d and reads it as it is", e.Seq, clip(e.Type), e.Ver, e.Known)
}
func (e *VersionError) Code() string { return "event_version" }
func (e *VersionError) Hint() string { return "run the newer openclawd that wrote this event" }
