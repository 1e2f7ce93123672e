package work

import "time"

// Bounds of Backoff without a hint.
const (
	firstPause   = time.Second
	longestPause = 10 * time.Minute
	longestHint  = 24 * time.Hour
)

// Backoff is how long to wait after an attempt, counted from 1, has failed: a second, then twice as long each time, up to ten minutes.
// jitter, from 0 to 1, takes up to half of that away, so that what failed together does not come back together. hint is what the other side
// asked for: never less than that, however long the attempt alone would wait, but at most a day.
func Backoff(attempt int, hint time.Duration, jitter float64) time.Duration {
	pause := longestPause
	if n := max(attempt, 1) - 1; n < 10 {
		pause = min(firstPause<<n, longestPause)
	}
	if !(jitter > 0) { // also for what is no number
		jitter = 0
	}
	pause -= time.Duration(min(jitter, 1) / 2 * float64(pause))
	return max(pause, min(hint, longestHint))
}
