// Package plan folds the events of plans into the plans that there are. It is a decision table: how a plan stands, and which tools are open to
// an agent, is read from it within the transaction that appends. Events of an imported log change nothing here.
package plan

// Query selects plans. Zero values select all.
type Query struct {
	Agent, TaskID, WorkSession, Status string
	Before                             int64 // Seq of the last one that is known already
	Limit                              int   // 0: all
	Oldest                             bool  // the oldest first
}
