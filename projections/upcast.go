package projections

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// upcasters are those of our vocabulary.
var upcasters = eventstore.Upcasters(coordination.Upcasters())

// Current gives an event as folds and answers read it: with its data in the newest version of its shape. What is stored stays as it is.
// An event that cannot be brought there, because a newer openclawd wrote it, is given as it is stored; the engine logs that.
func Current(e *eventstore.Event) *eventstore.Event {
	current, _ := upcasters.Lift(e) // the error comes with e itself
	return current
}

// Record reads a stored event, as Current gives it. A redacted one has no data.
func Record(rules coordination.Rules, e *eventstore.Event) coordination.Record {
	data := Current(e).Data
	if e.Redacted() {
		data = []byte("{}")
	}
	return coordination.ReadRecord(rules, e.Type, e.AgentID, e.TS, e.RecordedAt, data, e.Original)
}

// report logs, once for each version of a type, that events of it are read as they are stored.
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
		g.opts.Logger.Warn("event read as it is stored", "type", e.Type, "ver", e.Ver, "err", err)
	}
}
