// Package projections turns the log into tables that people query. Each package below it is one consistency unit: a pure fold
// (project.go) and the SQL reads of its tables (query.go). This package is the engine that runs them.
//
// A projector folds events into rows; it never decides when rows are written. The engine does: at the end of a batch when live, every
// 100,000 events when rebuilding. So one fold serves both speeds. A fold knows no clock, no randomness and no network; it reads only
// its own tables and the event at hand, with what the classifier makes of it. Configuration reaches it as config.applied events.
//
// The result must not depend on where the log is cut into batches. A property test holds every projector to that.
//
// Decision tables refuse the append that they cannot apply. A read model that fails is parked with the event and the error; the log
// goes on, and resuming means rebuilding: no event is ever applied out of order.
package projections
