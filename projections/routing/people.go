package routing

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// personKey is a person in a channel; userID "" is the channel's wrong codes.
type personKey struct{ channel, userID string }

// person is a row of channel_people.
type person struct {
	pairing.Person
	refused route.Window
}

var personColumns = []string{"channel", "user_id", "user_name", "state", "code", "account_id", "agent", "channel_id", "since", "ends", "decided_by", "refused"}

func newPeople(table string) *projections.Table[personKey, person] {
	return projections.NewTable(projections.Columns[personKey, person]{
		Table: table, Key: 2, Fixed: 2, Keep: 200, Names: personColumns,
		Lookup: "channel = ? AND user_id = ?", LookUp: func(k personKey) []any { return []any{k.channel, k.userID} },
		Scan: func(r eventstore.Row, x *person) (err error) {
			x.Person = scanPerson(r)
			x.refused, err = scan[route.Window](r.Text(len(personColumns) - 1))
			return err
		},
		Args: func(args []any, x *person) []any {
			refused := ""
			if len(x.refused) > 0 {
				refused = string(encode(x.refused))
			}
			return append(args, x.Channel, x.UserID, x.UserName, string(x.State), x.Code, x.AccountID, x.AgentID, x.ChannelID, x.SinceMs, x.UntilMs, x.By, refused)
		},
	})
}

// scanPerson reads personColumns.
func scanPerson(r eventstore.Row) pairing.Person {
	return pairing.Person{Channel: r.Text(0), UserID: r.Text(1), UserName: r.Text(2), State: pairing.State(r.Text(3)), Code: r.Text(4), AccountID: r.Text(5),
		AgentID: r.Text(6), ChannelID: r.Text(7), SinceMs: r.Int(8), UntilMs: r.Int(9), By: r.Text(10)}
}

const pairingStreams = "pairing/"

// paired folds what was decided about a person. The stream names the person, so that redacted decisions count too.
func (p *projector) paired(tx eventstore.Tx, e *projections.Event) error {
	channel, userID, _ := strings.Cut(idIn(e.Stream, pairingStreams), ":")
	var d *coordination.Pairing
	if !e.Redacted() {
		d = &coordination.Pairing{}
		if json.Unmarshal(e.Data, d) != nil || e.Stream != coordination.PairingStream(d.Channel, d.UserID) {
			return nil
		}
	}
	if channel == "" || (userID == "") != (e.Type == coordination.TypePairingRefused) {
		return nil
	}
	key := personKey{channel, userID}
	known, err := p.people.Get(tx, key)
	if err != nil {
		return err
	}
	next := person{Person: pairing.Person{Channel: channel, UserID: userID}}
	if known != nil {
		next = *known
	}
	if e.Type == coordination.TypePairingRefused {
		next.refused.Add(e.TS)
	} else if !next.Apply(e.Type, d, e.TS) {
		return nil
	}
	row, _, err := p.people.Edit(tx, key)
	if err == nil {
		*row = next
	}
	return err
}

var (
	selectPerson  = "SELECT p." + strings.Join(personColumns, ", p.") + " FROM channel_people p WHERE p.channel = ?"
	selectPaired  = selectPerson + " AND p.user_id = ?"
	selectWaiting = selectPerson + " AND p.state = 'pending' AND p.ends > ? ORDER BY p.ends, p.user_id"
	selectPeople  = selectPerson + " AND p.user_id <> '' AND p.state = ? AND (p.ends = 0 OR p.ends > ?) ORDER BY p.user_id LIMIT ?"
)

// PersonOf returns what was decided about a person in a channel; State is "" for a stranger.
func PersonOf(tx eventstore.Tx, channel, userID string) (pairing.Person, error) {
	found := pairing.Person{Channel: channel, UserID: userID}
	if userID == "" {
		return found, nil
	}
	err := tx.Query(selectPaired, []any{channel, userID}, func(r eventstore.Row) error {
		found = scanPerson(r)
		return nil
	})
	if err != nil {
		return found, fmt.Errorf("load what was decided about a person: %w", err)
	}
	return found, nil
}

// Pairings returns who waits in a channel at a time, ms since 1970, and how many wrong codes were given.
func Pairings(tx eventstore.Tx, channel string, now int64) (s pairing.Situation, err error) {
	s = pairing.Situation{Channel: channel, Now: now}
	if s.Waiting, err = projections.ReadAll(tx, "list pending pairings", selectWaiting, []any{channel, now}, scanPerson); err != nil {
		return s, err
	}
	err = tx.Query(selectPaired, []any{channel, ""}, func(r eventstore.Row) error {
		refused, err := scan[route.Window](r.Text(len(personColumns) - 1))
		s.Refused = refused.Count(now, pairing.TTL)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("count wrong pairing codes: %w", err)
	}
	return s, nil
}

// People lists the people of a channel in a state as of a time, ms since 1970, by user id, at most so many. Expired requests are left out.
func People(tx eventstore.Tx, channel string, state pairing.State, now int64, most int) ([]pairing.Person, error) {
	return projections.ReadAll(tx, "list people of a channel", selectPeople, []any{channel, string(state), now, most}, scanPerson)
}
