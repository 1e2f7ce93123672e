package shared

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Head is the end of a log. The zero Head is that of an empty one.
type Head struct {
	Number int64           // of the newest record
	Seq    int64           // of the newest event
	Hash   eventstore.Hash // of that event
	Epoch  int64           // of the newest record
	Node   string          // that appended it
}

// Lease is the right to write, as one node holds it.
type Lease struct {
	Node  string
	Epoch int64
	Head  Head   // the record that opened the epoch: no record of an earlier epoch follows it
	Token string // names the lease for the log that gave it
}

// Log is a log that several nodes share. All methods are safe for concurrent use. What they return is as of some moment
// during the call or before it, except for what is said of Append and Acquire.
type Log interface {
	// Head returns the end of the log.
	Head(ctx context.Context) (Head, error)

	// Append stores a record behind the record with the number before, and nowhere else. It returns once the record is
	// as durable as the log makes it. The same record appended again is stored once and no error. Errors:
	// *ConflictError if another record has the number, or the log ends before it; *UnavailableError if the record was
	// not stored and nothing is under way; *UncertainError if it may have been stored, or may still be. A *ConflictError
	// also means that the record will never be stored.
	Append(ctx context.Context, r Record) error

	// Read returns up to limit records with a Number > after, in order. Fewer mean that the end was reached.
	Read(ctx context.Context, after int64, limit int) ([]Record, error)

	// Find returns the number of the first record with a Last >= seq, or eventstore.ErrNotFound.
	Find(ctx context.Context, seq int64) (int64, error)

	// Watch passes all records with a Number > after to handle, in order and without a gap, and then those that come,
	// several at once if they are there, until ctx ends, handle fails, or the log cannot be read. It returns the cause.
	Watch(ctx context.Context, after int64, handle func([]Record) error) error

	// Redact removes the payloads of events from the log and its storage, and may be repeated. The newest record must
	// come after the events: a record that names them (see Encode) was appended before, so that every node learns of it.
	Redact(ctx context.Context, seqs []int64) error

	// Acquire takes the lease for a node and opens the next epoch. The error is a *HeldError if another node holds it.
	// A node that held it itself, as before it was killed, gets it again at once, with another epoch. If the lease is
	// not renewed within ttl, others may take it.
	Acquire(ctx context.Context, node string, ttl time.Duration) (Lease, error)

	// Renew holds the lease for another ttl. The error is a *HeldError if it is another's meanwhile.
	Renew(ctx context.Context, held Lease, ttl time.Duration) error

	// Release gives the lease back; if it is another's meanwhile, nothing changes.
	Release(ctx context.Context, held Lease) error

	// HandOver gives the lease to another node, for ttl: none but that gets it from Acquire. If it is another's meanwhile,
	// nothing changes.
	HandOver(ctx context.Context, held Lease, to string, ttl time.Duration) error

	// Revoke ends the lease of a node that is known to be gone, before its time is over. Nothing changes if the lease is
	// another's. It decides only who may try: a node that is not gone after all is fenced by the next epoch.
	Revoke(ctx context.Context, node string) error

	// Announce stores what a node says of itself, for ttl at most, in place of what it said before. It is lost without
	// harm.
	Announce(ctx context.Context, node string, text []byte, ttl time.Duration) error

	// Announced returns what the nodes said of themselves, by node.
	Announced(ctx context.Context) (map[string][]byte, error)

	// Close ends the connection. Nothing may be called afterwards.
	Close() error
}

// Leaver is implemented by logs whose storage keeps redacted payloads for a while after Redact.
type Leaver interface{ Left() Left }

// Left says where payloads are left after Redact, and what to do about it.
type Left struct{ Place, Hint string }
