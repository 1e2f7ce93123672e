package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/replay/answers"
)

// shownChanges selects the differences to show.
type shownChanges struct {
	tables []string // empty: all
	limit  int      // rows per table
}

const maxShownRows = 100_000

func (s *shownChanges) addFlags(p *process, cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&s.tables, "table", nil, "only these `TABLES`, e.g. tasks,runs")
	cmd.Flags().IntVar(&s.limit, "limit", 10, "list at most `N` rows per table; 0: only counts")
	p.completeFlag(cmd, "table", func(context.Context) (list []cobra.Completion) {
		for _, d := range database.Projections(coordination.RulesV2) {
			for _, table := range d.Tables {
				list = append(list, cobra.CompletionWithDesc(table, d.Name))
			}
		}
		return list
	})
}

func (s *shownChanges) check() error {
	if s.limit < 0 || s.limit > maxShownRows {
		return &config.SettingError{Setting: "--limit", Value: strconv.Itoa(s.limit), HintText: fmt.Sprintf("give 0 to %d", maxShownRows)}
	}
	known := answers.Tables()
	for _, table := range s.tables {
		if !slices.Contains(known, table) {
			return &config.SettingError{Setting: "--table", Value: table, HintText: "choose from " + strings.Join(known, ", ")}
		}
	}
	return nil
}

// compare counts the differences between the tables of two files, and keeps the first rows of each.
func (s *shownChanges) compare(ctx context.Context, before, after compare.Viewer, rules coordination.Rules) ([]compare.Count, []compare.Change, error) {
	shown := answers.Shown{Tables: s.tables, Limit: s.limit}
	counts, rows, _, err := shown.Compare(ctx, before, after, rules)
	return counts, rows, err
}

// writeDiff prints differences: counts, then rows. expected are projections known to differ.
func (p *process) writeDiff(counts []compare.Count, changes []compare.Change, expected []string) error {
	rows := [][]string{}
	for _, c := range counts {
		if !c.Differs() {
			continue
		}
		row := []string{c.Projection, c.Table, output.Thousands(c.Added), output.Thousands(c.Removed), output.Thousands(c.Changed), output.Thousands(c.Rows)}
		if slices.Contains(expected, c.Projection) {
			row[0] += " (expected)"
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintf(p.stdout, "no differences in %s\n", output.Count(int64(len(counts)), "table"))
		return err
	}
	if err := output.Table(p.stdout, []string{"PROJECTION", "TABLE", "ADDED", "REMOVED", "CHANGED", "ROWS"}, rows); err != nil {
		return err
	}
	for len(changes) > 0 {
		end := slices.IndexFunc(changes, func(c compare.Change) bool { return c.Table != changes[0].Table })
		if end < 0 {
			end = len(changes)
		}
		if err := p.writeChangedRows(counts, changes[:end]); err != nil {
			return err
		}
		changes = changes[end:]
	}
	return nil
}

// writeChangedRows prints the rows of one table.
func (p *process) writeChangedRows(counts []compare.Count, changes []compare.Change) error {
	table := changes[0].Table
	heading := "\n" + table
	at := slices.IndexFunc(counts, func(c compare.Count) bool { return c.Table == table })
	if all := counts[at].Added + counts[at].Removed + counts[at].Changed; all > int64(len(changes)) {
		heading += fmt.Sprintf(": the first %s of %s", output.Thousands(int64(len(changes))), output.Count(all, "row"))
	}
	if _, err := fmt.Fprintln(p.stdout, heading); err != nil {
		return err
	}
	rows := [][]string{}
	for i := range changes {
		rows = append(rows, changedRow(&changes[i])...)
	}
	return output.Table(p.stdout, []string{"ROW", "COLUMN", "BEFORE", "AFTER"}, rows)
}

// changedRow prints a line for each differing column of a row. The first one names the row.
func changedRow(c *compare.Change) (lines [][]string) {
	var key []string
	for _, k := range c.Key {
		key = append(key, k.Name+"="+output.Cut(shownValue(k.After), keyCells))
	}
	name := map[compare.Kind]string{compare.Added: "+ ", compare.Removed: "- ", compare.Changed: "~ "}[c.Kind] + strings.Join(key, " ")
	for _, column := range c.Columns {
		before, after := shownValue(column.Before), shownValue(column.After)
		switch c.Kind {
		case compare.Added:
			if column.After == nil || column.After == "" {
				continue
			}
			before, after = "", output.Cut(after, valueCells)
		case compare.Removed:
			if column.Before == nil || column.Before == "" {
				continue
			}
			before, after = output.Cut(before, valueCells), ""
		default:
			before, after = cutAround(before, after)
		}
		lines = append(lines, []string{name, column.Name, before, after})
		name = ""
	}
	if len(lines) == 0 {
		lines = [][]string{{name, "", "", ""}}
	}
	return lines
}

// Maximum widths of values, in terminal cells.
const (
	keyCells   = 40
	valueCells = 60
)

// shownValue formats a value on one line. A text with invisible characters is quoted.
func shownValue(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case float64:
		if math.Abs(v) < 1e21 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		if v == "" || v != strings.TrimSpace(v) || strings.ContainsFunc(v, unicode.IsControl) {
			return strconv.Quote(v)
		}
		return v
	}
	return fmt.Sprint(value)
}

// cutAround shortens two values so that their difference is visible: a long common beginning is left out.
func cutAround(before, after string) (string, string) {
	if output.Cells(before) <= valueCells && output.Cells(after) <= valueCells {
		return before, after
	}
	const context = 10 // characters of the common part
	a, b := []rune(before), []rune(after)
	alike := 0
	for alike < min(len(a), len(b)) && a[alike] == b[alike] {
		alike++
	}
	if skip := alike - context; skip > context {
		before, after = "…"+string(a[skip:]), "…"+string(b[skip:])
	}
	return output.Cut(before, valueCells), output.Cut(after, valueCells)
}
