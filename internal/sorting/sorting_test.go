package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/internal/sorting"
)

type card struct {
	suit, rank int
	name       string
}

func bySuit(a, b card) int { return cmp.Compare(a.suit, b.suit) }

func byAll(a, b card) int {
	return cmp.Or(bySuit(a, b), cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
}

// Both sort as package slices does.
func TestSortsAsSlicesDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cards := rapid.SliceOf(rapid.Custom(func(t *rapid.T) card {
			return card{rapid.IntRange(0, 3).Draw(t, "suit"), rapid.IntRange(0, 9).Draw(t, "rank"), rapid.StringN(0, 2, -1).Draw(t, "name")}
		})).Draw(t, "cards")
		want, got := slices.Clone(cards), slices.Clone(cards)
		slices.SortFunc(want, byAll)
		sorting.By(got, byAll)
		if !slices.Equal(got, want) {
			t.Fatalf("By gives %v, want %v", got, want)
		}
		want, got = slices.Clone(cards), slices.Clone(cards)
		slices.SortStableFunc(want, bySuit)
		sorting.StablyBy(got, bySuit)
		if !slices.Equal(got, want) {
			t.Fatalf("StablyBy gives %v, want %v", got, want)
		}
	})
}

// Only the elements of the list are moved, not what lies behind them in its array.
func TestLeavesTheRestOfTheArrayAlone(t *testing.T) {
	t.Parallel()
	array := []card{{suit: 3}, {suit: 2}, {suit: 1}}
	sorting.By(array[:2], bySuit)
	if want := []card{{suit: 2}, {suit: 3}, {suit: 1}}; !slices.Equal(array, want) {
		t.Errorf("the array is %v, want %v", array, want)
	}
}
