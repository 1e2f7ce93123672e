// Package proof proves that a database is what its log makes of it: the chain, the archives, the tables, the files of tasks and the lines that were
// mirrored. It changes nothing, and works beside a server.
package proof

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/tools/task/files"
)

// Part is something that is proved by itself.
type Part string

const (
	Chain    Part = "chain"    // the log: gapless, unchanged, in order; and the structure of its file
	Archives Part = "archives" // files of payloads: whole, and of this log
	Tables   Part = "tables"   // what a rebuild would make
	Files    Part = "files"    // Markdown files of tasks: what the log says
	Mirror   Part = "mirror"   // coordination logs: the lines of our events
)

// Parts lists all, in the order in which they are proved.
func Parts() []Part { return []Part{Chain, Archives, Tables, Files, Mirror} }

// State of a part.
type State string

const (
	OK      State = "ok"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Options of Run. Log, Rules and Now are required.
type Options struct {
	Log   *sqlite.DB // may be open for reading only, and in use
	Rules coordination.Rules
	Now   func() time.Time // for how long it took
	Only  []Part           // nil: all
	// ChainOnly leaves the structure of the file out of the chain's part: only the events are read.
	ChainOnly bool
	// StateDir is the state directory that the database is of. Where it is "", files and mirror are left out, and Alone says why.
	StateDir, Alone string
	// CheckFiles holds the files of tasks against the log. nil, and an error that is a *SkipError: they are left out.
	CheckFiles func(ctx context.Context, log *sqlite.DB) (files.Checked, error)
	Progress   func(part Part, done, total int64) // may be nil
}

// Report is what was found.
type Report struct {
	*sqlite.Proof           // of the log; nil where the chain was not proved
	OK            bool      `json:"ok"`
	DB            string    `json:"db"`
	ElapsedMs     int64     `json:"elapsedMs"`
	Parts         []Outcome `json:"parts"`
}

// Outcome is what was found of one part.
type Outcome struct {
	Part      Part             `json:"part"`
	State     State            `json:"state"`
	Why       string           `json:"why,omitempty"`    // it failed, or was left out
	Code      string           `json:"code,omitempty"`   // of what does not hold, or why it cannot be proved now
	Counts    map[string]int64 `json:"counts,omitempty"` // what was looked at
	Found     int64            `json:"found"`            // what does not hold
	Findings  []Finding        `json:"findings,omitempty"`
	Tables    []compare.Count  `json:"tables,omitempty"` // that differ
	Notes     []string         `json:"notes,omitempty"`  // what is no fault, and to be known
	ElapsedMs int64            `json:"elapsedMs"`

	err  error // why it could not be proved to the end; nil where it could
	hint string
}

// MaxFindings is how many findings of a part are named.
const MaxFindings = 10

// Finding is one thing that does not hold.
type Finding struct {
	What string              `json:"what"`
	Row  *compare.Change     `json:"row,omitempty"`  // before: what the log makes; after: what is there
	File *files.Difference   `json:"file,omitempty"` // of a task
	Line *ndjson.MirrorFault `json:"line,omitempty"`
}

// SkipError says why a part is left out.
type SkipError struct{ Why string }

func (e *SkipError) Error() string { return e.Why }

// prover is one run.
type prover struct {
	Options
	report  Report
	pending string // id of a redaction that is not finished; "" is none
}

// Run proves what is asked for, each part whatever became of those before it. The report is whole unless ctx ends. The error is a *RefutedError where
// something does not hold or could not be looked at, a *PendingError where all holds but a redaction that is under way keeps parts from being proved.
func Run(ctx context.Context, o Options) (*Report, error) {
	p := &prover{Options: o, report: Report{DB: o.Log.Path(), Parts: []Outcome{}}}
	if p.Progress == nil {
		p.Progress = func(Part, int64, int64) {}
	}
	begun := o.Now()
	defer func() { p.report.ElapsedMs = o.Now().Sub(begun).Milliseconds() }()
	if err := p.readPending(ctx); err != nil && ctx.Err() != nil {
		return &p.report, ctx.Err()
	}
	for _, part := range Parts() {
		out := p.prove(ctx, part)
		if ctx.Err() != nil {
			return &p.report, ctx.Err()
		}
		p.report.Parts = append(p.report.Parts, out)
	}
	return &p.report, p.verdict()
}

func (p *prover) prove(ctx context.Context, part Part) Outcome {
	out := Outcome{Part: part, State: OK}
	if p.Only != nil && !slices.Contains(p.Only, part) {
		return Outcome{Part: part, State: Skipped, Why: "not asked for"}
	}
	begun := p.Now()
	var err error
	switch part {
	case Chain:
		err = p.chain(ctx, &out)
	case Archives:
		err = p.archives(ctx, &out)
	case Tables:
		err = p.settled(ctx, &out, p.tables)
	case Files:
		err = p.settled(ctx, &out, p.files)
	case Mirror:
		err = p.settled(ctx, &out, p.mirror)
	}
	out.ElapsedMs = p.Now().Sub(begun).Milliseconds()
	out.end(err)
	return out
}

// settled leaves a part out while what was redacted is not forgotten everywhere: it may still show it.
func (p *prover) settled(ctx context.Context, out *Outcome, prove func(context.Context, *Outcome) error) error {
	if p.pending != "" {
		out.Code = pendingCode
		return &SkipError{"redaction " + p.pending + " is not finished"}
	}
	return prove(ctx, out)
}

// end says how a part came out.
func (o *Outcome) end(err error) {
	var skipped *SkipError
	var coded eventstore.Coded
	switch {
	case errors.As(err, &skipped):
		o.State, o.Why = Skipped, skipped.Why
	case err != nil:
		o.State, o.Why, o.err = Failed, err.Error(), err
		if o.Code == "" {
			o.Code = "failed"
		}
		if errors.As(err, &coded) {
			o.Code, o.hint = coded.Code(), coded.Hint()
		}
		if o.Found == 0 {
			o.Found, o.Findings = 1, []Finding{{What: o.Why}}
		}
	case o.Found > 0:
		o.State = Failed
	}
}

// find notes something that does not hold.
func (o *Outcome) find(f Finding) {
	if o.Found++; len(o.Findings) < MaxFindings {
		o.Findings = append(o.Findings, f)
	}
}

func (o *Outcome) note(format string, values ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, values...))
}

