package routing

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// observedIn parses an event's data as what observers keep of a message. known is false if it is redacted.
func observedIn(typ string, ver int, data []byte) (d coordination.DiscordInbound, known bool) {
	if len(data) == 0 {
		return d, false
	}
	e := projections.Current(&eventstore.Event{Type: typ, Ver: ver, Data: data})
	return d, json.Unmarshal(e.Data, &d) == nil
}
