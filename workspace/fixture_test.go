package workspace_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// home is a state directory.
type home struct {
	*workspace.Dir
	path  string
	later atomic.Int64 // ns that the clock is ahead of the file system's
}

func newHome(t testing.TB, opts workspace.Options) *home {
	t.Helper()
	h := &home{path: filepath.Join(t.TempDir(), ".openclaw")}
	opts.Now = func() time.Time { return time.Now().Add(time.Duration(h.later.Load())) }
	h.Dir = workspace.New(h.path, opts)
	return h
}

// settle advances the clock until the files' times are reliable.
func (h *home) settle() { h.later.Add(int64(2 * workspace.Settled)) }

func (h *home) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(h.path, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func (h *home) read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.path, name))
	must(t, err)
	return string(text)
}

func (h *home) link(t testing.TB, target, name string) {
	t.Helper()
	path := filepath.Join(h.path, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.Symlink(target, path))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostile lists names that must be refused.
var hostile = []string{
	"", ".", "..", "...", "..hidden", "../AGENTS", "../../etc/passwd", "a/../../b", "/etc/passwd", `..\..\x`, `C:\x`, "C:x", `\\host\share`, "//host/share",
	"a\x00b", "a\nb", "a\x7fb", "\xff\xfe", "a/", "a//", " a", "a ", "a.", "CON", "con.md", "NUL", "nul.tar.gz", "COM1", "com¹.md", "LPT9.x", "AUX ", "CONIN$",
	"a:stream", "a*", "a?", `a"b`, "<a>", "a|b", "\u202Ea", "a\u200Bb", "\uFEFF", "\u2028", "a\u00a0", "%2e%2e/x", "~/x/../y",
	string(make([]byte, 300)), longName,
}

const longName = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
