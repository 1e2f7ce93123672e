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
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/session"
)

// feed reads the log as it grows, and tells those who watch sessions what happens in them, whoever has done it, in the order of the log. It
// reads nothing while there is nobody to tell.
type feed struct {
	server *Server
	asked  atomic.Int64 // who writes something that everybody is told, and has not written it yet
	until  atomic.Int64 // seq of the newest thing that everybody is told
}

const (
	feedPage  = 500         // events read at once
	feedPause = time.Second // after the log could not be read
	// placeWithin is how many messages of a transcript are looked through for one, to say where it stands.
	placeWithin = 256
)

// expect is for who is going to write something that everybody is told. written has to be called with the seq of it, 0 if it was not written.
func (f *feed) expect() (written func(seq int64)) {
	f.asked.Add(1)
	return func(seq int64) {
		for old := f.until.Load(); seq > old && !f.until.CompareAndSwap(old, seq); old = f.until.Load() {
		}
		f.asked.Add(-1)
	}
}

// run tells what comes after a place of the log until ctx ends. A negative one is the log's end, when that can be read.
func (f *feed) run(ctx context.Context, after int64) {
	for ctx.Err() == nil {
		err := f.step(ctx, &after)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if errors.Is(err, eventstore.ErrClosed) {
			return
		}
		f.server.opts.Logger.WarnContext(ctx, "what happens in sessions cannot be told for now", "after", after, "err", err)
		pause := time.NewTimer(feedPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
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
	// Who begins to watch after this, or to write, has missed nothing up to head.
	if !f.server.watchers.any() && f.asked.Load() == 0 && f.until.Load() <= *after {
		*after = head
		return nil
	}
	events, err := log.Read(ctx, *after, feedPage)
	if err != nil {
		return err
	}
	for i := range events {
		f.hear(ctx, events, i)
		*after = events[i].Seq
	}
	return nil
}

// hear tells one event.
func (f *feed) hear(ctx context.Context, events []eventstore.Event, i int) {
	e := projections.Current(&events[i])
	if e.Actor == eventstore.ActorImport || e.Data == nil {
		return
	}
	news := sessionNews{}
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
			return // what it was made for is told
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
	f.tell(ctx, e, data.SessionKey, news, nil)
}

// hearMessage tells what is said in a session: everybody, if a client has put it there, and those who watch.
func (f *feed) hearMessage(ctx context.Context, e *eventstore.Event, key string) {
	m := session.Message{Seq: e.Seq, Event: e.ID, At: e.TS}
	if json.Unmarshal(e.Data, &m.Data) != nil || m.Data.Internal {
		return
	}
	if isInjected(&m.Data) {
		f.server.tellInjected(chatEvent{RunID: "inject-" + m.Data.MessageID, SessionKey: key}, &m.Data, e.TS)
	}
	f.tell(ctx, e, key, sessionNews{MessageID: m.ID(), Phase: "message", RunID: m.Data.RunID}, &m)
}

// tell tells those who watch of something that has happened to a session, with the session as it is by now.
func (f *feed) tell(ctx context.Context, e *eventstore.Event, name string, news sessionNews, m *session.Message) {
	s := f.server
	sessions, messages := s.watchers.of(name)
	if m == nil {
		messages = nil
	}
	if len(sessions) == 0 && len(messages) == 0 {
		return
	}
	key, err := coordination.ParseSessionKey(name)
	if err != nil {
		return
	}
	c := s.opts.Configuration.InForce()
	news.SessionKey, news.AgentID, news.TS = name, agentOf(c, key), s.opts.Now().UnixMilli()
	var one *session.Session
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		if one, err = session.ByKey(ctx, tx, name); err != nil || one == nil || m == nil {
			return err
		}
		news.MessageSeq, err = placeOf(ctx, tx, one, e.Seq)
		return err
	})
	switch {
	case err != nil:
		s.opts.Logger.WarnContext(ctx, "a change of a session is told without the session", "session", name, "err", err)
	case one != nil && news.Reason == reasonDelete:
		return // it has begun again, which is told after this
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
	if len(sessions) > 0 {
		s.hub.Send(wire.Event{Name: eventSessionsChanged, Payload: news}, sessions...)
	}
}

// placeOf is the place of a message in the present transcript of its session, from 1; 0 if it is not there any more, or far back by now.
func placeOf(ctx context.Context, tx *sql.Tx, one *session.Session, seq int64) (int64, error) {
	for _, within := range [...]int{1, placeWithin} {
		newest, err := session.Newest(ctx, tx, one.ID, within, maxHistoryBytes)
		if err != nil {
			return 0, err
		}
		if i := slices.IndexFunc(newest, func(m session.Message) bool { return m.Seq == seq }); i >= 0 {
			return one.Messages - newest[i].After, nil
		}
	}
	return 0, nil
}
