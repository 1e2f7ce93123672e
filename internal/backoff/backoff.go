// Package backoff computes delays between retries.
package backoff

import "time"

// Backoff starts at First and doubles up to Most.
type Backoff struct{ First, Most time.Duration }

// After returns the delay after so many consecutive failures, counted from 1; fewer count as 1.
func (b Backoff) After(failures int) time.Duration {
	pause := b.First
	for ; failures > 1 && pause < b.Most; failures-- {
		pause *= 2
	}
	return min(pause, b.Most)
}

// Jittered shortens the delay of After by up to a half: by nothing if jitter is 0 or not a number, and by half if it is
// 1 or more. The caller draws jitter at random.
func (b Backoff) Jittered(failures int, jitter float64) time.Duration {
	pause := b.After(failures)
	if !(jitter > 0) { // also NaN
		return pause
	}
	return pause - time.Duration(min(jitter, 1)/2*float64(pause))
}
