// Package stepscreen shows the debugger of a log in a terminal.
package stepscreen

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/replay/asof"
	"github.com/pronto-lab/openclawd/replay/debugger"
)

// The panes of a Screen, from top to bottom.
const (
	paneEvent = iota
	paneRelations
	paneRows
	panes
)

// Screen shows a Machine in a terminal and steps it by keys. It is a tea.Model; each key's job runs in the background,
// one at a time.
type Screen struct {
	ctx     context.Context
	log     *sqlite.DB
	machine *debugger.Machine
	first   int64

	working sync.Mutex // held by the running job
	closed  bool       // no further job starts

	step    *debugger.Step // nil before the first one is loaded
	texts   [panes][]string
	offsets [panes]int
	pane    int
	help    bool

	width, height int

	prompt     *prompt // nil: keys are commands
	lastSearch string  // the last search
	note       string  // result of the last key, if there is a message
	job        *job    // nil: no job is running
	err        error   // that ended the screen
}

// minWidth is the least width that lines are cut to, in cells.
const minWidth = 2

// prompt is a line being typed.
type prompt struct {
	ask  string
	text []rune
	then func(text string) tea.Cmd
}

// job is a task in the background.
type job struct {
	what   string
	cancel context.CancelFunc
	done   atomic.Int64 // of total; 0 of 0 if unknown
	total  atomic.Int64
	quit   bool // called when it is done
}

func (j *job) set(done, total int64) {
	j.done.Store(done)
	j.total.Store(total)
}

// New shows a machine on a log, starting at the given event.
func New(ctx context.Context, log *sqlite.DB, m *debugger.Machine, at int64) *Screen {
	return &Screen{ctx: ctx, log: log, machine: m, first: at, width: 80, height: 24}
}

// Wait waits until no job runs. It is called after the tea.Program has ended.
func (s *Screen) Wait() {
	if s.job != nil {
		s.job.cancel()
	}
	s.working.Lock()
	s.closed = true
	s.working.Unlock()
}

// Err returns the error that ended the screen; nil if the user closed it.
func (s *Screen) Err() error { return s.err }

// Init implements tea.Model.
func (s *Screen) Init() tea.Cmd {
	return s.do("building the tables as of event "+output.Thousands(s.first), func(ctx context.Context, tell tellFunc) (string, error) {
		return "", s.machine.Goto(ctx, s.first, tell)
	})
}

// Messages that the screen sends itself.
type (
	stepped struct {
		step *debugger.Step
		note string
		err  error
	}
	ticked struct{}
)

// Update implements tea.Model.
func (s *Screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = max(msg.Width, minWidth), max(msg.Height, 1)
		s.layout()
	case tea.KeyPressMsg:
		return s, s.press(msg)
	case tea.PasteMsg:
		if s.prompt != nil {
			s.prompt.text = append(s.prompt.text, []rune(output.Printable(strings.TrimSpace(msg.Content)))...)
		}
	case stepped:
		return s, s.settle(msg)
	case ticked:
		if s.job != nil {
			return s, tick()
		}
	}
	return s, nil
}

type tellFunc = func(done, total int64)

// do starts a job in the background; when it is done the then current event is shown.
func (s *Screen) do(what string, move func(ctx context.Context, tell tellFunc) (note string, err error)) tea.Cmd {
	ctx, cancel := context.WithCancel(s.ctx)
	j := &job{what: what, cancel: cancel}
	s.job, s.note = j, ""
	work := func() tea.Msg {
		s.working.Lock()
		defer s.working.Unlock()
		defer cancel()
		if s.closed {
			return nil
		}
		note, err := move(ctx, j.set)
		switch {
		case err == nil:
		case errors.Is(err, debugger.ErrStart), errors.Is(err, debugger.ErrEnd), errors.Is(err, errNothing):
			note, err = err.Error(), nil
		case errors.Is(err, context.Canceled):
			note, err = "stopped", nil
		default:
			var point *asof.PointError
			if errors.As(err, &point) {
				note, err = point.Error(), nil
			}
		}
		if err != nil {
			return stepped{nil, "", err}
		}
		if !s.machine.Stands() {
			return stepped{nil, note, context.Canceled}
		}
		step, err := s.machine.Show(s.ctx)
		return stepped{step, note, err}
	}
	return tea.Batch(work, tick())
}

func tick() tea.Cmd {
	const often = 100 * time.Millisecond
	return tea.Tick(often, func(time.Time) tea.Msg { return ticked{} })
}

var errNothing = errors.New("nothing found")

// settle handles the result of a job.
func (s *Screen) settle(done stepped) tea.Cmd {
	quit := s.job != nil && s.job.quit
	s.job, s.note = nil, done.note
	if done.err != nil {
		if !quit && !errors.Is(done.err, context.Canceled) {
			s.err = done.err
		}
		return tea.Quit
	}
	if s.step == nil || s.step.Seq != done.step.Seq {
		s.offsets = [panes]int{}
		s.offsets[paneRelations] = max(0, len(done.step.Causes)+1-unfocused) // keep the event itself and its cause in view
	}
	s.step = done.step
	s.layout()
	if quit {
		return tea.Quit
	}
	return nil
}

