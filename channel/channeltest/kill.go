package channeltest

import (
	"database/sql"

	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

const selectAttempts = `SELECT e.data ->> '$.runId' FROM events e WHERE e.type = 'run.queued' AND ? IN (e.data ->> '$.runId', e.data ->> '$.retryOf')`

// attempts are the runs in which the agent was asked to answer a message: after a kill it is asked again.
func (m *team) attempts(one *said) (runIDs []string) {
	m.Helper()
	return m.texts(selectAttempts, inbound.RunID(one.id, one.agent))
}

// texts are what a query of one column finds.
func (m *team) texts(query string, args ...any) (all []string) {
	m.Helper()
	err := m.db.View(m.ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(m.ctx, query, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			text := ""
			if err := rows.Scan(&text); err != nil {
				return err
			}
			all = append(all, text)
		}
		return rows.Err()
	})
	if err != nil {
		m.Fatal(err)
	}
	return all
}

// isUnknown reports whether the log says that it is unknown whether a message was answered, or in a storm that posting the answer was
// given up.
func (m *team) isUnknown(one *said) bool {
	for _, id := range m.attempts(one) {
		if end := m.ended(delivery.ReplyEffect(id)); end == delivery.Unknown || m.storm && end == delivery.Failed {
			return true
		}
	}
	return false
}

// survivesKills: the program ends at any moment while the person writes and the agents answer.
func (m *team) survivesKills() {
	_, place := m.stage.Place()
	all := []said{m.says(place, 0)}
	m.until("the first message is decided", func() bool { return m.decided(all) }) // from here on the log knows the place
	for round := range m.a.Kills {
		for i := range 1 + m.random.IntN(3) {
			all = append(all, m.says(place, 10*(round+1)+i))
		}
		if m.random.IntN(2) == 0 {
			m.stage.Trouble(Lost, m.random.IntN(2))
		}
		at := len(m.stage.Posts(place)) + m.random.IntN(3)
		m.until("the agents have answered some", func() bool { return len(m.stage.Posts(place)) >= at || m.decided(all) })
		m.restart()
	}
	m.until("all messages are decided and answered", func() bool { return m.decided(all) && m.answered(all) })
	m.until("the siblings are told of all posts", m.told)
	m.judgeDecisions(all)
	m.judgeAnswers(all)
}
