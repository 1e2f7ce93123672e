package filetools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/internal/durable"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/callapproval"
	"github.com/pronto-lab/openclawd/tools/filetools"
)

// desk is a workspace with the program's own files outside of it.
type desk struct {
	t      *testing.T
	dir    string
	secret string // a file outside
	db     string
	tools  map[string]tools.Tool
}

const secretText = "do not show this"

func newDesk(t *testing.T) *desk {
	t.Helper()
	state := t.TempDir()
	d := &desk{t: t, dir: filepath.Join(state, "workspace"), secret: filepath.Join(state, "gateway.token"), db: filepath.Join(state, "openclawd.db"),
		tools: map[string]tools.Tool{}}
	for _, path := range []string{d.secret, d.db, filepath.Join(state, "workspace-other")} {
		d.put(path, secretText)
	}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, one := range filetools.Tools(filetools.Options{Workspace: func(string) string { return d.dir }, Protected: func() []string { return []string{state, d.secret, d.db} }}) {
		d.tools[one.Name] = one
	}
	return d
}

func (d *desk) put(path, text string) {
	d.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) call(name string, args any) (string, error) {
	text, err := json.Marshal(args)
	if err != nil {
		d.t.Error(err)
	}
	one := d.tools[name]
	out, err := one.Do(context.Background(), &tools.Call{Caller: tool.Caller{AgentID: "main"}, Session: coordination.SessionKey{Agent: "main"}, Config: config.Default(), Args: text})
	return out.Text, err
}

type object = map[string]any

func (d *desk) must(name string, args any) string {
	d.t.Helper()
	text, err := d.call(name, args)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return text
}

