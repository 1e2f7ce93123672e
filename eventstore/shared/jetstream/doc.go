// Package jetstream keeps a shared log in NATS JetStream: one stream of records, one of records without redacted
// payloads, and one with the lease.
//
// A record is one message that names the sequence it expects to follow, or, above the broker's largest message, an
// atomic batch of parts. Nothing but records is published to the stream, so that a record which is refused is refused by
// the replicated log itself. Payloads leave it by replacement: the record without them is stored in the second stream,
// then the message is deleted and overwritten. A reader that misses a number finds it there.
package jetstream
