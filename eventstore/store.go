package eventstore

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/internal/jsoncheck"
)

// StreamAppend is the part of an append that concerns one stream. Without events it is only a precondition. The data of
// its events must not be changed any more, not even after the append: read models are made from it later.
type StreamAppend struct {
	Stream string
	Expect Expect
	Events []NewEvent
}

// Add appends e, with v as its data and ms as its time, to a's events.
func (a *StreamAppend) Add(e NewEvent, v any, ms int64) error {
	e, err := e.With(v, ms)
	if err == nil {
		a.Events = append(a.Events, e)
	}
	return err
}

// Decider appends what decide returns, in one transaction with what decide reads, or returns its error. decide may be
// called more than once.
type Decider interface {
	Decide(ctx context.Context, decide func(Tx) ([]StreamAppend, error)) (Result, error)
}

// Stored is the position of one event of an append.
type Stored struct {
	Seq       int64
	Version   int64
	ID        ID
	Duplicate bool // it was stored before; Seq and Version are the original ones
}

// Result lists the events of an append in the given order, stream after stream.
type Result struct {
	Events []Stored
	Seq    int64 // head of the log right after this append
}

// Head is the newest position of the log.
type Head struct {
	Seq  int64 // 0: empty log
	Hash Hash  // chain hash of that event; zero for an empty log
}

// Mark names a state of a log between two of its commits. A reader that takes one before its snapshot begins and one
// after that, and gets the same, has read the state that it names.
type Mark struct {
	Commits  uint64 // changes with every commit
	Rewrites uint64 // changes with commits that do more than append: redaction, archiving, rebuilt tables, maintenance
}

// Settled reports whether no commit was under way, so that the mark names one state. It is false for the zero Mark.
func (m Mark) Settled() bool { return m.Commits != 0 && m.Commits%2 == 0 }

// Intact reports whether no commit was under way that did more than append. It is false for the zero Mark.
func (m Mark) Intact() bool { return m.Rewrites != 0 && m.Rewrites%2 == 0 }

// Until returns what m and a later mark have in common: a Mark that is Settled, or Intact, only if both are and nothing
// happened between them.
func (m Mark) Until(later Mark) Mark {
	if m.Commits != later.Commits {
		m.Commits = 0
	}
	if m.Rewrites != later.Rewrites {
		m.Rewrites = 0
	}
	return m
}

// Appender stores events.
type Appender interface {
	// Append stores all events of all streams, or none. It returns once they are on disk and every healthy projection
	// reflects them for readers that begin from then on. Events whose id is already stored with the same body are skipped and reported as duplicates; when
	// all of them are, the expectations are not checked, so that a retry gets its first answer. Errors:
	// *ConflictError, *IDReuseError, *InvalidError, *BusyError, *DiskFullError, *RefusedError, ErrClosed, or ctx's,
	// which only ends the wait for a place in the queue: after that the append runs to its end.
	Append(ctx context.Context, appends ...StreamAppend) (Result, error)
}

// Reader reads the log.
type Reader interface {
	Head(ctx context.Context) (Head, error)
	// Read returns up to limit events with Seq > after, ascending. Fewer than limit events mean that the end was
	// reached.
	Read(ctx context.Context, after int64, limit int) ([]Event, error)
	// ReadStream is Read within one stream, by Version.
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]Event, error)
	// Event returns one event, or ErrNotFound.
	Event(ctx context.Context, seq int64) (Event, error)
	// EventByID returns one event, or ErrNotFound.
	EventByID(ctx context.Context, id ID) (Event, error)
	// StreamVersion returns the version of a stream, 0 if it has no event.
	StreamVersion(ctx context.Context, stream string) (int64, error)
	// Wait blocks until the log's head is at least seq, and returns the head.
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Store is the whole log.
type Store interface {
	Appender
	Reader
}

