// Package eventstore defines the event log that openclawd is built on: what an event is, how it is appended and read,
// and what a store guarantees. It contains no storage; package sqlite implements it, and package storetest tests an
// implementation.
//
// The guarantees, each with a test of the same number in storetest or sqlite (docs/promises.md lists them):
//
//  1. Acknowledged means on disk. An Append that returned nil survives a power cut, unless the store was opened with
//     relaxed durability, which it reports.
//  2. The log is gapless and totally ordered by Seq. A reader that has seen n has seen everything before n.
//  3. Append is idempotent by ID, forever: same ID and same body return the original Seq, same ID with another body is
//     an [IDReuseError].
//  4. Every stream of an append carries an expectation; all streams of one append are stored together or not at all.
//  5. Events are never changed or deleted. The only exception is redaction, which blanks Data, Original and Salt; the
//     hash chain still verifies afterwards. The chain reveals changes made to the file by other programs.
//  6. Projections commit with the events they reflect and are never applied twice.
//  7. A read model is rebuilt beside the old one, which keeps answering, and is swapped in by one transaction.
//  8. A subscription reads from any Seq and then follows, without a gap or a duplicate where the two meet; a slow
//     reader costs no memory.
//
// TS does not order the log (Seq does), and data has no guaranteed shape: unknown types are kept.
//
// All methods of a store are safe for concurrent use.
package eventstore
