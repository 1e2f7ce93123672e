package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// whatIfAnswer is the JSON output.
type whatIfAnswer struct {
	Seq         int64              `json:"seq"` // last event of the log included
	Rules       coordination.Rules `json:"rules"`
	Equal       bool               `json:"equal"`
	Projections []foldedProjection `json:"projections"`
	Tables      []compare.Count    `json:"tables"`
	Rows        []compare.Change   `json:"rows"` // at most --limit per table
}

// foldedProjection compares a projection of the file with that of this binary.
type foldedProjection struct {
	Name     string            `json:"name"`
	Stored   string            `json:"stored"` // version in the file; "": it never ran there
	Version  string            `json:"version"`
	State    projections.State `json:"state"` // in the file
	StoredAt int64             `json:"storedSeq"`
	Differs  bool              `json:"differs"`
	Expected string            `json:"expected,omitempty"` // reason why it may differ
}

// whatIf builds tables from the whole log by this binary and compares them with those of the file, which may be written to meanwhile: it
// builds up to the head, then on to the position of one snapshot of the file.
func (p *process) whatIf(ctx context.Context, log *sqlite.DB, rules coordination.Rules, r replayFlags) (err error) {
	state, err := p.stateAt(ctx, log, rules, "", "head")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	answer := whatIfAnswer{Rules: rules}
	err = log.View(ctx, func(tx *sql.Tx) error {
		if err := catchUp(ctx, log, tx, state); err != nil {
			return err
		}
		answer.Seq = state.Until()
		stored, err := projections.List(ctx, tx)
		if err != nil {
			return err
		}
		answer.Projections = foldedBeside(stored, rules, answer.Seq)
		answer.Tables, answer.Rows, err = r.shown.compare(ctx, snapshot{tx}, state, rules)
		return err
	})
	if err != nil {
		return err
	}
	answer.sumUp()
	if r.asJSON {
		err = output.JSON(p.stdout, answer)
	} else {
		err = p.writeWhatIf(&answer)
	}
	if err == nil && !answer.Equal {
		err = &differsError{&answer}
	}
	return err
}

// catchUp advances the tables of a state to the end of the log in a snapshot.
func catchUp(ctx context.Context, log *sqlite.DB, tx *sql.Tx, state *asof.State) error {
	var head int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&head); err != nil {
		return err
	}
	if head == state.Until() {
		return nil
	}
	if err := state.Move(ctx, head); err != nil {
		return err
	}
	return state.Fold.Run(ctx, log, head, nil)
}

// snapshot is a file as of the start of a transaction.
type snapshot struct{ tx *sql.Tx }

func (s snapshot) View(_ context.Context, read func(*sql.Tx) error) error { return read(s.tx) }

// foldedBeside lists the file's projections beside those of this binary. One of another version, or not at the end of the log, is expected
// to differ.
func foldedBeside(stored []projections.Status, rules coordination.Rules, seq int64) (list []foldedProjection) {
	for _, d := range database.Projections(rules) {
		f := foldedProjection{Name: d.Name, Version: d.Version}
		at := slices.IndexFunc(stored, func(s projections.Status) bool { return s.Name == d.Name })
		if at < 0 {
			f.Expected = "the file does not have it yet"
			list = append(list, f)
			continue
		}
		s := &stored[at]
		f.Stored, f.State, f.StoredAt = s.Version, s.State, s.Seq
		switch {
		case s.Version != d.Version:
			f.Expected = fmt.Sprintf("version %s in the file, this binary has %s", s.Version, d.Version)
		case s.State != projections.Live || s.Seq != seq:
			f.Expected = fmt.Sprintf("in the file it is %s at event %s", s.State, output.Thousands(s.Seq))
		}
		list = append(list, f)
	}
	return list
}

// sumUp records for each projection whether it differs, and whether all are equal.
func (a *whatIfAnswer) sumUp() {
	a.Equal = true
	for i := range a.Tables {
		if !a.Tables[i].Differs() {
			continue
		}
		a.Equal = false
		for j := range a.Projections {
			if a.Projections[j].Name == a.Tables[i].Projection {
				a.Projections[j].Differs = true
			}
		}
	}
}

func (p *process) writeWhatIf(a *whatIfAnswer) error {
	if _, err := fmt.Fprintf(p.stdout, "before: the tables of the file; after: %s projected by this openclawd, rules %s\n", output.Count(a.Seq, "event"), a.Rules); err != nil {
		return err
	}
	expected := []string{}
	for _, f := range a.Projections {
		if f.Expected == "" {
			continue
		}
		expected = append(expected, f.Name)
		if _, err := fmt.Fprintf(p.stdout, "%s is expected to differ: %s\n", f.Name, f.Expected); err != nil {
			return err
		}
	}
	return p.writeDiff(a.Tables, a.Rows, expected)
}

// differsError reports that the tables of a file differ from those that this binary builds.
type differsError struct{ answer *whatIfAnswer }

func (e *differsError) Error() string {
	expected, others := []string{}, []string{}
	for _, f := range e.answer.Projections {
		switch {
		case f.Differs && f.Expected != "":
			expected = append(expected, f.Name)
		case f.Differs:
			others = append(others, f.Name)
		}
	}
	switch {
	case len(others) == 0:
		return "the tables differ, as expected, in " + strings.Join(expected, ", ")
	case len(expected) == 0:
		return "the tables differ in " + strings.Join(others, ", ")
	}
	return fmt.Sprintf("the tables differ in %s, and, as expected, in %s", strings.Join(others, ", "), strings.Join(expected, ", "))
}
func (e *differsError) Code() string { return "differs" }
func (e *differsError) Hint() string {
	return "openclawd serve rebuilds projections that are expected to differ; openclawd projections rebuild rebuilds the others"
}
