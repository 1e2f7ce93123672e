//go:build linux && !arm

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A part that could not be written is not made good by a sync, which may succeed without it.
func TestLostPartOfACopyIsAnError(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, lost := range []error{syscall.EIO, syscall.ENOSPC} {
		if err := rangeOrSync(f, lost); !errors.Is(err, lost) {
			t.Errorf("%v: got %v", lost, err)
		}
	}
	for _, fine := range []error{nil, syscall.ENOSYS, syscall.EINVAL, syscall.EOPNOTSUPP} {
		if err := rangeOrSync(f, fine); err != nil {
			t.Errorf("%v: got %v, want the file synced", fine, err)
		}
	}
}
