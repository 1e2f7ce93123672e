package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/workspace"
)

// Start and end are those of the whole text, whatever its characters and size.
func TestExcerptsAreBeginningAndEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := workspace.New(dir, workspace.Options{})
	const whole, head, tail = 10, 7, 2
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOfN(rapid.SampledFrom([]rune("aé한🌿\n")), 0, 60).Draw(t, "runes")
		if err := os.WriteFile(filepath.Join(dir, "A.md"), []byte(string(runes)), 0o600); err != nil {
			t.Fatal(err)
		}
		e := d.Excerpts([]string{"A.md"}, whole, head, tail)[0]
		wantHead, wantTail := string(runes), ""
		if len(runes) > whole {
			wantHead, wantTail = string(runes[:head]), string(runes[len(runes)-tail:])
		}
		if e.Err != nil || e.Head != wantHead || e.Tail != wantTail || e.Bytes != int64(len(string(runes))) || e.Repaired {
			t.Fatalf("%+v, want %q and %q", e, wantHead, wantTail)
		}
	})
}

func TestExcerptsOfWhatIsNoText(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "BOM.md", "\uFEFFtext")
	h.write(t, "BAD.md", "a\xff\xfeb")
	h.write(t, "LONG.md", strings.Repeat("\xff", 500))
	h.write(t, "ZERO.md", "a\x00b")
	h.write(t, "LATE.md", strings.Repeat("a", 500)+"\x00")
	h.write(t, "EMPTY.md", "")
	h.write(t, "FOLDER.md/x", "")
	h.link(t, filepath.Join(h.path, "BOM.md"), "INSIDE.md")
	h.link(t, "/etc/passwd", "OUT.md")
	h.link(t, "nowhere", "LOST.md")
	names := []string{"BOM.md", "BAD.md", "LONG.md", "EMPTY.md", "ZERO.md", "LATE.md", "FOLDER.md", "INSIDE.md", "OUT.md", "LOST.md", "NONE.md", "../x", "a/b"}
	reasons := map[string]string{"ZERO.md": workspace.ReasonText, "LATE.md": workspace.ReasonText, "FOLDER.md": workspace.ReasonSpecial, "INSIDE.md": workspace.ReasonLink,
		"OUT.md": workspace.ReasonLink, "LOST.md": workspace.ReasonLink, "../x": workspace.ReasonName, "a/b": workspace.ReasonName}
	texts := map[string]string{"BOM.md": "text", "BAD.md": "a\uFFFDb", "EMPTY.md": ""}
	for _, e := range h.Excerpts(names, 10, 7, 2) {
		var refused *workspace.RefusedError
		text, isText := texts[e.Name]
		switch {
		case isText && (e.Err != nil || e.Head != text || e.Tail != "" || e.Repaired != (e.Name == "BAD.md")):
			t.Errorf("%+v", e)
		case reasons[e.Name] != "" && (!errors.As(e.Err, &refused) || refused.Reason != reasons[e.Name] || e.Head+e.Tail != ""):
			t.Errorf("%+v, want %s", e, reasons[e.Name])
		case e.Name == "NONE.md" && !errors.Is(e.Err, fs.ErrNotExist):
			t.Errorf("%+v", e)
		case e.Name == "LONG.md" && (!e.Repaired || !utf8.ValidString(e.Head+e.Tail) || utf8.RuneCountInString(e.Head) > 7):
			t.Errorf("%+v", e)
		}
	}
	for _, e := range workspace.New(filepath.Join(h.path, "none"), workspace.Options{}).Excerpts([]string{"A.md"}, 1, 1, 1) {
		if !errors.Is(e.Err, fs.ErrNotExist) {
			t.Errorf("%+v", e)
		}
	}
}

// Of a file above the size limit, start and end are read.
func TestExcerptOfALargeFileReadsLittle(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "BIG.md", "begin ")
	f, err := os.OpenFile(filepath.Join(h.path, "BIG.md"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(50<<20)) // a hole: it would read as NULs
	_, err = f.WriteAt([]byte(strings.Repeat("가", 100)), 0)
	must(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("나", 100)), 50<<20-300)
	must(t, err)
	const head, tail = 50, 20
	e := h.Excerpts([]string{"BIG.md"}, 60, head, tail)[0]
	if e.Err != nil || e.Head != strings.Repeat("가", head) || e.Tail != strings.Repeat("나", tail) || e.Bytes != 50<<20 || e.Repaired {
		t.Errorf("%+v", e)
	}
}
