package conversation

import (
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// listing keeps the tables by which work sessions are found and counted: the newest by kind of event, by tag, and the census. Each row
// of them says something about a session that may change, so at every flush what a session was is taken out and what it is put in.
type listing struct {
	census  *projections.Table[censusKey, census]
	changed []*session

	removeKind, addKind, removeTag, addTag string
}

// listed is what the listing tables hold of a session.
type listed struct {
	exists    bool
	kinds     []kindCount
	tags      []string
	signature string
	category  coordination.Category
}

// census counts the sessions with the same kinds of events and the same category.
type census struct {
	censusKey
	n int64
}

type censusKey struct{ signature, category string }

func newCensus(table string) *projections.Table[censusKey, census] {
	return projections.NewTable(projections.Columns[censusKey, census]{
		Table: table, Names: []string{"signature", "category", "n"}, Key: 2, Fixed: 2, Keep: 5_000,
		Lookup: "signature = ? AND category = ?", LookUp: func(k censusKey) []any { return []any{k.signature, k.category} },
		Scan: func(r eventstore.Row, c *census) error {
			*c = census{censusKey: censusKey{r.Text(0), r.Text(1)}, n: r.Int(2)}
			return nil
		},
		Args: func(args []any, c *census) []any { return append(args, c.signature, c.category, c.n) },
	})
}

func newListing(lists, tags string, table *projections.Table[censusKey, census]) *listing {
	return &listing{
		census:     table,
		removeKind: fmt.Sprintf("DELETE FROM %s WHERE kind_id = ? AND last_time = ? AND session_id = ?", lists),
		addKind:    fmt.Sprintf("INSERT INTO %s (kind_id, last_time, session_id) VALUES (?, ?, ?)", lists),
		removeTag:  fmt.Sprintf("DELETE FROM %s WHERE tag = ? AND session_id = ?", tags),
		addTag:     fmt.Sprintf("INSERT INTO %s (tag, session_id) VALUES (?, ?)", tags),
	}
}

// touch notes what the tables hold of s, before s changes for the first time since the last flush.
func (l *listing) touch(s *session) {
	if s.listed != nil {
		return
	}
	s.listed = &listed{exists: s.events > 0}
	if s.listed.exists {
		category, _, tags := s.tally.result()
		s.listed.kinds = slices.Clone(s.kinds)
		s.listed.tags = lower(tags)
		s.listed.signature = s.signature()
		s.listed.category = category
	}
	l.changed = append(l.changed, s)
}

// Flush implements projections.Rows.
func (l *listing) Flush(tx eventstore.Tx) error {
	for _, s := range l.changed {
		if err := l.relist(tx, s); err != nil {
			return err
		}
		s.listed = nil
	}
	clear(l.changed)
	l.changed = l.changed[:0]
	return nil
}

func (l *listing) relist(tx eventstore.Tx, s *session) error {
	was := s.listed
	for _, k := range s.kinds {
		i := slices.IndexFunc(was.kinds, func(w kindCount) bool { return w.kind == k.kind })
		if i >= 0 && was.kinds[i].last == k.last {
			continue
		}
		if i >= 0 {
			if _, err := tx.Exec(l.removeKind, k.kind, was.kinds[i].last, s.id); err != nil {
				return fmt.Errorf("list session: %w", err)
			}
		}
		if _, err := tx.Exec(l.addKind, k.kind, k.last, s.id); err != nil {
			return fmt.Errorf("list session: %w", err)
		}
	}
	category, _, tags := s.tally.result()
	if err := l.retag(tx, s.id, was.tags, lower(tags)); err != nil {
		return err
	}
	signature := s.signature()
	if was.exists && was.signature == signature && was.category == category {
		return nil
	}
	if was.exists {
		if err := l.counts(tx, was.signature, was.category, -1); err != nil {
			return err
		}
	}
	return l.counts(tx, signature, category, +1)
}

func (l *listing) retag(tx eventstore.Tx, id int64, was, is []string) error {
	for _, tag := range was {
		if !slices.Contains(is, tag) {
			if _, err := tx.Exec(l.removeTag, tag, id); err != nil {
				return fmt.Errorf("untag session: %w", err)
			}
		}
	}
	for i, tag := range is {
		if !slices.Contains(was, tag) && !slices.Contains(is[:i], tag) {
			if _, err := tx.Exec(l.addTag, tag, id); err != nil {
				return fmt.Errorf("tag session: %w", err)
			}
		}
	}
	return nil
}

func (l *listing) counts(tx eventstore.Tx, signature string, category coordination.Category, by int64) error {
	key := censusKey{signature, string(category)}
	c, _, err := l.census.Edit(tx, key)
	if err != nil {
		return err
	}
	c.censusKey = key
	c.n += by
	return nil
}

// Mark and Undo serve decision tables only.
func (l *listing) Mark() {}
func (l *listing) Undo() {}

func (l *listing) Forget() {
	clear(l.changed)
	l.changed = l.changed[:0]
}

func (l *listing) Trim() {}
