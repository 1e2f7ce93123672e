package overrides

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/database"
)

const goodEntry = `"ws_good":{"collabCategory":"qa_validation","updatedAt":"` + noonText + `"}`

// blocked is a bundle whose file has an entry that cannot be understood, and whose log holds ws_good and 20 words: half of them of before the
// end of the Sync, and in the file, half of after.
func blocked(t *testing.T) (b *bundle, want []string) {
	t.Helper()
	b = setup(t)
	b.put(t, `{"ws_typo":{"collabCategory":"infra-ops"},`+goodEntry+`}`, noon.Add(-time.Hour))
	b.start(t)
	want = []string{"ws_good qa_validation " + noonText}
	for i := range 20 {
		if i == 10 {
			b.wantRest(t)
			b.stop()
		}
		b.say(t, fmt.Sprintf("ws_%02d", i), "infra_ops", "ops")
		want = append(want, fmt.Sprintf("ws_%02d infra_ops %s ops", i, noonText))
	}
	return b, want
}

// repair does what an operator does while nothing runs, later than all that was said.
func (b *bundle) repair(t *testing.T) {
	t.Helper()
	b.put(t, strings.Replace(b.text(), "infra-ops", "docs_knowledge", 1), noon.Add(time.Hour))
}

// An override of the log alone while nothing ran is no removal by the file, however late the file is fixed.
func TestFileRepairedOfflineRevertsNothing(t *testing.T) {
	t.Parallel()
	b, want := blocked(t)
	b.repair(t)
	b.start(t)
	b.wantRest(t)
	want = append(want, "ws_typo docs_knowledge "+noonText)
	slices.Sort(want)
	if diff := cmp.Diff(want, b.held(t)); diff != "" {
		t.Errorf("the log holds (-want +got):\n%s", diff)
	}
	if problem := b.sync.Problem(); problem != "" || strings.Count(b.text(), "infra_ops") != 20 {
		t.Errorf("problem %q; the file is\n%s", problem, b.text())
	}
}

// Without what was agreed on, or with that of another log, the time of the file decides, as it does at the first start.
func TestAgreementThatDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string) error{
		"lost":           func(_ *testing.T, path string) error { return os.Remove(path) },
		"damaged":        func(_ *testing.T, path string) error { return os.Truncate(path, 20) },
		"emptied":        func(_ *testing.T, path string) error { return os.Truncate(path, 0) },
		"of another log": fromAnotherLog,
		"of a longer log": func(_ *testing.T, path string) error {
			return rewrite(path, func(text string) string { return strings.Replace(text, `"seq":`, `"seq":9`, 1) })
		},
		"of another shape": func(_ *testing.T, path string) error {
			return rewrite(path, func(text string) string { return strings.Replace(text, `"version":1`, `"version":2`, 1) })
		},
		"a link": func(_ *testing.T, path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink("/etc/hostname", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, all := blocked(t)
			if err := spoil(t, database.OverridesFile(b.Path())); err != nil {
				t.Fatal(err)
			}
			b.repair(t)
			b.start(t)
			b.wantRest(t)
			want := append(all[:11:11], "ws_typo docs_knowledge "+noonText) // what the file does not have is taken back
			slices.Sort(want)
			if diff := cmp.Diff(want, b.held(t)); diff != "" {
				t.Errorf("the log holds (-want +got):\n%s", diff)
			}
			if problem := b.sync.Problem(); problem != "" {
				t.Errorf("problem %q", problem)
			}
		})
	}
}

// fromAnotherLog puts there what was agreed on with a log that has as many events, and words on the same work sessions.
func fromAnotherLog(t *testing.T, path string) error {
	other, _ := blocked(t)
	text, err := os.ReadFile(database.OverridesFile(other.Path()))
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func rewrite(path string, edit func(string) string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(edit(string(text))), 0o600)
}

