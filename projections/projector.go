package projections

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Kind says what happens when a projector fails.
type Kind string

const (
	// Decision tables are read by commands. A failing one refuses the append.
	Decision Kind = "decision"
	// ReadModel tables are read by people. A failing one is parked.
	ReadModel Kind = "read-model"
)

// Event is a stored event, as Current gives it, with what the classifier makes of it.
type Event struct {
	*eventstore.Event
	Record coordination.Record
	Class  coordination.Class
	Roster *coordination.Roster // as the configuration stood at this event
}

// Internal reports whether the event is our own book-keeping, which the Task-Monitor leaves out: an event of one of our families that
// no log was imported for.
func (e *Event) Internal() bool {
	return coordination.Internal(e.Type) && e.Actor != eventstore.ActorImport
}

// maxTimeMs is the last moment that ECMAScript has a date for.
const maxTimeMs = 8.64e15

// ClampTime brings a time in ms into the range of dates, so that buckets of it are the same on every machine. An event may claim any
// number as its time.
func ClampTime(ms float64) float64 { return min(max(ms, -maxTimeMs), maxTimeMs) }

// Definition describes a projector to the engine.
type Definition struct {
	Name    string
	Version string // of the fold and its tables; another one than the file's means rebuild
	Kind    Kind
	Tables  []string // made by a migration; nobody else writes them
	// New makes a projector that reads and writes the tables under the names that name gives them: a rebuild works on shadow tables.
	New func(name func(table string) string) Projector
}

// Projector folds events into rows. Its methods are called by one goroutine.
type Projector interface {
	// Apply folds one event. tx is for loading rows on first touch.
	Apply(tx eventstore.Tx, e *Event) error
	// Rows lists the caches that Apply works on. The engine flushes and bounds them, and undoes what a refused append did.
	Rows() []Rows
}
