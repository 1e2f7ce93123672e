// Package response folds what agents have asked of each other in Discord: the requests and what became of them, the threads that can be used
// again, how often two have asked each other. It is a decision table.
package response

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	decide "github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "response"

// Definition describes the projection "response".
func Definition() projections.Definition { panic("stub") }

// Between is what a decision about a request from one agent to another depends on at a time: the requests between them in the last
// collaborate.SameRequest, how often the two have asked each other (in both directions), and the threads that are kept for the direction.
func Between(tx eventstore.Tx, from, target string, at int64) (collaborate.State, error) { panic("stub") }

// Row is a request with what became of it.
type Row struct {
	decide.Request        // Status is that of the tracker: pending, responded, escalated, responded_late, failed; "" while it was not sent
	Key            string // what makes it one
	Delivery       collaborate.Status
	Code           string // why it was not delivered
	Route          collaborate.Route
	ThreadName     string
	ChannelID      string
	GuildID        string
	SessionKey     string // that has asked
	AcceptedAt     int64  // ms since 1970
	Version        int64  // of its stream
	Seq, LastSeq   int64
}

// Load is a request, within the transaction that is going to append.
func Load(tx eventstore.Tx, collabID string) (r Row, found bool, err error) { panic("stub") }

// Open are the requests in a thread that an agent has not answered, and those that it has answered of late, as a message of it is matched with:
// see coordination/response.State.Match.
func Open(tx eventstore.Tx, threadID, target string) (decide.State, error) { panic("stub") }

// LastIn is the newest request that was sent in a thread, by whomever to whomever; found is false if none was.
func LastIn(tx eventstore.Tx, threadID string) (r Row, found bool, err error) { panic("stub") }

// Query selects requests. Zero values select all.
type Query struct {
	CollabID, ThreadID, From, Target, WorkSession string
	Status                                        decide.Status
	Delivery                                      collaborate.Status
	Before                                        int64 // Seq of the last one that is known already
	Limit                                         int   // 0: all
}

// List lists requests, the newest first.
func List(ctx context.Context, tx *sql.Tx, q Query) ([]Row, error) { panic("stub") }

// Count says how many requests a query selects.
func Count(ctx context.Context, tx *sql.Tx, q Query) (int, error) { panic("stub") }

// Threads lists the threads that are kept for use again, by reuse key.
func Threads(ctx context.Context, tx *sql.Tx) (map[string]collaborate.Kept, error) { panic("stub") }
