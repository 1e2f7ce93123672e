package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/compare"
)

func TestValuesAreShownOnOneLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, "NULL"}, {"", `""`}, {"NULL ", `"NULL "`}, {"배포 확인", "배포 확인"}, {"두\n줄", `"두\n줄"`}, {int64(-3), "-3"},
		{1771588802000.5, "1771588802000.5"}, {1771588802000.0, "1771588802000"}, {1e300, "1e+300"}, {"x00ff", "x00ff"},
	} {
		if got := shownValue(test.value); got != test.want {
			t.Errorf("%#v is shown as %s, want %s", test.value, got, test.want)
		}
	}
}

// Where two long values differ only far behind, that place is shown, in cells of a terminal, whatever the script.
func TestLongValuesShowWhereTheyDiffer(t *testing.T) {
	t.Parallel()
	same := strings.Repeat("배포를 확인하고 ", 30)
	before, after := cutAround(same+"보고한다", same+"기다린다"+same)
	if !strings.Contains(before, "보고한다") || !strings.Contains(after, "기다린다") {
		t.Errorf("shown as\n%s\n%s\nwant what differs", before, after)
	}
	for _, shown := range []string{before, after} {
		if output.Cells(shown) > valueCells || !strings.HasPrefix(shown, "…") {
			t.Errorf("%s takes %d cells, want at most %d, and that something is left out", shown, output.Cells(shown), valueCells)
		}
	}
	if before, after = cutAround("short", "shorter"); before != "short" || after != "shorter" {
		t.Errorf("short values are shown as %s and %s", before, after)
	}
	if before, after = cutAround(strings.Repeat("a", 100), ""); output.Cells(before) != valueCells || after != "" {
		t.Errorf("a long and an empty value are shown as %q and %q", before, after)
	}
}

// Added and removed rows are read by what is in them; a row that is all key has a line nevertheless.
func TestRowsLeaveOutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	key := []compare.Column{{Name: "a", Before: int64(1), After: int64(1)}, {Name: "b", Before: "둘", After: "둘"}}
	for _, test := range []struct {
		change compare.Change
		want   [][]string
	}{
		{compare.Change{Kind: compare.Added, Key: key}, [][]string{{"+ a=1 b=둘", "", "", ""}}},
		{compare.Change{Kind: compare.Added, Key: key, Columns: []compare.Column{{Name: "c", After: ""}, {Name: "d", After: int64(0)}, {Name: "e"}, {Name: "f", After: "x"}}},
			[][]string{{"+ a=1 b=둘", "d", "", "0"}, {"", "f", "", "x"}}},
		{compare.Change{Kind: compare.Removed, Key: key, Columns: []compare.Column{{Name: "c", Before: ""}, {Name: "d", Before: "x"}}},
			[][]string{{"- a=1 b=둘", "d", "x", ""}}},
		{compare.Change{Kind: compare.Changed, Key: key, Columns: []compare.Column{{Name: "c", After: ""}, {Name: "d", Before: "", After: 0.5}}},
			[][]string{{"~ a=1 b=둘", "c", "NULL", `""`}, {"", "d", `""`, "0.5"}}},
	} {
		if diff := cmp.Diff(test.want, changedRow(&test.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.change.Kind, diff)
		}
	}
}
