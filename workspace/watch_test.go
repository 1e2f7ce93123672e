package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/workspace"
)

// look checks all places, and returns the changes in short form.
func look(w *workspace.Watch) []string {
	found := []string{}
	for _, place := range w.Places() {
		for _, c := range w.Check(place) {
			steps := ""
			if c.Steps != nil {
				steps = fmt.Sprintf(" %d/%d", c.Steps.Done, c.Steps.Total)
			}
			found = append(found, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s%s", c.Op, c.Path, c.Kind, c.Agent, c.TaskID, steps)))
		}
	}
	return found
}

func expect(t *testing.T, w *workspace.Watch, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), look(w)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestWatchSeesEachChangeOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	w := h.NewWatch()
	expect(t, w)
	h.write(t, "workspace-eden/tasks/task_a1.md", "## Steps\n- [x] (a) one\n- [ ] (b) two")
	h.write(t, "workspace-eden/tasks/task_Big.md", "x")
	h.write(t, "workspace-eden/tasks/notes.md", "x")
	h.write(t, "workspace-eden/CURRENT_TASK.md", "x")
	h.write(t, "workspace-eden/MILESTONES.md", "x")
	h.write(t, "workspace-eden/task-history/2026-02.md", "x")
	h.write(t, "workspace-eden/.openclaw/plans/p.json", "{}")
	h.write(t, "workspace-eden/plans/q.json", "{}")
	h.write(t, "plans/eden_1.json", "{}")
	h.write(t, "team-state.json", "{}")
	for _, passed := range []string{"AGENTS.md", "tasks/task_a1.lock", "tasks/.task_a1.md.swp", "tasks/task_a1.md.tmp", "tasks/.hidden", "tasks/task_a1.md~",
		"tasks/node_modules/x.md", "node_modules/tasks/task_z.md", "task-history/notes.md", ".openclaw/plans/p.md", ".openclaw/x.json"} {
		h.write(t, "workspace-eden/"+passed, "x")
	}
	h.write(t, "openclaw.json", "{}")
	h.link(t, "task_a1.md", "workspace-eden/tasks/task_link.md")
	expect(t, w,
		"add team-state.json team-state",
		"add plans/eden_1.json plan",
		"add workspace-eden/CURRENT_TASK.md current eden",
		"add workspace-eden/MILESTONES.md milestones eden",
		"add workspace-eden/.openclaw/plans/p.json plan eden",
		"add workspace-eden/plans/q.json plan eden",
		"add workspace-eden/task-history/2026-02.md history eden",
		"add workspace-eden/tasks/notes.md task eden",
		"add workspace-eden/tasks/task_Big.md task eden",
		"add workspace-eden/tasks/task_a1.md task eden task_a1 1/2",
	)
	expect(t, w)
	h.settle()
	expect(t, w)

	h.write(t, "workspace-eden/tasks/task_a1.md", "## Steps\n- [x] (a) one\n- [x] (b) two")
	expect(t, w, "change workspace-eden/tasks/task_a1.md task eden task_a1 2/2")
	expect(t, w)
	now := time.Now()
	must(t, os.Chtimes(filepath.Join(h.path, "workspace-eden/tasks/task_a1.md"), now, now)) // touched, not changed
	expect(t, w)
	must(t, os.Remove(filepath.Join(h.path, "workspace-eden/tasks/task_a1.md")))
	expect(t, w, "unlink workspace-eden/tasks/task_a1.md task eden task_a1")
	expect(t, w)
	must(t, os.RemoveAll(filepath.Join(h.path, "workspace-eden")))
	if got := look(w); len(got) != 7 || slices.ContainsFunc(got, func(c string) bool { return !strings.HasPrefix(c, "unlink ") }) {
		t.Errorf("a removed workspace: %q", got)
	}
	expect(t, w)
	h.write(t, "workspace-eden/tasks/task_a1.md", "x")
	expect(t, w, "add workspace-eden/tasks/task_a1.md task eden task_a1")
}

// Truncating and rewriting a file is one change, not two.
func TestWatchWaitsForTheContent(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	w := h.NewWatch()
	h.write(t, "workspace-eden/CURRENT_TASK.md", "")
	expect(t, w)
	h.write(t, "workspace-eden/CURRENT_TASK.md", "one")
	expect(t, w, "add workspace-eden/CURRENT_TASK.md current eden")
	h.write(t, "workspace-eden/CURRENT_TASK.md", "")
	expect(t, w)
	h.write(t, "workspace-eden/CURRENT_TASK.md", "two")
	expect(t, w, "change workspace-eden/CURRENT_TASK.md current eden")
	h.write(t, "workspace-eden/CURRENT_TASK.md", "")
	expect(t, w)
	h.settle()
	expect(t, w, "change workspace-eden/CURRENT_TASK.md current eden")
	expect(t, w)
}

