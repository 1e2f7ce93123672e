// Package coordination defines the vocabulary of a team of agents: the event types, their data, and what follows from an event alone.
//
// An event is {type, agentId, ts, data}. ReadRecord reads one into a Record; Classify determines its role, the kinds of its sessions,
// and the topic of the collaboration; ThreadStep, TaskStateOf, Terminal and SessionStatus determine its effect on its thread, task and
// work session. The catalogue lists every type, and producers marshal the data structs.
//
// There are two sets of rules. RulesV1 answers as the reference Task-Monitor does, including its errors, so that recorded answers can be
// compared. RulesV2 is ours.
//
// The package is pure: no I/O, clock, randomness or state. Every function may be called from any
// goroutine and always returns the same result for the same arguments, so that projections can be rebuilt from the log.
package coordination
