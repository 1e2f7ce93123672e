package overrides

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

func TestBrokenFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut short": `{"ws":{"collabCategory":"infra_ops"`, "empty": "", "a list": "[]", "null": "null", "not UTF-8": "{\"\xff\":1}",
		"too large": `{"x":"` + strings.Repeat("x", maxBytes) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.put(t, text, noon)
			b.say(t, "ws", "infra_ops", "")
			b.start(t)
			b.say(t, "ws", "docs_knowledge", "")
			b.wantRest(t)
			if b.text() != text {
				t.Fatalf("the file is now\n%.200s", b.text())
			}
			if !strings.Contains(b.sync.Problem(), Name) {
				t.Errorf("problem is %q", b.sync.Problem())
			}
			b.put(t, `{"ws_2":{"collabCategory":"qa_validation","updatedAt":"`+noonText+`"}}`, noon.Add(-time.Minute))
			b.until(t, "fixed", func() bool { return b.sync.Problem() == "" && strings.Contains(b.text(), "docs_knowledge") })
			if want := []string{"ws docs_knowledge " + noonText, "ws_2 qa_validation " + noonText}; !slices.Equal(b.held(t), want) {
				t.Errorf("the log holds %v, want %v", b.held(t), want)
			}
			b.stop()
			if n := strings.Count(b.logged.String(), "level=WARN"); n != 1 {
				t.Errorf("there are %d warnings, want one:\n%s", n, b.logged.String())
			}
		})
	}
}

func TestWhatIsNoFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path, database string) error{
		"a directory":  func(path, database string) error { return os.Mkdir(path, 0o700) },
		"a link":       func(path, database string) error { return os.Symlink("/etc/hostname", path) },
		"a link to us": func(path, database string) error { return os.Symlink(path, path) },
		"a link in the file system to the database": func(path, database string) error { return os.Link(database, path) },
		"a broken link": func(path, database string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "gone"), path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if err := make(b.path, b.Path()); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(b.path)
			if err != nil {
				t.Fatal(err)
			}
			b.say(t, "ws", "infra_ops", "")
			b.start(t)
			after, err := os.Lstat(b.path)
			if err != nil || after.Mode() != before.Mode() || b.sync.Problem() == "" {
				t.Errorf("it was %v and is %v, %v; problem %q", before.Mode(), after.Mode(), err, b.sync.Problem())
			}
		})
	}
}

func TestBadEntryIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws_typo", "infra_ops", "ops")
	b.start(t)
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "ws_typo") })
	bad := `{"ws_typo":{"collabCategory":"infra-ops"},"ws_text":"infra_ops"," ":{"collabCategory":"infra_ops"},` +
		`"ws_long":{"collabCategory":"infra_ops","updatedBy":"` + strings.Repeat("가", 201) + `"},"ws_good":{"collabCategory":"qa_validation","updatedAt":"` + noonText + `"}}`
	b.put(t, bad, noon.Add(time.Minute))
	b.until(t, "taken", func() bool { return b.seq(t) == 2 })
	b.say(t, "ws_other", "biz_strategy", "ops")
	b.wantRest(t)
	var file map[string]struct{ CollabCategory string }
	var whole map[string]any
	if err := json.Unmarshal([]byte(b.text()), &whole); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(b.text()), &file)
	if whole["ws_text"] != "infra_ops" || file["ws_typo"].CollabCategory != "infra-ops" || file[" "].CollabCategory != "infra_ops" || file["ws_long"].CollabCategory == "" ||
		file["ws_good"].CollabCategory != "qa_validation" || file["ws_other"].CollabCategory != "biz_strategy" || len(whole) != 6 {
		t.Fatalf("the file is now\n%s", b.text())
	}
	if want := []string{"ws_good qa_validation " + noonText, "ws_other biz_strategy " + noonText + " ops", "ws_typo infra_ops " + noonText + " ops"}; !slices.Equal(b.held(t), want) {
		t.Errorf("the log holds %v, want %v", b.held(t), want)
	}
	if p := b.sync.Problem(); !strings.Contains(p, `"ws_typo"`) && !strings.Contains(p, "more") {
		t.Errorf("problem is %q", p)
	}
	b.put(t, `{"ws_typo":{"collabCategory":"docs_knowledge"},"ws_other":{"collabCategory":"biz_strategy","updatedAt":"`+noonText+`","updatedBy":"ops"},`+
		`"ws_good":{"collabCategory":"qa_validation","updatedAt":"`+noonText+`"}}`, noon.Add(2*time.Minute))
	b.until(t, "fixed", func() bool { return b.sync.Problem() == "" && strings.Contains(b.text(), "docs_knowledge") })
	if want := []string{"ws_good qa_validation " + noonText, "ws_other biz_strategy " + noonText + " ops", "ws_typo docs_knowledge " + noonText}; !slices.Equal(b.held(t), want) {
		t.Errorf("the log holds %v, want %v", b.held(t), want)
	}
	b.wantRest(t)
	b.stop()
	if logged := b.logged.String(); strings.Count(logged, "ws_typo") != 1 || !strings.Contains(logged, "ws_long") {
		t.Errorf("warnings name each entry once and the problem once:\n%s", logged)
	}
}

func TestNothingIsComparedWhileTablesAreBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws", "infra_ops", "")
	freeze := func(state string) {
		err := b.Exclusive(t.Context(), func(tx eventstore.Tx) error {
			_, err := tx.Exec("UPDATE projections SET state = ? WHERE name = 'conversation'", state)
			return err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	freeze("rebuilding")
	b.put(t, `{"ws_2":{"collabCategory":"qa_validation","updatedAt":"`+noonText+`"}}`, noon.Add(time.Minute))
	b.start(t)
	b.wantRest(t)
	if b.seq(t) != 1 {
		t.Errorf("the log is at %d, want 1", b.seq(t))
	}
	freeze("live")
	b.until(t, "taken", func() bool { return slices.Equal(b.held(t), []string{"ws_2 qa_validation " + noonText}) })
}

func TestFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws", "infra_ops", "")
	obstacle := filepath.Join(b.path+".new", "obstacle")
	if err := os.MkdirAll(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	b.put(t, `{"ws":{"collabCategory":"docs_knowledge"}}`, noon.Add(time.Hour))
	b.start(t)
	b.wantRest(t)
	if b.seq(t) != 2 || b.sync.Problem() == "" {
		t.Errorf("the log is at %d, want 2; problem %q", b.seq(t), b.sync.Problem())
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	b.until(t, "written", func() bool { return strings.Contains(b.text(), noonText) && b.sync.Problem() == "" })
}

func TestChangedFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Name)
	for _, was := range []string{"", "{}"} {
		if was != "" {
			if err := os.WriteFile(path, []byte(was), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, err := read(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("edited"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.replace(path, []byte("ours")); !errors.Is(err, errChanged) {
			t.Errorf("replace says %v, want %v", err, errChanged)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "edited" {
			t.Errorf("the file is %q, %v", text, err)
		}
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left beside the file: %v, %v", left, err)
	}
}
