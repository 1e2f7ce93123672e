// Package monitor is the Task-Monitor wire: the REST API from which Task-Hub and people read the log, on echo. openapi.yaml describes it.
//
// It promises:
//
//   - Answers are a superset of the original Task-Monitor's: the same names, types, nulls and arrays, and more beside them. What ours
//     does differently is marked in openapi.yaml.
//   - One answer is one read transaction. X-As-Of-Seq, and asOfSeq in the body, say up to which event of the log it speaks; min_seq
//     waits for an event to be reflected.
//   - The cost of an answer follows what it returns, not the length of the log, and is bounded: by limit, by MaxEvents and by MaxBytes.
//   - Bad input is refused with 400, naming the field, the value and the mend. Reads change nothing. Writes append an event, or replace one
//     file of a workspace, and only after their sender has been authorised.
//   - Clients of /ws are told each event once, in the order of the log and in the words of REST, also after a lost connection; see
//     package push.
//   - Texts have names where Discord has mentions: those that our bots know by now, then those of the configuration. The data of events stays as
//     it is stored; what they say is beside it, in displayText. What a table keeps already in words has the names of the day.
//   - What depends on now (whether a work session is archived) is computed from the clock that is passed in.
//
// It holds no state: everything is in the tables, and a restart loses nothing.
package monitor
