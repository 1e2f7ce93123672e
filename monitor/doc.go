// Package monitor is the Task-Monitor REST API, from which Task-Hub and people read the log, built on echo and
// described by openapi.yaml.
//
// It guarantees:
//
//   - Answers are a superset of the original Task-Monitor's: same names, types, nulls and arrays. Differences are marked in openapi.yaml.
//   - One answer is one read transaction. X-As-Of-Seq, and asOfSeq in the body, give the last event it reflects; min_seq waits for an
//     event to be reflected.
//   - The cost of an answer depends on its size, not on the length of the log, and is bounded by limit, MaxEvents and MaxBytes.
//   - Bad input is refused with 400, naming the field, the value and a hint. Reads change nothing. Writes append an event or replace one
//     workspace file, after authorization.
//   - Clients of /ws receive each event once, in log order and in the form of REST, also after a reconnect; see package push.
//   - Mentions of Discord in texts are replaced by names: those currently known to the bots, then those of the configuration. Event data is
//     returned as stored, with the readable text beside it in displayText. Texts stored in tables contain the names of their time.
//   - Time-dependent values (such as whether a work session is archived) are computed from the clock passed in.
//
// It is stateless: everything is in the tables.
package monitor