// press handles a key.
func (s *Screen) press(key tea.KeyPressMsg) tea.Cmd {
	name := key.String()
	switch {
	case s.prompt != nil:
		return s.editPrompt(key)
	case s.job != nil:
		if name == "esc" || name == "ctrl+c" || name == "q" {
			s.job.quit = name != "esc"
			s.job.cancel()
		}
		return nil
	case s.help:
		s.help = false
		return nil
	}
	if s.scroll(name) {
		return nil
	}
	switch name {
	case "q", "ctrl+c":
		return tea.Quit
	case "?":
		s.help = true
	case "tab":
		s.pane = (s.pane + 1) % panes
	case "shift+tab":
		s.pane = (s.pane + panes - 1) % panes
	case "right", "n":
		return s.stepBy(1)
	case "left", "p":
		return s.stepBy(-1)
	case "N":
		return s.stepBy(10)
	case "P":
		return s.stepBy(-10)
	case "ctrl+n":
		return s.stepBy(100)
	case "ctrl+p":
		return s.stepBy(-100)
	case "e":
		return s.seek("searching the next error", debugger.Later, debugger.IsTrouble)
	case "E":
		return s.seek("searching the previous error", debugger.Earlier, debugger.IsTrouble)
	case "g":
		s.prompt = &prompt{ask: "go to seq, time, event id or head: ", then: s.goTo}
	case "/":
		s.prompt = &prompt{ask: "search type, agent or text: ", then: s.search}
	case "r":
		return s.searchAgain(debugger.Later)
	case "R":
		return s.searchAgain(debugger.Earlier)
	}
	return nil
}

// stepBy steps up to n events, as far as the log goes.
func (s *Screen) stepBy(n int64) tea.Cmd {
	return s.do("stepping", func(ctx context.Context, tell tellFunc) (string, error) {
		switch n {
		case 1:
			return "", s.machine.Forward(ctx)
		case -1:
			return "", s.machine.Back(ctx, tell)
		}
		head, err := s.log.Head(ctx)
		if err != nil {
			return "", err
		}
		to := min(max(s.machine.At()+n, 0), head.Seq)
		if to == s.machine.At() {
			if n < 0 {
				return "", debugger.ErrStart
			}
			return "", debugger.ErrEnd
		}
		return "", s.machine.Goto(ctx, to, tell)
	})
}

// seek goes to the next event that matches.
func (s *Screen) seek(what string, d debugger.Direction, match func(*eventstore.Event) bool) tea.Cmd {
	return s.do(what, func(ctx context.Context, tell tellFunc) (string, error) {
		found, err := debugger.Find(ctx, s.log, s.machine.At(), d, match, tell)
		if err != nil {
			return "", err
		}
		if found == 0 {
			return "", errNothing
		}
		return "", s.machine.Goto(ctx, found, tell)
	})
}

func (s *Screen) goTo(point string) tea.Cmd {
	return s.do("going to "+point, func(ctx context.Context, tell tellFunc) (string, error) {
		seq, err := asof.Resolve(ctx, s.log, point)
		if err != nil {
			return "", err
		}
		return "", s.machine.Goto(ctx, seq, tell)
	})
}

func (s *Screen) search(text string) tea.Cmd {
	s.lastSearch = text
	return s.searchAgain(debugger.Later)
}

func (s *Screen) searchAgain(d debugger.Direction) tea.Cmd {
	if s.lastSearch == "" {
		s.note = "no search yet: press /"
		return nil
	}
	return s.seek("looking for "+s.lastSearch, d, debugger.Says(s.lastSearch))
}

// editPrompt edits the line being typed.
func (s *Screen) editPrompt(key tea.KeyPressMsg) tea.Cmd {
	p := s.prompt
	switch key.String() {
	case "esc", "ctrl+c":
		s.prompt = nil
	case "enter":
		s.prompt = nil
		if text := strings.TrimSpace(string(p.text)); text != "" {
			return p.then(text)
		}
	case "backspace":
		p.text = p.text[:max(0, len(p.text)-1)]
	case "ctrl+u":
		p.text = nil
	default:
		p.text = append(p.text, []rune(output.Printable(key.Key().Text))...)
	}
	return nil
}

// scroll scrolls the pane, and reports whether the key is a scroll key.
func (s *Screen) scroll(key string) bool {
	room := s.paneHeights()[s.pane]
	most := max(0, len(s.texts[s.pane])-room)
	at := s.offsets[s.pane]
	switch key {
	case "down", "j":
		at++
	case "up", "k":
		at--
	case "pgdown", "space":
		at += room
	case "pgup":
		at -= room
	case "home":
		at = 0
	case "end":
		at = most
	default:
		return false
	}
	s.offsets[s.pane] = min(max(at, 0), most)
	return true
}
