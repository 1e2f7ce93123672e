package output

import (
	"io"
	"os"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"
)

// Width returns the terminal width of w in cells; 0 if w is no terminal, and lines are not limited.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) {
		return 0
	}
	cells, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return cells
}

// Cells returns how many terminal cells a text takes: a Hangul syllable takes two.
func Cells(text string) int { return lipgloss.Width(text) }

// Cut shortens a line to a number of terminal cells, ending in … if something is left out. 0 means no limit.
func Cut(line string, cells int) string {
	if cells <= 0 || Cells(line) <= cells {
		return line
	}
	return lipgloss.NewStyle().Inline(true).MaxWidth(cells-1).Render(line) + "…"
}
