package output

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		cells int
		want  []string
	}{
		{"short", 10, []string{"short"}},
		{"as long as it is", 0, []string{"as long as it is"}},
		{`  "message": "배포 상태를 확인해 줘"`, 20, []string{`  "message": "배포`, `    상태를 확인해`, `    줘"`}},
		{"길길길길길", 5, []string{"길길", "  길", "  길", "  길"}},
		{"aaaaaa길-", 8, []string{"aaaaaa길", "  -"}}, // lipgloss alone leaves nine cells
		{"a\x1b[2Jb\tc", 80, []string{"a\uFFFD[2Jb  c"}},
	} {
		if got := Wrap(c.line, c.cells); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d cells: %q, want %q", c.line, c.cells, got, c.want)
		}
	}
}

// No line exceeds the width, and no letter is lost.
func TestWrapLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOfN(rapid.RuneFrom([]rune("ab-, 길배포x")), 0, 200, -1).Draw(t, "line")
		cells := rapid.IntRange(8, 40).Draw(t, "cells")
		lines := Wrap(line, cells)
		for _, l := range lines {
			if Cells(l) > cells {
				t.Fatalf("%q has %d cells, want at most %d", l, Cells(l), cells)
			}
		}
		bare := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := bare(strings.Join(lines, "")); got != bare(line) {
			t.Fatalf("%q became %q", line, got)
		}
	})
}
