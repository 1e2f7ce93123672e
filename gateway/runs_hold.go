package gateway

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// waitsAfterAnswer reports whether a client notes only after it has read that its message was accepted that it waits for what comes of it, and
// waits for ever if it has read the end by then. The original's terminal program does, which says in its display name what it is: models are
// never as quick as one that is part of this program.
func waitsAfterAnswer(p *wire.Peer) bool {
	return cmp.Or(p.Client.DisplayName, p.Client.ID) == "openclaw-tui"
}

// holds keep back the ends of runs of which a client has not read yet that they are accepted, and whatever happens in the session after that,
// so that everybody is told in the same order as ever. The lock of the teller guards them.
type holds struct {
	runs     map[string]*hold
	sessions map[string]*backlog
}

// hold is a run whose end is held back.
type hold struct {
	count   int    // of those who hold it
	session string // which waits for it, "" until it has ended
}

// backlog is what waits in a session.
type backlog struct {
	updates []run.Update
	telling bool // somebody tells the first of them, and sees to the rest
}

func newHolds() holds { return holds{map[string]*hold{}, map[string]*backlog{}} }

// hold has the end of a run told not before release is called.
func (t *teller) hold(runID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.holds.runs[runID]
	if one == nil {
		one = &hold{}
		t.holds.runs[runID] = one
	}
	one.count++
}

// release ends a hold, and tells what has waited for it.
func (t *teller) release(runID string) {
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
	if all := t.holds.sessions[one.session]; all != nil && !all.telling {
		t.catchUp(one.session, all)
	}
}

// waits reports whether an update is not to be told yet, and keeps it if so. It is called with the lock held.
func (h *holds) waits(u *run.Update) bool {
	all, one := h.sessions[u.SessionKey], h.ending(u)
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

// ending is the hold that an update waits for, nil if it waits for none.
func (h *holds) ending(u *run.Update) *hold {
	if u.Kind != run.Ended {
		return nil
	}
	return h.runs[u.RunID]
}

// add keeps an update. An answer that has grown takes the place of what it has grown from.
func (b *backlog) add(u *run.Update) {
	if last := len(b.updates) - 1; last > 0 && u.Kind == run.Text && !u.Anew && b.updates[last].Kind == run.Text && b.updates[last].RunID == u.RunID {
		anew := b.updates[last].Anew
		b.updates[last] = *u
		b.updates[last].Anew = anew
		return
	}
	b.updates = append(b.updates, *u)
}

// catchUp tells what waits in a session, up to the end of a run that is held back itself. It is called with the lock held, and lets go of it
// to tell. An update whose telling panics is told no further; those after it are.
func (t *teller) catchUp(session string, all *backlog) {
	told := false
	all.telling = true
	defer func() {
		if all.telling = false; !told {
			t.catchUp(session, all)
		}
	}()
	for len(all.updates) > 0 {
		u := all.updates[0]
		if one := t.holds.ending(&u); one != nil {
			one.session, told = session, true
			return
		}
		all.updates = all.updates[1:]
		t.tellUnlocked(&u)
	}
	delete(t.holds.sessions, session)
	told = true
}

func (t *teller) tellUnlocked(u *run.Update) {
	t.mu.Unlock()
	defer t.mu.Lock()
	t.tell(u)
}
