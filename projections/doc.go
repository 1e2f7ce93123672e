// Package projections turns the log into tables that can be queried. Each package below it is one consistency unit: a
// pure fold (project.go) and the SQL reads of its tables (query.go). This package is the engine that runs them.
//
// A projector folds events into rows; it never decides when rows are written. The engine does: at the end of a batch
// when live, every 100,000 events when rebuilding. So one fold serves both speeds. A fold uses no clock, no randomness
// and no network; it reads only its own tables, the event and its classification. Configuration reaches it as
// config.applied events.
//
// The result must not depend on how the log is cut into batches. A property test checks this for every projector.
//
// Decision tables refuse an append that they cannot apply. A read model that fails is parked with the event and the
// error; the log continues, and the read model resumes by a rebuild: no event is ever applied out of order.
package projections
