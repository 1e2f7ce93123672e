//go:build soak

package projections_test

import "testing"

func TestSoakFoldGivesTheTablesOfALogThatWasStoppedThere(t *testing.T) {
	t.Parallel()
	foldAtPoints(t, 50_000, 20)
}
