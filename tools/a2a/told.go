package a2a

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	sessions "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/session"
)

// told tells the session of the requester that nobody has answered, unless a caller waits there for the answer and is told so. A requester that does
// not run now finds it in its transcript.
func (c *Coordinator) told(tx eventstore.Tx, f *decide.Flow, s *decide.Step, now time.Time) ([]eventstore.StreamAppend, error) {
	text, wakes := f.Unanswered(s)
	if text == "" || c.waits.awaited(f.JobID) {
		return nil, nil
	}
	if wakes {
		ask := f.Woken(text)
		if err := c.deliver(tx, &ask); err != nil {
			return nil, err
		}
		appends, refused, err := c.ask(tx, f, []run.Ask{ask}, now)
		if err != nil || refused == nil {
			return appends, err
		}
	}
	return Tell(tx, f.RequesterSessionKey, c.o.NewID, coordination.SessionMessage{Context: f.Context, FromAgent: f.ToAgent, Text: text,
		Provenance: "inter_session"}, now)
}

// deliver has what a run says posted where its session was spoken to last, if that can be reached.
func (c *Coordinator) deliver(tx eventstore.Tx, ask *run.Ask) error {
	last, err := session.LoadRoute(tx, ask.Session)
	if err != nil || c.o.Channels == nil || last.Channel == "" || last.Channel == internalChannel || !c.o.Channels.Reaches(last.Channel) {
		return err
	}
	ask.Deliver = true
	ask.Channel, ask.To, ask.AccountID, ask.ThreadID = last.Channel, last.To, last.AccountID, last.ThreadID
	return nil
}

// Tell puts a message into the transcript of a session, for its agent to find: nobody runs because of it. A session that is not there begins, unless
// it is a sub-agent's, which is over then.
func Tell(tx eventstore.Tx, name string, newID func() string, m coordination.SessionMessage, now time.Time) ([]eventstore.StreamAppend, error) {
	key, err := coordination.ParseSessionKey(name)
	if err != nil {
		return nil, fmt.Errorf("tell a session: %w", err)
	}
	state, _, err := session.Load(tx, key)
	if err != nil {
		return nil, err
	}
	m.MessageID, m.Author = newID(), "user"
	said, err := sessions.Say(state, sessions.SayCommand{Command: sessions.Command{NewID: newID()}, Message: m, Existing: key.Kind == coordination.KeySubagent})
	if gone := (*sessions.Refusal)(nil); errors.As(err, &gone) && gone.Code == sessions.CodeNoSession {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	appends, err := session.Append(state, eventstore.ActorSystem, now.UnixMilli(), said)
	for i := range appends {
		appends[i].Expect = eventstore.Any() // one transaction may tell a session of several things
	}
	return appends, err
}
