package projections

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

type index struct{ name, ddl string }

// on returns the DDL of the index for a table of another name.
func (x *index) on(from, to string) string {
	head, columns, _ := strings.Cut(x.ddl, " ON ")
	return head + " ON " + renamed(columns, from, to)
}

// describe returns the DDL of a table and of its own indexes.
func describe(tx eventstore.Tx, table string) (ddl string, indexes []index, err error) {
	err = tx.Query("SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type DESC, name", []any{table},
		func(row eventstore.Row) error {
			switch row.Text(0) {
			case "table":
				ddl = row.Text(2)
			case "index":
				indexes = append(indexes, index{row.Text(1), row.Text(2)})
			}
			return nil
		})
	if err == nil && ddl == "" {
		err = fmt.Errorf("no table %s", table)
	}
	return ddl, indexes, err
}

// renamed replaces the first mention of a name in a piece of DDL, quoted or not.
func renamed(ddl, from, to string) string {
	for _, quoted := range []string{`"` + from + `"`, from} {
		if i := strings.Index(ddl, quoted); i >= 0 {
			return ddl[:i] + to + ddl[i+len(quoted):]
		}
	}
	return ddl
}

// otherName is the name of an index on the tables of the next rebuild. Index names are unique in a file and cannot be
// changed, so the two generations alternate.
func otherName(name string) string {
	if base, ok := strings.CutSuffix(name, "_b"); ok {
		return base
	}
	return name + "_b"
}

// replaceTables renames the shadow tables to the tables' names, which the views refer to. Each rename makes SQLite
// parse the whole schema several times, most of which are views, so these are dropped meanwhile. A table of at most
// small rows is dropped at once, which costs less than a rename; the others are kept under another name.
func replaceTables(tx eventstore.Tx, tables []string, small int) (err error) {
	views, err := dropViews(tx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec("PRAGMA legacy_alter_table = ON"); err != nil { // otherwise references to the table are changed too
		return err
	}
	defer func() {
		_, off := tx.Exec("PRAGMA legacy_alter_table = OFF")
		err = errors.Join(err, off)
	}()
	for _, table := range tables {
		if err := replaceTable(tx, table, small); err != nil {
			return fmt.Errorf("replace table %s: %w", table, err)
		}
	}
	for _, ddl := range views {
		if _, err := tx.Exec(ddl); err != nil {
			return fmt.Errorf("create a view again: %w", err)
		}
	}
	return nil
}

func replaceTable(tx eventstore.Tx, table string, small int) error {
	large := false
	err := tx.Query(fmt.Sprintf("SELECT 1 FROM %s LIMIT 1 OFFSET %d", table, small), nil, func(eventstore.Row) error {
		large = true
		return nil
	})
	if err != nil {
		return err
	}
	away := "DROP TABLE " + table
	if large {
		away = "ALTER TABLE " + table + " RENAME TO " + droppedPrefix + table
	}
	if _, err := tx.Exec(away); err != nil {
		return err
	}
	_, err = tx.Exec("ALTER TABLE " + shadowPrefix + table + " RENAME TO " + table)
	return err
}

// dropViews drops all views, and returns the statements that create them again, in their original order.
func dropViews(tx eventstore.Tx) (ddl []string, err error) {
	var names []string
	err = tx.Query("SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY rowid", nil, func(row eventstore.Row) error {
		names, ddl = append(names, row.Text(0)), append(ddl, row.Text(1))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list views: %w", err)
	}
	for _, name := range names {
		if _, err := tx.Exec(`DROP VIEW "` + strings.ReplaceAll(name, `"`, `""`) + `"`); err != nil {
			return nil, fmt.Errorf("drop view %s: %w", name, err)
		}
	}
	return ddl, nil
}
