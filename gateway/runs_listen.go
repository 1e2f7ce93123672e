package gateway

import (
	"context"
	"slices"
	"sync"
)

// maxListened is in how many sessions a connection receives tool events: those in which it last started runs.
const maxListened = 256

// toolListeners are the connections that receive tool events, each in the sessions in which it has started runs.
type toolListeners struct {
	mu       sync.Mutex
	sessions map[string]*toolSession
	conns    map[string][]string // session keys, latest last
}

type toolSession struct {
	conns []string
	all   bool // tool output is sent too
}

func newToolListeners() *toolListeners {
	return &toolListeners{sessions: map[string]*toolSession{}, conns: map[string][]string{}}
}

// listen subscribes a connection to tool events of a session, until conn, its context, ends.
func (l *toolListeners) listen(conn context.Context, id, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys, known := l.conns[id]
	switch {
	case slices.Contains(keys, key):
		return
	case len(keys) == maxListened:
		l.leave(id, keys[0])
		keys = slices.Delete(keys, 0, 1)
	}
	l.conns[id] = append(keys, key)
	one := l.sessions[key]
	if one == nil {
		one = &toolSession{}
		l.sessions[key] = one
	}
	one.conns = append(one.conns, id)
	if known {
		return
	}
	context.AfterFunc(conn, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, key := range l.conns[id] {
			l.leave(id, key)
		}
		delete(l.conns, id)
	})
}

// leave is called with the lock held.
func (l *toolListeners) leave(id, key string) {
	one := l.sessions[key]
	one.conns = slices.DeleteFunc(one.conns, func(other string) bool { return other == id })
	if len(one.conns) == 0 {
		delete(l.sessions, key)
	}
}

// show sets whether tool output is sent in a session. It only matters while there are listeners.
func (l *toolListeners) show(key string, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.sessions[key]; one != nil {
		one.all = all
	}
}

// of returns a session's listeners, and whether tool output is sent to them.
func (l *toolListeners) of(key string) (conns []string, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.sessions[key]
	if one == nil {
		return nil, false
	}
	return slices.Clone(one.conns), one.all
}
