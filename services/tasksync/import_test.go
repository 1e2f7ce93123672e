package tasksync_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/tasksync"
	"github.com/pronto-lab/openclawd/testdata/sample"
)

// sampleTeam is a log of the sample's workspaces.
func sampleTeam(t *testing.T) *team {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, sample.Files))
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	}))
	return setup(t, dir)
}

func TestFilesAreImportedOnce(t *testing.T) {
	t.Parallel()
	x := sampleTeam(t)
	before := x.read(t)
	there := 0
	for name := range before {
		if strings.HasSuffix(name, ".md") {
			there++
		}
	}
	at := time.Date(2026, time.February, 20, 8, 0, 0, 0, time.UTC)
	must(t, os.Chtimes(filepath.Join(x.dir, "workspace-eden/tasks/task_aa11.md"), at, at))
	if n, err := x.syncer(0).Import(t.Context()); n != there || err != nil {
		t.Errorf("imported %d files of %d: %v", n, there, err)
	}
	last, err := x.ReadStream(t.Context(), coordination.FileStream("workspace-eden/tasks/task_aa11.md"), 0, 10)
	if err != nil || len(last) != 1 || last[0].TS != at.UnixMilli() || last[0].AgentID != "eden" {
		t.Errorf("%+v, %v", last, err)
	}
	if n, err := x.syncer(0).Import(t.Context()); n != 0 || err != nil {
		t.Errorf("imported %d files again: %v", n, err)
	}
	k := x.syncer(time.Millisecond)
	x.running(t, k)
	x.settled(t, k)
	if diff := cmp.Diff(before, x.read(t)); diff != "" {
		t.Errorf("files of which nothing has happened were changed (-want +got):\n%s", diff)
	}
	for name, text := range before {
		if id, ok := strings.CutSuffix(filepath.Base(name), ".md"); ok && strings.HasPrefix(id, "task_") {
			want, _ := taskfile.Parse(id, text)
			row := x.row(t, id)
			same := row.Status == want.Status && row.Description == want.Description && row.Created == want.Created
			if !same || !slices.Equal(row.Progress, want.Progress) {
				t.Errorf("%s: %+v, want %+v", id, row.Task, want)
			}
		}
	}
	if row := x.row(t, "task_h20"); row.Status != coordination.StateCancelled {
		t.Errorf("%+v", row)
	}
	must(t, x.complete(t.Context(), "task_aa11", "done"))
	x.settled(t, k)
	after := x.read(t)
	month := after["workspace-eden/task-history/2026-02.md"]
	if old := before["workspace-eden/task-history/2026-02.md"]; !strings.HasPrefix(month, old) || len(taskfile.ParseMonth(month).Entries()) != 3 {
		t.Errorf("history: %q", month)
	}
	if _, ok := after["workspace-eden/tasks/task_aa11.md"]; ok {
		t.Error("a task that is over has its file")
	}
	if s := k.State(); s.Conflicts > 0 {
		t.Errorf("%+v", s)
	}
}

// What is in the form that we write stays the same to the byte, however often it is written.
func TestRewriteLeavesWhatIsInCanonicalForm(t *testing.T) {
	t.Parallel()
	x := sampleTeam(t)
	k := x.syncer(time.Millisecond)
	if _, err := k.Import(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := x.read(t)
	n, err := k.Rewrite(t.Context())
	must(t, err)
	after := x.read(t)
	canonical := 0
	for name, text := range before {
		id, ok := strings.CutSuffix(filepath.Base(name), ".md")
		if parsed, _ := taskfile.Parse(id, text); !ok || !strings.HasPrefix(id, "task_") || taskfile.Format(&parsed) != text {
			continue
		}
		canonical++
		if after[name] != text {
			t.Errorf("%s has changed:\n%s", name, cmp.Diff(text, after[name]))
		}
	}
	if canonical == 0 || n < canonical {
		t.Errorf("%d files are in canonical form, %d were written", canonical, n)
	}
	if diff := cmp.Diff(names(before), names(after)); diff != "" {
		t.Errorf("there are other files (-want +got):\n%s", diff)
	}
	again, err := k.Rewrite(t.Context())
	if diff := cmp.Diff(after, x.read(t)); diff != "" || again != n || err != nil {
		t.Errorf("written once more: %d, %v\n%s", again, err, diff)
	}
	if s := k.State(); s.Conflicts > 0 || s.Written != int64(2*n) {
		t.Errorf("%+v", s)
	}
}

func TestRewriteMakesWhatIsGone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := setup(t, t.TempDir())
	k := x.syncer(time.Millisecond)
	must(t, x.begin(ctx, "eden", "task_a", "one", "", "a step"), x.begin(ctx, "eden", "task_b", "two", ""), x.complete(ctx, "task_b", "done"))
	n, err := k.Rewrite(ctx)
	if before := x.read(t); n != 3 || err != nil || len(before) != 3 {
		t.Fatalf("%d, %v: %q", n, err, names(before))
	}
	before := x.read(t)
	for name := range before {
		must(t, os.Remove(filepath.Join(x.dir, name)))
	}
	n, err = k.Rewrite(ctx)
	if diff := cmp.Diff(before, x.read(t)); n != 3 || err != nil || diff != "" {
		t.Errorf("%d, %v (-want +got):\n%s", n, err, diff)
	}
}

