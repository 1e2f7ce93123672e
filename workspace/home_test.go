package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/workspace"
)

// homeNames has one file name of each kind that a Home accepts.
var homeNames = []string{"CURRENT_TASK.md", "task-history/2026-02.md", "tasks/task_a.md"}

func TestHomeKeepsTheFilesOfTasks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "far", "away", "eden")
	h := workspace.NewHome(path)
	for _, name := range homeNames {
		if _, err := h.Read(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("read %s of nothing: %v", name, err)
		}
		must(t, h.Remove(name))
		if _, err := h.KeepAside(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("keep %s of nothing: %v", name, err)
		}
	}
	if names, err := h.List(); len(names) > 0 || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("reading has created something: %v", err)
	}
	for _, text := range []string{"first", "", "한글\r\n\x00\xff"} {
		for _, name := range homeNames {
			must(t, h.Replace(name, []byte(text)))
			if got, err := h.Read(name); string(got) != text || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
	must(t, os.Chmod(filepath.Join(path, "CURRENT_TASK.md"), 0o600))
	must(t, h.Replace("CURRENT_TASK.md", []byte("x")))
	if info, err := os.Stat(filepath.Join(path, "CURRENT_TASK.md")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if names, err := h.List(); !slices.Equal(names, homeNames) || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	for _, name := range homeNames {
		must(t, h.Remove(name))
	}
	if names, err := h.List(); len(names) > 0 || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if left := filesBelow(t, path); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func filesBelow(t *testing.T, path string) (files []string) {
	t.Helper()
	must(t, filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(path, at)
			files = append(files, name)
		}
		return err
	}))
	return files
}

func TestHomeKeepsNothingElse(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	h := workspace.NewHome(path)
	names := []string{"AGENTS.md", "current_task.md", "tasks", "tasks/", "tasks/notes.md", "tasks/task_a", "tasks/task_a.md.conflict", "tasks/task_a.lock",
		"tasks/task_a.md/x", "tasks/sub/task_a.md", "tasks/../tasks/task_a.md", "./CURRENT_TASK.md", "/CURRENT_TASK.md", `tasks\task_a.md`, "task_a.md",
		"task-history/notes.md", "task-history/2026-2.md", "task-history/task_a.md", "tasks/2026-02.md", "plans/task_a.md", "tasks/task_" + longName + ".md"}
	for _, name := range hostile {
		names = append(names, name, "tasks/"+name, "tasks/task_"+name+"/x.md", name+"/task_a.md")
	}
	for _, name := range names {
		_, read := h.Read(name)
		_, kept := h.KeepAside(name)
		for what, err := range map[string]error{"read": read, "replace": h.Replace(name, nil), "remove": h.Remove(name), "keep": kept} {
			var refused *workspace.RefusedError
			if !errors.As(err, &refused) || refused.Reason != workspace.ReasonName {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	if left := filesBelow(t, path); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestHomeFollowsNoLinkBelowItself(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "task_a.md"), []byte("outside"), 0o600))
	must(t, os.WriteFile(filepath.Join(outside, "2026-02.md"), []byte("outside"), 0o600))
	real := t.TempDir()
	path := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(real, path)) // the directory itself may be a link
	must(t, os.Symlink(outside, filepath.Join(real, "task-history")))
	must(t, os.Mkdir(filepath.Join(real, "tasks"), 0o755))
	must(t, os.Symlink(filepath.Join(outside, "task_a.md"), filepath.Join(real, "tasks/task_a.md")))
	must(t, os.Mkdir(filepath.Join(real, "CURRENT_TASK.md"), 0o755))
	h := workspace.NewHome(path)
	for name, reason := range map[string]string{"task-history/2026-02.md": workspace.ReasonLink, "tasks/task_a.md": workspace.ReasonLink,
		"CURRENT_TASK.md": workspace.ReasonSpecial} {
		_, read := h.Read(name)
		_, kept := h.KeepAside(name)
		for what, err := range map[string]error{"read": read, "replace": h.Replace(name, []byte("inside")), "remove": h.Remove(name), "keep": kept} {
			var refused *workspace.RefusedError
			if !errors.As(err, &refused) || refused.Reason != reason {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
	}
	names, err := h.List()
	if !slices.Equal(names, []string{"CURRENT_TASK.md", "tasks/task_a.md"}) {
		t.Errorf("%q", names)
	}
	var refused *workspace.RefusedError
	if !errors.As(err, &refused) || refused.Path != "task-history" || refused.Reason != workspace.ReasonLink {
		t.Errorf("%v", err)
	}
	must(t, h.Replace("tasks/task_b.md", []byte("inside")))
	if text, err := os.ReadFile(filepath.Join(real, "tasks/task_b.md")); string(text) != "inside" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"task_a.md", "2026-02.md"} {
		if text, err := os.ReadFile(filepath.Join(outside, name)); string(text) != "outside" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestHomeBoundsItsFiles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	h := workspace.NewHome(path)
	must(t, h.Replace("tasks/task_a.md", make([]byte, workspace.MaxFileBytes)))
	var refused *workspace.RefusedError
	if err := h.Replace("tasks/task_a.md", make([]byte, workspace.MaxFileBytes+1)); !errors.As(err, &refused) || refused.Reason != workspace.ReasonSize {
		t.Errorf("replace: %v", err)
	}
	if text, err := h.Read("tasks/task_a.md"); len(text) != workspace.MaxFileBytes || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	must(t, os.Truncate(filepath.Join(path, "tasks/task_a.md"), workspace.MaxFileBytes+1))
	if _, err := h.Read("tasks/task_a.md"); !errors.As(err, &refused) || refused.Reason != workspace.ReasonSize {
		t.Errorf("read: %v", err)
	}
	if kept, err := h.KeepAside("tasks/task_a.md"); kept != "task_a.md.conflict" || err != nil {
		t.Errorf("keeping a too large file aside: %s, %v", kept, err)
	}
}

// ReadEach gives what Read gives, in the same order.
func TestHomeReadsManyFiles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	h := workspace.NewHome(path)
	for _, name := range homeNames {
		must(t, h.Replace(name, []byte("text of "+name)))
	}
	must(t, os.Symlink("task_a.md", filepath.Join(path, "tasks/task_link.md")))
	names := []string{"tasks/task_a.md", "tasks/task_none.md", "tasks/task_link.md", "task-history/2026-02.md", "task-history/2026-03.md", "CURRENT_TASK.md",
		"notes.md", "tasks/task_a.md", "tasks/notes.txt"}
	same := func(a, b error) bool { return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error()) }
	for _, in := range []*workspace.Home{h, workspace.NewHome(filepath.Join(path, "nowhere"))} {
		var visited []string
		must(t, in.ReadEach(names, func(name string, text []byte, err error) error {
			visited = append(visited, name)
			if want, wanted := in.Read(name); string(text) != string(want) || !same(err, wanted) {
				t.Errorf("%s: %q, %v, want %q, %v", name, text, err, want, wanted)
			}
			return nil
		}))
		if !slices.Equal(visited, names) {
			t.Errorf("visited %q", visited)
		}
	}
	stop, visited := errors.New("stop"), 0
	err := h.ReadEach(names, func(string, []byte, error) error {
		visited++
		return stop
	})
	if !errors.Is(err, stop) || visited != 1 {
		t.Errorf("%v after %d files", err, visited)
	}
}

