package gateway

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// waitsAfterAnswer reports whether a client starts waiting for a run only after it has read that its message was
// accepted, and waits forever if the end came first. The original's terminal program does, and identifies itself by
// its display name: models are slower than the one built into this program.
func waitsAfterAnswer(p *wire.Peer) bool {
	return cmp.Or(p.Client.DisplayName, p.Client.ID) == "openclaw-tui"
}

// holdQueue delays the ends of runs that a client has not yet seen accepted, and everything later in the session, so that
// the order of broadcasts stays the same. Guarded by the notifier's lock.
type holdQueue struct {
	runs     map[string]*hold
	sessions map[string]*backlog
}

// hold is a run whose end is delayed.
type hold struct {
	count   int    // number of holders
	session string // session waiting for it, "" until the run has ended
}

// backlog is the queue of delayed updates of a session.
type backlog struct {
	updates      []run.Update
	broadcasting bool // a goroutine is broadcasting the first update and will handle the rest
}

func newHoldQueue() holdQueue { return holdQueue{map[string]*hold{}, map[string]*backlog{}} }

// hold delays the end of a run until release is called.
func (t *runNotifier) hold(runID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.holds.runs[runID]
	if one == nil {
		one = &hold{}
		t.holds.runs[runID] = one
	}
	one.count++
}

// release ends a hold and broadcasts what waited for it.
func (t *runNotifier) release(runID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.holds.runs[runID]
	if one == nil {
		return
	}
	if one.count--; one.count > 0 {
		return
	}
	delete(t.holds.runs, runID)
	if all := t.holds.sessions[one.session]; all != nil && !all.broadcasting {
		t.catchUp(one.session, all)
	}
}

// delays reports whether an update has to wait, and queues it if so. It is called with the lock held.
func (h *holdQueue) delays(u *run.Update) bool {
	all, one := h.sessions[u.SessionKey], h.holdOf(u)
	switch {
	case all != nil:
		all.add(u)
	case one != nil:
		one.session = u.SessionKey
		h.sessions[u.SessionKey] = &backlog{updates: []run.Update{*u}}
	default:
		return false
	}
	return true
}

// holdOf returns the hold an update waits for, nil if none.
func (h *holdQueue) holdOf(u *run.Update) *hold {
	if u.Kind != run.Ended {
		return nil
	}
	return h.runs[u.RunID]
}

// add queues an update. A longer answer replaces its earlier state.
func (b *backlog) add(u *run.Update) {
	if last := len(b.updates) - 1; last > 0 && u.Kind == run.Text && !u.Replaces && b.updates[last].Kind == run.Text && b.updates[last].RunID == u.RunID {
		replaces := b.updates[last].Replaces
		b.updates[last] = *u
		b.updates[last].Replaces = replaces
		return
	}
	b.updates = append(b.updates, *u)
}

// catchUp broadcasts a session's queue, up to the end of a run that is itself held. It is called with the lock held,
// and releases it while broadcasting. An update that panics is dropped; later ones are not.
func (t *runNotifier) catchUp(session string, all *backlog) {
	told := false
	all.broadcasting = true
	defer func() {
		if all.broadcasting = false; !told {
			t.catchUp(session, all)
		}
	}()
	for len(all.updates) > 0 {
		u := all.updates[0]
		if one := t.holds.holdOf(&u); one != nil {
			one.session, told = session, true
			return
		}
		all.updates = all.updates[1:]
		t.broadcastUnlocked(&u)
	}
	delete(t.holds.sessions, session)
	told = true
}

func (t *runNotifier) broadcastUnlocked(u *run.Update) {
	t.mu.Unlock()
	defer t.mu.Lock()
	t.broadcast(u)
}
