package eventstore

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Coded is what every error of the store tells a caller besides its text: a stable code for programs and a hint for operators.
type Coded interface {
	error
	Code() string
	Hint() string
}

var (
	// ErrClosed is returned by every method of a store that has been closed or is draining.
	ErrClosed = errors.New("event store is closed")
	// ErrNotFound is returned when the event or stream asked for does not exist.
	ErrNotFound = errors.New("not found")
)

// ConflictError is returned when a stream does not meet the expectation of an append. Nothing of that append was stored.
type ConflictError struct {
	Stream   string
	Expected Expect
	Actual   int64 // version of the stream; 0 when it has no event
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("stream %s: expected %s, is at version %d", clip(e.Stream), e.Expected, e.Actual)
}
func (e *ConflictError) Code() string { return "conflict" }
func (e *ConflictError) Hint() string { return "read the stream again and decide anew" }

// IDReuseError is returned when an id is already stored with another body.
type IDReuseError struct {
	ID  ID
	Seq int64 // where the id is stored; 0: the two bodies are in one append
}

func (e *IDReuseError) Error() string {
	if e.Seq == 0 {
		return fmt.Sprintf("event id %s is given twice in one append, with different bodies", e.ID)
	}
	return fmt.Sprintf("event id %s is already stored at seq %d with another body", e.ID, e.Seq)
}
func (e *IDReuseError) Code() string { return "id_reuse" }
func (e *IDReuseError) Hint() string { return "give the new event a new id" }

// InvalidError is returned for input that can never be stored. It names the field, the value and the mend.
type InvalidError struct {
	Field string
	Value string // shown clipped
	Mend  string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: bad value %q: %s", e.Field, clip(e.Value), e.Mend)
}
func (e *InvalidError) Code() string { return "invalid" }
func (e *InvalidError) Hint() string { return e.Mend }

// BusyError is returned when the append queue is full, or while another process holds the write lock of the file. Nothing was stored; the
// caller may try again after RetryAfter.
type BusyError struct {
	Events     int // events waiting
	Bytes      int64
	Held       bool // by another process; nothing is said of the queue then
	RetryAfter time.Duration
}

func (e *BusyError) Error() string {
	if e.Held {
		return "another process holds the write lock of the database"
	}
	return fmt.Sprintf("append queue is full: %d events, %d bytes are waiting", e.Events, e.Bytes)
}
func (e *BusyError) Code() string { return "busy" }
func (e *BusyError) Hint() string { return fmt.Sprintf("try again after %s", e.RetryAfter) }

// DiskFullError is returned when the file system refuses to take more. Nothing of the append was stored; reads go on, and appends
// succeed again once there is room.
type DiskFullError struct {
	Path string
	Err  error
}

func (e *DiskFullError) Error() string { return fmt.Sprintf("write %s: disk full: %v", e.Path, e.Err) }
func (e *DiskFullError) Unwrap() error { return e.Err }
func (e *DiskFullError) Code() string  { return "disk_full" }
func (e *DiskFullError) Hint() string {
	return "free space on the volume; appends recover by themselves"
}

// IOError is returned when the device or the file system does not do what it is asked for. It says nothing of what is stored.
type IOError struct {
	Path string
	Err  error
}

func (e *IOError) Error() string { return fmt.Sprintf("%s: I/O error: %v", e.Path, e.Err) }
func (e *IOError) Unwrap() error { return e.Err }
func (e *IOError) Code() string  { return "io_error" }
func (e *IOError) Hint() string {
	return "the device or file system of the database fails: look at the system's log (dmesg) and the mount, and start openclawd again once it can be " +
		"read. Restore no backup before that: what is stored may be whole"
}

// LostError is returned when the files that are open are not those any more that the path leads to. What is stored from then on would be gone
// with the process; what it still has open can be saved as long as it runs.
type LostError struct {
	Path   string
	Detail string // e.g. "openclawd.db was removed"
}

func (e *LostError) Error() string { return fmt.Sprintf("%s: %s while it was open", e.Path, e.Detail) }
func (e *LostError) Code() string  { return "database_lost" }
func (e *LostError) Hint() string {
	return "while the server still runs, openclawd backup create saves what it has open; then stop it and put that backup, or the files, in their place"
}

