package shared

import (
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

// ConflictError is returned for a record whose place in the log is another's, or does not exist yet. It was not stored
// and never will be.
type ConflictError struct {
	Number int64 // that the record was to get
	Head   Head  // end of the log when it was refused
}

func (e *ConflictError) Error() string {
	if e.Head.Number < e.Number {
		return fmt.Sprintf("record %d of the shared log cannot be appended: the log ends at record %d", e.Number, e.Head.Number)
	}
	return fmt.Sprintf("record %d of the shared log is another's: the log is at record %d, epoch %d, written by %s", e.Number, e.Head.Number,
		e.Head.Epoch, e.Head.Node)
}
func (e *ConflictError) Code() string { return "shared_conflict" }
func (e *ConflictError) Hint() string { return "read the shared log from there on, and decide again" }

// UnavailableError is returned when the shared log cannot be reached, or has no quorum. Nothing was stored.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the shared log takes no records: %v", e.Err)
}
func (e *UnavailableError) Unwrap() error { return e.Err }
func (e *UnavailableError) Code() string  { return "shared_unavailable" }
func (e *UnavailableError) Hint() string {
	return "appends succeed again when it can be reached; reads go on meanwhile"
}

// UncertainError is returned when the connection failed after a record was sent: it may be stored, or become so.
type UncertainError struct {
	Number int64
	Err    error
}

func (e *UncertainError) Error() string {
	return fmt.Sprintf("record %d was sent to the shared log, which did not confirm it: %v", e.Number, e.Err)
}
func (e *UncertainError) Unwrap() error { return e.Err }
func (e *UncertainError) Code() string  { return "shared_uncertain" }
func (e *UncertainError) Hint() string {
	return "repeat the append with the same event ids: it is stored once, and the first answer is given"
}

// HeldError is returned when another node holds the lease.
type HeldError struct{ Node string } // empty if it is not known

func (e *HeldError) Error() string {
	if e.Node == "" {
		return "the lease of the shared log is not held any more"
	}
	return fmt.Sprintf("node %s holds the lease of the shared log", e.Node)
}
func (e *HeldError) Code() string { return "lease_held" }
func (e *HeldError) Hint() string {
	return "send writes to the node that holds it; it ends by itself when that is gone"
}

// UnsoundError is returned for a record that no program has appended like this, or that this one cannot read.
type UnsoundError struct {
	Number int64
	Detail string
}

func (e *UnsoundError) Error() string {
	return fmt.Sprintf("record %d of the shared log: %s", e.Number, e.Detail)
}
func (e *UnsoundError) Code() string { return "shared_unsound" }
func (e *UnsoundError) Hint() string {
	return "compare the heads of all nodes; fill another shared log from one that is sound"
}

// AheadError is returned by a node that has events which the shared log lacks, as after the log was restored from an
// older backup.
type AheadError struct {
	Local, Shared int64 // seqs of the newest events
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("this node has events up to %d, the shared log ends at %d", e.Local, e.Shared)
}
func (e *AheadError) Code() string { return "ahead_of_shared_log" }
func (e *AheadError) Hint() string {
	return "nothing was changed. Find out whether the shared log lost events or this database belongs to another log before either is replaced"
}

// DivergedError is returned by a node whose log and the shared one have different events at the same place.
type DivergedError struct {
	Seq           int64 // first event that differs
	Local, Shared eventstore.Hash
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("this node and the shared log differ from event %d on: hash %.12s here, %.12s there", e.Seq, e.Local, e.Shared)
}
func (e *DivergedError) Code() string { return "diverged" }
func (e *DivergedError) Hint() string {
	return "nothing was changed. Keep a copy of this database, and fill a new one from the shared log or from a node that agrees with it"
}

// FencedError is returned for appends of a node that was the writer until another one took over.
type FencedError struct {
	Epoch int64 // of this node
	By    Head  // the record by which it learned of it
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("node %s writes since epoch %d; this node wrote until epoch %d", e.By.Node, e.By.Epoch, e.Epoch)
}
func (e *FencedError) Code() string { return "fenced" }
func (e *FencedError) Hint() string { return "send writes to that node; this one can follow it" }

// FailingError is returned for appends of a writer that could not store in its own file what the shared log has from it.
// Another node may write; this one follows once its file can be written.
type FailingError struct{ Err error }

func (e *FailingError) Error() string {
	return fmt.Sprintf("this node cannot store what it wrote to the shared log: %v", e.Err)
}
func (e *FailingError) Unwrap() error { return e.Err }
func (e *FailingError) Code() string  { return "node_failing" }
func (e *FailingError) Hint() string {
	return "free space on its disk, or repair it; nothing is lost, another node writes meanwhile"
}

