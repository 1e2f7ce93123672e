package ui

import (
	"maps"
	"sync"
	"time"
)

// maxEnded is how many logged-out sessions of one source are kept; those that expire first are dropped. The limit is by source, so that
// logging in and out many times drops none of another secret's.
const maxEnded = 1024

// ended are the sessions that were logged out before they expired. They are kept until then or until the program ends.
type ended struct {
	mu     sync.Mutex
	nonces map[string]map[string]time.Time // by source: when each expires
}

func (e *ended) add(c claim, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for source, nonces := range e.nonces {
		maps.DeleteFunc(nonces, func(_ string, expires time.Time) bool { return !now.Before(expires) })
		if len(nonces) == 0 {
			delete(e.nonces, source)
		}
	}
	nonces := e.nonces[c.source]
	if nonces == nil {
		nonces = map[string]time.Time{}
		e.nonces[c.source] = nonces
	}
	nonces[c.nonce] = c.expires
	if len(nonces) <= maxEnded {
		return
	}
	first := c.nonce
	for nonce, expires := range nonces {
		if expires.Before(nonces[first]) {
			first = nonce
		}
	}
	delete(nonces, first)
}

func (e *ended) has(c claim) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, found := e.nonces[c.source][c.nonce]
	return found
}
