// Package continuations folds events into the continuation state of each agent: see coordination/continuation for
// State. It is a decision table: what is done about an agent is decided from it, within the transaction that appends
// the decision. Events of an imported log change nothing here.
package continuations

import "github.com/pronto-lab/openclawd/coordination/continuation"

// Row is the continuation state of an agent.
type Row struct {
	AgentID string
	continuation.State
	Seq int64 // of the last event that changed it
}
