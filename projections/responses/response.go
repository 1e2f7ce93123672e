// Package responses folds the requests that agents have made to each other in Discord: their state, the threads that
// can be reused, and how often two agents have asked each other. It is a decision table. coordination/collaborate and
// coordination/response fold each request; what they forget over time stays in the tables, and is left out when a
// decision reads them. Events of an imported log change nothing here.
package responses

import (
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
)

// Row is a request with its result.
type Row struct {
	response.Request        // Status is the tracker's status: pending, responded, escalated, responded_late, failed; "" while no answer is expected
	Key              string // the request's id
	Delivery         collaborate.Status
	Code             string // error code of the failed delivery
	Error            string // its description, or ""
	Route            collaborate.Route
	ThreadName       string
	ChannelID        string
	GuildID          string
	SessionKey       string // the asking run
	RunID            string // within it
	AcceptedAt       int64  // ms since 1970
	Version          int64  // in its stream
	Seq, LastSeq     int64
}

// Query selects requests. Zero values select all.
type Query struct {
	CollabID, ThreadID, From, Target, WorkSession string
	Channel                                       string // "": of all channels
	Status                                        response.Status
	Delivery                                      collaborate.Status
	Before                                        int64 // Seq of the last known one
	Limit                                         int   // 0: all
}
