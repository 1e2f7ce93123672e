package collaborate

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/session"
)

// tells puts a message of the system's into the transcript of a session, for its agent to find: nobody runs because of it. A session that is not
// there begins, unless it is a sub-agent's, which is over then.
func (d *Desk) tells(tx eventstore.Tx, name string, m coordination.SessionMessage, now time.Time) ([]eventstore.StreamAppend, error) {
	key, err := coordination.ParseSessionKey(name)
	if err != nil {
		return nil, fmt.Errorf("tell a session: %w", err)
	}
	state, _, err := session.Load(tx, key)
	if err != nil {
		return nil, err
	}
	m.MessageID, m.Author, m.Provenance = d.o.NewID(), "user", "internal_system"
	said, err := decide.Say(state, decide.SayCommand{Command: decide.Command{NewID: d.o.NewID()}, Message: m,
		Existing: key.Kind == coordination.KeySubagent})
	if gone := (*decide.Refusal)(nil); errors.As(err, &gone) && gone.Code == decide.CodeNoSession {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return session.Append(state, eventstore.ActorSystem, now.UnixMilli(), said)
}
