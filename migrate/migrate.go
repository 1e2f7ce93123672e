package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

// Log is where events are stored, and the tables that are made from them.
type Log interface {
	eventstore.Store
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Options of Run. From, OpenDatabase and Now are required, with a log NewImporter, too.
type Options struct {
	From         string // state directory of OpenClaw
	OpenDatabase func(path string) (*sql.DB, error)
	Scratch      string
	Log          Log      // nil: only a plan is made
	Record       bool     // the log is to say what was taken over and what was left
	Only         []string // parts that are taken over; empty: all
	HasAgent     func(id string) bool
	Config       []byte // openclaw.json as JSON; nil: none
	Now          func() time.Time

	// NewImporter makes what imports coordination logs into the log.
	NewImporter func(progress func(ndjson.Progress)) *ndjson.Importer
	Progress    func(done, total int64) // in bytes; it may be nil
}

// Run takes over a state directory. The error is one of reading the directory as a whole, of the log, or ctx's; then the report says what
// was stored until then.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if err := checkParts(o.Only); err != nil {
		return nil, err
	}
	t := &taker{o: o, report: newReport(o.From, "", o.Log == nil)}
	t.writer.refused = t.refused
	if o.Log != nil {
		t.writer.log = o.Log
	}
	source, err := openclaw.Open(o.From, openclaw.Options{Problem: t.left, OpenDatabase: o.OpenDatabase, Scratch: o.Scratch})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	defer func() { err = errors.Join(err, t.writer.wait()) }() // after an error
	t.source, t.report.Era = source, source.Era
	if o.Record && o.Log != nil {
		if t.record, err = newRecord(&t.o, t.report); err != nil {
			return nil, err
		}
	}
	t.total = source.Size(ctx)
	t.elsewhere()
	t.granted(ctx)
	for _, part := range []struct {
		name string
		take func(context.Context) error
	}{{Coordination, t.coordination}, {Sessions, t.sessions}, {Cron, t.jobs}, {People, t.people}} {
		if !t.wants(part.name) {
			continue
		}
		if err := part.take(ctx); err != nil {
			return t.report, err
		}
		if err := t.writer.flush(ctx); err != nil {
			return t.report, err
		}
	}
	return t.report, t.record.end(ctx)
}

// Parts lists what Options.Only may name.
func Parts() []string { return []string{Coordination, Sessions, Cron, People} }

// checkParts refuses names of parts that do not exist.
func checkParts(only []string) error {
	for _, part := range only {
		if !slices.Contains(Parts(), part) {
			return &PartError{Part: part}
		}
	}
	return nil
}

// PartError is the error of a part that does not exist.
type PartError struct{ Part string }

func (e *PartError) Error() string { return fmt.Sprintf("only: unknown part %q", e.Part) }

// Code and Hint are for those who show the error.
func (e *PartError) Code() string { return "unknown_part" }
func (e *PartError) Hint() string { return "name one of " + strings.Join(Parts(), ", ") }

// taker takes over one directory.
type taker struct {
	o      Options
	source *openclaw.Source
	report *Report
	record *record
	writer writer

	done, total int64
	shown       int64           // of done, what Progress was told last
	gone        map[string]bool // agents that were reported
}

// wants reports whether a part is taken over.
func (t *taker) wants(part string) bool { return len(t.o.Only) == 0 || slices.Contains(t.o.Only, part) }

func (t *taker) left(p openclaw.Problem) { t.report.add(p) }

// leave reports something that is not taken over.
func (t *taker) leave(place, reason, detail, hint string) {
	t.left(openclaw.Problem{Place: place, Reason: reason, Detail: detail, Hint: hint})
}

// refused reports an event that cannot be stored.
func (t *taker) refused(from origin, reason error) {
	from.count.Left++
	t.leave(from.place, ReasonInvalidEntry, reason.Error(), "")
}

// progressStep is how many bytes are read between two reports of progress.
const progressStep = 32 << 10

// progressed reports that some bytes of the source were read.
func (t *taker) progressed(bytes int64) {
	t.done += bytes
	if t.o.Progress != nil && (t.done-t.shown >= progressStep || t.done >= t.total) {
		t.shown = t.done
		t.o.Progress(t.done, max(t.total, t.done))
	}
}
