package channeltest

import "github.com/pronto-lab/openclawd/coordination"

const selectSent = `SELECT e.data ->> '$.messageId' FROM events e WHERE e.type = 'discord.sent' AND e.data ->> '$.messageId' <> ''`

// told reports whether what the bots have posted is decided like any message, each post once: their siblings are told of it, also after a
// kill between the post and the decision.
func (m *team) told() bool {
	m.Helper()
	for _, id := range m.texts(selectSent) {
		if len(m.stream(coordination.MessageStream(id))) == 0 {
			return false
		}
	}
	return true
}
