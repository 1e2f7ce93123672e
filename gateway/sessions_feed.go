package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// feed follows the log and sends session events to their watchers, regardless of their cause, in log order. It reads nothing
// while there are no watchers.
type feed struct {
	server *Server
	asked  atomic.Int64 // pending writes that will be broadcast
	until  atomic.Int64 // seq of the newest broadcast event
}

const (
	feedPage  = 500         // events per read
	feedPause = time.Second // after a failed read of the log
	// placeWithin is how many messages of a transcript are searched to find a message's position.
	placeWithin = 256
)

// expect announces a write that will be broadcast. written must be called with its seq, or 0 if it was not written.
func (f *feed) expect() (written func(seq int64)) {
	f.asked.Add(1)
	return func(seq int64) {
		for old := f.until.Load(); seq > old && !f.until.CompareAndSwap(old, seq); old = f.until.Load() {
		}
		f.asked.Add(-1)
	}
}

// run broadcasts events after a log position until ctx ends. A negative position is the end of the log once it can be
// read.
func (f *feed) run(ctx context.Context, after int64) {
	for ctx.Err() == nil {
		err := f.step(ctx, &after)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if errors.Is(err, eventstore.ErrClosed) {
			return
		}
		f.server.opts.Logger.WarnContext(ctx, "cannot read session events; will retry", "after", after, "err", err)
		_ = wait.For(ctx, feedPause)
	}
}

func (f *feed) step(ctx context.Context, after *int64) error {
	log := f.server.opts.Log
	if *after < 0 {
		head, err := log.Head(ctx)
		if err == nil {
			*after = head.Seq
		}
		return err
	}
	head, err := log.Wait(ctx, *after+1)
	if err != nil {
		return err
	}
	// Watchers and writers from here on have missed nothing up to head.
	if !f.server.watchers.any() && f.asked.Load() == 0 && f.until.Load() <= *after {
		*after = head
		return nil
	}
	events, err := log.Read(ctx, *after, feedPage)
	if err != nil {
		return err
	}
	for i := range events {
		f.handle(ctx, events, i)
		*after = events[i].Seq
	}
	return nil
}

func (f *feed) handle(ctx context.Context, events []eventstore.Event, i int) {
	e := projections.Current(&events[i])
	if e.Actor == eventstore.ActorImport || e.Data == nil {
		return
	}
	news := sessionUpdate{}
	var data struct {
		SessionKey, SessionID, Reason, RunID string
		Set                                  map[string]json.RawMessage
		Unset                                []string
	}
	if !strings.HasPrefix(e.Type, "session.") && !strings.HasPrefix(e.Type, "run.") || json.Unmarshal(e.Data, &data) != nil {
		return
	}
	switch e.Type {
	case coordination.TypeSessionCreated:
		if i+1 < len(events) && events[i+1].Stream == e.Stream {
			return // its purpose is fulfilled
		}
		news.Reason = "create"
	case coordination.TypeSessionPatched:
		_, chosen := data.Set["model"]
		news.Reason, news.Catalog = "patch", chosen || slices.Contains(data.Unset, "model")
	case coordination.TypeSessionReset:
		news.Reason = data.Reason
	case coordination.TypeSessionDeleted:
		news.Reason, news.SessionID = reasonDelete, data.SessionID
	case coordination.TypeSessionMessage:
		f.hearMessage(ctx, e, data.SessionKey)
		return
	case coordination.TypeRunStarted:
		news.Phase, news.RunID = "start", data.RunID
	case coordination.TypeRunEnded, coordination.TypeRunAborted, coordination.TypeRunTimedOut:
		news.Phase, news.RunID = "end", data.RunID
	case coordination.TypeRunFailed:
		news.Phase, news.RunID = "error", data.RunID
	default:
		return
	}
	f.notify(ctx, e, data.SessionKey, news, nil)
}

// hearMessage sends a session message to its watchers, and to everyone if a client injected it.
func (f *feed) hearMessage(ctx context.Context, e *eventstore.Event, key string) {
	m := sessions.Message{Seq: e.Seq, Event: e.ID, At: e.TS}
	if json.Unmarshal(e.Data, &m.Data) != nil || m.Data.Internal {
		return
	}
	if isInjected(&m.Data) {
		f.server.notifyInjected(chatEvent{RunID: "inject-" + m.Data.MessageID, SessionKey: key}, &m.Data, e.TS)
	}
	f.notify(ctx, e, key, sessionUpdate{MessageID: m.ID(), Phase: "message", RunID: m.Data.RunID}, &m)
}

// notify notifies watchers of a session event, with the session's current state.
func (f *feed) notify(ctx context.Context, e *eventstore.Event, name string, news sessionUpdate, m *sessions.Message) {
	s := f.server
	sessionWatchers, messages := s.watchers.of(name)
	if m == nil {
		messages = nil
	}
	if len(sessionWatchers) == 0 && len(messages) == 0 {
		return
	}
	key, err := coordination.ParseSessionKey(name)
	if err != nil {
		return
	}
	c := s.opts.Configuration.InForce()
	news.SessionKey, news.AgentID, news.TS = name, agentOf(c, key), s.opts.Now().UnixMilli()
	var one *sessions.Session
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		if one, err = sessions.ByKey(ctx, tx, name); err != nil || one == nil || m == nil {
			return err
		}
		news.MessageSeq, err = placeOf(ctx, tx, one, e.Seq)
		return err
	})
	switch {
	case err != nil:
		s.opts.Logger.WarnContext(ctx, "cannot read changed session; notifying without its row", "session", name, "err", err)
	case one != nil && news.Reason == reasonDelete:
		return // it was created again, which has its own event
	case one != nil:
		row := rowOf(c, one, protocol.Newest)
		news.SessionID, news.Session, news.sessionRow = one.ID, &row, &row
	}
	if len(messages) > 0 {
		said := news
		said.Phase, said.TS = "", 0
		if said.Message, err = showMessage(m, placeOfMessage(m, news.MessageSeq)); err == nil {
			s.hub.Send(wire.Event{Name: eventSessionMessage, Payload: said}, messages...)
		}
	}
	if len(sessionWatchers) > 0 {
		s.hub.Send(wire.Event{Name: eventSessionsChanged, Payload: news}, sessionWatchers...)
	}
}

// placeOf is the position of a message in the session's current transcript, from 1; 0 if it is not there or too far
// back.
func placeOf(ctx context.Context, tx *sql.Tx, one *sessions.Session, seq int64) (int64, error) {
	for _, within := range [...]int{1, placeWithin} {
		newest, err := sessions.Newest(ctx, tx, one.ID, within, maxHistoryBytes)
		if err != nil {
			return 0, err
		}
		if i := slices.IndexFunc(newest, func(m sessions.Message) bool { return m.Seq == seq }); i >= 0 {
			return one.Messages - newest[i].After, nil
		}
	}
	return 0, nil
}
