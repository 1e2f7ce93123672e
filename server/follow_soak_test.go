//go:build soak

package server

import (
	"cmp"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// TestServeFollowsForLong takes OPENCLAWD_SOAK_MINUTES, 10 if that is not set. OPENCLAWD_SOAK_SEED repeats the writer's moves of an
// earlier run; what they meet still depends on the machine.
func TestServeFollowsForLong(t *testing.T) {
	t.Parallel()
	minutes, err := strconv.ParseFloat(cmp.Or(os.Getenv("OPENCLAWD_SOAK_MINUTES"), "10"), 64)
	if err != nil || minutes <= 0 {
		t.Fatalf("OPENCLAWD_SOAK_MINUTES: give a number of minutes, not %q", os.Getenv("OPENCLAWD_SOAK_MINUTES"))
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("OPENCLAWD_SOAK_SEED"), strconv.FormatUint(rand.Uint64(), 10)), 10, 64)
	if err != nil {
		t.Fatalf("OPENCLAWD_SOAK_SEED: %v", err)
	}
	underLoad(t, time.Duration(minutes*float64(time.Minute)), int(minutes*6), seed)
}
