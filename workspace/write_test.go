package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/workspace"
)

func TestWritePutsFilesIntoWorkspaces(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	must(t, os.MkdirAll(h.path, 0o755))
	for name, want := range map[string]string{
		"workspace-eden/a.md":                 "workspace-eden/a.md",
		"workspace-eden/notes/deep/한글.md":     "workspace-eden/notes/deep/한글.md",
		`workspace-eden\win\b.md`:             "workspace-eden/win/b.md",
		"workspace-eden/./x//c.md":            "workspace-eden/x/c.md",
		"workspace-eden/.openclaw/plans/p.md": "workspace-eden/.openclaw/plans/p.md",
		"workspace-new/a.md":                  "workspace-new/a.md",
	} {
		written, err := h.Write(name, []byte(name))
		if err != nil || written != want || h.read(t, want) != name {
			t.Errorf("%s: %s, %v", name, written, err)
		}
	}
	if _, err := h.Write("workspace-eden/a.md", nil); err != nil || h.read(t, "workspace-eden/a.md") != "" {
		t.Errorf("an empty file: %v", err)
	}
	h.noTemporaryFiles(t)
}

func TestWriteLeavesTheDatabaseAlone(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "x.db")
	must(t, os.WriteFile(database, []byte("database"), 0o600))
	h := newHome(t, workspace.Options{Reserved: []string{filepath.Join(t.TempDir(), "missing"), database}})
	h.write(t, "workspace-eden/x", "")
	must(t, os.Link(database, filepath.Join(h.path, "workspace-eden/log.db")))
	if _, err := h.Write("workspace-eden/log.db", nil); err == nil || h.read(t, "workspace-eden/log.db") != "database" {
		t.Errorf("the database was replaced: %v", err)
	}
}

// Files beside the database with names like its own are neither written, read nor reported, and nothing is written
// among the backups.
func TestNeighboursOfTheDatabaseAreLeftAlone(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	below := func(name string) string { return filepath.Join(h.path, name) }
	h.Dir = workspace.New(h.path, workspace.Options{
		Reserved:     []string{below("workspace-eden/tasks/task_log"), below("workspace-eden/plans/log.db")},
		ReservedDirs: []string{below("workspace-eden/backups"), below("workspace-seum/kept")},
	})
	h.write(t, "workspace-eden/tasks/task_log", "database")
	h.write(t, "workspace-eden/tasks/task_log.md", "ours")
	h.write(t, "workspace-eden/tasks/task_a.md", "open")
	h.write(t, "workspace-eden/plans/log.db.import.json", "{}")
	h.write(t, "workspace-seum/kept/below/x", "ours")
	for _, name := range []string{"eden/tasks/task_log", "eden/tasks/task_log.md", "eden/tasks/task_log.lock", "eden/tasks/TASK_LOG-wal", "eden/tasks/task_log/x",
		"eden/plans/log.db.lock", "eden/backups", "eden/backups/x", "eden/Backups/x/y", "seum/kept/x", "seum/kept/below/x"} {
		var refused *workspace.RefusedError
		if _, err := h.Write("workspace-"+name, nil); !errors.As(err, &refused) || refused.Reason != workspace.ReasonOurs {
			t.Errorf("write %s: %v", name, err)
		}
	}
	if _, err := os.Stat(below("workspace-eden/backups")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the backup directory was created: %v", err)
	}
	for _, name := range []string{"eden/task_log", "eden/log.db.lock", "eden/tasks/backups/x", "seum/backups/x", "seum/kept.md"} {
		if _, err := h.Write("workspace-"+name, nil); err != nil {
			t.Errorf("write %s: %v", name, err)
		}
	}
	ours := func(file string) []workspace.Fault {
		return []workspace.Fault{{File: "workspace-eden/" + file, Error: workspace.ReasonOurs}}
	}
	tasks, err := h.Tasks("eden")
	must(t, err)
	if len(tasks.Tasks) != 1 || !slices.Equal(tasks.Faults, ours("tasks/task_log.md")) {
		t.Errorf("%d tasks, %+v", len(tasks.Tasks), tasks.Faults)
	}
	plans, faults, err := h.Plans("eden")
	must(t, err)
	if len(plans) > 0 || !slices.Equal(faults, ours("plans/log.db.import.json")) {
		t.Errorf("%d plans, %+v", len(plans), faults)
	}
	expect(t, h.NewWatch(), "add workspace-eden/tasks/task_a.md task eden task_a")
}

