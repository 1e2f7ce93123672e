// Package continuation folds what keeps agents going into how each of them stands: see coordination/continuation, whose State it keeps. It is
// a decision table: what is done about an agent is decided by it, within the transaction that appends that. Events of an imported log change
// nothing here.
package continuation

import decide "github.com/pronto-lab/openclawd/coordination/continuation"

// Row is how an agent stands.
type Row struct {
	AgentID string
	decide.State
	Seq int64 // of the last event that changed it
}
