// Package index projects the classification of each event: role, session types, category, effective time; counts
// events by role, type and category, in total and by the hour; marks the events of each agent and those that report a
// failure; and keeps each agent's last event, so that no query about the log has to read all of it.
package index

import (
	"math"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// version of the fold. Increment it with every change of what it writes.
const version = "6"

// HourMs is the width of the counting buckets.
const HourMs = 3_600_000

// Definition describes the projection under the given classification rules.
func Definition(rules coordination.Rules) projections.Definition {
	return projections.Definition{
		Name: "index", Version: version + "/" + string(rules), Kind: projections.ReadModel,
		Tables: []string{"facets", "facet_hours", "facet_blocks", "block_times", "event_index", "agent_activity", "mark_facets", "mark_blocks"},
		New:    func(name func(string) string) projections.Projector { return newProjector(name) },
	}
}

// facet is a combination of role, type and category.
type facet struct {
	id int64
	n  int64
	facetKey
	guesses
}

// guesses counts the events of a facet for which the classifier had to guess.
type guesses struct{ fromUnknown, toUnknown, roles, categories int64 }

func (g *guesses) count(c *coordination.Class) {
	add := func(n *int64, guessed bool) {
		if guessed {
			*n++
		}
	}
	add(&g.fromUnknown, c.From == coordination.SessionUnknown)
	add(&g.toUnknown, c.To == coordination.SessionUnknown)
	add(&g.roles, c.RoleGuessed)
	add(&g.categories, c.Source == coordination.SourceFallback)
}

type facetKey struct {
	internal            bool
	role, typ, category string
}

type hour struct {
	hourKey
	n, firstSeq int64
}

type hourKey struct{ hour, facet int64 }

// BlockSize is how many seqs share a row of facet_blocks.
const BlockSize = 256

// block says which events of a run of BlockSize seqs have a facet.
type block struct {
	blockKey
	bits [BlockSize / 8]byte
}

type blockKey struct{ block, facet int64 }

// blockTimes are the earliest and the latest time of the events of a run of BlockSize seqs, and how many there are.
type blockTimes struct {
	block, n         int64
	earliest, latest float64
}

func (b *blockTimes) include(time float64) {
	if b.n == 0 {
		b.earliest, b.latest = time, time
	}
	b.n++
	b.earliest, b.latest = min(b.earliest, time), max(b.latest, time)
}

type projector struct {
	facets *projections.Table[facetKey, facet]
	hours  *projections.Table[hourKey, hour]
	blocks *projections.Table[blockKey, block]
	times  *projections.Table[int64, blockTimes]
	events *projections.Inserts
	agents *projections.Table[string, Activity]

	markFacets *projections.Table[markFacetKey, markFacet]
	markBlocks *projections.Table[markBlockKey, markBlock]
	newest     *newest
}

func newProjector(name func(string) string) *projector {
	return &projector{
		facets: projections.NewTable(projections.Columns[facetKey, facet]{
			Table: name("facets"), Key: 1, Fixed: 5, Keep: 5_000,
			Names:  []string{"id", "internal", "role", "type", "category", "n", "from_unknown", "to_unknown", "role_guessed", "category_fallback"},
			Lookup: "internal = ? AND role = ? AND type = ? AND category = ?",
			LookUp: func(k facetKey) []any { return []any{k.internal, k.role, k.typ, k.category} },
			Scan: func(r eventstore.Row, f *facet) error {
				*f = facet{id: r.Int(0), facetKey: facetKey{r.Int(1) != 0, r.Text(2), r.Text(3), r.Text(4)}, n: r.Int(5),
					guesses: guesses{r.Int(6), r.Int(7), r.Int(8), r.Int(9)}}
				return nil
			},
			Args: func(args []any, f *facet) []any {
				return append(args, f.id, f.internal, f.role, f.typ, f.category, f.n,
					f.fromUnknown, f.toUnknown, f.roles, f.categories)
			},
		}),
		hours: projections.NewTable(projections.Columns[hourKey, hour]{
			Table: name("facet_hours"), Names: []string{"hour", "facet_id", "n", "first_seq"}, Key: 2, Fixed: 2, Keep: 5_000,
			Lookup: "hour = ? AND facet_id = ?",
			LookUp: func(k hourKey) []any { return []any{k.hour, k.facet} },
			Scan: func(r eventstore.Row, h *hour) error {
				*h = hour{hourKey: hourKey{r.Int(0), r.Int(1)}, n: r.Int(2), firstSeq: r.Int(3)}
				return nil
			},
			Args: func(args []any, h *hour) []any { return append(args, h.hour, h.facet, h.n, h.firstSeq) },
		}),
		blocks: projections.NewTable(projections.Columns[blockKey, block]{
			Table: name("facet_blocks"), Names: []string{"block", "facet_id", "bits"}, Key: 2, Fixed: 2, Keep: 500,
			Lookup: "block = ? AND facet_id = ?",
			LookUp: func(k blockKey) []any { return []any{k.block, k.facet} },
			Scan: func(r eventstore.Row, b *block) error {
				b.blockKey = blockKey{r.Int(0), r.Int(1)}
				copy(b.bits[:], r.Blob(2))
				return nil
			},
			Args: func(args []any, b *block) []any { return append(args, b.block, b.facet, b.bits[:]) },
		}),
		times: projections.NewTable(projections.Columns[int64, blockTimes]{
			Table: name("block_times"), Names: []string{"block", "n", "earliest", "latest"}, Key: 1, Fixed: 1, Keep: 10,
			Lookup: "block = ?", LookUp: func(block int64) []any { return []any{block} },
			Scan: func(r eventstore.Row, b *blockTimes) error {
				*b = blockTimes{block: r.Int(0), n: r.Int(1), earliest: r.Float(2), latest: r.Float(3)}
				return nil
			},
			Args: func(args []any, b *blockTimes) []any { return append(args, b.block, b.n, b.earliest, b.latest) },
		}),
		events: projections.NewInserts(name("event_index"), "seq", "facet_id", "time", "time_source", "from_type", "to_type",
			"role_guessed", "source", "confidence", "sub_tags", "secondary", "version", "agents", "failed"),
		agents: projections.NewTable(projections.Columns[string, Activity]{
			Table: name("agent_activity"), Names: []string{"agent", "seq", "at", "type"}, Key: 1, Fixed: 1, Keep: 500,
			Lookup: "agent = ?", LookUp: func(agent string) []any { return []any{agent} },
			Scan: func(r eventstore.Row, a *Activity) error {
				*a = Activity{AgentID: r.Text(0), Seq: r.Int(1), At: r.Int(2), Type: r.Text(3)}
				return nil
			},
			Args: func(args []any, a *Activity) []any { return append(args, a.AgentID, a.Seq, a.At, a.Type) },
		}),
		markFacets: markFacets(name("mark_facets")),
		markBlocks: markBlocks(name("mark_blocks")),
		newest:     newNewest(name),
	}
}

func (p *projector) Rows() []projections.Rows {
	return []projections.Rows{p.facets, p.hours, p.blocks, p.times, p.events, p.agents, p.markFacets, p.markBlocks, p.newest}
}

func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	c := &e.Class
	key := facetKey{e.Internal(), string(c.Role), e.Type, string(c.Category)}
	f, existed, err := p.facets.Edit(tx, key)
	if err != nil {
		return err
	}
	if !existed {
		*f = facet{id: e.Seq, facetKey: key}
	}
	f.n++
	f.guesses.count(c)

	at := hourKey{Hour(e.Record.Time), f.id}
	h, existed, err := p.hours.Edit(tx, at)
	if err != nil {
		return err
	}
	if !existed {
		*h = hour{hourKey: at, firstSeq: e.Seq}
	}
	h.n++

	in := blockKey{e.Seq / BlockSize, f.id}
	b, _, err := p.blocks.Edit(tx, in)
	if err != nil {
		return err
	}
	b.blockKey = in
	b.bits[e.Seq%BlockSize/8] |= 1 << (e.Seq % 8)

	t, _, err := p.times.Edit(tx, blockOf(e.Seq))
	if err != nil {
		return err
	}
	t.block = blockOf(e.Seq)
	t.include(e.Record.Time)

	of := marksOf(e)
	p.events.Add(e.Seq, f.id, e.Record.Time, e.Record.TimeSource, string(c.From), string(c.To), c.RoleGuessed, string(c.Source),
		c.Confidence, projections.JSONList(c.SubTags), projections.JSONList(c.Secondary), c.Version,
		projections.JSONList(of.agents), of.failed)
	if err := p.mark(tx, e, f.id, &of); err != nil {
		return err
	}
	return p.active(tx, e)
}

// aboutFiles is the family of events about files: their agent is the one that a file belongs to, not the one that did something.
const aboutFiles = "file."

// active records the event as its agent's last one.
func (p *projector) active(tx eventstore.Tx, e *projections.Event) error {
	if e.AgentID == "" || strings.HasPrefix(e.Type, aboutFiles) {
		return nil
	}
	agent := strings.ToLower(e.AgentID)
	a, _, err := p.agents.Edit(tx, agent)
	if err != nil {
		return err
	}
	*a = Activity{AgentID: agent, Seq: e.Seq, At: e.TS, Type: e.Type}
	return nil
}

// Hour returns the bucket of a time in ms.
func Hour(ms float64) int64 { return int64(math.Floor(projections.ClampTime(ms) / HourMs)) }
