package conversations

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// routeVersion of the fold. Increment it with every change of what it writes.
const routeVersion = "1"

// Routes describes the projection of routes: the current conversation for each work session and pair of agents. It is
// a decision table: sending a message looks up its conversation here.
func Routes(rules coordination.Rules) projections.Definition {
	return projections.Definition{
		Name: "route", Version: routeVersion + "/" + string(rules), Kind: projections.Decision, Tables: []string{"routes"},
		New: func(name func(string) string) projections.Projector {
			return &router{routes: newRoutes(name("routes"))}
		},
	}
}

type router struct {
	routes *projections.Table[string, route]
}

type route struct {
	id           int64
	key          string
	conversation string
	time         float64
	seq          int64
	lastType     string
	run          string
}

func newRoutes(table string) *projections.Table[string, route] {
	return projections.NewTable(projections.Columns[string, route]{
		Table: table, Names: []string{"id", "route_key", "conversation_id", "time", "seq", "last_event_type", "run_id"}, Key: 1, Fixed: 2,
		Keep: 10_000, Lookup: "route_key = ?", LookUp: func(key string) []any { return []any{key} },
		Scan: func(r eventstore.Row, t *route) error {
			*t = route{id: r.Int(0), key: r.Text(1), conversation: r.Text(2), time: r.Float(3), seq: r.Int(4), lastType: r.Text(5), run: r.Text(6)}
			return nil
		},
		Args: func(args []any, t *route) []any {
			return append(args, t.id, t.key, t.conversation, t.time, t.seq, t.lastType, t.run)
		},
	})
}

func (p *router) Rows() []projections.Rows { return []projections.Rows{p.routes} }

// Apply moves the route of the event's pair to its conversation. The newest by (time, seq) wins; a child conversation
// is not a route.
func (p *router) Apply(tx eventstore.Tx, e *projections.Event) error {
	if !coordination.FeedsRoute(&e.Record, e.Class) {
		return nil
	}
	key, ok := coordination.RouteKey(e.Record.WorkSessionID, e.Record.From(), e.Record.To())
	if !ok {
		return nil
	}
	t, existed, err := p.routes.Edit(tx, key)
	if err != nil {
		return err
	}
	if !existed {
		*t = route{id: e.Seq, key: key}
	}
	if newer(t.time, t.seq, e.Record.Time, e.Seq) {
		return nil
	}
	if e.Record.RunID != "" || e.Record.ConversationID != t.conversation { // a run belongs to its conversation
		t.run = e.Record.RunID
	}
	t.conversation, t.time, t.seq, t.lastType = e.Record.ConversationID, e.Record.Time, e.Seq, e.Type
	return nil
}
