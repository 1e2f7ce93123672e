package durable_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/internal/durable"
)

func content(t *testing.T, path string, mode fs.FileMode) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, mode)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+durable.Unfinished)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return string(text)
}

func TestReplaceMakesAndReplaces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for text, mode := range map[string]fs.FileMode{"one": 0o600, "two": 0o644} {
		if err := durable.ReplaceBytes(path, mode, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path, mode); got != text {
			t.Errorf("the file holds %q, want %q", got, text)
		}
	}
}

func TestFailedReplaceChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := durable.ReplaceBytes(path, 0o600, []byte("old")); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no more")
	err := durable.Replace(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, failure)
	})
	if !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	if got := content(t, path, 0o600); got != "old" {
		t.Errorf("the file holds %q", got)
	}
	obstacle := filepath.Join(filepath.Dir(path), "d")
	if err := os.MkdirAll(filepath.Join(obstacle, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.ReplaceBytes(obstacle, 0o600, []byte("new")); err == nil {
		t.Error("a directory that is not empty was replaced")
	}
	content(t, path, 0o600)
}

func TestRename(t *testing.T) {
	t.Parallel()
	from := filepath.Join(t.TempDir(), "from")
	to := filepath.Join(filepath.Dir(from), "to")
	if err := durable.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error of a missing file is %v", err)
	}
	if err := errors.Join(durable.ReplaceBytes(from, 0o600, []byte("x")), durable.Rename(from, to)); err != nil {
		t.Fatal(err)
	}
	if got := content(t, to, 0o600); got != "x" {
		t.Errorf("the file holds %q", got)
	}
}
