package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// writeJSON writes one answer as indented JSON, in which < > & stay as they are.
func writeJSON(w io.Writer, answer any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(answer)
}

// writeTable writes rows under a head, in columns that align whatever script they are in. Only a terminal sees the head in bold.
func writeTable(w io.Writer, head []string, rows [][]string) error {
	plain := lipgloss.NewStyle().PaddingRight(2)
	first := plain
	if isTerminal(w) {
		first = plain.Bold(true)
	}
	clean := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			clean[i] = append(clean[i], printable(cell))
		}
	}
	text := table.New().Headers(head...).Rows(clean...).Wrap(false).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderHeader(false).BorderColumn(false).
		StyleFunc(func(row, _ int) lipgloss.Style {
			if row == table.HeaderRow {
				return first
			}
			return plain
		}).String()
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n"))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printable takes out of a text from the log what would steer a terminal instead of being shown.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// formatMs writes a time of the log for people.
func formatMs(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05") }

// count writes a number of things in English: "1 event", "1,024 events".
func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return thousands(n) + " " + thing
}

func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
