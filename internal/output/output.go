// Package output formats answers for people and for programs: tables that align in every script, JSON, numbers and
// times.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/mattn/go-isatty"
)

// JSON writes v as indented JSON, with < > & unescaped.
func JSON(w io.Writer, answer any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(answer)
}

// JSONLine writes v as JSON on one line.
func JSONLine(w io.Writer, answer any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(answer)
}

// Table writes rows under a header, in columns that align in any script. Only a terminal shows the header in bold.
func Table(w io.Writer, head []string, rows [][]string) error {
	plain := lipgloss.NewStyle().PaddingRight(2)
	first := plain
	if IsTerminal(w) {
		first = plain.Bold(true)
	}
	clean := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			clean[i] = append(clean[i], Printable(cell))
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

// Printable removes from a text of the log what would control a terminal, or make it show the text in another order.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Time formats a time of the log, in milliseconds since 1970, for people.
func Time(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05") }

// Duration formats milliseconds: 340ms, 2.1s, 3m4s.
func Duration(ms int64) string {
	d := time.Duration(max(ms, 0)) * time.Millisecond
	switch {
	case d < time.Second:
		return d.String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Count formats a number of things in English: "1 event", "1,024 events".
func Count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Thousands(n) + " " + thing
}

// Thousands formats a number with a comma before each three digits.
func Thousands(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Bytes formats a size for people, in the units of disks.
func Bytes(n int64) string {
	switch {
	case n < 1_000:
		return Count(n, "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
