package output

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

// Wrap breaks a line into lines of at most width terminal cells, between words where possible. Lines after the
// first are indented two cells more than the first. Control characters are removed. Width 0 means no limit.
func Wrap(line string, cells int) []string {
	line = Printable(strings.ReplaceAll(line, "\t", "  "))
	if cells <= 0 || Cells(line) <= cells {
		return []string{line}
	}
	begin := split(line, cells)[0]
	rest := strings.TrimLeft(strings.TrimPrefix(line, begin), " ")
	lines := []string{begin}
	if rest == "" {
		return lines
	}
	const further = 2
	in := min(len(line)-len(strings.TrimLeft(line, " "))+further, cells/2)
	for _, part := range split(rest, cells-in) {
		lines = append(lines, strings.Repeat(" ", in)+part)
	}
	return lines
}

// split breaks a line between words. lipgloss lets a hyphen after a wide letter exceed the width; such lines are cut.
func split(line string, cells int) (parts []string) {
	for part := range strings.SplitSeq(lipgloss.Wrap(line, cells, ""), "\n") {
		for Cells(part) > cells {
			at := len(part)
			for Cells(part[:at]) > cells {
				_, size := utf8.DecodeLastRuneInString(part[:at])
				at -= size
			}
			if at == 0 { // one letter is wider than the line
				break
			}
			parts, part = append(parts, part[:at]), part[at:]
		}
		parts = append(parts, part)
	}
	return parts
}

// Bold, Faint and Red style text for terminals.
func Bold(line string) string  { return lipgloss.NewStyle().Bold(true).Render(line) }
func Faint(line string) string { return lipgloss.NewStyle().Faint(true).Render(line) }
func Red(line string) string   { return lipgloss.NewStyle().Foreground(lipgloss.Red).Render(line) }
