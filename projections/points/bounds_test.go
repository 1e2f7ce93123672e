package points_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/points"
)

func changes(n int, text string) (list []compare.Change) {
	for i := range n {
		list = append(list, compare.Change{Table: "tasks", Kind: compare.Changed, Key: []compare.Column{{Name: "id", Before: int64(i), After: int64(i)}},
			Columns: []compare.Column{{Name: "description", After: text}}})
	}
	return list
}

func TestStepIsBoundedByNumberAndBytes(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("가", 10_000)
	for _, test := range []struct {
		name        string
		changes     []compare.Change
		bytes, want int
	}{
		{"few", changes(3, "x"), points.MaxBytes, 3},
		{"none", nil, points.MaxBytes, 0},
		{"many", changes(points.MaxChanges+5, "x"), points.MaxBytes, points.MaxChanges},
		{"large", changes(10, large), 4 * 31_000, 4},
		{"no room", changes(2, "x"), -1, 0},
	} {
		step := points.Step{Changes: test.changes}
		bounded, used := step.Bound(test.bytes)
		if len(bounded.Changes) != test.want || bounded.ChangesTotal != len(test.changes) {
			t.Errorf("%s: %d of %d changes, want %d", test.name, len(bounded.Changes), bounded.ChangesTotal, test.want)
		}
		if used > max(0, test.bytes) || test.want > 0 && used < test.want {
			t.Errorf("%s: %d bytes are used of %d", test.name, used, test.bytes)
		}
	}
}

// A size counts what makes an answer large: its texts.
func TestSizeGrowsWithTexts(t *testing.T) {
	t.Parallel()
	small, large := changes(1, "x")[0], changes(1, strings.Repeat("x", 5_000))[0]
	if d := points.SizeOf(&large) - points.SizeOf(&small); d != 4_999 {
		t.Errorf("4,999 bytes more count %d", d)
	}
}
