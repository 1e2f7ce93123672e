package asof_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/replay/asof"
)

func temp(t testing.TB, in string) *asof.Temp {
	t.Helper()
	made, err := asof.NewTemp(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close() })
	return made
}

func put(t testing.TB, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("said"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

// Files of a killed process are removed by the next one; those of another process, and those that are not ours, stay.
func TestTempsOfTheKilledAreRemoved(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "kept")
	put(t, elsewhere)
	put(t, filepath.Join(in, "openclawd-past-killed", "state.db"))
	put(t, filepath.Join(in, "openclawd-past-killed.lock"))
	put(t, filepath.Join(in, "openclawd-past-unknown", "state.db"))
	put(t, filepath.Join(in, "other", "state.db"))
	put(t, filepath.Join(in, "other.lock"))
	put(t, filepath.Join(in, "openclawd-past-linked.lock"))
	if err := os.Symlink(filepath.Dir(elsewhere), filepath.Join(in, "openclawd-past-linked")); err != nil {
		t.Fatal(err)
	}
	held := temp(t, in)
	put(t, filepath.Join(held.Dir(), "state.db"))
	again := temp(t, in)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	own := filepath.Base(held.Dir())
	want := map[string]bool{own: true, own + ".lock": true, "openclawd-past-unknown": true, "openclawd-past-linked": true, "openclawd-past-linked.lock": true,
		"other": true, "other.lock": true}
	got := map[string]bool{}
	for _, name := range entries(t, in) {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, path := range []string{elsewhere, filepath.Join(held.Dir(), "state.db")} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone: %v", path, err)
		}
	}
}

func TestTempGoesWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	made := temp(t, in)
	put(t, filepath.Join(made.Dir(), "deep", "state.db"))
	for range 2 {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := entries(t, in); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

func TestNoPlaceForTemps(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "nowhere")
	_, err := asof.NewTemp(in)
	var refused *asof.TempError
	if !errors.As(err, &refused) || refused.Dir != in || refused.Hint() == "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("NewTemp says %v, want a TempError of %s", err, in)
	}
}
