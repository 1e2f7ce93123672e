package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/backoff"
)

func TestDelaysDouble(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{First: 3 * time.Second, Most: 20 * time.Second}
	for failures, want := range map[int]time.Duration{
		-1: 3 * time.Second, 0: 3 * time.Second, 1: 3 * time.Second, 2: 6 * time.Second, 3: 12 * time.Second, 4: 20 * time.Second,
		math.MaxInt: 20 * time.Second,
	} {
		if got := b.After(failures); got != want {
			t.Errorf("after %d failures the delay is %v, want %v", failures, got, want)
		}
	}
	if got := (backoff.Backoff{First: time.Minute, Most: time.Second}).After(1); got != time.Second {
		t.Errorf("a first delay above the longest one is %v", got)
	}
}

func TestJitterShortens(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{First: 4 * time.Second, Most: time.Minute}
	for jitter, want := range map[float64]time.Duration{
		-1: 8 * time.Second, 0: 8 * time.Second, 0.5: 6 * time.Second, 1: 4 * time.Second, 7: 4 * time.Second, math.Inf(1): 4 * time.Second,
	} {
		if got := b.Jittered(2, jitter); got != want {
			t.Errorf("with jitter %v the delay is %v, want %v", jitter, got, want)
		}
	}
	if got := b.Jittered(2, math.NaN()); got != 8*time.Second {
		t.Errorf("with jitter NaN the delay is %v", got)
	}
}
