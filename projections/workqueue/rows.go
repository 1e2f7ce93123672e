package workqueue

import (
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// item is a row of work. Without a state it is deleted.
type item struct {
	Item
	stream        string
	before, after string // streams of the neighbouring items in its key
}

func (i *item) lane() laneName { return laneName{i.Pool, i.Owner, i.Kind} }

func newItems(table string) *projections.Table[string, item] {
	return projections.NewTable(projections.Columns[string, item]{
		Table: table, Key: 1, Fixed: 9, Keep: 4_000,
		Names: []string{"seq", "stream", "effect_id", "kind", "key", "pool", "owner", "since", "most", "state", "due_at", "attempt", "lease_until",
			"error", "before", "after"},
		Lookup: "stream = ?", LookUp: func(stream string) []any { return []any{stream} },
		Scan: func(r eventstore.Row, i *item) error {
			*i = item{stream: r.Text(1), before: r.Text(14), after: r.Text(15), Item: Item{
				Seq: r.Int(0), EffectID: r.Text(2), Kind: r.Text(3), Key: r.Text(4), Pool: r.Text(5), Owner: r.Text(6), Since: r.Int(7), Most: int(r.Int(8)),
				State: State(r.Text(9)), DueAt: r.Int(10), Attempt: int(r.Int(11)), LeaseUntil: r.Int(12), Error: r.Text(13),
			}}
			return nil
		},
		Args: func(args []any, i *item) []any {
			return append(args, i.Seq, i.stream, i.EffectID, i.Kind, i.Key, i.Pool, i.Owner, i.Since, i.Most, string(i.State), i.DueAt, i.Attempt,
				i.LeaseUntil, i.Error, i.before, i.after)
		},
		Empty: func(i *item) bool { return i.State == "" },
	})
}

// key is a row of work_keys.
type key struct {
	name              string
	first, last       string
	waiting, leased   int
	since             int64
	pool, owner, kind string
	seq               int64
	readyAt           int64 // busy: the first is leased
}

const busy = -1

func newKeys(table string) *projections.Table[string, key] {
	return projections.NewTable(projections.Columns[string, key]{
		Table: table, Key: 1, Fixed: 1, Keep: 4_000,
		Names:  []string{"key", "first", "last", "waiting", "leased", "since", "pool", "owner", "kind", "seq", "ready_at"},
		Lookup: "key = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, k *key) error {
			*k = key{name: r.Text(0), first: r.Text(1), last: r.Text(2), waiting: int(r.Int(3)), leased: int(r.Int(4)), since: r.Int(5),
				pool: r.Text(6), owner: r.Text(7), kind: r.Text(8), seq: r.Int(9), readyAt: r.Int(10)}
			if r.Null(10) {
				k.readyAt = busy
			}
			return nil
		},
		Args: func(args []any, k *key) []any {
			args = append(args, k.name, k.first, k.last, k.waiting, k.leased, k.since, k.pool, k.owner, k.kind, k.seq)
			if k.readyAt == busy {
				return append(args, nil)
			}
			return append(args, k.readyAt)
		},
		Empty: func(k *key) bool { return k.first == "" },
	})
}

type laneName struct{ pool, owner, kind string }

// lane is a row of work_lanes.
type lane struct {
	laneName
	waiting, leased, dead int
}

func newLanes(table string) *projections.Table[laneName, lane] {
	return projections.NewTable(projections.Columns[laneName, lane]{
		Table: table, Key: 3, Fixed: 3, Keep: 1_000,
		Names:  []string{"pool", "owner", "kind", "waiting", "leased", "dead"},
		Lookup: "pool = ? AND owner = ? AND kind = ?", LookUp: func(n laneName) []any { return []any{n.pool, n.owner, n.kind} },
		Scan: func(r eventstore.Row, l *lane) error {
			*l = lane{laneName{r.Text(0), r.Text(1), r.Text(2)}, int(r.Int(3)), int(r.Int(4)), int(r.Int(5))}
			return nil
		},
		Args: func(args []any, l *lane) []any {
			return append(args, l.pool, l.owner, l.kind, l.waiting, l.leased, l.dead)
		},
		Empty: func(l *lane) bool { return l.waiting == 0 && l.leased == 0 && l.dead == 0 },
	})
}
