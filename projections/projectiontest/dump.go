// Package projectiontest creates logs with the tables of projections, and dumps tables and query plans in a canonical
// form, so that tests can compare them. It is for tests only.
package projectiontest

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/projections"
)

// Viewer is the read access that Read and Dump need.
type Viewer interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Read runs reads within one transaction.
func Read[R any](t testing.TB, log Viewer, read func(ctx context.Context, tx *sql.Tx) (R, error)) (result R) {
	t.Helper()
	err := log.View(t.Context(), func(tx *sql.Tx) (err error) {
		result, err = read(t.Context(), tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Dump returns, from one snapshot, the checkpoint of every definition and every row of its tables: one line each, rows
// in the order of the primary key, each column with its name. Two logs have the same tables if their dumps are equal.
func Dump(t testing.TB, log Viewer, defs ...projections.Definition) []string {
	t.Helper()
	var lines []string
	err := log.View(t.Context(), func(tx *sql.Tx) error {
		for _, d := range defs {
			checkpoint, err := dumpRows(tx, "SELECT name, version, kind, state, seq, context FROM projections WHERE name = ?", d.Name)
			if err != nil {
				return fmt.Errorf("checkpoint of %s: %w", d.Name, err)
			}
			lines = append(lines, checkpoint...)
			for _, table := range d.Tables {
				rows, err := dumpTable(tx, table)
				if err != nil {
					return fmt.Errorf("table %s: %w", table, err)
				}
				lines = append(lines, rows...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	return lines
}

func dumpTable(tx *sql.Tx, table string) ([]string, error) {
	keys, err := texts(tx, "SELECT name FROM pragma_table_xinfo(?) WHERE pk > 0 ORDER BY pk", table)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("no such table, or none with a primary key")
	}
	lines, err := dumpRows(tx, "SELECT * FROM "+table+" ORDER BY "+strings.Join(keys, ", "))
	for i := range lines {
		lines[i] = table + lines[i]
	}
	return lines, err
}

func dumpRows(tx *sql.Tx, query string, args ...any) ([]string, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	var lines []string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		var b strings.Builder
		for i, name := range names {
			fmt.Fprintf(&b, " %s=%s", name, show(values[i]))
		}
		lines = append(lines, b.String())
	}
	return lines, rows.Err()
}

func texts(tx *sql.Tx, query string, args ...any) ([]string, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// show makes values of different types distinguishable.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64) + "r"
	case []byte:
		return fmt.Sprintf("x'%x'", v)
	default:
		return fmt.Sprintf("%q", v)
	}
}
