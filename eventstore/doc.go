// Package eventstore defines the log on which openclawd stands: what an event is, how it is appended and read, and what a
// store promises. It holds no storage itself; package sqlite does, package storetest proves that a store keeps the promises.
//
// The promises, each with a test of the same number in storetest or sqlite (docs/promises.md lists them):
//
//  1. Acknowledged means on disk. An Append that returned nil survives a power cut, unless the store was opened with relaxed
//     durability, which it reports.
//  2. The log is gapless and totally ordered by Seq. A reader that has seen n has seen everything before n.
//  3. Append is idempotent by ID, for ever: same ID and same body give the original Seq, same ID with another body is an
//     [IDReuseError].
//  4. Every stream of an append carries an expectation; all streams of one append are stored together or not at all.
//  5. Events are never changed or deleted. The only change allowed is to blank Data, Original and Salt (redaction), after which
//     the hash chain still verifies. What a foreign process does to the file, the chain shows.
//  6. Projections commit with the events they reflect and are never applied twice.
//  7. A read model rebuilds beside the old one, which goes on answering, and is swapped in by one transaction.
//  8. A subscription reads from any Seq, then follows, without gap or duplicate at the seam; a slow reader costs no memory.
//
// It does not promise that TS orders the log (it does not: Seq does), nor that data has a known shape: unknown types are kept.
//
// All methods of a store are safe for concurrent use.
package eventstore