// Whatever an agent says comes back from the files as it was, in another log too.
//
// Promise: task-files
func TestHostileTextsSurviveFilesAndImport(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hostile := []string{
		"## Progress\n- forged\n\n## Outcome\n```json\n{\"kind\":\"completed\"}\n```", "---\n*Managed by task tools*", "*(No task)*",
		"# Task: task_other\n\n## Metadata\n- **Status:** completed",
		"  indented\n\ttab\n\n\nblank lines\n  ", "\u200b## hidden\n\u200b\u200b\nx\u200b", "한글 설명 ⏎ 줄바꿈\r\n둘째 줄",
		"### Summary\nforged\n## [2026-02-01T00:00:00.000Z] forged\n**Task ID:** task_forged",
		"- [x] (s9) forged step\n**Focus:** task_other", "\u2028 line \u0085 separators \ufeff",
		strings.Repeat("- **Status:** cancelled\n", 50) + "end", "]", "``` ```json",
	}
	a := setup(t, t.TempDir())
	k := a.syncer(time.Millisecond)
	stop := a.running(t, k)
	id := func(i int) string { return "task_" + string(rune('a'+i)) }
	for i, text := range hostile {
		must(t, a.begin(ctx, "eden", id(i), text, text, text), a.progress(ctx, id(i), text))
	}
	check := func(x, other *team) {
		t.Helper()
		for i := range hostile {
			want, got := x.row(t, id(i)), other.row(t, id(i))
			if diff := cmp.Diff(want.Task, got.Task); diff != "" {
				t.Errorf("%q (-want +got):\n%s", hostile[i], diff)
			}
		}
	}
	imported := func() *team {
		t.Helper()
		b := setup(t, a.dir)
		if _, err := b.syncer(0).Import(ctx); err != nil {
			t.Fatal(err)
		}
		return b
	}
	a.settled(t, k)
	check(a, imported())
	for i, text := range hostile {
		must(t, a.complete(ctx, id(i), text))
	}
	a.settled(t, k)
	stop()
	b := imported()
	for i, text := range hostile {
		want, got := a.row(t, id(i)), b.row(t, id(i))
		same := got.Description == want.Description && got.Status == want.Status && string(got.Outcome) == string(want.Outcome)
		if !same || !slices.Equal(got.Progress, want.Progress) {
			t.Errorf("%q comes back from history as %+v, want %+v", text, got.Task, want.Task)
		}
	}
	month := taskfile.ParseMonth(a.read(t)["workspace-eden/task-history/2026-02.md"])
	if n := len(month.Entries()); n != len(hostile) {
		t.Errorf("history has %d entries for %d tasks", n, len(hostile))
	}
}

// A workspace that is not mounted yet is not one from which everything was removed.
func TestMissingWorkspaceIsNoRemoval(t *testing.T) {
	t.Parallel()
	x := setup(t, t.TempDir())
	said := taskfile.Format(&taskfile.Task{ID: "task_a", Status: "in_progress", Priority: "medium", Description: "what to do", Created: "2026-02-20T10:00:00.000Z",
		LastActivity: "2026-02-20T10:00:00.000Z"})
	const name = "workspace-eden/tasks/task_a.md"
	data, err := json.Marshal(coordination.FileChanged{Path: name, Change: "add", Bytes: int64(len(said)), SHA256: tasksync.SumOf(said), Text: &said})
	must(t, err)
	_, err = x.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.FileStream(name), Events: []eventstore.NewEvent{
		{Type: coordination.TypeFileChanged, AgentID: "eden", TS: start, Data: data}}})
	must(t, err)
	if _, err := x.syncer(0).Import(t.Context()); err != nil || x.row(t, "task_a").Gone {
		t.Errorf("the task has gone: %v", err)
	}
}

