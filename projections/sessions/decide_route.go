package sessions

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const selectLastRoute = `SELECT s.last_channel, s.last_to, s.last_account, s.last_thread FROM session_keys k JOIN sessions s ON s.id = k.id WHERE k.name = ?`

// LastRoute is the channel where a session was last addressed.
type LastRoute struct{ Channel, To, AccountID, ThreadID string }

// LoadRoute returns the last route of a session, within the transaction that is going to append. Channel is "" if
// there is none, or no such session.
func LoadRoute(tx eventstore.Tx, key coordination.SessionKey) (r LastRoute, err error) {
	err = tx.Query(selectLastRoute, []any{key.String()}, func(row eventstore.Row) error {
		r = LastRoute{Channel: row.Text(0), To: row.Text(1), AccountID: row.Text(2), ThreadID: row.Text(3)}
		return nil
	})
	if err != nil {
		return LastRoute{}, fmt.Errorf("load the last route of a session: %w", err)
	}
	return r, nil
}