func TestHomeKeepsEachConflict(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	h := workspace.NewHome(path)
	for _, name := range homeNames {
		for _, n := range []string{"", "-2", "-3"} {
			must(t, h.Replace(name, []byte("edited"+n)))
			kept, err := h.KeepAside(name)
			must(t, err)
			if kept != filepath.Base(name)+".conflict"+n {
				t.Errorf("%s is kept as %s", name, kept)
			}
			if _, err := h.Read(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there: %v", name, err)
			}
			if text, err := os.ReadFile(filepath.Join(path, filepath.Dir(name), kept)); string(text) != "edited"+n || err != nil {
				t.Errorf("%s: %q, %v", kept, text, err)
			}
		}
	}
	must(t, os.WriteFile(filepath.Join(path, "notes.md.conflict"), nil, 0o600)) // of another file
	want := []string{"CURRENT_TASK.md.conflict", "CURRENT_TASK.md.conflict-2", "CURRENT_TASK.md.conflict-3", "task-history/2026-02.md.conflict",
		"task-history/2026-02.md.conflict-2", "task-history/2026-02.md.conflict-3", "tasks/task_a.md.conflict", "tasks/task_a.md.conflict-2",
		"tasks/task_a.md.conflict-3"}
	if kept, err := h.Kept(); !slices.Equal(kept, want) || err != nil {
		t.Errorf("kept aside are %q, %v", kept, err)
	}
	if kept, err := workspace.NewHome(filepath.Join(path, "nowhere")).Kept(); len(kept) > 0 || err != nil {
		t.Errorf("in no workspace are kept aside %q, %v", kept, err)
	}
	must(t, os.Symlink("nowhere", filepath.Join(path, "CURRENT_TASK.md.conflict-4")))
	must(t, h.Replace("CURRENT_TASK.md", nil))
	if kept, err := h.KeepAside("CURRENT_TASK.md"); kept != "CURRENT_TASK.md.conflict-5" || err != nil {
		t.Errorf("%s, %v", kept, err)
	}
	if names, err := h.List(); len(names) > 0 || err != nil {
		t.Errorf("what is kept aside is listed: %q, %v", names, err)
	}
}

func TestHomeThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	file := filepath.Join(path, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	dangling := filepath.Join(path, "dangling")
	must(t, os.Symlink(filepath.Join(path, "nowhere"), dangling))
	occupied := filepath.Join(path, "occupied")
	must(t, os.MkdirAll(occupied, 0o755))
	must(t, os.WriteFile(filepath.Join(occupied, "tasks"), nil, 0o600))
	for name, says := range map[string]string{file: "not a directory", filepath.Join(file, "below"): "not a directory", dangling: "no such file", "": "no such file",
		occupied: workspace.ReasonFolder} {
		if err := workspace.NewHome(name).Replace("tasks/task_a.md", nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(path, "nowhere")); err == nil {
		t.Error("a dangling link was followed")
	}
	if os.Geteuid() == 0 {
		return // nothing is read-only for root
	}
	readOnly := filepath.Join(path, "read-only")
	must(t, os.Mkdir(readOnly, 0o555))
	if err := workspace.NewHome(readOnly).Replace("tasks/task_a.md", nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("read-only: %v", err)
	}
}

func TestReadersOfAHomeSeeOneOrTheOther(t *testing.T) {
	t.Parallel()
	h := workspace.NewHome(t.TempDir())
	texts := []string{strings.Repeat("a", 50_000), strings.Repeat("b", 70_000)}
	must(t, h.Replace("tasks/task_a.md", []byte(texts[0])))
	var writers sync.WaitGroup
	for _, text := range texts {
		writers.Go(func() {
			for range 20 {
				if err := h.Replace("tasks/task_a.md", []byte(text)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		text, err := h.Read("tasks/task_a.md")
		var refused *workspace.RefusedError
		if errors.As(err, &refused) && refused.Reason == workspace.ReasonMoved {
			continue // replaced between check and step, so the result is undefined
		}
		if err != nil || !slices.Contains(texts, string(text)) {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
	}
	writers.Wait()
}
