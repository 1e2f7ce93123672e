package index

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// spanOf is how many blocks share the counts that are not written yet.
const spanOf = 16

func spanStart(block int64) int64 { return block - block%spanOf }

// newest holds the marks that the tables do not have yet, because nearly all of their rows would change with every commit: mark_blocks has
// no row of the newest block, and mark_facets counts no event of its span of blocks. What is missing follows from event_index, mark_blocks
// and facet_blocks.
type newest struct {
	tables struct{ events, marks, facets string }
	known  bool
	block  int64                         // the newest
	bits   map[mark]*[BlockSize / 8]byte // of the newest block
	counts map[markFacetKey]part         // of the span in a fold, of the newest block in a query
}

func newNewest(name func(string) string) *newest {
	n := &newest{bits: map[mark]*[BlockSize / 8]byte{}, counts: map[markFacetKey]part{}}
	n.tables.events, n.tables.marks, n.tables.facets = name("event_index"), name("mark_blocks"), name("facet_blocks")
	return n
}

// readNewest reads the newest block of the log.
func readNewest(ctx context.Context, tx *sql.Tx) (*newest, error) {
	end, err := lastSeq(ctx, tx)
	if err != nil {
		return nil, err
	}
	n := newNewest(func(table string) string { return table })
	return n, n.loadBlock(projections.Reading(ctx, tx), end)
}

// load reads the span of a fold that has come to a seq. Blocks are combined here: a join would give a row for each pair of a mark and a facet.
func (n *newest) load(tx eventstore.Tx, end int64) error {
	n.Forget()
	from, to := spanStart(blockOf(end)), blockOf(end)
	facets := map[int64][]block{}
	err := tx.Query(fmt.Sprintf("SELECT block, facet_id, bits FROM %s WHERE block >= ? AND block < ?", n.tables.facets), []any{from, to},
		func(r eventstore.Row) error {
			b := block{blockKey: blockKey{r.Int(0), r.Int(1)}}
			copy(b.bits[:], r.Blob(2))
			facets[b.block] = append(facets[b.block], b)
			return nil
		})
	if err == nil {
		err = tx.Query(fmt.Sprintf("SELECT block, agent, failed, bits FROM %s WHERE block >= ? AND block < ? ORDER BY block", n.tables.marks), []any{from, to},
			func(r eventstore.Row) error {
				marked := r.Blob(3)
				for _, b := range facets[r.Int(0)] {
					for _, seq := range common(b.block, marked, b.bits[:]) {
						n.count(markFacetKey{mark{r.Text(1), r.Int(2) != 0}, b.facet}, seq)
					}
				}
				return nil
			})
	}
	if err != nil {
		return fmt.Errorf("read the newest blocks: %w", err)
	}
	n.known = true
	return n.loadBlock(tx, end)
}

// loadBlock reads the events of the block that ends, so far, with a seq.
func (n *newest) loadBlock(tx eventstore.Tx, end int64) error {
	n.block = blockOf(end)
	query := fmt.Sprintf("SELECT seq, facet_id, agents, failed FROM %s WHERE seq >= ? ORDER BY seq", n.tables.events)
	err := tx.Query(query, []any{n.block * BlockSize}, func(r eventstore.Row) error {
		n.add(r.Int(0), r.Int(1), &marks{projections.ListOf[string](r.Text(2)), r.Int(3) != 0})
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the newest events: %w", err)
	}
	return nil
}

// count adds an event to the counts; those of a key come in ascending order.
func (n *newest) count(key markFacetKey, seq int64) {
	c, known := n.counts[key]
	if !known {
		c.floor = seq
	}
	c.n++
	n.counts[key] = c
}

func (n *newest) add(seq, facet int64, of *marks) {
	n.block = blockOf(seq)
	of.each(func(m mark) {
		n.count(markFacetKey{m, facet}, seq)
		set := n.bits[m]
		if set == nil {
			set = new([BlockSize / 8]byte)
			n.bits[m] = set
		}
		set[seq%BlockSize/8] |= 1 << (seq % 8)
	})
}

// within reports whether the block is in a range, and returns the seqs in it that have a mark.
func (n *newest) within(m mark, from, to int64) (set []byte, is bool) {
	found := n.bits[m]
	if found == nil || n.block < from || n.block > to {
		return nil, false
	}
	return found[:], true
}

// Forget implements projections.Rows. The others have nothing to do: a read model is never undone, and nothing is written from here.
func (n *newest) Forget() {
	clear(n.bits)
	clear(n.counts)
	n.known = false
}

func (n *newest) Mark()                     {}
func (n *newest) Undo()                     {}
func (n *newest) Flush(eventstore.Tx) error { return nil }
func (n *newest) Trim()                     {}

// common lists the seqs of a block that are in both sets, ascending.
func common(block int64, one, other []byte) []int64 {
	both := slices.Clone(one)
	for i := range both {
		both[i] &= other[i]
	}
	return appendBits(nil, block, both)
}
