package sessions

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	selectState = `SELECT s.session_id, s.label, s.settings, s.updated_at, s.messages FROM session_keys k JOIN sessions s ON s.id = k.id WHERE k.name = ?`

	selectVersion = `SELECT coalesce(max(e.version), 0) FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ?`

	selectHolder = `SELECT k.name FROM session_labels l JOIN session_keys k ON k.id = l.session_id WHERE l.label = ?`
)

// Load reads the session of a key for a decision, within the transaction that is going to append. found is false if
// there is no such session; Key and Version, which is the stream's, are set all the same.
func Load(tx eventstore.Tx, key coordination.SessionKey) (s session.State, found bool, err error) {
	s.Key = key
	err = tx.Query(selectState, []any{key.String()}, func(r eventstore.Row) error {
		found = true
		s.ID, s.Label, s.Settings = r.Text(0), r.Text(1), session.Settings(settings(r.Text(2)).decode())
		s.UpdatedAt, s.Messages = r.Int(3), r.Int(4)
		return nil
	})
	if err != nil {
		return session.State{}, false, fmt.Errorf("load session: %w", err)
	}
	err = tx.Query(selectVersion, []any{coordination.SessionStream(key)}, func(r eventstore.Row) error {
		s.Version = r.Int(0)
		return nil
	})
	if err != nil {
		return session.State{}, false, fmt.Errorf("load version of session: %w", err)
	}
	return s, found, nil
}

// LabelHolder returns the key of the session that has a label, or "".
func LabelHolder(tx eventstore.Tx, label string) (key string, err error) {
	err = tx.Query(selectHolder, []any{label}, func(r eventstore.Row) error {
		key = r.Text(0)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("look up label: %w", err)
	}
	return key, nil
}

// Append returns the decided events as an append to the session's stream, with the version from loading the state as
// its expectation. at is ms since 1970. Without events there is nothing to append.
func Append(s session.State, actor eventstore.Actor, at int64, decided []session.Event) ([]eventstore.StreamAppend, error) {
	if len(decided) == 0 {
		return nil, nil
	}
	a := eventstore.StreamAppend{Stream: coordination.SessionStream(s.Key), Expect: eventstore.Exactly(s.Version)}
	for _, d := range decided {
		if err := a.Add(eventstore.NewEvent{Type: d.Type, AgentID: s.Key.Agent, Actor: actor}, d.Data, at); err != nil {
			return nil, err
		}
	}
	return []eventstore.StreamAppend{a}, nil
}
