// Package storetest tests that an event store keeps the guarantees of package eventstore.
//
//   - [Model] is the simplest correct store, in memory. It is the oracle, and a store for tests that need no file.
//   - [Run] is the conformance suite: one subtest per guarantee and aspect, each on its own store.
//   - [RunProperty] runs random commands against a store and the model and compares every answer.
//   - [Crash] kills a process at random moments while it works, and checks what it left behind.
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
// # Details that the suite specifies
//
// The body of an event is its Type, Data and Original; the stream, the agent, the times and the references are not
// part of it. A redacted event has no body to compare, so its id is a duplicate whatever comes with it. An id that
// occurs twice in one append is a duplicate of its first occurrence; with another body it is an IDReuseError whose Seq
// is 0, because it is not stored.
//
// An append is checked in this order: every event by its Check, then every id, then, unless all events are duplicates,
// every expectation. If several parts name a stream, each expects the version that the earlier parts produce. An
// append without events only checks expectations, and its Result.Seq is the head.
//
// RecordedAt is the store's clock, or the last RecordedAt if the clock went back; an event without a time takes it as
// TS. Ver 0 is stored as 1, an empty Actor as system, Data and Original byte for byte.
//
// A stream without events reads as empty, at version 0. A limit below 1 reads nothing. Redacting twice is not an
// error, redacting a missing event is ErrNotFound.
//
// Besides wrong hashes, Restore refuses what the log would never have stored: a Seq, Version or RecordedAt that does
// not continue, an id that exists already, and a payload blanked in part.
package storetest
