package output

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Wrap breaks a line into lines that fit so many cells of a terminal, between words where it can. Lines after the first stand two cells further in than the
// line begins. What would steer the terminal is taken out; 0 is as long as it is.
func Wrap(line string, cells int) []string {
	line = Printable(strings.ReplaceAll(line, "\t", "  "))
	if cells <= 0 || Cells(line) <= cells {
		return []string{line}
	}
	begin := strings.SplitN(lipgloss.Wrap(line, cells, ""), "\n", 2)[0]
	rest := strings.TrimLeft(strings.TrimPrefix(line, begin), " ")
	lines := []string{begin}
	if rest == "" {
		return lines
	}
	const further = 2
	in := min(len(line)-len(strings.TrimLeft(line, " "))+further, cells/2)
	for part := range strings.SplitSeq(lipgloss.Wrap(rest, cells-in, ""), "\n") {
		lines = append(lines, strings.Repeat(" ", in)+part)
	}
	return lines
}

// Bold, Faint and Red are how a line of a screen stands out. They are for terminals.
func Bold(line string) string  { return lipgloss.NewStyle().Bold(true).Render(line) }
func Faint(line string) string { return lipgloss.NewStyle().Faint(true).Render(line) }
func Red(line string) string   { return lipgloss.NewStyle().Foreground(lipgloss.Red).Render(line) }
