package conversations

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// override is a row of category_overrides: an operator's latest choice of category for a work session.
type override struct {
	name       string
	category   coordination.Category // "": withdrawn
	updatedAt  string
	updatedBy  string
	seq        int64
	recordedAt int64
}

// overrides caches category_overrides. Most logs have none, and then no session is looked up.
type overrides struct {
	*projections.Table[string, override]
	exist string // whether there are any, as SQL
	asked bool
	any   bool
}

func newOverrides(table string) *overrides {
	return &overrides{
		exist: "SELECT EXISTS (SELECT 1 FROM " + table + ")",
		Table: projections.NewTable(projections.Columns[string, override]{
			Table: table, Names: []string{"name", "category", "updated_at", "updated_by", "seq", "recorded_at"}, Key: 1, Fixed: 1, Keep: 4_000,
			Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
			Scan: func(r eventstore.Row, o *override) error {
				*o = override{name: r.Text(0), category: coordination.Category(r.Text(1)), updatedAt: r.Text(2), updatedBy: r.Text(3),
					seq: r.Int(4), recordedAt: r.Int(5)}
				return nil
			},
			Args: func(args []any, o *override) []any {
				return append(args, o.name, string(o.category), o.updatedAt, o.updatedBy, o.seq, o.recordedAt)
			},
		}),
	}
}

// of returns the category that an operator chose for a work session, or "".
func (o *overrides) of(tx eventstore.Tx, name string) (coordination.Category, error) {
	if !o.asked {
		err := tx.Query(o.exist, nil, func(r eventstore.Row) error {
			o.any = r.Int(0) != 0
			return nil
		})
		if err != nil {
			return "", err
		}
		o.asked = true
	}
	if !o.any {
		return "", nil
	}
	row, err := o.Get(tx, name)
	if row == nil || err != nil {
		return "", err
	}
	return row.category, nil
}

func (o *overrides) set(tx eventstore.Tx, now override) error {
	row, _, err := o.Edit(tx, now.name)
	if err == nil {
		*row = now
		o.asked, o.any = true, true
	}
	return err
}

func (o *overrides) Forget() {
	o.asked, o.any = false, false
	o.Table.Forget()
}

// isOverride reports whether the event is an operator's choice of category. An imported line of that type is an
// ordinary event of its work session.
func isOverride(e *projections.Event) bool {
	return e.Internal() && (e.Type == coordination.TypeWorkSessionCategorySet || e.Type == coordination.TypeWorkSessionCategoryCleared)
}

// override folds an operator's choice. It is not an event of the work session, which need not exist yet. A choice
// without a session or with an unknown category is ignored.
func (p *projector) override(tx eventstore.Tx, e *projections.Event) error {
	var said struct { // of coordination.WorkSessionCategory
		Category             coordination.Category
		UpdatedAt, UpdatedBy string
	}
	if e.Data == nil || json.Unmarshal(e.Data, &said) != nil || e.Record.WorkSessionID == "" {
		return nil
	}
	if e.Type == coordination.TypeWorkSessionCategoryCleared {
		said.Category = ""
	} else if !said.Category.Valid() {
		return nil
	}
	o := override{name: e.Record.WorkSessionID, category: said.Category, updatedAt: said.UpdatedAt, updatedBy: said.UpdatedBy, seq: e.Seq,
		recordedAt: e.RecordedAt}
	if err := p.applyOverride(tx, &o); err != nil {
		return err
	}
	p.changes.Add(o.name, o.seq, string(o.category), o.updatedAt, o.updatedBy)
	return p.overrides.set(tx, o)
}

// applyOverride moves an existing session to the operator's category, after saving its contribution to the lists.
func (p *projector) applyOverride(tx eventstore.Tx, o *override) error {
	s, err := p.sessions.Get(tx, o.name)
	if s == nil || err != nil {
		return err
	}
	if s, _, err = p.sessions.Edit(tx, o.name); err != nil {
		return err
	}
	if err := p.settle(tx, s); err != nil {
		return err
	}
	p.listing.touch(s)
	s.chosen = o.category
	return nil
}

// settle makes sure that the operator's choice is loaded into s.
func (p *projector) settle(tx eventstore.Tx, s *session) (err error) {
	if !s.settled {
		s.chosen, err = p.overrides.of(tx, s.name)
		s.settled = err == nil
	}
	return err
}
