package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// grown makes a file of so many bytes.
func grown(t *testing.T, bytes int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := f.Truncate(bytes); err != nil {
		t.Fatal(err)
	}
	return f
}

// However fast a copy has grown, little of it is written at a time.
func TestCopyIsWrittenInPortions(t *testing.T) {
	t.Parallel()
	f := grown(t, 3*trickleBytes+1)
	complete := make(chan struct{})
	close(complete)
	var from []int64
	err := tricklePortions(t.Context(), f, complete, func(f *os.File, at, bytes int64) error {
		if from = append(from, at); bytes != trickleBytes {
			t.Errorf("%d bytes are written at a time", bytes)
		}
		return writeOut(f, at, bytes)
	})
	if want := []int64{0, trickleBytes, 2 * trickleBytes}; err != nil || !slices.Equal(from, want) {
		t.Errorf("portions were written from %d, want %d: %v", from, want, err)
	}
}

func TestCopyThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is broken")
	err := tricklePortions(t.Context(), grown(t, trickleBytes), make(chan struct{}), func(*os.File, int64, int64) error { return broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestTrickleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	err := tricklePortions(ctx, grown(t, 2*trickleBytes), make(chan struct{}), func(*os.File, int64, int64) error {
		stop()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
