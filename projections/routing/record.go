package routing

import (
	"cmp"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// observedIn reads the data of an event that has what observers keep of a message. known is false if it is redacted.
func observedIn(typ string, ver int, data []byte) (d coordination.DiscordInbound, known bool) {
	if len(data) == 0 {
		return d, false
	}
	e := projections.Current(&eventstore.Event{Type: typ, Ver: ver, Data: data})
	return d, json.Unmarshal(e.Data, &d) == nil
}

// recordOf is what observers keep of a message, as route has it.
func recordOf(d *coordination.DiscordInbound, at int64) route.Record {
	return route.Record{MessageID: d.MessageID, Sender: cmp.Or(d.AuthorName, d.AuthorID), Summary: d.Summary, At: at, ChannelID: d.ChannelID,
		ThreadID: d.ThreadID, Mentioned: d.MentionedAgents, Tokens: route.Tokens{Mentions: d.Mentions, URLs: d.URLs, PRs: d.PRs, CodeRefs: d.CodeRefs}}
}
