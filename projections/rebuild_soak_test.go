//go:build soak

package projections_test

import (
	"slices"
	"testing"
)

func TestSoakRebuildUnderLoad(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	for batch := range slices.Chunk(talks(50_000), 1_000) {
		b.append(t, batch...)
	}
	rebuildUnderLoad(t, b, 64, 50_000)
}
