// Package session folds session.* events into the sessions that there are and their transcripts.
//
// It is a decision table: whether a label is free, and which transcript a message belongs to, is read from it within the transaction
// that appends. Events of an imported log change nothing here: only what this system produced made its sessions.
package session

import (
	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/session"
)

// Session is a session that there is.
type Session struct {
	Row     int64 // seq of the event that made it
	Key     string
	Agent   string
	Kind    coordination.KeyKind
	ID      string // of its transcript
	Label   string // "" for none; no two sessions have the same
	Spawner string // key of the session that has spawned it; ""

	Settings decide.Settings

	CreatedAt int64 // ms since 1970
	UpdatedAt int64 // ms, of the newest change or message
	Seq       int64 // of the event that changed it last

	Messages int64  // in its transcript
	Title    string // from the first thing that a user said in this transcript; "" while nobody has
	LastRole string // author of the newest message; "" if there is none
	LastText string // how that message begins, on one line

	Provider, Model                        string // of the newest answer; "" while there is none
	InputTokens, OutputTokens, TotalTokens int64  // of the newest answer that said so
	TokensFresh                            bool   // it is of this transcript

	LastChannel, LastTo, LastAccount, LastThread string // the last route: where it was spoken to; "" if nowhere
	AbortedLastRun                               bool
}
