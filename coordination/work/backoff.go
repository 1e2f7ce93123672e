package work

import (
	"time"

	"github.com/pronto-lab/openclawd/internal/backoff"
)

const longestHint = 24 * time.Hour

var pauses = backoff.Backoff{First: time.Second, Most: 10 * time.Minute}

// Backoff returns the pause after failed attempt number attempt, from 1: a second, doubling up to ten minutes. jitter, from 0 to 1,
// removes up to half of it, to spread attempts that failed together. hint is the pause requested by the other side: a minimum, up to a
// day.
func Backoff(attempt int, hint time.Duration, jitter float64) time.Duration {
	return max(pauses.Jittered(attempt, jitter), min(hint, longestHint))
}
