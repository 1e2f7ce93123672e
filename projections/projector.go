package projections

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Kind determines what happens when a projector fails.
type Kind string

const (
	// Decision tables are read by commands. A failing one refuses the append.
	Decision Kind = "decision"
	// ReadModel tables are read by queries. A failing one is parked.
	ReadModel Kind = "read-model"
)

// Event is a stored event, upcast by Current, with its classification.
type Event struct {
	*eventstore.Event
	Record coordination.Record
	Class  coordination.Class
	Roster *coordination.Roster // configuration as of this event
}

// Internal reports whether the event is internal bookkeeping, which the Task-Monitor leaves out: an event of one of
// our own families that was not imported.
func (e *Event) Internal() bool {
	return coordination.Internal(e.Type) && e.Actor != eventstore.ActorImport
}

// maxTimeMs is the last moment that an ECMAScript date can represent.
const maxTimeMs = 8.64e15

// ClampTime limits a time in ms to the range of dates, so that its buckets are the same on every machine. An event may
// claim any number as its time.
func ClampTime(ms float64) float64 { return min(max(ms, -maxTimeMs), maxTimeMs) }

// Definition describes a projector to the engine.
type Definition struct {
	Name    string
	Version string // of the fold and its tables; if it differs from the file's, they are rebuilt
	Kind    Kind
	Tables  []string // created by a migration; written by this projector only
	// New creates a projector that reads and writes the tables under the names returned by name: a rebuild uses shadow
	// tables.
	New func(name func(table string) string) Projector
}

// Projector folds events into rows. Its methods are called by one goroutine.
type Projector interface {
	// Apply folds one event. tx is for loading rows on first touch.
	Apply(tx eventstore.Tx, e *Event) error
	// Rows lists the caches that Apply uses. The engine flushes and bounds them, and undoes the changes of a refused
	// append.
	Rows() []Rows
}
