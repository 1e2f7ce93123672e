package stepscreen

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/replay/debugger"
)

const rules = coordination.RulesV2

var noon = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

// newLog is an empty log with its tables.
func newLog(t testing.TB) *sqlite.DB {
	t.Helper()
	log, _ := projectiontest.New(t, sqlite.Options{Now: func() time.Time { return noon }, Random: rand.NewChaCha8([32]byte{1})}, database.Projections(rules)...)
	return log
}

// team is a log in which three agents work together.
func team(t testing.TB) *sqlite.DB {
	t.Helper()
	log := newLog(t)
	projectiontest.Tell(t, log, noon.UnixMilli()).Team()
	return log
}

func headOf(t testing.TB, log eventstore.Reader) int64 {
	t.Helper()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

// machineOn returns a machine at an event of a log.
func machineOn(t testing.TB, log *sqlite.DB, at int64) *debugger.Machine {
	t.Helper()
	m := debugger.New(debugger.Options{Log: log, Rules: rules, Dir: t.TempDir()})
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := m.Goto(t.Context(), at, nil); err != nil {
		t.Fatalf("go to %d: %v", at, err)
	}
	return m
}

var update = flag.Bool("update", false, "rewrite the screens in testdata")

// hand presses the keys of a screen.
type hand struct {
	*Screen
	t    testing.TB
	quit bool
}

func watch(t testing.TB, log *sqlite.DB, m *debugger.Machine, at int64) *hand {
	t.Helper()
	h := &hand{Screen: New(t.Context(), log, m, at), t: t}
	h.run(h.Init())
	return h
}

// run executes a tea.Cmd, except the screen's timer.
func (h *hand) run(cmd tea.Cmd) {
	h.t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		h.run(msg[0])
	case tea.QuitMsg:
		h.quit = true
	case nil:
	default:
		_, next := h.Update(msg)
		h.run(next)
	}
}

// press presses keys by their names; of a text each letter is a key.
func (h *hand) press(names ...string) {
	h.t.Helper()
	for _, name := range names {
		_, cmd := h.Update(keyPress(name))
		h.run(cmd)
		if h.err != nil {
			h.t.Fatalf("after %q: %v", name, h.err)
		}
	}
}

func (h *hand) types(text string) {
	h.t.Helper()
	for _, letter := range text {
		h.Update(tea.KeyPressMsg{Code: letter, Text: string(letter)})
	}
}

