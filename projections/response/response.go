// Package response folds what agents have asked of each other in Discord: the requests and what became of them, the threads that can be used
// again, how often two have asked each other. It is a decision table. coordination/collaborate and coordination/response fold each request; what
// they forget in time is kept here, and left out where a decision is read. Events of an imported log change nothing here.
package response

import (
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	decide "github.com/pronto-lab/openclawd/coordination/response"
)

// Row is a request with what became of it.
type Row struct {
	decide.Request        // Status is that of the tracker: pending, responded, escalated, responded_late, failed; "" while no answer is waited for
	Key            string // what makes it one
	Delivery       collaborate.Status
	Code           string // why it was not delivered
	Error          string // the same in words, or ""
	Route          collaborate.Route
	ThreadName     string
	ChannelID      string
	GuildID        string
	SessionKey     string // that has asked
	RunID          string // in it
	AcceptedAt     int64  // ms since 1970
	Version        int64  // of its stream
	Seq, LastSeq   int64
}

// Query selects requests. Zero values select all.
type Query struct {
	CollabID, ThreadID, From, Target, WorkSession string
	Status                                        decide.Status
	Delivery                                      collaborate.Status
	Before                                        int64 // Seq of the last one that is known already
	Limit                                         int   // 0: all
}
