// Package verify verifies that a database matches its log: the chain, the archives, the tables, the task files and
// the mirrored lines. It changes nothing, and can run beside a server.
package verify

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
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/redactions"
	"github.com/pronto-lab/openclawd/services/tasksync"
)

// Part is verified on its own.
type Part string

const (
	Chain    Part = "chain"    // the log: gapless, unchanged, in order; and the structure of its file
	Archives Part = "archives" // payload files: complete, and of this log
	Tables   Part = "tables"   // equal to a rebuild
	Files    Part = "files"    // Markdown task files: equal to the log
	Mirror   Part = "mirror"   // coordination logs: the lines of our events
)

// Parts lists all parts in the order of verification.
func Parts() []Part { return []Part{Chain, Archives, Tables, Files, Mirror} }

// State of a part.
type State string

const (
	OK      State = "ok"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Options configures Run. Log, Rules and Now are required.
type Options struct {
	Log   *sqlite.DB // may be read-only, and in use
	Rules coordination.Rules
	Now   func() time.Time // for the duration
	Only  []Part           // nil: all
	// ChainOnly omits the structure of the file from the chain's part: only the events are read.
	ChainOnly bool
	// StateDir is the database's state directory. If it is "", files and mirror are left out, and Alone says why.
	StateDir, Alone string
	// CheckFiles compares the task files with the log. They are left out if it is nil, or returns a *SkipError.
	CheckFiles func(ctx context.Context, log *sqlite.DB) (tasksync.Checked, error)
	Progress   func(part Part, done, total int64) // may be nil
}

// Report is the result of Run.
type Report struct {
	*sqlite.Verification           // of the log; nil if the chain was not verified
	OK                   bool      `json:"ok"`
	DB                   string    `json:"db"`
	ElapsedMs            int64     `json:"elapsedMs"`
	Parts                []Outcome `json:"parts"`
}

// Outcome is the result of one part.
type Outcome struct {
	Part      Part             `json:"part"`
	State     State            `json:"state"`
	Why       string           `json:"why,omitempty"`    // why it failed, or was left out
	Code      string           `json:"code,omitempty"`   // code of the violation, or of why it cannot be verified now
	Counts    map[string]int64 `json:"counts,omitempty"` // number of checked items
	Found     int64            `json:"found"`            // violations
	Findings  []Finding        `json:"findings,omitempty"`
	Tables    []compare.Count  `json:"tables,omitempty"` // that differ
	Notes     []string         `json:"notes,omitempty"`  // remarks that are no faults
	ElapsedMs int64            `json:"elapsedMs"`

	err  error // why it could not be verified completely; nil if it was
	hint string
}

// MaxFindings is the most findings of a part that are listed.
const MaxFindings = 10

// Finding is one violation.
type Finding struct {
	What string               `json:"what"`
	Row  *compare.Change      `json:"row,omitempty"`  // before: as the log says; after: as found
	File *tasksync.Difference `json:"file,omitempty"` // of a task file
	Line *ndjson.MirrorFault  `json:"line,omitempty"`
}

// SkipError says why a part is left out.
type SkipError struct{ Why string }

func (e *SkipError) Error() string { return e.Why }

// verifier is one run.
type verifier struct {
	Options
	report  Report
	pending string // id of an unfinished redaction; "" for none
}

// Run verifies the requested parts, each independently of the others. The report is complete unless ctx ends. The
// error is a *RefutedError if something does not hold or could not be checked, and a *PendingError if all else
// holds but an unfinished redaction keeps parts from being verified.
func Run(ctx context.Context, o Options) (*Report, error) {
	p := &verifier{Options: o, report: Report{DB: o.Log.Path(), Parts: []Outcome{}}}
	if p.Progress == nil {
		p.Progress = func(Part, int64, int64) {}
	}
	start := o.Now()
	defer func() { p.report.ElapsedMs = o.Now().Sub(start).Milliseconds() }()
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

// NotRequested is the Why of a part that Options.Only excludes.
const NotRequested = "not requested"

func (p *verifier) prove(ctx context.Context, part Part) Outcome {
	out := Outcome{Part: part, State: OK}
	if p.Only != nil && !slices.Contains(p.Only, part) {
		return Outcome{Part: part, State: Skipped, Why: NotRequested}
	}
	start := p.Now()
	var err error
	switch part {
	case Chain:
		err = p.chain(ctx, &out)
	case Archives:
		err = p.archives(ctx, &out)
	case Tables:
		err = p.skipDuringRedaction(ctx, &out, p.tables)
	case Files:
		err = p.skipDuringRedaction(ctx, &out, p.files)
	case Mirror:
		err = p.skipDuringRedaction(ctx, &out, p.mirror)
	}
	out.ElapsedMs = p.Now().Sub(start).Milliseconds()
	out.end(err)
	return out
}

// skipDuringRedaction leaves a part out while redacted texts are not removed everywhere: it may still contain them.
func (p *verifier) skipDuringRedaction(ctx context.Context, out *Outcome, prove func(context.Context, *Outcome) error) error {
	if p.pending != "" {
		out.Code = pendingCode
		return &SkipError{"redaction " + p.pending + " is not finished"}
	}
	return prove(ctx, out)
}

// end records the outcome of a part.
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

// find records a violation.
func (o *Outcome) find(f Finding) {
	if o.Found++; len(o.Findings) < MaxFindings {
		o.Findings = append(o.Findings, f)
	}
}

func (o *Outcome) addNote(format string, values ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, values...))
}

// readPending finds an unfinished redaction.
func (p *verifier) readPending(ctx context.Context) error {
	return p.Log.View(ctx, func(tx *sql.Tx) error {
		list, err := redactions.Read(ctx, tx, "")
		for i := range list {
			if list[i].State == redactions.Pending {
				p.pending = list[i].ID
			}
		}
		return err
	})
}

func (p *verifier) verdict() error {
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

// RefutedError says that something does not hold. Its code is the one of the first such part.
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

// PendingError says that not everything can be verified now.
type PendingError struct{ ID string }

func (e *PendingError) Error() string {
	return "redaction " + e.ID + " is not finished: tables, files and mirror cannot be verified before"
}
func (e *PendingError) Code() string { return pendingCode }
func (e *PendingError) Hint() string {
	return "wait for the server, or run openclawd redact --resume, and verify again"
}
