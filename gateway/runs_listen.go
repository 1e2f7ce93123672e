package gateway

import (
	"context"
	"slices"
	"sync"
)

// maxListened is in how many sessions a connection is told of tools: those in which it has started runs last.
const maxListened = 256

// toolListeners are the connections that are told of tools, each in the sessions in which it has started a run.
type toolListeners struct {
	mu       sync.Mutex
	sessions map[string]*toolSession
	conns    map[string][]string // keys of sessions, the latest last
}

// toolSession is a session in which somebody listens.
type toolSession struct {
	conns []string
	all   bool // what tools have answered is told too
}

func newToolListeners() *toolListeners {
	return &toolListeners{sessions: map[string]*toolSession{}, conns: map[string][]string{}}
}

// listen lets a connection hear of the tools of a session, until conn, which is its context, ends.
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

// show says whether what tools have answered is told in a session. It matters only while somebody listens.
func (l *toolListeners) show(key string, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.sessions[key]; one != nil {
		one.all = all
	}
}

// of are those who listen in a session, and whether they are told all.
func (l *toolListeners) of(key string) (conns []string, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.sessions[key]
	if one == nil {
		return nil, false
	}
	return slices.Clone(one.conns), one.all
}
