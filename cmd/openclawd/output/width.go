package output

import (
	"io"
	"os"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"
)

// Width is how many cells a line of the terminal has that w is; 0 where nobody is watching, and lines may be as long as they like.
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

// Cells is how many cells of a terminal a text takes: a Hangul syllable takes two.
func Cells(text string) int { return lipgloss.Width(text) }

// Cut shortens a line to so many cells of a terminal, and ends it with … where something is left out. 0 is as long as it is.
func Cut(line string, cells int) string {
	if cells <= 0 || Cells(line) <= cells {
		return line
	}
	return lipgloss.NewStyle().Inline(true).MaxWidth(cells-1).Render(line) + "…"
}
