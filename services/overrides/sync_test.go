package overrides

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestNoFileIsMadeOfNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(t)
	b.say(t, "ws", "", "")
	b.wantRest(t)
	if _, err := os.Stat(b.path); !os.IsNotExist(err) {
		t.Errorf("there is a file: %v\n%s", err, b.text())
	}
}

// Without a state directory there is nothing to synchronize and nothing to fix.
func TestFileWaitsForItsDirectory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.path = filepath.Join(filepath.Dir(b.path), "late", Name)
	b.say(t, "ws", "infra_ops", "")
	b.start(t)
	b.wantRest(t)
	if problem := b.sync.Problem(); problem != "" {
		t.Errorf("problem %q", problem)
	}
	if err := os.Mkdir(filepath.Dir(b.path), 0o700); err != nil {
		t.Fatal(err)
	}
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "infra_ops") })
}

// The file is what the original writes, to the letter.

func TestFileFollowsTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(t)
	b.say(t, "ws/<2> 작업", "infra_ops", "운영자")
	b.say(t, "ws_1", "biz_strategy", "")
	want := `{
  "ws/<2> 작업": {
    "collabCategory": "infra_ops",
    "updatedAt": "2026-02-20T12:00:00.000Z",
    "updatedBy": "운영자"
  },
  "ws_1": {
    "collabCategory": "biz_strategy",
    "updatedAt": "2026-02-20T12:00:00.000Z"
  }
}
`
	b.until(t, "written", func() bool { return b.text() == want })
	b.wantRest(t)
	if err := os.Chmod(b.path, 0o604); err != nil {
		t.Fatal(err)
	}
	b.look(t) // a look that was under way has seen the mode of before, and would write the file with it
	b.say(t, "ws_1", "", "")
	b.say(t, "ws/<2> 작업", "", "")
	b.until(t, "emptied", func() bool { return b.text() == "{}\n" })
	if info, err := os.Stat(b.path); err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("the file has mode %v, %v; want the one that it had", info.Mode(), err)
	}
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	b.say(t, "ws_1", "infra_ops", "")
	b.until(t, "written again", func() bool { return strings.Contains(b.text(), `"ws_1"`) })
	if left, err := filepath.Glob(b.path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left beside the file: %v, %v", left, err)
	}
}

// What a person changes in the file becomes an event of a person, and the file then says when.

func TestEditsBecomeEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws_kept", "infra_ops", "ops")
	b.say(t, "ws_changed", "infra_ops", "ops")
	b.say(t, "ws_removed", "infra_ops", "ops")
	b.start(t)
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "ws_removed") })
	b.put(t, `{"ws_kept":{"collabCategory":"infra_ops","updatedAt":"`+noonText+`","updatedBy":"ops"},
		"ws_changed":{"collabCategory":"docs_knowledge","updatedAt":"`+noonText+`","updatedBy":"lee"},
		"ws_added":{"collabCategory":"qa_validation","updatedAt":"2026-02-20T11:59:00+09:00","updatedBy":" 김 ","note":1},
		"ws_untimed":{"collabCategory":"qa_validation","updatedAt":"yesterday","updatedBy":7},
		"ws_future":{"collabCategory":"qa_validation","updatedAt":"2999-01-01T00:00:00Z"}}`, noon)
	b.until(t, "taken", func() bool { return b.seq(t) == 8 })
	want := []string{
		"ws_added qa_validation 2026-02-20T11:59:00+09:00 김",
		"ws_changed docs_knowledge " + noonText + " lee",
		"ws_future qa_validation " + noonText,
		"ws_kept infra_ops " + noonText + " ops",
		"ws_untimed qa_validation " + noonText,
	}
	if diff := cmp.Diff(want, b.held(t)); diff != "" {
		t.Errorf("the log holds (-want +got):\n%s", diff)
	}
	b.wantRest(t)
	if !strings.Contains(b.text(), "\"ws_untimed\": {\n    \"collabCategory\": \"qa_validation\",\n    \"updatedAt\": \""+noonText+"\"\n  }") {
		t.Errorf("the file is\n%s", b.text())
	}
	events, err := b.Read(t.Context(), 3, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Type, " ", e.Actor, " ", e.Stream))
	}
	slices.Sort(got)
	const set = "work_session.category_set human work_session/categories"
	if diff := cmp.Diff([]string{"work_session.category_cleared human work_session/categories", set, set, set, set}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A file that was there before us is taken as it is, its times with it, and not touched.

func TestFileIsImportedAtStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	text := `{"ws_b":{"collabCategory":"infra_ops","updatedAt":"2025-01-02T03:04:05.678Z","updatedBy":"ops"},` +
		`"ws_a":{"collabCategory":"biz_strategy","updatedAt":"2025-01-02T03:04:05.678Z"}}`
	b.put(t, text, noon.Add(-time.Hour))
	b.start(t)
	want := []string{"ws_a biz_strategy 2025-01-02T03:04:05.678Z", "ws_b infra_ops 2025-01-02T03:04:05.678Z ops"}
	if diff := cmp.Diff(want, b.held(t)); diff != "" {
		t.Errorf("the log holds (-want +got):\n%s", diff)
	}
	b.wantRest(t)
	if b.text() != text {
		t.Errorf("the file is now\n%s", b.text())
	}
	b.stop()
	b.start(t)
	b.wantRest(t)
	if b.seq(t) != 2 {
		t.Errorf("the log is at %d after another start, want 2", b.seq(t))
	}
}