// readPending looks for a redaction that is not finished.
func (p *prover) readPending(ctx context.Context) error {
	return p.Log.View(ctx, func(tx *sql.Tx) error {
		list, err := monitor.ReadRedactions(ctx, tx, "")
		for i := range list {
			if list[i].State == monitor.RedactionPending {
				p.pending = list[i].ID
			}
		}
		return err
	})
}

func (p *prover) verdict() error {
	var failed []*Outcome
	pending := false
	for i := range p.report.Parts {
		o := &p.report.Parts[i]
		if o.State == Failed {
			failed = append(failed, o)
		}
		pending = pending || o.Code == pendingCode
	}
	switch {
	case len(failed) > 0:
		return &RefutedError{failed}
	case pending:
		return &PendingError{p.pending}
	}
	p.report.OK = true
	return nil
}

// RefutedError says that something does not hold. Its code is that of the first part that does not.
type RefutedError struct{ failed []*Outcome }

func (e *RefutedError) Error() string {
	first := e.failed[0]
	text := first.Why
	if first.err == nil || first.Part != Chain {
		text = string(first.Part) + ": " + text
	}
	var others []string
	for _, o := range e.failed[1:] {
		others = append(others, string(o.Part))
	}
	if len(others) > 0 {
		text += "; also failed: " + strings.Join(others, ", ")
	}
	return text
}
func (e *RefutedError) Code() string  { return e.failed[0].Code }
func (e *RefutedError) Hint() string  { return e.failed[0].hint }
func (e *RefutedError) Unwrap() error { return e.failed[0].err }

const pendingCode = "redaction_pending"

// PendingError says that not everything can be proved now.
type PendingError struct{ ID string }

func (e *PendingError) Error() string {
	return "redaction " + e.ID + " is not finished: tables, files and mirror cannot be proved before"
}
func (e *PendingError) Code() string { return pendingCode }
func (e *PendingError) Hint() string {
	return "wait for the server, or run openclawd redact --resume, and verify again"
}
