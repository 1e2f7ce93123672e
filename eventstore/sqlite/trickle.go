package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/internal/wait"
)

const (
	// trickleBytes is how much of a copy is written to disk at a time. A sync of the WAL waits for it.
	trickleBytes = 2 << 20
	// trickleBehind is how much of a copy may wait to be written before the pauses are left out: with too much, the system
	// itself starts to write all of it.
	trickleBehind = 512 << 20
	// tricklePause is the pause until a copy is looked at again that has not grown by so much.
	tricklePause = 5 * time.Millisecond
)

// trickle writes a file to disk in small portions while another goroutine writes it, and pauses after each as long as
// it took, unless much is waiting. SQLite writes a copy faster than a disk can; a sync of all that would occupy the disk for hundreds of
// milliseconds, and every commit would wait for it. The returned function waits for the last whole portion. The caller
// syncs the file then, because pages may be written twice.
func trickle(ctx context.Context, f *os.File) (finish func() error) {
	complete, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- tricklePortions(ctx, f, complete, writeOut) }()
	return func() error {
		close(complete)
		return <-done
	}
}

func tricklePortions(ctx context.Context, f *os.File, complete <-chan struct{}, writeOut func(f *os.File, from, bytes int64) error) error {
	for written := int64(0); ; {
		over := isClosed(complete) // before its length is read
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("look at the copy: %w", err)
		}
		if info.Size()-written < trickleBytes {
			if over {
				return nil
			}
			wait.Woken(ctx, complete, tricklePause)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue
		}
		start := time.Now()
		// The system may report it once: a later sync can succeed without the lost pages.
		if err := writeOut(f, written, trickleBytes); err != nil {
			return fmt.Errorf("sync the copy: %w", err)
		}
		written += trickleBytes
		pause := time.Since(start)
		if info.Size()-written > trickleBehind {
			pause = 0
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
