// Package ndjson reads and writes coordination-events.ndjson logs: one JSON object per line, {type, agentId, ts,
// data}.
//
// It guarantees:
//
//   - A line that other readers of the log accept becomes an event, however odd: unknown types, a missing agent, an
//     invalid time, data that is not an object. What the four fields cannot reproduce is kept beside them
//     (eventstore.NewEvent.Original).
//   - A line that no reader accepts is not lost either: it is counted by reason and can be stored as an event of
//     its own.
//   - Importing is repeatable. The id of an event is derived from the text of its line and the number of earlier
//     equal lines, so importing the same logs again, whole or split over other files, adds nothing.
//   - A mirror continues such a log for its other readers: each event of ours is written once and in order, even
//     across crashes.
//   - Following is exact: each complete line of a log that is appended to, rotated, truncated or replaced is
//     imported once, in order, even across stops and crashes.
//   - A full export restores the log exactly, with seq, times, salts and hashes, into a store whose log ends just
//     before it.
//
// An import holds the current batches, at most one line of MaxLineBytes, and about 30 bytes per distinct line. A
// follower holds these only for the lines since it last saved its positions.
package ndjson
