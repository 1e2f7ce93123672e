package channeltest

import (
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
)

const selectSent = `SELECT e.data ->> '$.messageId' FROM events e WHERE e.type = 'discord.sent' AND e.data ->> '$.messageId' <> ''`

// told reports whether what the bots have posted is decided like any message, each post once: their siblings are told of it, also after a
// kill between the post and the decision.
func (m *team) told() bool {
	m.Helper()
	var ids []string
	err := m.db.View(m.ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(m.ctx, selectSent)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			id := ""
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	})
	if err != nil {
		m.Fatal(err)
	}
	for _, id := range ids {
		if len(m.stream(coordination.MessageStream(id))) == 0 {
			return false
		}
	}
	return true
}
