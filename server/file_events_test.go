package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/workspace"
)

// texts lists the file events of the log: offset and text.
func (b *filesBundle) texts(t *testing.T) (list []string) {
	t.Helper()
	events, err := b.log.Read(t.Context(), 0, 1_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		var f coordination.FileChanged
		if err := json.Unmarshal(e.Data, &f); err != nil {
			t.Fatal(err)
		}
		text := "nothing"
		if f.Text != nil {
			text = fmt.Sprintf("%d %q", f.Offset, *f.Text)
		}
		list = append(list, f.Change+" "+f.Path+" "+text)
	}
	return list
}

// tasksOf is a changeLog whose files are in memory, and what makes changes of them.
func (b *filesBundle) tasksOf(now *time.Time) (*changeLog, func(path, text string) []workspace.Change) {
	there := map[string]string{}
	l := newChangeLog(b.log, hasGone, func(path string) ([]byte, error) { return []byte(there[path]), nil }, func() time.Time { return *now })
	return l, func(path, text string) []workspace.Change {
		there[path] = text
		sum := sha256.Sum256([]byte(text))
		c := workspace.Change{Path: path, Op: workspace.OpChange, Agent: "eden", Bytes: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
		switch path {
		case "workspace-eden/CURRENT_TASK.md":
			c.Kind = workspace.KindCurrent
		case "workspace-eden/task-history/2026-02.md":
			c.Kind = workspace.KindHistory
		default:
			c.Kind = workspace.KindTask
		}
		return []workspace.Change{c}
	}
}

func TestLogIsToldWhatTaskFilesSay(t *testing.T) {
	t.Parallel()
	const task, other, current, month = "workspace-eden/tasks/task_a.md", "workspace-eden/tasks/notes.md", "workspace-eden/CURRENT_TASK.md", "workspace-eden/task-history/2026-02.md"
	b := newFiles(t).noting(t)
	now := time.Now()
	l, write := b.tasksOf(&now)
	change := func(path, text string) {
		t.Helper()
		now = now.Add(2 * time.Second)
		l.add(write(path, text))
		if err := l.append(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.begin(t.Context(), write(task, "one")); err != nil {
		t.Fatal(err)
	}
	change(other, "x")
	change(current, "focus")
	change(month, "# Feb\n한글")
	change(month, "# Feb\n한글 and more")
	change(month, "# edited")
	change(task, "one")
	want := []string{"add " + task + ` 0 "one"`, "add " + other + " nothing", "add " + current + ` 0 "focus"`, "add " + month + ` 0 "# Feb\n한글"`,
		"change " + month + ` 12 " and more"`, "change " + month + ` 0 "# edited"`}
	if diff := cmp.Diff(want, b.texts(t)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	l, write = b.tasksOf(&now) // after a restart the log has the texts
	if err := l.begin(t.Context(), append(write(task, "one"), write(month, "# edited, longer")...)); err != nil {
		t.Fatal(err)
	}
	want = append(want, "change "+month+` 8 ", longer"`)
	got := b.texts(t)
	unlinked := []string{"unlink " + current + " nothing", "unlink " + other + " nothing"} // these were not there
	if diff := cmp.Diff(append(want[:6:6], unlinked[0], want[6], unlinked[1]), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A file that the log knows without its text, or because we have written it, is recorded with its text where another gateway manages the
// files.
func TestLogIsToldWhatItDoesNotHave(t *testing.T) {
	t.Parallel()
	const noted, written, removed = "workspace-eden/tasks/task_noted.md", "workspace-eden/tasks/task_written.md", "workspace-eden/tasks/task_removed.md"
	b := newFiles(t).noting(t)
	now := time.Now()
	l, write := b.tasksOf(&now)
	there := append(write(noted, "noted"), write(written, "written")...)
	for path, data := range map[string]any{
		noted:   coordination.FileChanged{Path: noted, Change: workspace.OpAdd, Bytes: 5, SHA256: there[0].SHA256},
		written: coordination.FileWritten{Path: written, SHA256: there[1].SHA256},
		removed: coordination.FileWritten{Path: removed},
	} {
		typ := coordination.TypeFileWritten
		if path == noted {
			typ = coordination.TypeFileChanged
		}
		text, err := json.Marshal(data)
		if err == nil {
			_, err = b.log.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{{Type: typ, Data: text}}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.begin(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"change " + noted + ` 0 "noted"`}, b.texts(t)[3:]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTaskFilesAreNotedOnceASecond(t *testing.T) {
	t.Parallel()
	b := newFiles(t).noting(t)
	now := time.Now()
	l, write := b.tasksOf(&now)
	if err := l.begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i := range 25 { // 2.4 seconds
		l.add(write("workspace-eden/tasks/task_a.md", fmt.Sprint(i)))
		if err := l.append(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(100 * time.Millisecond)
	}
	want := []string{`add workspace-eden/tasks/task_a.md 0 "0"`, `change workspace-eden/tasks/task_a.md 0 "10"`, `change workspace-eden/tasks/task_a.md 0 "20"`}
	if diff := cmp.Diff(want, b.texts(t)); diff != "" || len(l.pending) != 1 {
		t.Errorf("%d pending, -want +got:\n%s", len(l.pending), diff)
	}
}
