// Package plans folds the events of plans into their current state. It is a decision table: the state of a plan, and
// the tools that are open to an agent, are read from it within the transaction that appends. Events of an imported log
// change nothing here.
package plans

// Query selects plans. Zero values select all.
type Query struct {
	Agent, TaskID, WorkSession, Status string
	Before                             int64 // Seq of the last known one
	Limit                              int   // 0: all
	Oldest                             bool  // oldest first
}
