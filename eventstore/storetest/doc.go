// Package storetest proves that an event store keeps the promises of package eventstore.
//
//   - [Model] is the simplest correct store, in memory. It is the oracle, and a store for tests that need no file.
//   - [Run] is the conformance suite: one subtest per promise and aspect, each on a store of its own.
//   - [RunProperty] runs random commands against a store and the model and compares every answer.
//   - [Crash] kills a process at random moments while it works, and has what it left behind checked.
//
// The test of a store calls them with a function that opens one:
//
//	func TestConformance(t *testing.T) { storetest.Run(t, openTemp) }
//	func TestProperty(t *testing.T)    { storetest.RunProperty(t, openTemp) }
//
//	func openTemp(t testing.TB, now func() time.Time) storetest.Harness {
//		return openFile(t, filepath.Join(t.TempDir(), "log.db"), now)
//	}
//
//	func openFile(t testing.TB, path string, now func() time.Time) storetest.Harness {
//		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Now: now})
//		if err != nil {
//			t.Fatal(err)
//		}
//		return storetest.Harness{
//			Log: db, Restorer: db, Redact: db.Redact, Close: db.Close,
//			Reopen: func(t testing.TB) storetest.Harness { return openFile(t, path, now) },
//		}
//	}
//
// # What the promises leave open, and the suite fixes
//
// The body of an event is its Type, Data and Original; the stream, the agent, the times and the references are not part of it. A
// stored event that was redacted has no body left to differ, so its id is a duplicate whatever comes with it. An id that comes twice
// in one append is a duplicate of its first occurrence; with another body it is an IDReuseError whose Seq is 0, for it is stored
// nowhere.
//
// An append is judged in this order: every event by its Check, then every id, then, unless all events are duplicates, every
// expectation. A stream named by several parts is expected to be where the parts before have brought it. An append without events
// only guards, and its Result.Seq is the head.
//
// RecordedAt is the store's clock, or the last RecordedAt where the clock went back; an event without a time takes it as TS. Ver 0
// is stored as 1, no Actor as system, Data and Original byte by byte.
//
// A stream without events reads as empty, at version 0. A limit below 1 reads nothing. Redacting twice is no error, redacting what
// is not there is ErrNotFound.
//
// Restore refuses, besides wrong hashes, what the log would never have stored: a Seq, Version or RecordedAt that does not continue,
// an id that is already there, and a payload blanked in part.
package storetest
