// Package journal records which rows of a file of tables each step changes, by triggers generated from the tables'
// columns, so that a step can be shown and undone. It is for temporary files.
package journal

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// A row of journal is a note: the state of a row of a table before the step changed it for the first time, or that it
// did not exist. It contains the values themselves, key first, in columns without a type, which store values
// unchanged.
const schema = `CREATE TABLE journal_tables (
  tbl        INTEGER PRIMARY KEY, -- place in the order in which changes are listed
  projection TEXT NOT NULL,       -- '' of checkpoints, which are put back but not listed
  name       TEXT NOT NULL,
  keys       INTEGER NOT NULL,    -- so many columns are the primary key
  columns    TEXT NOT NULL        -- names with commas between, those of the key first
) STRICT;
CREATE TABLE journal_steps (step INTEGER PRIMARY KEY) STRICT;
CREATE TABLE journal_open (
  step INTEGER PRIMARY KEY -- the step that is under way, if one is
) STRICT`

// Install creates the journal's tables and triggers, for the tables of the definitions and for checkpoints. Changes
// made while no step is open are not recorded.
func Install(tx eventstore.Tx, defs []projections.Definition) error {
	tables := []*table{}
	for _, d := range defs {
		for _, name := range d.Tables {
			tables = append(tables, &table{projection: d.Name, name: name})
		}
	}
	tables = append(tables, &table{name: "projections"})
	width := 0
	for i, t := range tables {
		t.place = int64(i + 1)
		if err := t.describe(tx); err != nil {
			return fmt.Errorf("describe table %s: %w", t.name, err)
		}
		width = max(width, len(t.columns))
	}
	if err := execAll(tx, schema); err != nil {
		return err
	}
	if err := execAll(tx, notes(width)); err != nil {
		return err
	}
	for _, t := range tables {
		if err := t.save(tx); err != nil {
			return err
		}
		for _, trigger := range t.triggers() {
			if _, err := tx.Exec(trigger); err != nil {
				return fmt.Errorf("watch table %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// Begin opens a step: changes from now on are recorded under seq, which must exceed that of every earlier step, until
// another step begins, or this one is undone or forgotten.
func Begin(tx eventstore.Tx, seq int64) error {
	switch newest, found, err := newestStep(tx); {
	case err != nil:
		return err
	case found && newest >= seq:
		return fmt.Errorf("begin step %d: step %d already exists", seq, newest)
	}
	for _, query := range []string{"INSERT INTO journal_steps (step) VALUES (?)", "UPDATE journal_open SET step = ?1 WHERE step <> ?1",
		"INSERT INTO journal_open (step) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM journal_open)"} {
		if _, err := tx.Exec(query, seq); err != nil {
			return fmt.Errorf("begin step %d: %w", seq, err)
		}
	}
	return nil
}

// Undo reverts the newest step, and forgets it. No step is open then. Any other step is refused.
func Undo(tx eventstore.Tx, seq int64) error {
	switch newest, found, err := newestStep(tx); {
	case err != nil:
		return err
	case !found || newest != seq:
		return fmt.Errorf("undo step %d: it is not the newest recorded step", seq)
	}
	if _, err := tx.Exec("DELETE FROM journal_open"); err != nil { // so that restoring rows is not recorded
		return fmt.Errorf("undo step %d: %w", seq, err)
	}
	touched, err := touchedBy(tx, seq)
	if err != nil {
		return err
	}
	for _, t := range touched {
		if err := t.putBack(tx, seq); err != nil {
			return fmt.Errorf("undo step %d in table %s: %w", seq, t.name, err)
		}
	}
	return forget(tx, "=", seq)
}

// Forget drops the notes of steps up to seq, which can no longer be shown or undone. If one of them was open, no step
// is open any more.
func Forget(tx eventstore.Tx, seq int64) error { return forget(tx, "<=", seq) }

func forget(tx eventstore.Tx, which string, seq int64) error {
	for _, from := range []string{"journal", "journal_steps", "journal_open"} {
		if _, err := tx.Exec("DELETE FROM "+from+" WHERE step "+which+" ?", seq); err != nil {
			return fmt.Errorf("forget step %d: %w", seq, err)
		}
	}
	return nil
}

func newestStep(tx eventstore.Tx) (seq int64, found bool, err error) {
	err = tx.Query("SELECT max(step) FROM journal_steps", nil, func(r eventstore.Row) error {
		seq, found = r.Int(0), !r.Null(0)
		return nil
	})
	return seq, found, err
}
