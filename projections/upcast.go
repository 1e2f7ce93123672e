package projections

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// upcasters are the upcasters of our event types.
var upcasters = eventstore.Upcasters(coordination.Upcasters())

// Current upcasts an event for folds and queries: its data gets the newest version of its shape. What is stored is
// unchanged. An event that cannot be upcast, because a newer openclawd wrote it, is returned as stored; the engine
// logs that.
func Current(e *eventstore.Event) *eventstore.Event {
	current, _ := upcasters.Lift(e) // the error comes with e itself
	return current
}

// Record parses a stored event, after Current. A redacted one has no data.
func Record(rules coordination.Rules, e *eventstore.Event) coordination.Record {
	data := Current(e).Data
	if e.Redacted() {
		data = []byte("{}")
	}
	return coordination.ReadRecord(rules, e.Type, e.AgentID, e.TS, e.RecordedAt, data, e.Original)
}

// report logs, once for each version of a type, that its events are read as stored.
func (g *Engine) report(e *eventstore.Event) {
	_, err := upcasters.Lift(e)
	if err == nil {
		return
	}
	type version struct {
		typ string
		ver int
	}
	if _, told := g.reported.LoadOrStore(version{e.Type, e.Ver}, true); !told {
		g.opts.Logger.Warn("cannot upcast event; reading it as stored", "type", e.Type, "ver", e.Ver, "err", err)
	}
}
