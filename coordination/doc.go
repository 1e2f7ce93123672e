// Package coordination is the vocabulary of a team of agents: what an event says, and the decisions that follow from
// what it says alone.
//
// An event is {type, agentId, ts, data}. ReadRecord reads one into a Record; Classify says its role, the kinds of
// session it passed between and what the collaboration is about; ThreadStep, TaskStateOf, Terminal and SessionStatus
// say what it does to the thread, task and work session it belongs to. The catalogue names every type, and the data
// structs are what producers marshal.
//
// Two sets of rules exist side by side. RulesV1 answers as the reference Task-Monitor does, quirk for quirk, so that
// recorded answers can be compared. RulesV2 is ours.
//
// The package is pure and imports the standard library only: no I/O, no clock, no randomness, no state. Every function
// may be called from any number of goroutines and gives the same answer for the same arguments for ever, which is what
// lets projections be rebuilt from the log.
package coordination