// NameTakenError ends a node whose name another process has, which was started earlier.
type NameTakenError struct{ Node string }

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("another process that runs now is node %s of the cluster", e.Node)
}
func (e *NameTakenError) Code() string { return "node_name_taken" }
func (e *NameTakenError) Hint() string {
	return "give each node a name of its own, cluster.node, or end the other process"
}

// OldError is why a node does not take the lease whose program is older than one that has written.
type OldError struct{ Own, Newest int64 } // schemas

func (e *OldError) Error() string {
	return fmt.Sprintf("a newer program has written to the shared log, with schema %d; this one knows schema %d and only follows", e.Newest, e.Own)
}
func (e *OldError) Code() string { return "program_old" }
func (e *OldError) Hint() string { return "upgrade the program of this node" }

// FollowerError is returned for appends of a node that follows the log.
type FollowerError struct{ Writer string } // empty if it is not known

func (e *FollowerError) Error() string {
	if e.Writer == "" {
		return "this node follows the shared log and takes no appends"
	}
	return fmt.Sprintf("this node follows node %s and takes no appends", e.Writer)
}
func (e *FollowerError) Code() string { return "follower" }
func (e *FollowerError) Hint() string { return "send writes to the node that writes" }

// RefusedError is returned when the servers of a shared log refuse to be used like this, until people change something.
type RefusedError struct {
	Err      error
	HintText string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the shared log cannot be opened: %v", e.Err)
}
func (e *RefusedError) Unwrap() error { return e.Err }
func (e *RefusedError) Code() string  { return "shared_refused" }
func (e *RefusedError) Hint() string  { return e.HintText }

// CopyError is returned when the file of a node that shares its log is opened without that log, to write.
type CopyError struct{ Path string }

func (e *CopyError) Error() string {
	return fmt.Sprintf("%s is a copy of a shared log: what is appended to it alone would be missing there", e.Path)
}
func (e *CopyError) Code() string { return "shared_copy" }
func (e *CopyError) Hint() string {
	return "set cluster.log in openclaw.json, and let the server do this; or run openclawd store move --to file, which makes the file a log of its own"
}

// UnsafeError is returned for a shared log whose servers may lose records that they have acknowledged.
type UnsafeError struct{ Detail, HintText string }

func (e *UnsafeError) Error() string {
	return "a power cut may lose acknowledged events of the shared log: " + e.Detail
}
func (e *UnsafeError) Code() string { return "shared_not_durable" }
func (e *UnsafeError) Hint() string { return e.HintText }

// Refusal returns what callers of an append are told whose error comes from the shared log and passes by itself or at
// another node; nil for all other errors.
func Refusal(err error) eventstore.Coded {
	var (
		unavailable *UnavailableError
		uncertain   *UncertainError
		fenced      *FencedError
		failing     *FailingError
		follower    *FollowerError
		conflict    *ConflictError
	)
	switch {
	case errors.As(err, &uncertain):
		return uncertain
	case errors.As(err, &unavailable):
		return unavailable
	case errors.As(err, &fenced):
		return fenced
	case errors.As(err, &failing):
		return failing
	case errors.As(err, &follower):
		return follower
	case errors.As(err, &conflict):
		return conflict
	}
	return nil
}

// Fatal returns the error of a node that nothing but people can repair; nil for all other errors.
func Fatal(err error) eventstore.Coded {
	var (
		diverged *DivergedError
		ahead    *AheadError
		unsound  *UnsoundError
		taken    *NameTakenError
	)
	switch {
	case errors.As(err, &taken):
		return taken
	case errors.As(err, &diverged):
		return diverged
	case errors.As(err, &ahead):
		return ahead
	case errors.As(err, &unsound):
		return unsound
	}
	return nil
}

var (
	_ eventstore.Coded = (*ConflictError)(nil)
	_ eventstore.Coded = (*UnavailableError)(nil)
	_ eventstore.Coded = (*UncertainError)(nil)
	_ eventstore.Coded = (*HeldError)(nil)
	_ eventstore.Coded = (*UnsoundError)(nil)
	_ eventstore.Coded = (*AheadError)(nil)
	_ eventstore.Coded = (*DivergedError)(nil)
	_ eventstore.Coded = (*FencedError)(nil)
	_ eventstore.Coded = (*FollowerError)(nil)
	_ eventstore.Coded = (*RefusedError)(nil)
	_ eventstore.Coded = (*CopyError)(nil)
	_ eventstore.Coded = (*UnsafeError)(nil)
)
