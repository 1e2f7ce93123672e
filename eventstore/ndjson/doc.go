// Package ndjson reads and writes coordination-events.ndjson logs: one JSON object per line, {type, agentId, ts, data}.
//
// It promises:
//
//   - A line that the log's other readers understand becomes an event, however odd: unknown types, a missing agent, a time that is no
//     time, data that is no object. What the four fields cannot reproduce is kept beside them (eventstore.NewEvent.Original).
//   - A line that nobody understands is not lost either: it is counted by reason and can be stored as an event of its own.
//   - Importing is repeatable. The id of an event follows from the text of its line and from how often that text came before, so the
//     same logs, imported again, whole or split over other files, add nothing.
//   - A mirror goes on with such a log for its other readers: each event of ours stands there once and in order, whenever it is killed.
//   - Following is exact: each complete line of a log that is appended to, rotated, truncated or replaced arrives once, in order, whenever
//     the follower is stopped or killed.
//   - A full export restores the log exactly, with seq, times, salts and hashes, into a store that stands just before it.
//
// An import holds the batches under way, at most one line of MaxLineBytes, and some 30 bytes per distinct line. A
// follower holds these only of the lines since it last saved its positions.
package ndjson
