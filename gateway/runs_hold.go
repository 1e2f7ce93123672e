package gateway

import (
	"time"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// tuiHold is how long after a message the end of its run is held back that came from the original's terminal program. That program notes that
// it waits for an answer only after it has read that the message was accepted, and waits for ever if it has read the answer by then: models
// are never as quick as one that is part of this program.
const tuiHold = 150 * time.Millisecond

// holdFor is how long what ends a request of a client is held back.
func holdFor(p *wire.Peer) time.Duration {
	if p.Client.ID == "openclaw-tui" {
		return tuiHold
	}
	return 0
}

// hold has the end of a run told not before some time.
func (t *teller) hold(runID string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held[runID] = until
}

// release forgets a run that is not held back any more, and says until when it was.
func (t *teller) release(runID string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	until := t.held[runID]
	delete(t.held, runID)
	return until
}

// after does something after a while, at once where that is none.
func after(d time.Duration, do func()) {
	if d <= 0 {
		do()
		return
	}
	time.AfterFunc(min(d, tuiHold), do)
}
