package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Events sent only to subscribers.
const (
	eventSessionsChanged = "sessions.changed"
	eventSessionMessage  = "session.message"
)

const reasonDelete = "delete"

// maxWatched is how many sessions' messages a connection may subscribe to.
const maxWatched = 256

// watchers are the connections subscribed to session changes. A connection's state ends with it.
type watchers struct {
	mu    sync.Mutex
	conns map[string]*watch
}

type watch struct {
	sessions bool                // changes of all sessions
	messages map[string]struct{} // messages of these session keys
	forget   func() bool         // stops waiting for the connection's end
}

func newWatchers() *watchers { return &watchers{conns: map[string]*watch{}} }

// update updates a connection's subscriptions, until conn, its context, ends.
func (w *watchers) update(conn context.Context, id string, change func(*watch)) {
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

func (w *watchers) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns) > 0
}

// of returns the subscribers to session changes, and those to one session's messages.
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

type subscription struct {
	Subscribed bool            `json:"subscribed"`
	Key        string          `json:"key,omitempty"`
	List       json.RawMessage `json:"list,omitempty"`
}

// subscribe answers sessions.subscribe, with a list if requested. Clients of protocol 3 know none of the events and
// receive none.
func (l *sessionLists) subscribe(ctx context.Context, call *wire.Call) (any, error) {
	asked, err := paramsOf[map[string]json.RawMessage](call)
	if err != nil {
		return nil, err
	}
	a := subscription{Subscribed: call.Peer.Protocol >= protocol.Newest}
	if a.Subscribed {
		l.server.watchers.update(ctx, call.Peer.ConnID, func(w *watch) { w.sessions = true })
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
	s.watchers.update(ctx, call.Peer.ConnID, func(w *watch) { w.sessions = false })
	return subscription{}, nil
}

// subscribeMessages answers sessions.messages.subscribe and .unsubscribe. It returns the full key, as used in events.
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
		s.watchers.update(ctx, call.Peer.ConnID, func(w *watch) {
			if !a.Subscribed {
				delete(w.messages, a.Key)
			} else if _, has := w.messages[a.Key]; has || len(w.messages) < maxWatched {
				w.messages[a.Key] = struct{}{}
			} else {
				full = true
			}
		})
		if full {
			return nil, invalidRequest(fmt.Sprintf("a connection can subscribe to at most %d sessions", maxWatched),
				fault{Code: "too_many_subscriptions", Field: "key", Value: echo(p.Key), Hint: "unsubscribe from others with sessions.messages.unsubscribe"})
		}
		return a, nil
	}
}

// sessionUpdate is the payload for watchers of sessions. It contains the session's row twice, as an object and inlined,
// because clients read one or the other. Without a row the session is gone or could not be read; clients then have to
// ask.
type sessionUpdate struct {
	SessionKey string          `json:"sessionKey"`
	AgentID    string          `json:"agentId,omitempty"`
	SessionID  string          `json:"sessionId,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Phase      string          `json:"phase,omitempty"` // message; of runs: start, end, error
	RunID      string          `json:"runId,omitempty"`
	Catalog    bool            `json:"catalogChanged,omitempty"` // another model was selected
	TS         int64           `json:"ts,omitempty"`
	Message    json.RawMessage `json:"message,omitempty"`
	MessageID  string          `json:"messageId,omitempty"`
	MessageSeq int64           `json:"messageSeq,omitempty"` // position in the transcript, from 1
	Session    *sessionRow     `json:"session,omitempty"`
	*sessionRow
}
