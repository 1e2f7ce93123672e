package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/workspace"
)

func TestLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	h := workspace.NewHome(path)
	if n, err := workspace.NewHome(filepath.Join(path, "nowhere")).RemoveLeftovers(); n != 0 || err != nil {
		t.Errorf("of nothing: %d, %v", n, err)
	}
	for _, name := range homeNames {
		must(t, h.Replace(name, []byte("x")))
	}
	other, own := fmt.Sprintf(".openclawd-%d-7.tmp", os.Getpid()+1), fmt.Sprintf(".openclawd-%d-7.tmp", os.Getpid())
	old := fmt.Sprintf(".openclawd-%d-6.tmp", os.Getpid())
	kept := slices.Clone(homeNames)
	for _, directory := range []string{"", "tasks", "task-history"} {
		for _, name := range []string{other, old, own, "x" + other, other + ".md", ".openclawd-1-.tmp", ".task_a.md.tmp"} {
			must(t, os.WriteFile(filepath.Join(path, directory, name), nil, 0o600))
			if name != other && name != old {
				kept = append(kept, filepath.Join(directory, name))
			}
		}
		must(t, os.Chtimes(filepath.Join(path, directory, old), time.Time{}, time.Now().Add(-2*time.Hour)))
	}
	far := filepath.Join("memory", other) // which is not a directory of a Home
	must(t, os.Mkdir(filepath.Join(path, "memory"), 0o755))
	must(t, os.WriteFile(filepath.Join(path, far), nil, 0o600))
	must(t, os.Symlink("CURRENT_TASK.md", filepath.Join(path, ".openclawd-1-1.tmp")))
	must(t, os.Mkdir(filepath.Join(path, ".openclawd-1-2.tmp"), 0o755))
	kept = append(kept, far, ".openclawd-1-1.tmp")

	if n, err := h.RemoveLeftovers(); n != 6 || err != nil {
		t.Errorf("%d were removed, %v", n, err)
	}
	slices.Sort(kept)
	left := filesBelow(t, path)
	slices.Sort(left)
	if !slices.Equal(left, kept) {
		t.Errorf("left is %q, want %q", left, kept)
	}
}