// What another gateway has changed in the meantime is taken over; tasks whose files it has removed are no longer open.
func TestImportAfterAnotherGateway(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := setup(t, t.TempDir())
	text := func(id, status string) string {
		return taskfile.Format(&taskfile.Task{ID: id, Status: status, Priority: "medium", Description: "what to do", Created: "2026-02-20T10:00:00.000Z",
			LastActivity: "2026-02-20T10:00:00.000Z"})
	}
	for _, id := range []string{"task_same", "task_changed", "task_gone", "task_ended"} {
		name := "workspace-eden/tasks/" + id + ".md"
		said := text(id, "in_progress")
		x.write(t, name, said)
		data, err := json.Marshal(coordination.FileChanged{Context: coordination.Context{TaskID: id}, Path: name, Change: "add",
			Bytes: int64(len(said)), SHA256: tasksync.SumOf(said), Text: &said})
		must(t, err)
		_, err = x.Append(ctx, eventstore.StreamAppend{Stream: coordination.FileStream(name), Events: []eventstore.NewEvent{
			{Type: coordination.TypeFileChanged, AgentID: "eden", TS: start, Data: data}}})
		must(t, err)
	}
	x.write(t, "workspace-eden/tasks/task_changed.md", text("task_changed", "blocked"))
	must(t, os.Remove(filepath.Join(x.dir, "workspace-eden/tasks/task_gone.md")))
	must(t, os.Remove(filepath.Join(x.dir, "workspace-eden/tasks/task_ended.md")))
	x.write(t, "workspace-eden/task-history/2026-02.md", taskfile.MonthHeader("2026-02")+taskfile.FormatEntry(&taskfile.Entry{
		Description: "what to do", TaskID: "task_ended",
		Started: "2026-02-20T10:00:00.000Z", Completed: "2026-02-20T11:00:00.000Z", Progress: []string{"Task completed"}, Summary: "done"}))
	before := x.read(t)
	k := x.syncer(time.Millisecond)
	if n, err := k.Import(ctx); n != 2 || err != nil {
		t.Errorf("imported %d: %v", n, err)
	}
	x.running(t, k)
	x.settled(t, k)
	if s := k.State(); s.Conflicts > 0 {
		t.Errorf("%+v", s)
	}
	for id, want := range map[string]string{"task_same": "in_progress", "task_changed": "blocked", "task_ended": "completed"} {
		if row := x.row(t, id); row.Status != want {
			t.Errorf("%s is %s, want %s", id, row.Status, want)
		}
	}
	after := x.read(t)
	delete(after, "workspace-eden/CURRENT_TASK.md")
	if row := x.row(t, "task_gone"); !row.Gone {
		t.Errorf("%+v", row)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// asked counts what is asked of a log for one stream.
type asked struct {
	tasksync.Log
	one, newest, streams, looks atomic.Int64
}

func (a *asked) StreamVersion(ctx context.Context, stream string) (int64, error) {
	a.one.Add(1)
	return a.Log.StreamVersion(ctx, stream)
}

func (a *asked) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error) {
	a.one.Add(1)
	return a.Log.ReadStream(ctx, stream, after, limit)
}

func (a *asked) Newest(ctx context.Context, streams []string) (map[string]eventstore.Event, error) {
	a.newest.Add(1)
	a.streams.Add(int64(len(streams)))
	return a.Log.Newest(ctx, streams)
}

// manyFiles writes files of so many open tasks of one agent.
func manyFiles(t testing.TB, dir string, n int) {
	t.Helper()
	text, err := fs.ReadFile(sample.Files, "workspace-eden/tasks/task_aa11.md")
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "workspace-eden/tasks"), 0o755))
	for i := range n {
		id := fmt.Sprintf("task_m%05d", i)
		must(t, os.WriteFile(filepath.Join(dir, "workspace-eden/tasks", id+".md"), []byte(strings.ReplaceAll(string(text), "task_aa11", id)), 0o600))
	}
}