// A program that dies between the event and the file writes the file when it starts again; what the file held before takes nothing back.

func TestFileIsRightAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws_changed", "infra_ops", "ops")
	b.say(t, "ws_cleared", "infra_ops", "ops")
	b.start(t)
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "ws_cleared") })
	b.stop()
	b.put(t, b.text(), noon.Add(-time.Minute)) // it was written before what follows
	b.say(t, "ws_changed", "docs_knowledge", "ops")
	b.say(t, "ws_cleared", "", "")
	b.say(t, "ws_new", "qa_validation", "ops")
	b.start(t)
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "ws_new") })
	b.wantRest(t)
	if want := []string{"ws_changed docs_knowledge " + noonText + " ops", "ws_new qa_validation " + noonText + " ops"}; !slices.Equal(b.held(t), want) || b.seq(t) != 5 {
		t.Errorf("the log holds %v at %d, want %v at 5", b.held(t), b.seq(t), want)
	}
	if strings.Contains(b.text(), "ws_cleared") || !strings.Contains(b.text(), "docs_knowledge") {
		t.Errorf("the file is\n%s", b.text())
	}
}

// What is edited while nothing runs is taken at the next start.

func TestEditsWhileNothingRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws_changed", "infra_ops", "ops")
	b.say(t, "ws_removed", "infra_ops", "ops")
	b.put(t, `{"ws_changed":{"collabCategory":"docs_knowledge","updatedAt":"`+noonText+`"}}`, noon.Add(time.Minute))
	b.start(t)
	b.wantRest(t)
	if want := []string{"ws_changed docs_knowledge " + noonText}; !slices.Equal(b.held(t), want) {
		t.Errorf("the log holds %v, want %v", b.held(t), want)
	}
}

// A file that cannot be parsed is never overwritten. That is logged once, and shown by readiness.

// An invalid entry is named and kept; until it is fixed the file is not written, but the others are taken.

// While operators speak and people edit, readers see whole files, and in the end file and log say the same.

func TestOperatorsAndEditorsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws_0", "infra_ops", "")
	b.start(t)
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "ws_0") })
	categories := []string{"infra_ops", "docs_knowledge", "qa_validation", ""}
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 60 {
			b.say(t, fmt.Sprintf("ws_%d", i%5), categories[i%4], "op")
		}
	})
	all.Go(func() {
		for i := range 20 {
			list, _, err := parse([]byte(b.text()))
			if err != nil {
				t.Errorf("a reader sees %q: %v", b.text(), err)
				return
			}
			list[fmt.Sprintf("hand_%d", i)] = entry{Category: coordination.LegalCompliance, UpdatedAt: noonText}
			text, err := list.render(nil)
			if err != nil {
				t.Error(err)
				return
			}
			b.put(t, string(text), noon.Add(time.Duration(i)*time.Minute))
			select {
			case <-b.looks:
			case <-time.After(testscale.Patience):
				t.Error("no comparison")
			}
		}
	})
	all.Wait()
	b.until(t, "the same", func() bool {
		list, bad, err := parse([]byte(b.text()))
		held := []string{}
		for name, e := range list {
			held = append(held, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", name, e.Category, e.UpdatedAt, e.UpdatedBy)))
		}
		slices.Sort(held)
		return err == nil && len(bad) == 0 && slices.Equal(held, b.held(t))
	})
	b.wantRest(t)
}

// Tables that stand still are not compared with: what they do not know would seem to be missing.

// What was taken from the file is taken once, also while the file cannot be written.

// What an operator says while an edit is on its way into the log is not undone by it unknowingly: the two are weighed against each other.

func TestOperatorSpeaksWhileAnEditIsTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws", "infra_ops", "")
	b.start(t)
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "infra_ops") })
	b.stop()
	b.put(t, strings.ReplaceAll(b.text(), "infra_ops", "docs_knowledge"), noon.Add(-time.Minute))
	log := &racing{DB: b.DB, first: func() { b.say(t, "ws", "qa_validation", "") }}
	again := New(Options{Path: b.path, Agreement: database.OverridesFile(b.Path()), Log: log, Now: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler)})
	again.agreed = entries{"ws": {Category: coordination.InfraOps, UpdatedAt: noonText}}
	again.Check(t.Context())
	if b.seq(t) != 2 || strings.Contains(b.text(), "qa_validation") {
		t.Errorf("after the conflict the log is at %d, want 2, and the file is\n%s", b.seq(t), b.text())
	}
	again.Check(t.Context())
	if want := []string{"ws qa_validation " + noonText}; !slices.Equal(b.held(t), want) || !strings.Contains(b.text(), "qa_validation") {
		t.Errorf("the log holds %v, want %v: the operator spoke later. The file is\n%s", b.held(t), want, b.text())
	}
}

// racing is a log with a concurrent append right before the first append through it.

type racing struct {
	*sqlite.DB
	first func()
}

func (r *racing) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	if first := r.first; first != nil {
		r.first = nil
		first()
	}
	return r.DB.Append(ctx, appends...)
}

// A file that has changed since it was examined is not replaced.
