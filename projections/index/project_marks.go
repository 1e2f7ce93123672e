package index

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// mark is a property of events beside their facet: they concern an agent, report a failure, or both.
type mark struct {
	agent  string // lower case; "": any
	failed bool   // only events that report a failure
}

// marks are those of one event.
type marks struct {
	agents []string // that the event concerns: its subject, sender and receiver, in lower case, each once
	failed bool
}

func marksOf(e *projections.Event) (m marks) {
	_, m.failed = coordination.Failure(&e.Record)
	for _, agent := range []string{e.AgentID, e.Record.From(), e.Record.To()} {
		agent = strings.ToLower(agent)
		if agent != "" && !slices.Contains(m.agents, agent) {
			m.agents = append(m.agents, agent)
		}
	}
	return m
}

// each visits every mark of an event.
func (m *marks) each(visit func(mark)) {
	if m.failed {
		visit(mark{failed: true})
	}
	for _, agent := range m.agents {
		visit(mark{agent: agent})
		if m.failed {
			visit(mark{agent, true})
		}
	}
}

// markFacet counts the events with a mark and a facet, in all spans of blocks before the newest one.
type markFacet struct {
	markFacetKey
	n, firstSeq int64
}

type markFacetKey struct {
	mark
	facet int64
}

type markBlock struct {
	markBlockKey
	bits [BlockSize / 8]byte
}

type markBlockKey struct {
	mark
	block int64
}

func markFacets(table string) *projections.Table[markFacetKey, markFacet] {
	return projections.NewTable(projections.Columns[markFacetKey, markFacet]{
		Table: table, Names: []string{"agent", "failed", "facet_id", "n", "first_seq"}, Key: 3, Fixed: 3, Keep: 2_000,
		Lookup: "agent = ? AND failed = ? AND facet_id = ?",
		LookUp: func(k markFacetKey) []any { return []any{k.agent, k.failed, k.facet} },
		Scan: func(r eventstore.Row, f *markFacet) error {
			*f = markFacet{markFacetKey: markFacetKey{mark{r.Text(0), r.Int(1) != 0}, r.Int(2)}, n: r.Int(3), firstSeq: r.Int(4)}
			return nil
		},
		Args: func(args []any, f *markFacet) []any { return append(args, f.agent, f.failed, f.facet, f.n, f.firstSeq) },
	})
}

func markBlocks(table string) *projections.Table[markBlockKey, markBlock] {
	return projections.NewTable(projections.Columns[markBlockKey, markBlock]{
		Table: table, Names: []string{"block", "agent", "failed", "bits"}, Key: 3, Fixed: 3, Keep: 500,
		Lookup: "block = ? AND agent = ? AND failed = ?",
		LookUp: func(k markBlockKey) []any { return []any{k.block, k.agent, k.failed} },
		Scan: func(r eventstore.Row, b *markBlock) error {
			b.markBlockKey = markBlockKey{mark{r.Text(1), r.Int(2) != 0}, r.Int(0)}
			copy(b.bits[:], r.Blob(3))
			return nil
		},
		Args: func(args []any, b *markBlock) []any { return append(args, b.block, b.agent, b.failed, b.bits[:]) },
	})
}

// mark records an event's marks.
func (p *projector) mark(tx eventstore.Tx, e *projections.Event, facet int64, of *marks) error {
	if !p.newest.known {
		if err := p.newest.load(tx, e.Seq-1); err != nil {
			return err
		}
	}
	if e.Seq%BlockSize == 0 {
		if err := p.writeMarks(tx, blockOf(e.Seq-1)); err != nil {
			return err
		}
	}
	p.newest.add(e.Seq, facet, of)
	return nil
}

// writeMarks writes the marks of a block that has ended, and with the last block of a span its counts.
func (p *projector) writeMarks(tx eventstore.Tx, block int64) error {
	for m, set := range p.newest.bits {
		key := markBlockKey{m, block}
		b, _, err := p.markBlocks.EditNew(tx, key)
		if err != nil {
			return err
		}
		*b = markBlock{key, *set}
	}
	clear(p.newest.bits)
	if (block+1)%spanOf != 0 {
		return nil
	}
	for key, more := range p.newest.counts {
		f, existed, err := p.markFacets.Edit(tx, key)
		if err != nil {
			return err
		}
		if !existed {
			*f = markFacet{markFacetKey: key, firstSeq: more.floor}
		}
		f.n += more.n
	}
	clear(p.newest.counts)
	return nil
}
