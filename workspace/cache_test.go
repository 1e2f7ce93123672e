package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/workspace"
)

func TestUnchangedFilesAreNotParsedAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	for i := range 10 {
		h.write(t, fmt.Sprintf("workspace-eden/tasks/task_%d.md", i), "## Description\none")
		h.write(t, fmt.Sprintf("workspace-eden/task-history/2026-%02d.md", i+1), fmt.Sprintf("## [x] y\n**Task ID:** task_h%d\n", i))
	}
	h.settle()
	ask := func(want int64) {
		t.Helper()
		before := h.Parsed()
		tasks, err := h.Tasks("eden")
		must(t, err)
		entry, err := h.HistoryOf("eden", "task_h0")
		must(t, err)
		if len(tasks.Tasks) != 10 || entry == nil {
			t.Errorf("%d tasks, %+v", len(tasks.Tasks), entry)
		}
		if parsed := h.Parsed() - before; parsed != want {
			t.Errorf("parsed %d files, want %d", parsed, want)
		}
	}
	ask(20)
	ask(0)
	h.write(t, "workspace-eden/tasks/task_3.md", "## Description\ntwo") // same size
	ask(1)
	h.settle()
	ask(0)
}

// A change of the same size within one step of the file system's clock, and one whose time was set back.
func TestHiddenChangesAreSeen(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	path := filepath.Join(h.path, "workspace-eden/tasks/task_a.md")
	then := time.Now().Add(-time.Hour)
	for i := range 200 {
		h.write(t, "workspace-eden/tasks/task_a.md", fmt.Sprintf("## Description\n%03d", i))
		if i%2 == 0 {
			must(t, os.Chtimes(path, then, then))
		}
		task, _, err := h.Task("eden", "task_a")
		must(t, err)
		if want := fmt.Sprintf("%03d", i); task.Description != want {
			t.Fatalf("read %s, want %s", task.Description, want)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	h := newHome(t, workspace.Options{CacheBytes: limit})
	for i := range 50 {
		h.write(t, fmt.Sprintf("workspace-eden/tasks/task_%02d.md", i), "## Description\n"+strings.Repeat("x", 3_000))
	}
	h.write(t, "workspace-eden/tasks/task_large.md", "## Description\n"+strings.Repeat("x", limit))
	h.settle()
	for range 2 {
		if tasks, err := h.Tasks("eden"); err != nil || len(tasks.Tasks) != 51 {
			t.Errorf("%d tasks, %v", len(tasks.Tasks), err)
		}
		if held := h.CacheBytes(); held > limit {
			t.Errorf("the cache holds %d bytes", held)
		}
	}
	must(t, os.RemoveAll(filepath.Join(h.path, "workspace-eden/tasks")))
	if tasks, err := h.Tasks("eden"); err != nil || len(tasks.Tasks) != 0 {
		t.Errorf("%d tasks of removed files, %v", len(tasks.Tasks), err)
	}
}
