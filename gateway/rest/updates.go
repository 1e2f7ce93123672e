package rest

import (
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// updateFanout distributes run updates to all streams. It holds one subscription while there are streams, none otherwise.
type updateFanout struct {
	runs Runs

	turn sync.Mutex // held while starting or ending the subscription
	deaf func()     // ends the subscription

	mu      sync.Mutex
	streams map[string]map[*follower]struct{} // by run
}

// follow subscribes to a run's updates until leave is called.
func (e *updateFanout) follow(runID string) (f *follower, leave func()) {
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
		e.deaf = e.runs.Follow(e.dispatch)
	}
	return f, func() { e.leave(runID, f) }
}

func (e *updateFanout) leave(runID string, f *follower) {
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

// dispatch receives every update of all runs. It never blocks.
func (e *updateFanout) dispatch(u run.Update) {
	if u.Kind != run.Text {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for f := range e.streams[u.RunID] {
		f.receive(u.Text, u.Replaces)
	}
}

// maxUnread is how many bytes of finished answers may wait for one reader. Of the current answer only the whole is
// kept, which the run itself keeps too.
const maxUnread = 4 << 20

// between separates the answers of one run: before and after a tool call.
const between = "\n\n"

type follower struct {
	news chan struct{} // holds one token while there is something to read

	mu     sync.Mutex
	unread string // of finished answers
	text   string // the current answer so far
	told   int    // bytes of it already read
	said   bool   // something was read, or waits in unread
	lost   bool   // unread exceeded its limit
}

// receive records what a run has said so far. restart is set if it does not continue what was heard before.
func (f *follower) receive(text string, restart bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(text, restart)
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *follower) advance(text string, restart bool) {
	if restart || len(text) < f.told {
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

// next returns what was said since the last call. ok is false for a reader that fell too far behind.
func (f *follower) next() (delta string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delta = f.unread + f.text[f.told:]
	f.unread, f.told = "", len(f.text)
	return delta, !f.lost
}

// last returns the rest of a run whose final answer is text. The stored answer may have a secret masked that was
// already streamed.
func (f *follower) last(text string) (delta string, ok bool) {
	f.mu.Lock()
	masked := coordination.Mask(f.text)
	switch {
	case strings.HasPrefix(text, f.text):
		f.advance(text, false)
	case text != "" && strings.HasPrefix(f.text, text): // it ended in white space
	case strings.HasPrefix(text, masked):
		f.text += text[len(masked):]
	default:
		f.advance(text, true)
	}
	f.mu.Unlock()
	return f.next()
}