// With a check after each, no change is missed, however fast they follow.
func TestWatchMissesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	w := h.NewWatch()
	for i := range 50 {
		op := "change"
		if i == 0 {
			op = "add"
		}
		h.write(t, "workspace-eden/CURRENT_TASK.md", fmt.Sprintf("%03d", i)) // same size
		expect(t, w, op+" workspace-eden/CURRENT_TASK.md current eden")
		h.write(t, fmt.Sprintf("workspace-eden/tasks/task_%03d.md", i), "x")
		expect(t, w, fmt.Sprintf("add workspace-eden/tasks/task_%03d.md task eden task_%03d", i, i))
	}
}

func TestWatchSaysWhatAFileIs(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	w := h.NewWatch()
	h.write(t, "team-state.json", "abc")
	must(t, os.Chtimes(filepath.Join(h.path, "team-state.json"), time.UnixMilli(5_000), time.UnixMilli(5_000)))
	want := []workspace.Change{{Path: "team-state.json", Op: "add", Kind: workspace.KindTeamState, Time: 5_000, Bytes: 3,
		SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}}
	if diff := cmp.Diff(want, w.Check("")); diff != "" {
		t.Error(diff)
	}
	h.write(t, "team-state.json", strings.Repeat("x", workspace.MaxFileBytes+1))
	c := w.Check("")
	if len(c) != 1 || c[0].Op != "change" || c[0].Bytes != workspace.MaxFileBytes+1 || c[0].SHA256 != "" {
		t.Errorf("a large file: %+v", c)
	}
	if c := w.Check(""); len(c) > 0 {
		t.Errorf("a large file that has not changed: %+v", c)
	}
}

// A listing of a directory with too many entries is truncated, and what it omits changes with every new file. Omitted
// files are not gone.
func TestWatchTakesNothingForGoneThatIsOnlyNotListed(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.LookAt(5)
	w := h.NewWatch()
	seen := map[string]bool{}
	for i := range 60 {
		h.write(t, fmt.Sprintf("workspace-eden/tasks/task_%d.md", i), "x")
		for _, c := range w.Check("workspace-eden/tasks") {
			if c.Op != workspace.OpAdd || seen[c.Path] {
				t.Fatalf("%s %s", c.Op, c.Path)
			}
			seen[c.Path] = true
		}
	}
	for path := range seen {
		h.write(t, path, "other")
		if c := w.Check("workspace-eden/tasks"); len(c) != 1 || c[0].Op != workspace.OpChange || c[0].Path != path {
			t.Errorf("a change of %s: %+v", path, c)
		}
		must(t, os.Remove(filepath.Join(h.path, path)))
		unlinked := slices.DeleteFunc(w.Check("workspace-eden/tasks"), func(c workspace.Change) bool { return c.Op == workspace.OpAdd })
		if len(unlinked) != 1 || unlinked[0].Op != workspace.OpUnlink || unlinked[0].Path != path || !w.Gone(path) {
			t.Errorf("the removal of %s: %+v", path, unlinked)
		}
	}
}

func TestWatchKnowsWhatHasGone(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "workspace-eden/tasks/task_a.md", "x")
	h.write(t, "team-state.json", "{}")
	h.write(t, "workspace-eden/tasks/task_dir.md/x", "x")
	h.link(t, "task_a.md", "workspace-eden/tasks/task_link.md")
	w := h.NewWatch()
	for path, want := range map[string]bool{"team-state.json": false, "workspace-eden/tasks/task_a.md": false, "workspace-eden/tasks/task_b.md": true,
		"workspace-eden/tasks/task_dir.md": true, "workspace-eden/tasks/task_link.md": true, "workspace-seum/tasks/task_a.md": true} {
		if gone := w.Gone(path); gone != want {
			t.Errorf("%s: gone %t", path, gone)
		}
	}
}

// A heartbeat is a change, but not of the essence.
func TestEssenceOfTheTeamState(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	w := h.NewWatch()
	essence := func(text string) string {
		t.Helper()
		h.write(t, "team-state.json", text)
		c := w.Check("")
		if len(c) != 1 {
			t.Fatalf("%s: %+v", text, c)
		}
		return c[0].Essence
	}
	first := essence(`{"agents":{"eden":{"status":"idle","lastHeartbeatMs":1}},"lastUpdatedMs":1,"updatedAt":"a","list":[{"updatedAt":1}]}`)
	if first == "" {
		t.Error("no essence")
	}
	if again := essence(`{"list":[{}],"agents":{"eden":{"lastHeartbeatMs":2,"status":"idle"}},"lastUpdatedMs":2}`); again != first {
		t.Error("a heartbeat changes the essence")
	}
	if other := essence(`{"list":[{}],"agents":{"eden":{"lastHeartbeatMs":3,"status":"busy"}},"lastUpdatedMs":3}`); other == first || other == "" {
		t.Errorf("essence of another state: %q", other)
	}
	for _, text := range []string{"[1]", "{", `{"a":1} x`, "null"} {
		if none := essence(text); none != "" {
			t.Errorf("%s: %q", text, none)
		}
	}
}