// Subscribe calls handle for every event after seq, in order, without gap or duplicate, first from the table and then
// as events arrive, until ctx ends or handle fails. It reads from its own cursor at the pace of handle, so a slow
// handler costs no memory and does not block others.
func Subscribe(ctx context.Context, log Reader, after int64, handle func(Event) error) error {
	const page = 500
	for {
		events, err := log.Read(ctx, after, page)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := handle(e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(events) < page {
			if _, err := log.Wait(ctx, after+1); err != nil {
				return err
			}
		}
	}
}

// Check returns the first reason why e can never be stored.
func (e *NewEvent) Check() error {
	switch {
	case strings.TrimSpace(e.Type) == "" || strings.TrimSpace(e.Type) != e.Type:
		return &InvalidError{Field: "type", Value: e.Type, HintText: "give a name such as task.started, without surrounding space"}
	case len(e.Type) > MaxTypeBytes:
		return &InvalidError{Field: "type", Value: e.Type, HintText: "shorten it to 256 bytes"}
	case e.Ver < 0:
		return &InvalidError{Field: "ver", Value: "negative", HintText: "leave it out or count from 1"}
	case e.Actor != "" && !e.Actor.Valid():
		return &InvalidError{Field: "actor", Value: string(e.Actor), HintText: "use human, agent, system, schedule or import"}
	case len(e.AgentID) > MaxAgentBytes:
		return &InvalidError{Field: "agentId", Value: e.AgentID, HintText: "shorten it to 16 KiB"}
	case len(e.CorrelationID) > MaxRefBytes:
		return &InvalidError{Field: "correlationId", Value: e.CorrelationID, HintText: "shorten it to 1 KiB"}
	case len(e.CausationID) > MaxRefBytes:
		return &InvalidError{Field: "causationId", Value: e.CausationID, HintText: "shorten it to 1 KiB"}
	case len(e.Data)+len(e.Original) > MaxDataBytes:
		return &InvalidError{Field: "data", Value: string(e.Data[:min(len(e.Data), 64)]), HintText: "keep data below 16 MiB; store large bodies outside the log"}
	}
	if err := checkObject("data", e.Data, "give a JSON object in UTF-8"); err != nil {
		return err
	}
	if e.Original != nil {
		if err := checkObject("original", e.Original, "give a JSON object in UTF-8, or nothing"); err != nil {
			return err
		}
	}
	for _, f := range [...]struct{ name, value string }{
		{"type", e.Type}, {"agentId", e.AgentID}, {"correlationId", e.CorrelationID}, {"causationId", e.CausationID}} {
		if err := checkText(f.name, f.value); err != nil {
			return err
		}
	}
	return nil
}

// Check returns the first reason why the append can never be stored.
func (a *StreamAppend) Check() error {
	if a.Stream == "" || len(a.Stream) > MaxStreamBytes {
		return &InvalidError{Field: "stream", Value: a.Stream, HintText: "name a stream of 1 to 256 bytes, such as task/task_ab12"}
	}
	if err := checkText("stream", a.Stream); err != nil {
		return err
	}
	for i := range a.Events {
		if err := a.Events[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// checkText refuses text that a TEXT column cannot return unchanged.
func checkText(field, value string) error {
	if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
		return &InvalidError{Field: field, Value: value, HintText: "use UTF-8 without NUL"}
	}
	return nil
}

// checkObject refuses text that is no JSON object, with a hint, or is nested too deep.
func checkObject(field string, b json.RawMessage, hint string) error {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	depth, valid := 0, false
	if i < len(b) && b[i] == '{' && utf8.Valid(b) {
		depth, valid = jsoncheck.Depth(b)
	}
	if valid && depth > MaxDepth {
		valid, hint = false, "nest objects and arrays at most 500 deep"
	}
	if valid {
		return nil
	}
	return &InvalidError{Field: field, Value: string(b[:min(len(b), 64)]), HintText: hint}
}

// Restorer stores events exactly as exported: seq, times, salt and hashes included.
type Restorer interface {
	// Restore stores events that continue the log: the first must have Seq = head+1, and every DataHash and Hash must be right, or
	// nothing is stored and a *CorruptError names the seq. Redacted events (Data nil) are restored as such.
	Restore(ctx context.Context, events []Event) error
}
