package messenger

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// notifyRequester reports to the requester's session that there is no answer, unless a caller waits for it and gets the result. A requester that
// does not run now finds it in its transcript.
func (s *Service) notifyRequester(tx eventstore.Tx, f *a2a.Flow, step *a2a.Step, now time.Time) ([]eventstore.StreamAppend, error) {
	text, wakes := f.Unanswered(step)
	if text == "" || s.waits.hasWaiter(f.JobID) {
		return nil, nil
	}
	if wakes {
		ask := f.Woken(text)
		if err := s.deliver(tx, &ask); err != nil {
			return nil, err
		}
		appends, refused, err := s.ask(tx, f, []run.Ask{ask}, now)
		if err != nil || refused == nil {
			return appends, err
		}
	}
	return AppendMessage(tx, f.RequesterSessionKey, s.o.NewID, coordination.SessionMessage{Context: f.Context, FromAgent: f.ToAgent, Text: text,
		Provenance: "inter_session"}, now)
}

// deliver sends a run's output to where its session was last spoken to, if that can be reached.
func (s *Service) deliver(tx eventstore.Tx, ask *run.Ask) error {
	last, err := sessions.LoadRoute(tx, ask.Session)
	if err != nil || s.o.Channels == nil || last.Channel == "" || last.Channel == internalChannel || !s.o.Channels.Reaches(last.Channel) {
		return err
	}
	ask.Deliver = true
	ask.Channel, ask.To, ask.AccountID, ask.ThreadID = last.Channel, last.To, last.AccountID, last.ThreadID
	return nil
}

// AppendMessage appends a message to the transcript of a session, for its agent's next run; it starts none. A missing session is created, unless
// it was a sub-agent's, which is over then.
func AppendMessage(tx eventstore.Tx, name string, newID func() string, m coordination.SessionMessage, now time.Time) ([]eventstore.StreamAppend, error) {
	key, err := coordination.ParseSessionKey(name)
	if err != nil {
		return nil, fmt.Errorf("append to a session: %w", err)
	}
	state, _, err := sessions.Load(tx, key)
	if err != nil {
		return nil, err
	}
	m.MessageID, m.Author = newID(), "user"
	said, err := session.Say(state, session.SayCommand{Command: session.Command{NewID: newID()}, Message: m, Existing: key.Kind == coordination.KeySubagent})
	if gone := (*session.Refusal)(nil); errors.As(err, &gone) && gone.Reason == session.CodeNoSession {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	appends, err := sessions.Append(state, eventstore.ActorSystem, now.UnixMilli(), said)
	for i := range appends {
		appends[i].Expect = eventstore.Any() // a transaction may append several messages to a session
	}
	return appends, err
}