// ForeignError is returned for an event that another program has written into the log, or changed: it does not follow from the one before. Where
// it stands the next one of ours belongs, so that nothing can be appended.
type ForeignError struct {
	Path string
	Seq  int64
	Why  string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("event %d was not appended by openclawd: %s", e.Seq, e.Why)
}
func (e *ForeignError) Code() string { return "foreign_event" }
func (e *ForeignError) Hint() string {
	if e.Seq <= 1 {
		return "stop the server and restore the newest backup, or move the file away and begin with a new one"
	}
	return fmt.Sprintf("stop the server; openclawd export --format full --until %d --out sound.ndjson, then openclawd import --db NEW sound.ndjson makes a "+
		"database without it: put that in the place of this one", e.Seq-1)
}

// LinkedError is returned by open when the file has more names than the one it was asked for by. Its write-ahead log and its lock file lie
// beside one of them only, so that a program that opens it by the other one does not see what was committed, and damages it by writing.
type LinkedError struct {
	Path  string
	Names uint64
}

func (e *LinkedError) Error() string {
	return fmt.Sprintf("%s has %d names (hard links)", e.Path, e.Names)
}
func (e *LinkedError) Code() string { return "hard_linked" }
func (e *LinkedError) Hint() string {
	return "remove the other name (find DIR -samefile FILE shows it), or replace it by a copy: openclawd backup create makes one"
}

// LockedError is returned by open when another process serves or writes the same file.
type LockedError struct {
	Path  string
	Owner string // what the lock file says of its holder; may be empty
}

func (e *LockedError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s is in use by another openclawd", e.Path)
	}
	return fmt.Sprintf("%s is in use by another openclawd (%s)", e.Path, e.Owner)
}
func (e *LockedError) Code() string { return "locked" }
func (e *LockedError) Hint() string {
	return "stop that server, or use its API; reading commands work beside it"
}

// CorruptError is returned when the file is not a sound openclawd database.
type CorruptError struct {
	Path   string
	Detail string
	Mend   string
	Err    error
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Detail) }
func (e *CorruptError) Unwrap() error { return e.Err }
func (e *CorruptError) Code() string  { return "corrupt" }
func (e *CorruptError) Hint() string  { return e.Mend }

// SchemaError is returned when the file's schema is not one that this binary can work with.
type SchemaError struct {
	Path  string
	Found int64 // version in the file
	Known int64 // newest version that this binary knows
}

func (e *SchemaError) Error() string {
	if e.Found > e.Known {
		return fmt.Sprintf("%s has schema %d; this binary knows up to %d", e.Path, e.Found, e.Known)
	}
	return fmt.Sprintf("%s has schema %d; this binary needs %d", e.Path, e.Found, e.Known)
}
func (e *SchemaError) Code() string { return "schema" }
func (e *SchemaError) Hint() string {
	if e.Found > e.Known {
		return "run the newer openclawd that wrote this file, or restore the backup that lies beside it (*.backup-*)"
	}
	return "run openclawd migrate up (a backup is made first)"
}

// RefusedError is returned when a decision table could not apply an event, so that the append was refused as a whole.
type RefusedError struct {
	Projection string
	Type       string
	Err        error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("projection %s refused an event of type %s: %v", e.Projection, clip(e.Type), e.Err)
}
func (e *RefusedError) Unwrap() error { return e.Err }
func (e *RefusedError) Code() string  { return "refused" }
func (e *RefusedError) Hint() string  { return "nothing was stored; see the wrapped error" }

func clip(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// PastError refuses to change what has been.
type PastError struct{ Seq int64 } // the event up to which it is shown

func (e *PastError) Error() string {
	return fmt.Sprintf("this is how things stood at event %d: nothing can be changed there", e.Seq)
}
func (e *PastError) Code() string { return "past" }
func (e *PastError) Hint() string { return "ask without as_of, or the server that serves the present" }

// ArchivedError says that the payloads of events lie in an archive that cannot be read.
type ArchivedError struct {
	First, Last int64
	File        string
	Err         error
}

func (e *ArchivedError) Error() string {
	return fmt.Sprintf("the payloads of events %d to %d lie in %s, which cannot be read: %v", e.First, e.Last, e.File, e.Err)
}
func (e *ArchivedError) Unwrap() error { return e.Err }
func (e *ArchivedError) Code() string  { return "archived" }
func (e *ArchivedError) Hint() string {
	return "put the file back where it was; openclawd archive list says where each belongs"
}
