package journal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

// table is a watched table.
type table struct {
	place            int64
	projection, name string
	keys             int // number of leading columns that are the primary key
	columns          []string
	unique           [][]string // column sets with a unique index, besides the key
}

// describe reads the columns from the table itself.
func (t *table) describe(tx eventstore.Tx) error {
	err := tx.Query("SELECT name, pk FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY pk = 0, pk, cid", []any{t.name}, func(r eventstore.Row) error {
		t.columns = append(t.columns, r.Text(0))
		if r.Int(1) > 0 {
			t.keys++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if t.keys == 0 {
		return errors.New("there is no such table, or it has no primary key")
	}
	last, computed := "", false
	err = tx.Query(`SELECT l.name, i.name FROM pragma_index_list(?) l, pragma_index_info(l.name) i WHERE l."unique" AND l.origin <> 'pk' ORDER BY l.seq, i.seqno`,
		[]any{t.name}, func(r eventstore.Row) error {
			if r.Text(0) != last {
				last, t.unique = r.Text(0), append(t.unique, nil)
			}
			computed = computed || r.Null(1)
			of := &t.unique[len(t.unique)-1]
			*of = append(*of, r.Text(1))
			return nil
		})
	if err == nil && computed {
		err = errors.New("it has a unique index on an expression, so conflicting rows cannot be determined")
	}
	return err
}

func (t *table) save(tx eventstore.Tx) error {
	_, err := tx.Exec("INSERT INTO journal_tables (tbl, projection, name, keys, columns) VALUES (?, ?, ?, ?, ?)",
		t.place, t.projection, t.name, t.keys, strings.Join(t.columns, ","))
	return err
}

// touchedBy lists the tables with notes of a step, in order.
func touchedBy(tx eventstore.Tx, seq int64) (tables []*table, err error) {
	err = tx.Query(`SELECT tbl, projection, name, keys, columns FROM journal_tables
 WHERE tbl IN (SELECT tbl FROM journal WHERE step = ?) ORDER BY tbl`, []any{seq}, func(r eventstore.Row) error {
		tables = append(tables, &table{place: r.Int(0), projection: r.Text(1), name: r.Text(2), keys: int(r.Int(3)), columns: strings.Split(r.Text(4), ",")})
		return nil
	})
	return tables, err
}

// notes is the DDL of the table of notes, wide enough for the widest table.
func notes(width int) string {
	var b strings.Builder
	b.WriteString("CREATE TABLE journal (id INTEGER PRIMARY KEY, step INTEGER, tbl INTEGER, existed INTEGER")
	for i := range width {
		fmt.Fprintf(&b, ", c%d", i)
	}
	b.WriteString(");\nCREATE INDEX journal_by_step ON journal (step, tbl, c0)")
	return b.String()
}

// triggers record each row before it is changed. Replacing rows (INSERT OR REPLACE) deletes them without firing
// triggers, so the rows that a new one would replace are recorded first. A conflict clause of the statement also
// applies inside triggers, therefore these have none.
func (t *table) triggers() []string {
	begin := func(when string) string {
		name := strings.ToLower(strings.ReplaceAll(when, " ", "_"))
		return fmt.Sprintf("CREATE TRIGGER journal_%s_%s %s ON %q WHEN EXISTS (SELECT 1 FROM journal_open) BEGIN\n", t.name, name, when, t.name)
	}
	displacedBy := func(also string) (statements string) {
		for _, columns := range t.unique {
			statements += t.noteStatement(columnsOf("t", t.columns), t.name, pairs("t", "=", "NEW", columns)+fmt.Sprintf(also, pairs("OLD", "IS", "NEW", columns)))
		}
		return statements
	}
	key := t.columns[:t.keys]
	moved := " AND NOT (%s)"
	return []string{
		begin("BEFORE INSERT") + t.noteStatement(columnsOf("t", t.columns), t.name, pairs("t", "=", "NEW", key)) + displacedBy("%.0s") + "END",
		begin("AFTER INSERT") + t.absentStatement("") + "END",
		begin("BEFORE UPDATE") + t.noteStatement(columnsOf("OLD", t.columns), "", "") +
			t.noteStatement(columnsOf("t", t.columns), t.name, pairs("t", "=", "NEW", key)+fmt.Sprintf(moved, pairs("OLD", "IS", "NEW", key))) + displacedBy(moved) + "END",
		begin("AFTER UPDATE") + t.absentStatement(fmt.Sprintf(moved, pairs("OLD", "IS", "NEW", key))) + "END",
		begin("BEFORE DELETE") + t.noteStatement(columnsOf("OLD", t.columns), "", "") + "END",
	}
}

// noteStatement is the statement that records the current state of a row, unless the step has a note of it. values are its
// columns, from the table t unless from is "".
func (t *table) noteStatement(values []string, from, where string) string {
	if from != "" {
		from, where = fmt.Sprintf(", %q t", from), " AND "+where
	}
	return fmt.Sprintf("INSERT INTO journal (step, tbl, existed, %s) SELECT o.step, %d, 1, %s FROM journal_open o%s WHERE %s%s;\n",
		strings.Join(numbered("", len(values)), ", "), t.place, strings.Join(values, ", "), from, t.withoutNote(values), where)
}

// absentStatement is the statement that records that the new row did not exist, unless the step has a note of it.
func (t *table) absentStatement(also string) string {
	key := columnsOf("NEW", t.columns[:t.keys])
	return fmt.Sprintf("INSERT INTO journal (step, tbl, existed, %s) SELECT o.step, %d, 0, %s FROM journal_open o WHERE %s%s;\n",
		strings.Join(numbered("", t.keys), ", "), t.place, strings.Join(key, ", "), t.withoutNote(key), also)
}

// withoutNote is the condition that the open step has no note of the row that values begin with.
func (t *table) withoutNote(values []string) string {
	terms := []string{"j.step = o.step", fmt.Sprintf("j.tbl = %d", t.place)}
	for i := range t.keys {
		terms = append(terms, fmt.Sprintf("j.c%d IS %s", i, values[i]))
	}
	return "NOT EXISTS (SELECT 1 FROM journal j WHERE " + strings.Join(terms, " AND ") + ")"
}

// putBack restores the rows recorded by a step. Existing rows are deleted first, so that none conflicts with another.
func (t *table) putBack(tx eventstore.Tx, seq int64) error {
	key, noted := strings.Join(columnsOf("", t.columns[:t.keys]), ", "), strings.Join(numbered("", t.keys), ", ")
	if _, err := tx.Exec(fmt.Sprintf("DELETE FROM %q WHERE (%s) IN (SELECT %s FROM journal WHERE step = ? AND tbl = ?)", t.name, key, noted),
		seq, t.place); err != nil {
		return err
	}
	_, err := tx.Exec(fmt.Sprintf("INSERT INTO %q (%s) SELECT %s FROM journal WHERE step = ? AND tbl = ? AND existed", t.name,
		strings.Join(columnsOf("", t.columns), ", "), strings.Join(numbered("", len(t.columns)), ", ")), seq, t.place)
	return err
}

// pairs is the condition that each pair of columns of two rows compares with op. Two NULLs are not = but IS: a unique
// index accepts both, and a row whose value stays NULL has not moved.
func pairs(a, operator, b string, columns []string) string {
	left, right := columnsOf(a, columns), columnsOf(b, columns)
	terms := make([]string, len(columns))
	for i := range columns {
		terms[i] = left[i] + " " + operator + " " + right[i]
	}
	return strings.Join(terms, " AND ")
}

func columnsOf(row string, columns []string) []string {
	if row != "" {
		row += "."
	}
	list := make([]string, len(columns))
	for i, name := range columns {
		list[i] = row + `"` + name + `"`
	}
	return list
}

// numbered are the columns of notes.
func numbered(row string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("c%d", i)
		if row != "" {
			list[i] = row + "." + list[i]
		}
	}
	return list
}

func execAll(tx eventstore.Tx, script string) error {
	for statement := range strings.SplitSeq(script, ";\n") {
		if _, err := tx.Exec(statement); err != nil {
			return fmt.Errorf("create the journal: %w", err)
		}
	}
	return nil
}
