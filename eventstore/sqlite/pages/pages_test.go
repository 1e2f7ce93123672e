package pages_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/pages"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func newDir(t *testing.T) (*pages.Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "layers")
	dir, err := pages.NewDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir, path
}

func connect(t *testing.T, f *pages.File, settings string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+f.Path()+"?vfs="+pages.VFS+settings)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content is every row of table x, in order, after a check of the whole file.
func content(t *testing.T, i *pages.Image) string {
	t.Helper()
	f, err := i.Open()
	must(t, err)
	db := connect(t, f, "&mode=ro&immutable=1")
	defer func() { must(t, errors.Join(db.Close(), f.Close())) }()
	var sound string
	must(t, db.QueryRow("PRAGMA integrity_check").Scan(&sound))
	if sound != "ok" {
		t.Fatalf("integrity: %s", sound)
	}
	rows, err := db.Query("SELECT a, b FROM x ORDER BY a")
	must(t, err)
	defer rows.Close()
	var all strings.Builder
	for rows.Next() {
		var a int
		var b string
		must(t, rows.Scan(&a, &b))
		fmt.Fprintf(&all, "%d %s\n", a, b)
	}
	must(t, rows.Err())
	if _, err := db.Exec("DELETE FROM x"); err == nil {
		t.Error("an image can be written")
	}
	return all.String()
}

// Every state of a database that is changed at random stays what it was: in the process, kept, opened again and merged.
func TestStatesStayWhatTheyWere(t *testing.T) {
	t.Parallel()
	dir, path := newDir(t)
	f, err := dir.NewFile(nil)
	must(t, err)
	db := connect(t, f, "&_journal_mode=OFF&_synchronous=OFF&_pragma=cache_size(5)")
	_, err = db.Exec("CREATE TABLE x (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX y ON x (b)")
	must(t, err)
	random := rand.New(rand.NewPCG(4, 2))
	var states []*pages.Image
	var want, names []string
	for n := range testscale.Of(25, 100) {
		tx, err := db.Begin()
		must(t, err)
		for range random.IntN(60) + 1 {
			a := random.IntN(400)
			if n%9 == 8 {
				_, err = tx.Exec("DELETE FROM x WHERE a BETWEEN ? AND ?", a, a+40)
			} else {
				_, err = tx.Exec("INSERT OR REPLACE INTO x VALUES (?, ?)", a, strings.Repeat(fmt.Sprint(random.Uint64()), random.IntN(60)))
			}
			must(t, err)
		}
		must(t, tx.Commit())
		image, err := f.Seal()
		must(t, err)
		states, want = append(states, image), append(want, content(t, image))
	}
	must(t, errors.Join(db.Close(), f.Close()))
	for n, image := range states {
		if content(t, image) != want[n] {
			t.Fatalf("state %d has changed", n)
		}
		var file bytes.Buffer
		if _, err := image.WriteTo(&file); err != nil || int64(file.Len()) != image.Bytes() {
			t.Fatalf("write state %d: %d bytes of %d, %v", n, file.Len(), image.Bytes(), err)
		}
		names = append(names, fmt.Sprintf("%03d.state", n))
		must(t, image.Top().Keep(names[n], []byte(names[n])))
	}
	for _, image := range states {
		must(t, image.Close())
	}
	if dir.Bytes() != 0 {
		t.Errorf("%d bytes are open after all was closed", dir.Bytes())
	}
	var layers []*pages.Layer
	for _, name := range names {
		layer, note, err := dir.OpenLayer(name)
		must(t, err)
		if string(note) != name {
			t.Errorf("%s has the note %q", name, note)
		}
		layers = append(layers, layer)
	}
	for n := range layers {
		image := pages.NewImage(layers[:n+1]...)
		if content(t, image) != want[n] {
			t.Fatalf("state %d is another one when it is opened again", n)
		}
		must(t, image.Close())
	}
	for n := 0; n+1 < len(layers); n++ { // pairs become one: the states between them are gone
		merged, err := pages.Merge(t.Context(), layers[n], layers[n+1])
		must(t, err)
		for _, old := range layers[n : n+2] {
			old.Remove()
			must(t, old.Release())
		}
		layers = append(layers[:n], append([]*pages.Layer{merged}, layers[n+2:]...)...)
		want = append(want[:n], want[n+1:]...)
		image := pages.NewImage(layers[:n+1]...)
		if content(t, image) != want[n] {
			t.Fatalf("state %d is another one after the merger", n)
		}
		must(t, image.Close())
	}
	for _, layer := range layers {
		layer.Remove()
		must(t, layer.Release())
	}
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 || dir.Bytes() != 0 {
		t.Errorf("left are %v, %v, and %d bytes", left, err, dir.Bytes())
	}
}

