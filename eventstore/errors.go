package eventstore

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Coded is implemented by every error of the store: a stable code for programs and a hint for operators.
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
func (e *ConflictError) Hint() string { return "read the stream again and decide again" }

// IDReuseError is returned when an id is already stored with another body.
type IDReuseError struct {
	ID  ID
	Seq int64 // where the id is stored; 0 if both bodies are in one append
}

func (e *IDReuseError) Error() string {
	if e.Seq == 0 {
		return fmt.Sprintf("event id %s appears twice in one append, with different bodies", e.ID)
	}
	return fmt.Sprintf("event id %s is already stored at seq %d with another body", e.ID, e.Seq)
}
func (e *IDReuseError) Code() string { return "id_reuse" }
func (e *IDReuseError) Hint() string { return "give the new event a new id" }

// InvalidError is returned for input that can never be stored. It names the field, the value and the fix.
type InvalidError struct {
	Field    string
	Value    string // truncated
	HintText string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: bad value %q: %s", e.Field, clip(e.Value), e.HintText)
}
func (e *InvalidError) Code() string { return "invalid" }
func (e *InvalidError) Hint() string { return e.HintText }

// BusyError is returned when the append queue is full, or while another process holds the write lock of the file. Nothing was stored; the
// caller may try again after RetryAfter.
type BusyError struct {
	Events     int // events waiting
	Bytes      int64
	Held       bool // held by another process; the queue figures are not set then
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

// DiskFullError is returned when the file system is full. Nothing of the append was stored; reads still work, and
// appends succeed again once there is space.
type DiskFullError struct {
	Path string
	Err  error
}

func (e *DiskFullError) Error() string { return fmt.Sprintf("write %s: disk full: %v", e.Path, e.Err) }
func (e *DiskFullError) Unwrap() error { return e.Err }
func (e *DiskFullError) Code() string  { return "disk_full" }
func (e *DiskFullError) Hint() string {
	return "free space on the volume; appends then recover without a restart"
}

// IOError is returned when the device or the file system fails. It says nothing about the state of the stored data.
type IOError struct {
	Path string
	Err  error
}

func (e *IOError) Error() string { return fmt.Sprintf("%s: I/O error: %v", e.Path, e.Err) }
func (e *IOError) Unwrap() error { return e.Err }
func (e *IOError) Code() string  { return "io_error" }
func (e *IOError) Hint() string {
	return "the device or file system of the database fails: check the system log (dmesg) and the mount, and restart openclawd once it can be " +
		"read. Do not restore a backup before that: the stored data may be intact"
}

// LostError is returned when the path no longer leads to the files that are open. Anything stored from then on would
// be lost with the process; what it has open can be saved while it runs.
type LostError struct {
	Path   string
	Detail string // e.g. "openclawd.db was removed"
}

func (e *LostError) Error() string { return fmt.Sprintf("%s: %s while it was open", e.Path, e.Detail) }
func (e *LostError) Code() string  { return "database_lost" }
func (e *LostError) Hint() string {
	return "while the server still runs, openclawd backup create saves what it has open; then stop it and put that backup, or the files, in their place"
}

// ForeignError is returned for an event that another program has written or changed: it does not follow from the one
// before. It occupies the place of our next event, so nothing can be appended.
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
		return "stop the server and restore the newest backup, or move the file away and start with a new one"
	}
	return fmt.Sprintf("stop the server; openclawd export --format full --until %d --out sound.ndjson, then openclawd import --db NEW sound.ndjson makes a "+
		"database without it: put that in the place of this one", e.Seq-1)
}

// LinkedError is returned by open when the file has several names (hard links). Its write-ahead log and lock file
// exist beside only one of them, so a program that opens it by another name does not see committed data and corrupts
// the file by writing.
type LinkedError struct {
	Path  string
	Names uint64
}

func (e *LinkedError) Error() string {
	return fmt.Sprintf("%s has %d names (hard links)", e.Path, e.Names)
}
func (e *LinkedError) Code() string { return "hard_linked" }
func (e *LinkedError) Hint() string {
	return "remove the other name (find DIR -samefile FILE shows it), or replace it by a copy made with openclawd backup create"
}

// LockedError is returned by open when another process serves or writes the same file.
type LockedError struct {
	Path  string
	Owner string // what the lock file says about its holder; may be empty
}

func (e *LockedError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s is in use by another openclawd", e.Path)
	}
	return fmt.Sprintf("%s is in use by another openclawd (%s)", e.Path, e.Owner)
}
func (e *LockedError) Code() string { return "locked" }
func (e *LockedError) Hint() string {
	return "stop that server, or use its API; read-only commands work alongside it"
}

// CorruptError is returned when the file is not a valid openclawd database.
type CorruptError struct {
	Path     string
	Detail   string
	HintText string
	Err      error
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Detail) }
func (e *CorruptError) Unwrap() error { return e.Err }
func (e *CorruptError) Code() string  { return "corrupt" }
func (e *CorruptError) Hint() string  { return e.HintText }

// SchemaError is returned when this binary cannot work with the file's schema version.
type SchemaError struct {
	Path  string
	Found int64 // version in the file
	Known int64 // newest version that this binary supports
}

func (e *SchemaError) Error() string {
	if e.Found > e.Known {
		return fmt.Sprintf("%s has schema %d; this binary supports up to %d", e.Path, e.Found, e.Known)
	}
	return fmt.Sprintf("%s has schema %d; this binary needs %d", e.Path, e.Found, e.Known)
}
func (e *SchemaError) Code() string { return "schema" }
func (e *SchemaError) Hint() string {
	if e.Found > e.Known {
		return "run the newer openclawd that wrote this file, or restore the backup beside it (*.backup-*)"
	}
	return "run openclawd migrate up (a backup is made first)"
}

// RefusedError is returned when a decision table could not apply an event, so that the whole append was refused.
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

// PastError is returned for attempts to change a snapshot of the past.
type PastError struct{ Seq int64 } // the event that the snapshot ends at

func (e *PastError) Error() string {
	return fmt.Sprintf("this is a snapshot as of event %d and cannot be changed", e.Seq)
}
func (e *PastError) Code() string { return "past" }
func (e *PastError) Hint() string { return "repeat the request without as_of, or use the live server" }

// ArchivedError is returned when the payloads of events are in an archive that cannot be read.
type ArchivedError struct {
	First, Last int64
	File        string
	Err         error
}

func (e *ArchivedError) Error() string {
	return fmt.Sprintf("the payloads of events %d to %d are in %s, which cannot be read: %v", e.First, e.Last, e.File, e.Err)
}
func (e *ArchivedError) Unwrap() error { return e.Err }
func (e *ArchivedError) Code() string  { return "archived" }
func (e *ArchivedError) Hint() string {
	return "put the file back; openclawd archive list shows where each archive belongs"
}
