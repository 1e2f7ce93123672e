package workqueue

import (
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "work"

// version of the fold. Increment it with every change of what it writes.
const version = "2"

// Definition describes the projection "work".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision,
		Tables: []string{"work", "work_keys", "work_lanes"},
		New: func(name func(string) string) projections.Projector {
			return &projector{items: newItems(name("work")), keys: newKeys(name("work_keys")), lanes: newLanes(name("work_lanes"))}
		},
	}
}

type projector struct {
	items *projections.Table[string, item]
	keys  *projections.Table[string, key]
	lanes *projections.Table[laneName, lane]
}

func (p *projector) Rows() []projections.Rows { return []projections.Rows{p.items, p.keys, p.lanes} }

// Apply folds one event. It never refuses an event: inconsistent ones change nothing.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	if e.Actor == eventstore.ActorImport {
		return nil
	}
	c, ok := work.Of(e.Type, e.AgentID, e.Data)
	switch {
	case !ok:
		return nil
	case c.Step == work.Add:
		return p.add(tx, e, &c.New)
	}
	had, err := p.items.Get(tx, e.Stream)
	if err != nil || had == nil {
		return err
	}
	k, err := p.key(tx, had.Key)
	if err != nil {
		return err
	}
	if !possible(c.Step, had, k) {
		return nil
	}
	i, _, err := p.items.Edit(tx, e.Stream)
	if err != nil {
		return err
	}
	from := i.State
	if err := p.change(tx, k, i, &c); err != nil {
		return err
	}
	if err := p.count(tx, i, from); err != nil {
		return err
	}
	return p.refresh(tx, k)
}

// possible reports whether a transition is valid in the current state.
func possible(s work.Step, i *item, k *key) bool {
	switch s {
	case work.Lease:
		return i.State == Waiting && k.leased == 0 && k.first == i.stream
	case work.Return:
		return i.State == Waiting || i.State == Leased
	case work.Remove:
		return i.State != ""
	case work.Park:
		return i.State == Waiting || i.State == Leased
	case work.Resend:
		return i.State == Dead
	}
	return false
}

// change applies a valid transition to an item and its key's list.
func (p *projector) change(tx eventstore.Tx, k *key, i *item, c *work.Change) error {
	from := i.State
	i.LeaseUntil = 0
	switch c.Step {
	case work.Lease:
		i.State, i.LeaseUntil = Leased, c.Until
		i.Attempt++
	case work.Return:
		i.State, i.DueAt, i.Error = Waiting, c.DueAt, c.Error
	case work.Park:
		i.State, i.Error = Dead, c.Error
		return p.unlink(tx, k, i)
	case work.Remove:
		i.State = ""
		if from != Dead {
			return p.unlink(tx, k, i)
		}
	case work.Resend:
		i.State, i.DueAt, i.Attempt, i.Error = Waiting, 0, 0, ""
		return p.link(tx, k, i, k.last)
	}
	return nil
}

// add adds a new item to its key. Only the first event of an item's own stream does, so it is added once.
func (p *projector) add(tx eventstore.Tx, e *projections.Event, n *work.New) error {
	if e.Version != 1 || e.Stream != work.Stream(n.EffectID) {
		return nil
	}
	i, _, err := p.items.EditNew(tx, e.Stream)
	if err != nil {
		return err
	}
	*i = item{stream: e.Stream, Item: Item{Seq: e.Seq, EffectID: n.EffectID, Kind: n.Kind, Key: n.Key, Pool: n.Pool, Owner: n.Owner, State: Waiting,
		Since: e.TS, DueAt: n.DueAt, Most: n.Most}}
	k, err := p.key(tx, n.Key)
	if err != nil {
		return err
	}
	behind := k.last
	if n.First {
		if behind = ""; k.leased > 0 {
			behind = k.first
		}
	}
	if err := p.link(tx, k, i, behind); err != nil {
		return err
	}
	if err := p.count(tx, i, ""); err != nil {
		return err
	}
	return p.refresh(tx, k)
}

// key returns a key's row for changing.
func (p *projector) key(tx eventstore.Tx, name string) (*key, error) {
	k, _, err := p.keys.Edit(tx, name)
	if err != nil {
		return nil, err
	}
	if k.first == "" { // there was none, or it became empty in this batch
		*k = key{name: name}
	}
	return k, nil
}

// link inserts an item into the list of its key, after the one of that stream; "" is at the beginning.
func (p *projector) link(tx eventstore.Tx, k *key, i *item, behind string) error {
	i.before, i.after = behind, k.first
	if behind == "" {
		k.first = i.stream
	} else {
		b, _, err := p.items.Edit(tx, behind)
		if err != nil {
			return err
		}
		i.after, b.after = b.after, i.stream
	}
	if i.after == "" {
		k.last = i.stream
		return nil
	}
	a, _, err := p.items.Edit(tx, i.after)
	if err != nil {
		return err
	}
	a.before = i.stream
	return nil
}

// unlink removes an item from the list of its key.
func (p *projector) unlink(tx eventstore.Tx, k *key, i *item) error {
	if i.before == "" {
		k.first = i.after
	} else {
		b, _, err := p.items.Edit(tx, i.before)
		if err != nil {
			return err
		}
		b.after = i.after
	}
	if i.after == "" {
		k.last = i.before
	} else {
		a, _, err := p.items.Edit(tx, i.after)
		if err != nil {
			return err
		}
		a.before = i.before
	}
	i.before, i.after = "", ""
	return nil
}

// count records an item's transition from one state to its current one.
func (p *projector) count(tx eventstore.Tx, i *item, from State) error {
	l, _, err := p.lanes.Edit(tx, i.lane())
	if err != nil {
		return err
	}
	k, _, err := p.keys.Edit(tx, i.Key)
	if err != nil {
		return err
	}
	l.laneName = i.lane()
	tally := func(state State, by int) {
		switch state {
		case Waiting:
			l.waiting += by
			k.waiting += by
		case Leased:
			l.leased += by
			k.leased += by
		case Dead:
			l.dead += by
		}
	}
	tally(from, -1)
	tally(i.State, 1)
	return nil
}

// refresh updates the columns of a key's row that depend on its first item.
func (p *projector) refresh(tx eventstore.Tx, k *key) error {
	if k.first == "" {
		return nil
	}
	first, err := p.items.Get(tx, k.first)
	if err != nil {
		return err
	}
	k.pool, k.owner, k.kind, k.seq = first.Pool, first.Owner, first.Kind, first.Seq
	k.since, k.readyAt = first.Since, first.DueAt
	if k.leased == 0 {
		return nil
	}
	k.since, k.readyAt = 0, busy
	if first.after == "" {
		return nil
	}
	next, err := p.items.Get(tx, first.after)
	if err != nil {
		return err
	}
	k.since = next.Since
	return nil
}