func TestWriteKeepsPermissions(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	for _, mode := range []fs.FileMode{0o600, 0o755, 0o664} {
		name := fmt.Sprintf("workspace-eden/%o.sh", mode)
		h.write(t, name, "old")
		must(t, os.Chmod(filepath.Join(h.path, name), mode))
		_, err := h.Write(name, []byte("new"))
		must(t, err)
		if info, err := os.Stat(filepath.Join(h.path, name)); err != nil || info.Mode().Perm() != mode || h.read(t, name) != "new" {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestWriteGoesNowhereElse(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "openclaw.json", "config")
	h.write(t, "logs/coordination-events.ndjson", "log")
	h.write(t, "workspace/main.md", "main")
	h.write(t, "workspace-file", "file")
	h.write(t, "workspace-eden/tasks/task_a.md", "task")
	h.write(t, "elsewhere/x.md", "elsewhere")
	outside := t.TempDir()
	h.link(t, outside, "workspace-link")
	h.link(t, filepath.Join(h.path, "elsewhere"), "workspace-eden/inside")
	h.link(t, "../elsewhere/x.md", "workspace-eden/x.md")
	h.link(t, "nowhere", "workspace-eden/dangling.md")
	before := h.tree(t)
	refused := []string{
		"openclaw.json", "logs/coordination-events.ndjson", "workspace/main.md", "workspace-eden", "workspace-/x", "plans/x.json", "x/workspace-eden/a.md",
		"./../.openclaw/openclaw.json", "workspace-eden/../openclaw.json", "workspace-eden/../workspace-eden/a.md", `workspace-eden\..\openclaw.json`,
		"/workspace-eden/a.md", filepath.Join(h.path, "workspace-eden/a.md"), "workspace-..", "workspace-../a.md", "workspace-.x/a.md", "..workspace-eden/a.md",
		"workspace-eden/tasks", "workspace-eden/tasks/", "workspace-file/a.md", "workspace-eden/tasks/task_a.md/b", "workspace-link/a.md",
		"workspace-eden/inside/a.md", "workspace-eden/x.md", "workspace-eden/dangling.md",
		"workspace-eden/" + strings.Repeat("a/", 20) + "b", "workspace-eden/" + strings.Repeat("long", 300),
	}
	for _, name := range hostile {
		refused = append(refused, name)
		if slashed := strings.ReplaceAll(name, `\`, "/"); !strings.HasPrefix(slashed, "/") && name != "." && name != "a/" && name != "a//" {
			refused = append(refused, "workspace-eden/"+name, "workspace-"+name+"/a.md") // those left out only double or drop a slash
		}
	}
	for _, name := range refused {
		written, err := h.Write(name, []byte("attack"))
		var refusal *workspace.RefusedError
		if !errors.As(err, &refusal) {
			t.Errorf("%q: written to %q, %v", name, written, err)
		}
	}
	if _, err := h.Write("workspace-eden/big.md", make([]byte, workspace.MaxWriteBytes+1)); err == nil {
		t.Error("a file above the limit was written")
	}
	if after := h.tree(t); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

// Readers see complete contents only, while others write.
func TestWriteIsAtomic(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	const name = "workspace-eden/tasks/task_a.md"
	content := func(i int) string { return strings.Repeat(fmt.Sprintf("%04d", i), 20_000) }
	h.write(t, name, content(0))
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := range 30 {
				if _, err := h.Write(name, []byte(content(100*w+i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		writers.Wait()
		close(ended)
	}()
	for reading := true; reading; {
		text := h.read(t, name)
		if len(text) != 80_000 || text != strings.Repeat(text[:4], 20_000) {
			t.Errorf("%d bytes of several contents", len(text))
			break
		}
		select {
		case <-ended:
			reading = false
		default:
		}
	}
	<-ended
	h.noTemporaryFiles(t)
}

// Leftovers of a process with the same id do no harm.
func TestWriteSurvivesLeftovers(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	for i := range 5 {
		h.write(t, fmt.Sprintf("workspace-eden/.openclawd-%d-%d.tmp", os.Getpid(), i+1), "left")
	}
	if _, err := h.Write("workspace-eden/a.md", []byte("a")); err != nil || h.read(t, "workspace-eden/a.md") != "a" {
		t.Error(err)
	}
}

// tree returns everything in the state directory.
func (h *home) tree(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(h.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %s %q\n", strings.TrimPrefix(path, h.path), e.Type(), text)
		return nil
	}))
	return b.String()
}

func (h *home) noTemporaryFiles(t *testing.T) {
	t.Helper()
	if tree := h.tree(t); strings.Contains(tree, ".tmp") {
		t.Errorf("temporary files are left:\n%s", tree)
	}
}
