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

// marksOf lists an event's marks. An event concerns its subject, its sender and its receiver.
func marksOf(e *projections.Event) (marks []mark) {
	_, failed := coordination.Failure(&e.Record)
	if failed {
		marks = append(marks, mark{failed: true})
	}
	for _, agent := range []string{e.AgentID, e.Record.From(), e.Record.To()} {
		m := mark{agent: strings.ToLower(agent)}
		if agent == "" || slices.Contains(marks, m) {
			continue
		}
		marks = append(marks, m)
		if failed {
			marks = append(marks, mark{m.agent, true})
		}
	}
	return marks
}

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
		Table: table, Names: []string{"agent", "failed", "block", "bits"}, Key: 3, Fixed: 3, Keep: 500,
		Lookup: "agent = ? AND failed = ? AND block = ?",
		LookUp: func(k markBlockKey) []any { return []any{k.agent, k.failed, k.block} },
		Scan: func(r eventstore.Row, b *markBlock) error {
			b.markBlockKey = markBlockKey{mark{r.Text(0), r.Int(1) != 0}, r.Int(2)}
			copy(b.bits[:], r.Blob(3))
			return nil
		},
		Args: func(args []any, b *markBlock) []any { return append(args, b.agent, b.failed, b.block, b.bits[:]) },
	})
}

// mark records an event's marks.
func (p *projector) mark(tx eventstore.Tx, e *projections.Event, facet int64) error {
	for _, m := range marksOf(e) {
		counted := markFacetKey{m, facet}
		f, existed, err := p.markFacets.Edit(tx, counted)
		if err != nil {
			return err
		}
		if !existed {
			*f = markFacet{markFacetKey: counted, firstSeq: e.Seq}
		}
		f.n++
		in := markBlockKey{m, blockOf(e.Seq)}
		b, _, err := p.markBlocks.Edit(tx, in)
		if err != nil {
			return err
		}
		b.markBlockKey = in
		b.bits[e.Seq%BlockSize/8] |= 1 << (e.Seq % 8)
	}
	return nil
}
