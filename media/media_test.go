package media_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/media"
)

const roomy = 1 << 20

func open(t *testing.T, most int64) (*media.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "files")
	return media.Open(dir, func() int64 { return most }), dir
}

func put(t *testing.T, s *media.Store, content string) media.Info {
	t.Helper()
	info, err := s.Put(roomy, writes(content))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func writes(content string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader(content))
		return err
	}
}

func TestAFileIsFoundByItsContent(t *testing.T) {
	t.Parallel()
	s, dir := open(t, roomy)
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 1000)
	sum := sha256.Sum256([]byte(png))
	info := put(t, s, png)
	if info.SHA256 != hex.EncodeToString(sum[:]) || info.Bytes != int64(len(png)) || info.Type != "image/png" {
		t.Errorf("stored as %+v", info)
	}
	put(t, s, png)
	if all, err := s.List(); err != nil || len(all) != 1 {
		t.Errorf("%v, %v, want the same file once", all, err)
	}
	if content, err := s.Read(info.SHA256, roomy); err != nil || string(content) != png {
		t.Errorf("read %d bytes, %v", len(content), err)
	}
	if _, err := s.Read(info.SHA256, 10); !errors.Is(err, media.ErrTooLarge) {
		t.Errorf("more than is wanted: %v", err)
	}
	path := filepath.Join(dir, info.SHA256)
	if is, err := os.Stat(path); err != nil || is.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want a file that only its owner reads", is, err)
	}
	if err := os.WriteFile(path, []byte(strings.ToUpper(png)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(info.SHA256, roomy); err == nil {
		t.Error("a changed file is read")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s, dir := open(t, 10)
	if _, err := s.Put(3, writes("four")); !errors.Is(err, media.ErrTooLarge) {
		t.Errorf("a file over its limit: %v", err)
	}
	first := put(t, s, "12345678")
	if _, err := s.Put(roomy, writes("123")); !errors.Is(err, media.ErrFull) {
		t.Errorf("more than all files may have: %v", err)
	}
	put(t, s, "12345678") // needs no room
	broken := errors.New("cut")
	if _, err := s.Put(roomy, func(w io.Writer) error { _, _ = w.Write([]byte("1")); return broken }); !errors.Is(err, broken) {
		t.Errorf("a file that is cut: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v, want nothing unfinished left", entries, err)
	}
	if gone, err := s.Remove(listed(t, s, first.SHA256), nil); !gone || err != nil {
		t.Errorf("not removed: %v", err)
	}
	put(t, s, "123")
}

func listed(t *testing.T, s *media.Store, id string) media.Info {
	t.Helper()
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.SHA256 == id {
			return one
		}
	}
	t.Fatalf("%s is not listed", id)
	return media.Info{}
}

func TestNoNameLeadsElsewhere(t *testing.T) {
	t.Parallel()
	s, dir := open(t, roomy)
	put(t, s, "x")
	id := strings.Repeat("ab", 32)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, id)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "..", "../files", "/etc/passwd", strings.ToUpper(id), id[1:], "../" + id[3:], id} {
		if f, err := s.Get(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q leads to %v, %v", name, f, err)
		}
	}
}

// A file that is stored again while it is to be removed stays.
func TestOldFilesGo(t *testing.T) {
	t.Parallel()
	s, dir := open(t, roomy)
	old, again := put(t, s, "old"), put(t, s, "again")
	past := time.Now().Add(-48 * time.Hour)
	for _, one := range []media.Info{old, again} {
		if err := os.Chtimes(filepath.Join(dir, one.SHA256), past, past); err != nil {
			t.Fatal(err)
		}
	}
	before := listed(t, s, again.SHA256)
	put(t, s, "again")
	if gone, err := s.Remove(before, nil); gone || err != nil {
		t.Errorf("a file that was stored again is removed: %v", err)
	}
	var removed []string
	err := s.RemoveBefore(time.Now().Add(-time.Hour), func(id string) error { removed = append(removed, id); return nil })
	if err != nil || len(removed) != 1 || removed[0] != old.SHA256 {
		t.Errorf("removed %v, %v, want the old one", removed, err)
	}
	if f, err := s.Get(again.SHA256); err != nil {
		t.Error(err)
	} else {
		_ = f.Close()
	}
}

// While the copies of a file are not gone it is listed, so that its removal can be tried again.
func TestAFileStaysUntilItsCopiesAreGone(t *testing.T) {
	t.Parallel()
	s, dir := open(t, roomy)
	one := listed(t, s, put(t, s, "x").SHA256)
	stuck := errors.New("stuck")
	if gone, err := s.Remove(one, func(string) error { return stuck }); gone || !errors.Is(err, stuck) {
		t.Errorf("removed %v, %v, want the error of the copies", gone, err)
	}
	listed(t, s, one.SHA256)
	gone, err := s.Remove(one, func(id string) error {
		_, err := os.Stat(filepath.Join(dir, id))
		return err
	})
	if !gone || err != nil {
		t.Errorf("removed %v, %v, want the copies gone before the file", gone, err)
	}
}

func TestCleanRemovesWhatAKillLeaves(t *testing.T) {
	t.Parallel()
	s, dir := open(t, roomy)
	if err := s.Clean(); err != nil {
		t.Error(err)
	}
	info := put(t, s, "x")
	if err := os.WriteFile(filepath.Join(dir, "123.part"), bytes.Repeat([]byte("x"), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Clean(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != info.SHA256 {
		t.Errorf("%v, %v, want the stored file alone", entries, err)
	}
}
