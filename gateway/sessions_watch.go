package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Events that only those are told who have asked for them.
const (
	eventSessionsChanged = "sessions.changed"
	eventSessionMessage  = "session.message"
)

// reasonDelete is why there is no session any more.
const reasonDelete = "delete"

// maxWatched is in how many sessions a connection may listen for messages.
const maxWatched = 256

// watchers are the connections that are told of changes of sessions. What is kept of a connection ends with it.
type watchers struct {
	mu    sync.Mutex
	conns map[string]*watch
}

// watch is what one connection has asked for.
type watch struct {
	sessions bool                // changes of all sessions
	messages map[string]struct{} // what is said in the sessions of these keys
	forget   func() bool         // stops waiting for the end of the connection
}

func newWatchers() *watchers { return &watchers{conns: map[string]*watch{}} }

// change changes what a connection has asked for, until conn, which is its context, ends.
func (w *watchers) change(conn context.Context, id string, change func(*watch)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.conns[id]
	if one == nil {
		one = &watch{messages: map[string]struct{}{}}
		one.forget = context.AfterFunc(conn, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.conns, id)
		})
		w.conns[id] = one
	}
	if change(one); !one.sessions && len(one.messages) == 0 {
		one.forget()
		delete(w.conns, id)
	}
}

// any reports whether anybody is told of anything.
func (w *watchers) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns) > 0
}

// of are those who are told of changes of sessions, and those who are told what is said in one.
func (w *watchers) of(key string) (sessions, messages []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, one := range w.conns {
		if one.sessions {
			sessions = append(sessions, id)
		}
		if _, listens := one.messages[key]; listens {
			messages = append(messages, id)
		}
	}
	return sessions, messages
}

// subscription says whether a client is told of changes.
type subscription struct {
	Subscribed bool            `json:"subscribed"`
	Key        string          `json:"key,omitempty"`
	List       json.RawMessage `json:"list,omitempty"`
}

// subscribe answers sessions.subscribe, with a list if one is asked for. A client of protocol 3 knows none of the events: it is told none.
func (l *sessionLists) subscribe(ctx context.Context, call *wire.Call) (any, error) {
	asked, err := paramsOf[map[string]json.RawMessage](call)
	if err != nil {
		return nil, err
	}
	a := subscription{Subscribed: call.Peer.Protocol >= protocol.Newest}
	if a.Subscribed {
		l.server.watchers.change(ctx, call.Peer.ConnID, func(w *watch) { w.sessions = true })
	}
	if len(asked) == 0 {
		return a, nil
	}
	list, err := l.answer(ctx, call)
	if err != nil {
		return nil, err
	}
	a.List, err = encoded(list)
	return a, err
}

func (s *Server) unsubscribe(ctx context.Context, call *wire.Call) (any, error) {
	s.watchers.change(ctx, call.Peer.ConnID, func(w *watch) { w.sessions = false })
	return subscription{}, nil
}

// subscribeMessages answers sessions.messages.subscribe, or .unsubscribe. The key that it answers is the whole one, as events name it.
func (s *Server) subscribeMessages(subscribe bool) answer {
	return func(ctx context.Context, call *wire.Call) (any, error) {
		p, err := paramsOf[struct {
			Key   string `json:"key"`
			Agent string `json:"agentId"`
		}](call)
		if err != nil {
			return nil, err
		}
		key, err := keyAsked(s.opts.Configuration.InForce(), "key", p.Key, p.Agent)
		if err != nil {
			return nil, err
		}
		a := subscription{Subscribed: subscribe && call.Peer.Protocol >= protocol.Newest, Key: key.String()}
		full := false
		s.watchers.change(ctx, call.Peer.ConnID, func(w *watch) {
			if !a.Subscribed {
				delete(w.messages, a.Key)
			} else if _, has := w.messages[a.Key]; has || len(w.messages) < maxWatched {
				w.messages[a.Key] = struct{}{}
			} else {
				full = true
			}
		})
		if full {
			return nil, invalidRequest(fmt.Sprintf("a connection listens in at most %d sessions", maxWatched),
				fault{Code: "too_many_subscriptions", Field: "key", Value: echo(p.Key), Mend: "leave others with sessions.messages.unsubscribe"})
		}
		return a, nil
	}
}

// sessionNews is what those are told who watch sessions. The session's row is there twice, by itself and member by member, because clients
// read the one or the other. There is none where the session is gone, or could not be read: then a client has to ask.
type sessionNews struct {
	SessionKey string          `json:"sessionKey"`
	AgentID    string          `json:"agentId,omitempty"`
	SessionID  string          `json:"sessionId,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Phase      string          `json:"phase,omitempty"` // message; of runs: start, end, error
	RunID      string          `json:"runId,omitempty"`
	Catalog    bool            `json:"catalogChanged,omitempty"` // another model was chosen
	TS         int64           `json:"ts,omitempty"`
	Message    json.RawMessage `json:"message,omitempty"`
	MessageID  string          `json:"messageId,omitempty"`
	MessageSeq int64           `json:"messageSeq,omitempty"` // its place in the transcript, from 1
	Session    *sessionRow     `json:"session,omitempty"`
	*sessionRow
}
