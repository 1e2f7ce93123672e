package rest

import (
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// ears hear what runs say, for all streams together: there is one subscription while there is any stream, and none otherwise.
type ears struct {
	runs Runs

	turn sync.Mutex // of whoever begins or ends the subscription
	deaf func()     // ends it

	mu      sync.Mutex
	streams map[string]map[*follower]struct{} // by run
}

// follow hears a run from now on, until leave is called.
func (e *ears) follow(runID string) (f *follower, leave func()) {
	f = &follower{news: make(chan struct{}, 1)}
	e.turn.Lock()
	defer e.turn.Unlock()
	e.mu.Lock()
	first := len(e.streams) == 0
	if first {
		e.streams = map[string]map[*follower]struct{}{}
	}
	if e.streams[runID] == nil {
		e.streams[runID] = map[*follower]struct{}{}
	}
	e.streams[runID][f] = struct{}{}
	e.mu.Unlock()
	if first {
		e.deaf = e.runs.Follow(e.hear)
	}
	return f, func() { e.leave(runID, f) }
}

func (e *ears) leave(runID string, f *follower) {
	e.turn.Lock()
	defer e.turn.Unlock()
	e.mu.Lock()
	delete(e.streams[runID], f)
	if len(e.streams[runID]) == 0 {
		delete(e.streams, runID)
	}
	last := len(e.streams) == 0
	e.mu.Unlock()
	if last {
		e.deaf()
	}
}

// hear is told of everything that happens in all runs. It never waits.
func (e *ears) hear(u run.Update) {
	if u.Kind != run.Text {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for f := range e.streams[u.RunID] {
		f.hear(u.Text, u.Anew)
	}
}

// maxUnread is how many bytes of answers that are over may wait for one reader. Of the present one only the whole is kept, which is also
// what the run itself keeps.
const maxUnread = 4 << 20

// between stands between answers of one run: what it says before it calls a tool, and what it says then.
const between = "\n\n"

// follower is how far one reader of a run is.
type follower struct {
	news chan struct{} // holds one token while there is something to take

	mu     sync.Mutex
	unread string // of answers before the present one
	text   string // the present answer, so far
	told   int    // bytes of it that were taken
	said   bool   // something was taken, or waits in unread
	lost   bool   // more was unread than may be
}

// hear takes what a run has said so far. anew is set where that does not go on from what was heard before.
func (f *follower) hear(text string, anew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.take(text, anew)
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *follower) take(text string, anew bool) {
	if anew || len(text) < f.told {
		rest := f.text[f.told:]
		f.said = f.said || f.text != ""
		f.text, f.told = "", 0
		if f.said && text != "" {
			rest += between
		}
		if len(f.unread)+len(rest) > maxUnread {
			f.unread, f.lost = "", true
			return
		}
		f.unread += rest
	}
	f.text = text
}

// next is what was said since it was last asked. ok is false for a reader that has let too much pass.
func (f *follower) next() (delta string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delta = f.unread + f.text[f.told:]
	f.unread, f.told = "", len(f.text)
	return delta, !f.lost
}

// last is what is still to be said of a run whose last answer is text. What the run keeps of its answer may have a secret masked that was
// told as it came.
func (f *follower) last(text string) (delta string, ok bool) {
	f.mu.Lock()
	masked := coordination.Mask(f.text)
	switch {
	case strings.HasPrefix(text, f.text):
		f.take(text, false)
	case text != "" && strings.HasPrefix(f.text, text): // it has ended in blanks
	case strings.HasPrefix(text, masked):
		f.text += text[len(masked):]
	default:
		f.take(text, true)
	}
	f.mu.Unlock()
	return f.next()
}