func keyPress(name string) tea.KeyPressMsg {
	special := map[string]rune{"right": tea.KeyRight, "left": tea.KeyLeft, "up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab, "enter": tea.KeyEnter,
		"esc": tea.KeyEscape, "backspace": tea.KeyBackspace, "end": tea.KeyEnd, "home": tea.KeyHome, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp}
	if code, is := special[name]; is {
		return tea.KeyPressMsg{Code: code}
	}
	if letter, is := strings.CutPrefix(name, "ctrl+"); is {
		return tea.KeyPressMsg{Code: []rune(letter)[0], Mod: tea.ModCtrl}
	}
	if name == "shift+tab" {
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

var styles = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// shown returns the screen without colours. It must fill the terminal, and no line may be too long.
func (h *hand) shown() string {
	h.t.Helper()
	lines := strings.Split(styles.ReplaceAllString(h.View().Content, ""), "\n")
	if len(lines) != h.height {
		h.t.Errorf("%d lines, want %d", len(lines), h.height)
	}
	for i, line := range lines {
		if cells := output.Cells(line); cells > h.width {
			h.t.Errorf("line %d has %d cells, want at most %d: %s", i+1, cells, h.width, line)
		}
		if output.Printable(line) != line {
			h.t.Errorf("line %d contains control characters: %q", i+1, line)
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// want compares the screen with one in testdata.
func (h *hand) want(name string) {
	h.t.Helper()
	path, got := filepath.Join("testdata", name+".txt"), h.shown()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		h.t.Errorf("screen %s (- wanted, + shown); if the change is intended, run with -update\n%s", name, diff)
	}
}

// A screen of 80 by 24 shows an event with Korean text, its causes and effects, and the rows that it changed.
func TestScreenShowsAnEvent(t *testing.T) {
	t.Parallel()
	log := team(t)
	m := machineOn(t, log, 0)
	h := watch(t, log, m, 4)
	h.want("event")
	h.press("tab")
	h.want("relations")
	h.press("tab", "down", "down")
	h.want("rows")
	h.press("tab", "e")
	h.want("error")
	h.press("?")
	h.want("help")
	h.press("x", "g")
	h.types("5x")
	h.press("backspace")
	h.want("prompt")
	h.press("enter")
	if at := m.At(); at != 5 {
		t.Errorf("at %d after going to 5", at)
	}
	h.press("home", "p", "p", "p", "p", "p")
	h.want("empty")
	for _, size := range []tea.WindowSizeMsg{{Width: 0, Height: 0}, {Width: 20, Height: 5}, {Width: 200, Height: 70}} {
		h.Update(size)
		h.shown()
	}
}

// Keys move as documented, and report when there is nothing further.
func TestScreenGoesWhereKeysSay(t *testing.T) {
	t.Parallel()
	log := team(t)
	head := headOf(t, log)
	m := machineOn(t, log, 0)
	h := watch(t, log, m, 1)
	for _, c := range []struct {
		keys []string
		at   int64
		note string
	}{
		{[]string{"right"}, 2, ""}, {[]string{"n"}, 3, ""}, {[]string{"left"}, 2, ""}, {[]string{"p", "p"}, 0, ""}, {[]string{"p"}, 0, debugger.ErrStart.Error()},
		{[]string{"N"}, 10, ""}, {[]string{"P"}, 0, ""}, {[]string{"P"}, 0, debugger.ErrStart.Error()}, {[]string{"ctrl+n"}, head, ""},
		{[]string{"n"}, head, debugger.ErrEnd.Error()}, {[]string{"N"}, head, debugger.ErrEnd.Error()}, {[]string{"ctrl+p"}, 0, ""}, {[]string{"E"}, 0, errNothing.Error()},
		{[]string{"R"}, 0, "no search yet: press /"},
	} {
		if h.press(c.keys...); m.At() != c.at || h.step.Seq != c.at || h.note != c.note {
			t.Fatalf("after %v: at %d, %d shown, %q; want %d, %q", c.keys, m.At(), h.step.Seq, h.note, c.at, c.note)
		}
	}
	for _, c := range []struct {
		key, text string
		found     func(typ string) bool
	}{
		{"/", "RUN.FAILED", func(typ string) bool { return typ == coordination.TypeRunFailed }},
		{"/", "배포 상태를", func(typ string) bool { return typ == coordination.TypeRunQueued }},
	} {
		h.press("ctrl+p", c.key)
		h.types(c.text)
		if h.press("enter"); h.step.Event == nil || !c.found(h.step.Event.Type) {
			t.Errorf("searched %s: at %+v, %q", c.text, h.step.Event, h.note)
		}
	}
	before := m.At()
	h.press("g")
	h.types("yesterday")
	if h.press("enter"); m.At() != before || !strings.Contains(h.note, "yesterday") {
		t.Errorf("went to yesterday: at %d, %q; want a note", m.At(), h.note)
	}
	h.press("/", "esc")
	if h.prompt != nil {
		t.Error("esc leaves the prompt")
	}
	if h.press("q"); !h.quit {
		t.Error("q does not quit")
	}
}

// Esc cancels a long job, and the machine keeps its position.
func TestScreenStopsWhatTakesLong(t *testing.T) {
	t.Parallel()
	log := team(t)
	m := machineOn(t, log, 3)
	h := watch(t, log, m, 3)
	cmd := h.do("waiting", func(ctx context.Context, tell tellFunc) (string, error) {
		tell(1, 2_000)
		<-ctx.Done()
		return "", ctx.Err()
	})
	h.press("n", "g") // ignored meanwhile
	h.job.set(1, 2_000)
	if text := h.shown(); !strings.Contains(text, "waiting: 1 of 2,000 (esc stops)") {
		t.Errorf("no progress in\n%s", text)
	}
	h.press("esc")
	h.run(cmd)
	if h.note != "stopped" || m.At() != 3 || h.job != nil || h.quit {
		t.Errorf("after esc: at %d, %q, job %v, quit %v", m.At(), h.note, h.job, h.quit)
	}
	cmd = h.do("waiting", func(ctx context.Context, _ tellFunc) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	h.press("q")
	if h.run(cmd); !h.quit || h.Err() != nil {
		t.Errorf("after q: quit %v, %v", h.quit, h.Err())
	}
	h.Wait()
	if cmd := h.do("late", nil); cmd().(tea.BatchMsg)[0]() != nil {
		t.Error("a job started after the end")
	}
}

// Control characters in a text are shown instead of executed.
func TestScreenShowsUntrustedText(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	projectiontest.Tell(t, log, noon.UnixMilli()).Say("log", "x.\u202efailed", "a\x1b[2J", map[string]string{"message": "b\x1b]0;t\a\u202e", "k\x1b": strings.Repeat("길", 300)})
	h := watch(t, log, machineOn(t, log, 0), 1)
	h.shown()
	h.press("end")
	h.shown()
}