// A crash between the event and the file: the event counts, though the file is edited, later, before the next start; and so does the edit.
func TestEditAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"ws_changed", "ws_cleared", "ws_edited", "ws_removed"} {
		b.say(t, name, "infra_ops", "ops")
	}
	b.start(t)
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "ws_removed") })
	b.wantRest(t)
	b.stop()
	b.say(t, "ws_changed", "docs_knowledge", "ops")
	b.say(t, "ws_cleared", "", "")
	b.say(t, "ws_new", "qa_validation", "ops")
	entry := `{"collabCategory":"infra_ops","updatedAt":"` + noonText + `","updatedBy":"ops"}`
	b.put(t, `{"ws_changed":`+entry+`,"ws_cleared":`+entry+`,"ws_edited":{"collabCategory":"biz_strategy","updatedBy":"lee"}}`, noon.Add(time.Hour))
	b.start(t)
	b.wantRest(t)
	want := []string{"ws_changed docs_knowledge " + noonText + " ops", "ws_edited biz_strategy " + noonText + " lee", "ws_new qa_validation " + noonText + " ops"}
	if diff := cmp.Diff(want, b.held(t)); diff != "" {
		t.Errorf("the log holds (-want +got):\n%s", diff)
	}
	if text := b.text(); strings.Contains(text, "ws_cleared") || !strings.Contains(text, "ws_new") {
		t.Errorf("the file is\n%s", text)
	}
}

// A crash between the file and the stored agreement leaves an older one: neither side has anything to change.
func TestAgreementOlderThanTheFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws_changed", "infra_ops", "ops")
	b.say(t, "ws_cleared", "infra_ops", "ops")
	b.start(t)
	b.wantRest(t)
	older, err := os.ReadFile(database.OverridesFile(b.Path()))
	if err != nil {
		t.Fatal(err)
	}
	b.say(t, "ws_changed", "docs_knowledge", "ops")
	b.say(t, "ws_cleared", "", "")
	b.say(t, "ws_new", "qa_validation", "ops")
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "ws_new") })
	b.wantRest(t)
	b.stop()
	if err := os.WriteFile(database.OverridesFile(b.Path()), older, 0o600); err != nil {
		t.Fatal(err)
	}
	text, seq := b.text(), b.seq(t)
	b.start(t)
	b.wantRest(t)
	if b.text() != text || b.seq(t) != seq {
		t.Errorf("the log went from %d to %d and the file from\n%s\nto\n%s", seq, b.seq(t), text, b.text())
	}
}

// An agreement on nothing counts, too: an override of the log after it is no removal by the file.
func TestAgreementOfALogWithoutWords(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1} {
		b := setup(t)
		for range before {
			b.sayOther(t)
		}
		b.put(t, `{"ws_typo":{"collabCategory":"infra-ops"}}`, noon.Add(-time.Hour))
		b.start(t)
		b.wantRest(t)
		b.stop()
		b.say(t, "ws", "infra_ops", "ops")
		b.put(t, `{}`, noon.Add(time.Hour))
		b.start(t)
		b.wantRest(t)
		if got := len(b.held(t)); got != before {
			t.Errorf("with %d events before the first word the log holds %v", before, b.held(t))
		}
	}
}

// Where the agreement cannot be kept, file and log are kept the same all the same, and an operator hears of it in the log.
func TestAgreementThatCannotBeKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := os.Mkdir(database.OverridesFile(b.Path()), 0o700); err != nil {
		t.Fatal(err)
	}
	b.say(t, "ws", "infra_ops", "ops")
	b.start(t)
	b.until(t, "written", func() bool { return strings.Contains(b.text(), "infra_ops") })
	b.wantRest(t)
	b.stop()
	if problem := b.sync.Problem(); problem != "" || strings.Count(b.logged.String(), "level=WARN") != 1 {
		t.Errorf("problem %q; logged, want one warning:\n%s", problem, b.logged.String())
	}
}

func TestAgreementIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "ws", "infra_ops", "ops")
	b.start(t)
	b.wantRest(t)
	info, err := os.Stat(database.OverridesFile(b.Path()))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the agreement has mode %v, %v", info, err)
	}
}