func TestWhatIsWrittenAboveAStateDoesNotChangeIt(t *testing.T) {
	t.Parallel()
	dir, _ := newDir(t)
	fill := func(base *pages.Image, statement string) *pages.Image {
		f, err := dir.NewFile(base)
		must(t, err)
		db := connect(t, f, "&_journal_mode=OFF")
		_, err = db.Exec(statement)
		must(t, errors.Join(err, db.Close()))
		image, err := f.Seal()
		must(t, errors.Join(err, f.Close()))
		return image
	}
	base := fill(nil, "CREATE TABLE x (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO x VALUES (1, 'base')")
	left, right := fill(base, "INSERT INTO x VALUES (2, 'left')"), fill(base, "UPDATE x SET b = 'right'")
	for image, want := range map[*pages.Image]string{base: "1 base\n", left: "1 base\n2 left\n", right: "1 right\n"} {
		if got := content(t, image); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	must(t, errors.Join(base.Close(), left.Close()))
	if got := content(t, right); got != "1 right\n" {
		t.Errorf("without the others it is %q", got)
	}
	must(t, right.Close())
	if dir.Bytes() != 0 {
		t.Errorf("%d bytes are still open", dir.Bytes())
	}
}

func TestDamagedLayersAreNoticed(t *testing.T) {
	t.Parallel()
	dir, path := newDir(t)
	f, err := dir.NewFile(nil)
	must(t, err)
	db := connect(t, f, "&_journal_mode=OFF")
	_, err = db.Exec("CREATE TABLE x (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO x VALUES (1, 'x')")
	must(t, errors.Join(err, db.Close()))
	image, err := f.Seal()
	must(t, errors.Join(err, f.Close(), image.Top().Keep("a.state", []byte("note")), image.Close()))
	file := filepath.Join(path, "a.state")
	whole, err := os.ReadFile(file)
	must(t, err)
	for at := pages.Size * 2; at < len(whole); at++ { // the end of the file
		spoiled := bytes.Clone(whole)
		spoiled[at] ^= 0x10
		must(t, os.WriteFile(file, spoiled, 0o600))
		if l, _, err := dir.OpenLayer("a.state"); !errors.Is(err, pages.ErrDamaged) {
			t.Fatalf("byte %d of the end: %v, %v", at, l, err)
		}
	}
	for _, length := range []int{0, 1, pages.Size, len(whole) - 1} {
		must(t, os.WriteFile(file, whole[:length], 0o600))
		if _, _, err := dir.OpenLayer("a.state"); !errors.Is(err, pages.ErrDamaged) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	spoiled := bytes.Clone(whole)
	spoiled[pages.Size+100] ^= 1
	must(t, os.WriteFile(file, spoiled, 0o600))
	layer, _, err := dir.OpenLayer("a.state")
	must(t, err)
	image = pages.NewImage(layer)
	var out bytes.Buffer
	if _, err := image.WriteTo(&out); !errors.Is(err, pages.ErrDamaged) || !image.Damaged() || !layer.Damaged() {
		t.Errorf("a changed page: %v, damaged %t", err, image.Damaged())
	}
	must(t, errors.Join(image.Close(), layer.Release()))
}
