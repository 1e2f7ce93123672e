// Package sessions folds session.* events into current sessions and their transcripts.
//
// It is a decision table: whether a label is free, and which transcript a message belongs to, is read from it within
// the transaction that appends. Events of an imported log change nothing here: only events of this system create
// sessions.
package sessions

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
)

// Session is a current session.
type Session struct {
	Row     int64 // seq of the event that created it
	Key     string
	Agent   string
	Kind    coordination.KeyKind
	ID      string // id of its transcript
	Label   string // "" for none; unique
	Spawner string // key of the session that spawned it; ""

	Settings session.Settings

	CreatedAt int64 // ms since 1970
	UpdatedAt int64 // ms, of the newest change or message
	Seq       int64 // seq of the event that changed it last

	Messages int64  // in its transcript
	Title    string // from the first user message in this transcript; "" if none
	LastRole string // author of the newest message; "" if there is none
	LastText string // beginning of that message, on one line

	Provider, Model                        string // of the newest answer; "" if none
	InputTokens, OutputTokens, TotalTokens int64  // of the newest answer that reported it
	TokensFresh                            bool   // it is for this transcript

	LastChannel, LastTo, LastAccount, LastThread string // last route: where it was last addressed; "" if nowhere
	AbortedLastRun                               bool
}
