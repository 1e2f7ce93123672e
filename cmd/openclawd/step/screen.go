package step

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/eventstore"
)

// The panes of a Screen, from top to bottom.
const (
	paneEvent = iota
	paneRelations
	paneRows
	panes
)

// Screen shows a Machine in a terminal and steps it by keys. It is a tea.Model; what a key asks for is done in the background, one thing at a time.
type Screen struct {
	ctx     context.Context
	machine *Machine
	first   int64

	working sync.Mutex // held by the job that is under way
	closed  bool       // no further one begins

	step    *Step // nil before the first one is there
	texts   [panes][]string
	offsets [panes]int
	pane    int
	help    bool

	width, height int

	prompt *prompt // nil: keys are commands
	sought string  // what was looked for last
	note   string  // what came of the last key, if there is something to say
	job    *job    // nil: nothing is under way
	err    error   // that ended the screen
}

// minWidth is the fewest cells that a line can be cut to.
const minWidth = 2

// prompt is a line that is being typed.
type prompt struct {
	ask  string
	text []rune
	then func(text string) tea.Cmd
}

// job is what goes on in the background.
type job struct {
	what   string
	cancel context.CancelFunc
	far    progress
	quit   bool // when it is over
}

// NewScreen shows a machine, which goes to the event at first.
func NewScreen(ctx context.Context, m *Machine, at int64) *Screen {
	return &Screen{ctx: ctx, machine: m, first: at, width: 80, height: 24}
}

// Wait waits until nothing goes on in the background any more. The program that showed the screen has ended.
func (s *Screen) Wait() {
	if s.job != nil {
		s.job.cancel()
	}
	s.working.Lock()
	s.closed = true
	s.working.Unlock()
}

// Err is what ended the screen, nil where somebody has closed it.
func (s *Screen) Err() error { return s.err }

// Init implements tea.Model.
func (s *Screen) Init() tea.Cmd {
	return s.do("making the tables as of event "+output.Thousands(s.first), func(ctx context.Context, tell tellFunc) (string, error) {
		return "", s.machine.Goto(ctx, s.first, tell)
	})
}

// Messages of the screen to itself.
type (
	stepped struct {
		step *Step
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
		s.lay()
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

// do begins something in the background, after which the event is shown at which the machine stands then.
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
		note, err := move(ctx, j.far.set)
		switch {
		case err == nil:
		case errors.Is(err, ErrStart), errors.Is(err, ErrEnd), errors.Is(err, errNothing):
			note, err = err.Error(), nil
		case errors.Is(err, context.Canceled):
			note, err = "stopped", nil
		default:
			var point *past.PointError
			if errors.As(err, &point) {
				note, err = point.Error(), nil
			}
		}
		if err != nil {
			return stepped{nil, "", err}
		}
		if s.machine.track == nil {
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

var errNothing = errors.New("nothing is found")

// settle takes what has come of a job.
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
		s.offsets[paneRelations] = max(0, len(done.step.Causes)+1-unfocused) // the event itself and its cause are seen
	}
	s.step = done.step
	s.lay()
	if quit {
		return tea.Quit
	}
	return nil
}

// press does what a key asks for.
func (s *Screen) press(key tea.KeyPressMsg) tea.Cmd {
	name := key.String()
	switch {
	case s.prompt != nil:
		return s.typed(key)
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
		return s.by(1)
	case "left", "p":
		return s.by(-1)
	case "N":
		return s.by(10)
	case "P":
		return s.by(-10)
	case "ctrl+n":
		return s.by(100)
	case "ctrl+p":
		return s.by(-100)
	case "e":
		return s.seek("looking for the next error", Later, IsTrouble)
	case "E":
		return s.seek("looking for the error before", Earlier, IsTrouble)
	case "g":
		s.prompt = &prompt{ask: "go to seq, time, event id or head: ", then: s.goTo}
	case "/":
		s.prompt = &prompt{ask: "look for type, agent or text: ", then: s.look}
	case "r":
		return s.lookAgain(Later)
	case "R":
		return s.lookAgain(Earlier)
	}
	return nil
}

// by steps so many events, as far as there are so many.
func (s *Screen) by(n int64) tea.Cmd {
	return s.do("stepping", func(ctx context.Context, tell tellFunc) (string, error) {
		switch n {
		case 1:
			return "", s.machine.Forward(ctx)
		case -1:
			return "", s.machine.Back(ctx, tell)
		}
		head, err := s.machine.opts.Log.Head(ctx)
		if err != nil {
			return "", err
		}
		to := min(max(s.machine.At()+n, 0), head.Seq)
		if to == s.machine.At() {
			if n < 0 {
				return "", ErrStart
			}
			return "", ErrEnd
		}
		return "", s.machine.Goto(ctx, to, tell)
	})
}

// seek goes to the next event that matches.
func (s *Screen) seek(what string, d Direction, match func(*eventstore.Event) bool) tea.Cmd {
	return s.do(what, func(ctx context.Context, tell tellFunc) (string, error) {
		found, err := Find(ctx, s.machine.opts.Log, s.machine.At(), d, match, tell)
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
		seq, err := past.Resolve(ctx, s.machine.opts.Log, point)
		if err != nil {
			return "", err
		}
		return "", s.machine.Goto(ctx, seq, tell)
	})
}

func (s *Screen) look(text string) tea.Cmd {
	s.sought = text
	return s.lookAgain(Later)
}

func (s *Screen) lookAgain(d Direction) tea.Cmd {
	if s.sought == "" {
		s.note = "nothing was looked for yet: /"
		return nil
	}
	return s.seek("looking for "+s.sought, d, Says(s.sought))
}

// typed edits the line that is being typed.
func (s *Screen) typed(key tea.KeyPressMsg) tea.Cmd {
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

// scroll moves the text of the pane, and reports whether the key is one that does.
func (s *Screen) scroll(key string) bool {
	room := s.rooms()[s.pane]
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
