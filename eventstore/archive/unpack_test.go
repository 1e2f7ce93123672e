package archive_test

import (
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// unpacked is everything that the files of a directory hold, packed or not.
func unpacked(t *testing.T, dir string) (all []byte) {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, name := range names(t, dir) {
		text := read(t, filepath.Join(dir, name))
		all = append(all, text...)
		if filepath.Ext(name) == ".zst" {
			if all, err = d.DecodeAll(text, all); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	return all
}
