// Package wait pauses a goroutine without outliving its context.
package wait

import (
	"context"
	"time"
)

// For returns nil after d, or the cause of the context's end if it ends first.
func For(ctx context.Context, d time.Duration) error {
	if !Unless(ctx.Done(), d) {
		return context.Cause(ctx)
	}
	return nil
}

// Unless returns true after d, or false if done delivers first.
func Unless(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}

// Woken returns when wake delivers, when the context ends, or after d; 0 is no limit.
func Woken(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-wake:
	case <-over:
	case <-ctx.Done():
	}
}