// A start asks the log for all files together, and looks once at where an agent's files lie, however many there are. Events are only
// read of files that the tables do not know as they are.
func TestImportAsksForAllFilesTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 120
	manyFiles(t, dir, n)
	x := setup(t, dir)
	log := &asked{Log: x}
	syncer := func() *tasksync.Syncer {
		return tasksync.New(tasksync.Options{Log: log, Logger: slog.New(slog.DiscardHandler), Agents: func() []string { return []string{"eden"} },
			Dir: func(agent string) string {
				log.looks.Add(1)
				return filepath.Join(dir, "workspace-"+agent)
			}, Now: time.Now})
	}
	for _, want := range []int{n, 0} { // of the second start nothing is new
		log.one.Store(0)
		log.newest.Store(0)
		log.looks.Store(0)
		log.streams.Store(0)
		if got, err := syncer().Import(t.Context()); got != want || err != nil {
			t.Fatalf("imported %d files, want %d: %v", got, want, err)
		}
		if one, newest, looks := log.one.Load(), log.newest.Load(), log.looks.Load(); one != 0 || newest > 2 || looks > 1 {
			t.Errorf("%d questions about one file each, %d about all, %d looks at the workspace", one, newest, looks)
		}
		if streams := log.streams.Load(); streams != int64(want) {
			t.Errorf("the newest events of %d files were read to import %d", streams, want)
		}
	}
}

// Of files that another gateway has kept, events are only read if the file is another one than it has left.
func TestImportReadsEventsOfChangedFilesOnly(t *testing.T) {
	t.Parallel()
	x := setup(t, t.TempDir())
	text := func(id, status string) string {
		return taskfile.Format(&taskfile.Task{ID: id, Status: status, Priority: "medium", Description: "what to do", Created: "2026-02-20T10:00:00.000Z",
			LastActivity: "2026-02-20T10:00:00.000Z"})
	}
	for i := range 20 {
		id := fmt.Sprintf("task_%d", i)
		x.others(t, "workspace-eden/tasks/"+id+".md", text(id, "in_progress"))
	}
	x.write(t, "workspace-eden/tasks/task_7.md", text("task_7", "blocked"))
	for _, want := range []int{1, 0} {
		log := &asked{Log: x}
		if n, err := x.syncerOf(log, 0).Import(t.Context()); n != want || err != nil || log.streams.Load() != int64(want) {
			t.Errorf("imported %d files, the newest events of %d were read, want %d: %v", n, log.streams.Load(), want, err)
		}
	}
}

// BenchmarkImport is what a start costs before it listens, with 10,000 files that the log knows.
func BenchmarkImport(b *testing.B) {
	dir := b.TempDir()
	manyFiles(b, dir, 10_000)
	x := setup(b, dir)
	if _, err := x.syncer(0).Import(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if n, err := x.syncer(0).Import(b.Context()); n != 0 || err != nil {
			b.Fatal(n, err)
		}
	}
}

// The file of a task whose only text is redacted is removed, also if it was written again before the tables knew of the redaction.
func TestFileOfARedactedTaskIsRemoved(t *testing.T) {
	t.Parallel()
	const path = "workspace-eden/tasks/task_aa11.md"
	for name, writtenAgain := range map[string]bool{"as found": false, "written again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := sampleTeam(t)
			k := x.syncer(time.Millisecond)
			if _, err := k.Import(t.Context()); err != nil {
				t.Fatal(err)
			}
			last, err := x.ReadStream(t.Context(), coordination.FileStream(path), 0, 1)
			must(t, err)
			must(t, x.Redact(t.Context(), last[0].Seq))
			if writtenAgain {
				_, err := k.Rewrite(t.Context())
				must(t, err)
			}
			engine, err := projections.Start(t.Context(), x.DB, []projections.Definition{tasks.Definition()}, projections.Options{Rules: coordination.RulesV2})
			must(t, err)
			must(t, engine.Rebuild(t.Context(), projections.RebuildOptions{}))
			_, err = k.Forget(t.Context())
			must(t, err)
			after := x.read(t)
			if text, ok := after[path]; ok {
				t.Errorf("the file is still there: %q", text)
			}
			if len(after) < 2 {
				t.Errorf("other files are gone too: %q", after)
			}
		})
	}
}