func codeOf(err error) string {
	var e *tool.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestFilesAreWrittenReadAndSearched(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must("write", object{"path": "src/한국어.go", "content": "package a\n\nfunc One() {}\nfunc Two() {}\n"})
	d.must("write", object{"path": filepath.Join(d.dir, "notes.txt"), "content": "alpha\r\nbeta\r\n"})
	d.must("write", object{"path": "notes.txt", "content": "gamma\r\n", "append": true})
	d.must("edit", object{"path": "notes.txt", "edits": []object{{"oldText": "alpha\nbeta", "newText": "ALPHA\nBETA"}}})
	d.must("edit", object{"path": "src/한국어.go", "oldText": "One", "newText": "First"})
	for _, c := range []struct{ tool, args, want string }{
		{"read", `{"path":"notes.txt"}`, "ALPHA\r\nBETA\r\ngamma\r\n"},
		{"read", `{"path":"notes.txt","offset":2,"limit":1}`, "BETA\r\n\n[lines 2-2 of 3 are shown; continue with offset=3]"},
		{"ls", `{}`, "notes.txt\nsrc/"},
		{"ls", `{"path":"src","limit":1}`, "한국어.go"},
		{"find", `{"pattern":"**/*.go"}`, "src/한국어.go"},
		{"find", `{"pattern":"*.{go,txt}"}`, "notes.txt\nsrc/한국어.go"},
		{"find", `{"pattern":"한*"}`, "src/한국어.go"},
		{"find", `{"pattern":"*.md"}`, "no files match"},
		{"grep", `{"pattern":"func F\\w+"}`, "src/한국어.go:3: func First() {}"},
		{"grep", `{"pattern":"beta","ignoreCase":true,"path":"notes.txt","context":1}`, "notes.txt-1- ALPHA\nnotes.txt:2: BETA\nnotes.txt-3- gamma"},
		{"grep", `{"pattern":"()","literal":true,"glob":"*.go","limit":1}`, "src/한국어.go:3: func First() {}\n[cut after 1 results; narrow the search]"},
	} {
		if got := d.must(c.tool, json.RawMessage(c.args)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

func TestPatchIsApplied(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put(filepath.Join(d.dir, "a.txt"), "one\ntwo\nthree\nfour")
	d.put(filepath.Join(d.dir, "b.txt"), "x\n")
	d.put(filepath.Join(d.dir, "c.txt"), "x\n")
	if err := os.Chmod(filepath.Join(d.dir, "b.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.must("apply_patch", object{"input": `*** Begin Patch
*** Update File: a.txt
@@
 one
-two
+TWO
@@ three
-four
+FOUR
*** Add File: new/d.txt
+hello
*** Update File: b.txt
*** Move to: moved/b.txt
@@
-x
+y
*** Delete File: c.txt
*** End Patch`})
	for name, want := range map[string]string{"a.txt": "one\nTWO\nthree\nFOUR", "new/d.txt": "hello\n", "moved/b.txt": "y\n"} {
		if got, err := os.ReadFile(filepath.Join(d.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if got := d.must("ls", object{}); got != "a.txt\nmoved/\nnew/" {
		t.Errorf("left: %s", got)
	}
	if info, err := os.Stat(filepath.Join(d.dir, "moved/b.txt")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the moved file has another mode: %v, %v", info, err)
	}
	// All files are checked before the first one is written.
	_, err := d.call("apply_patch", object{"input": "*** Begin Patch\n*** Add File: e.txt\n+e\n*** Update File: a.txt\n@@\n-nothing like it\n+x\n*** End Patch"})
	if codeOf(err) != tool.CodeNoMatch {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "e.txt")); err == nil {
		t.Error("a patch that does not fit was applied in part")
	}
}

// The names of arguments of OpenClaw's tools are taken, and rules about paths hold for them.
func TestOtherNamesOfArguments(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put(filepath.Join(d.dir, "a.txt"), "one")
	d.put(filepath.Join(d.dir, "secret", "b.txt"), "two")
	conf := config.Default()
	conf.Tools.Approvals.Rules = []config.CallRule{{Arguments: []config.ArgumentPattern{{Name: "path", Pattern: "secret/*"}}, Decision: config.CallDeny}}
	box, err := tools.New(tools.Options{Config: func() *config.Config { return conf }, Logger: slog.New(slog.DiscardHandler), Tools: slices.Collect(maps.Values(d.tools)),
		Journal: direct{}, Guard: callapproval.New(callapproval.Options{Workspace: func(string) string { return d.dir }}).Guard})
	if err != nil {
		t.Fatal(err)
	}
	call := func(name, args string) (string, error) {
		out, err := box.Call(t.Context(), tool.Caller{Entry: tool.ByRun, AgentID: "main", SessionKey: "agent:main:main"}, name, json.RawMessage(args))
		return out.Text, err
	}
	for _, c := range []struct{ name, args, text string }{
		{"write", `{"file_path":"c.txt","content":"three"}`, "wrote 5 bytes to c.txt"}, {"read", `{"file_path":"c.txt"}`, "three"},
		{"edit", `{"file_path":"a.txt","old_string":"one","new_string":"1"}`, "replaced 1 texts in a.txt"},
		{"edit", `{"path":"a.txt","edits":[{"old_string":"1","new_string":"2"}]}`, "replaced 1 texts in a.txt"}, {"read", `{"path":"a.txt"}`, "2"},
	} {
		if text, err := call(c.name, c.args); err != nil || text != c.text {
			t.Errorf("%s %s: %q, %v", c.name, c.args, text, err)
		}
	}
	for _, c := range [][2]string{{"read", `{"file_path":"secret/b.txt"}`}, {"write", `{"file_path":"./secret/b.txt","content":"x"}`}, {"edit", `{"file_path":"secret/b.txt","old_string":"two","new_string":"x"}`}} {
		if text, err := call(c[0], c[1]); codeOf(err) != tool.CodeDenied {
			t.Errorf("%s %s: %q, %v, want %s", c[0], c[1], text, err, tool.CodeDenied)
		}
	}
}

// direct makes calls without recording them.
type direct struct{}

func (direct) Perform(ctx context.Context, _ *tools.Call, _ *tools.Tool, do func(context.Context) (tool.Output, error)) (tool.Output, error) {
	return do(ctx)
}

// However a path is written, a file has one section, and a move onto itself keeps it.
func TestPatchKnowsFilesByAnySpelling(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put(filepath.Join(d.dir, "a.txt"), "x\n")
	d.put(filepath.Join(d.dir, "b.txt"), "x\n")
	d.must("apply_patch", object{"input": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: ./a.txt\n@@\n-x\n+y\n*** End Patch"})
	if got, err := os.ReadFile(filepath.Join(d.dir, "a.txt")); err != nil || string(got) != "y\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, second := range []string{"*** Delete File: ./a.txt", "*** Update File: b.txt\n*** Move to: d/../a.txt\n@@\n-x\n+y", "*** Add File: " + d.dir + "/a.txt\n+z"} {
		_, err := d.call("apply_patch", object{"input": "*** Begin Patch\n*** Update File: a.txt\n@@\n-y\n+z\n" + second + "\n*** End Patch"})
		if codeOf(err) != tool.CodeInvalid {
			t.Errorf("%s: %v", second, err)
		}
	}
	if err := os.Mkdir(filepath.Join(d.dir, "e"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := d.call("apply_patch", object{"input": "*** Begin Patch\n*** Update File: a.txt\n@@\n-y\n+z\n*** Add File: e\n+z\n*** End Patch"})
	if got, read := os.ReadFile(filepath.Join(d.dir, "a.txt")); codeOf(err) != tool.CodeNotFile || read != nil || string(got) != "y\n" {
		t.Errorf("a target is a directory: %v, and the first file has %q, %v", err, got, read)
	}
}

func TestWrongCallsSayWhy(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put(filepath.Join(d.dir, "a.txt"), "one one\n")
	d.put(filepath.Join(d.dir, "b.bin"), "a\x00b")
	if err := os.Truncate(filepath.Join(d.dir, "b.bin"), 9<<20); err != nil {
		t.Fatal(err)
	}
	d.put(filepath.Join(d.dir, "c.bin"), "a\x00b")
	for _, c := range []struct{ tool, args, code string }{
		{"read", `{"path":"missing"}`, tool.CodeNoFile}, {"read", `{"path":"b.bin"}`, tool.CodeTooLarge}, {"read", `{"path":"c.bin"}`, tool.CodeNotFile},
		{"read", `{"path":"."}`, tool.CodeNotFile}, {"read", `{"path":"a.txt/b"}`, tool.CodeNotFile}, {"read", `{"path":"a.txt","offset":9}`, tool.CodeInvalid},
		{"read", `{"path":"a\u0000b"}`, tool.CodeBadPath}, {"read", `{"path":"` + strings.Repeat("a/", 80) + `b"}`, tool.CodeBadPath},
		{"read", `{"path":"` + strings.Repeat("a", 300) + `"}`, tool.CodeBadPath},
		{"edit", `{"path":"a.txt","oldText":"one","newText":"x"}`, tool.CodeNoMatch}, {"edit", `{"path":"a.txt","oldText":"two","newText":"x"}`, tool.CodeNoMatch},
		{"edit", `{"path":"a.txt"}`, tool.CodeInvalid},
		{"edit", `{"path":"a.txt","edits":[{"oldText":"one one","newText":"x"},{"oldText":"e one","newText":"x"}]}`, tool.CodeNoMatch},
		{"grep", `{"pattern":"("}`, tool.CodeInvalid}, {"find", `{"pattern":"{a"}`, tool.CodeInvalid},
		{"apply_patch", `{"input":"nothing"}`, tool.CodeInvalid}, {"apply_patch", `{"input":"*** Begin Patch\n*** End Patch"}`, tool.CodeInvalid},
	} {
		if text, err := d.call(c.tool, json.RawMessage(c.args)); codeOf(err) != c.code {
			t.Errorf("%s %.80s: %q, %v, want %s", c.tool, c.args, text, err, c.code)
		}
	}
}

// No path, link or kind of file leads out of the workspace, with any of the tools, and nothing outside changes.
func TestNothingLeavesTheWorkspace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	link := func(to, name string) string {
		if err := os.Symlink(to, filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	hard := func(to, name string) string {
		if err := os.Link(to, filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := syscall.Mkfifo(filepath.Join(d.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.put(filepath.Join(d.dir, "inside/real.txt"), "fine")
	state := filepath.Dir(d.dir)
	paths := []string{
		"../gateway.token", "..", "../", "./../gateway.token", "inside/../../gateway.token", "inside/../../../../../../etc/passwd", "a/b/../../../gateway.token",
		d.secret, d.db, state, "/etc/passwd", "/", "//etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/self/cwd", "/dev/null", "/dev/fd/0",
		"~/.ssh/id_rsa", "~", "~root/.bashrc", d.dir + "/../gateway.token", d.dir + "/../workspace-other", d.dir + "-other", "../workspace-other",
		"..\\..\\gateway.token/../../../gateway.token",
		link(d.secret, "abs"), link("../gateway.token", "rel"), link("..", "up") + "/gateway.token", link("/", "rootdir") + "/etc/passwd",
		link("abs", "twice"), link("inside", "within") + "/real.txt", link("self", "self"), link("/proc/self/environ", "env"), link("/proc/self/fd/0", "fd"),
		link("inside/../../gateway.token", "mixed"), link("/dev/zero", "zero"), link(d.dir, "home") + "/gateway.token", link(d.db, "database"),
		hard(d.secret, "hardtoken"), hard(d.db, "harddb"), "pipe", "inside/../pipe", "inside/real.txt/../../../gateway.token",
	}
	for _, path := range paths {
		for _, c := range []struct {
			tool string
			args any
		}{
			{"read", object{"path": path}}, {"write", object{"path": path, "content": "overwritten"}}, {"write", object{"path": path, "content": "more", "append": true}},
			{"edit", object{"path": path, "oldText": secretText, "newText": "overwritten"}}, {"grep", object{"pattern": "show", "path": path}},
			{"ls", object{"path": path}}, {"find", object{"pattern": "*token*", "path": path}},
			{"apply_patch", object{"input": "*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch"}},
			{"apply_patch", object{"input": "*** Begin Patch\n*** Add File: " + path + "\n+overwritten\n*** End Patch"}},
		} {
			text, err := d.call(c.tool, c.args)
			switch code := codeOf(err); code {
			case tool.CodeOutside, tool.CodeNotFile, tool.CodeBadPath, tool.CodeNoFile:
			default:
				t.Errorf("%s %s: %q, %v", c.tool, path, text, err)
			}
			if strings.Contains(text, secretText) {
				t.Errorf("%s %s shows what is outside", c.tool, path)
			}
		}
	}
	if text := d.must("grep", object{"pattern": "do not show"}); text != "no matches" {
		t.Errorf("a search shows %q", text)
	}
	for _, path := range []string{d.secret, d.db, filepath.Join(state, "workspace-other")} {
		if text, err := os.ReadFile(path); err != nil || string(text) != secretText {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	t.Logf("%d paths, 9 calls each", len(paths))
}

// A directory that is replaced by a link while a call is on its way leads nowhere.
func TestNoRaceLeavesTheWorkspace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	state := filepath.Dir(d.dir)
	real, changing := filepath.Join(d.dir, "real"), filepath.Join(d.dir, "dir")
	d.put(filepath.Join(real, "gateway.token"), "fine")
	ctx, stop := context.WithCancel(t.Context())
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for ctx.Err() == nil {
			_ = os.Rename(real, changing)
			_ = os.Rename(changing, real)
			_ = os.Symlink(state, changing)
			_ = os.Remove(changing)
		}
	})
	for i := range 3000 {
		if text, err := d.call("read", object{"path": "dir/gateway.token"}); strings.Contains(text, secretText) {
			t.Errorf("a race led outside: %q, %v", text, err)
		}
		if i%30 == 0 {
			_, _ = d.call("write", object{"path": "dir/new.txt", "content": "x"})
		}
	}
	stop()
	swapping.Wait()
	if _, err := os.Stat(filepath.Join(state, "new.txt")); err == nil {
		t.Error("a race wrote outside")
	}
}

func TestWorkspaceMustNotHoldTheProgramsFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, dir := range []string{filepath.Dir(d.dir), "/", d.dir + "/.."} {
		d.dir = dir
		if text, err := d.call("read", object{"path": "gateway.token"}); codeOf(err) != tool.CodeUnavailable {
			t.Errorf("%s: %q, %v", dir, text, err)
		}
	}
}

// A reader sees one of the written texts as a whole.
func TestWritesAreWhole(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	texts := []string{strings.Repeat("a", 300_000), strings.Repeat("b", 200_000)}
	d.must("write", object{"path": "f", "content": texts[0]})
	var writing sync.WaitGroup
	for _, text := range texts {
		writing.Go(func() {
			for range 20 {
				_, _ = d.call("write", object{"path": "f", "content": text})
			}
		})
	}
	for range 200 {
		if got, err := os.ReadFile(filepath.Join(d.dir, "f")); err != nil || string(got) != texts[0] && string(got) != texts[1] {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	writing.Wait()
	if left, err := filepath.Glob(filepath.Join(d.dir, ".*"+durable.Unfinished)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
