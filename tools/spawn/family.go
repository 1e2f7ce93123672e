package spawn

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// subagentTree is the set of sub-agents that a session sees: its own, or if it may not have any, those started beside it.
type subagentTree struct {
	of       string // key of the session that started them
	siblings bool   // it is the caller's parent
	active   []member
	recent   []member // oldest first, as is active
}

type member struct {
	flows.Row
	model      string // that answered last
	tokens     int64  // of its newest answer
	delegation string // its delegation of a task; ""
}

// read finds the sub-agents that the caller sees, in one transaction.
func (s *subagents) read(ctx context.Context) (f subagentTree, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) error {
		f = subagentTree{of: s.call.Session.String()}
		if err := s.leaf(ctx, tx, &f); err != nil || f.of == "" {
			return err
		}
		open, err := flows.List(ctx, tx, flows.Query{Kind: a2a.Spawn, Open: true, RequesterSessionKey: f.of})
		if err != nil {
			return err
		}
		all, err := flows.List(ctx, tx, flows.Query{Kind: a2a.Spawn, RequesterSessionKey: f.of, Limit: len(open) + maxRecent})
		if err != nil {
			return err
		}
		since := s.now.UnixMilli() - int64(s.args.RecentMinutes)*60_000
		for _, row := range all {
			if !row.Phase.Open() && row.EndedAt >= since {
				if f.recent, err = f.add(ctx, tx, f.recent, row); err != nil {
					return err
				}
			}
		}
		for _, row := range open {
			if f.active, err = f.add(ctx, tx, f.active, row); err != nil {
				return err
			}
		}
		return nil
	})
	return f, err
}

func (f *subagentTree) add(ctx context.Context, tx *sql.Tx, to []member, row flows.Row) ([]member, error) {
	m := member{Row: row}
	one, err := sessions.ByKey(ctx, tx, row.TargetSessionKey)
	if err != nil {
		return nil, err
	}
	if one != nil {
		m.model, m.tokens = one.Model, one.TotalTokens
		if one.Provider != "" && one.Model != "" {
			m.model = one.Provider + "/" + one.Model
		}
	}
	m.delegation, err = flows.DelegationOf(ctx, tx, row.Seq)
	return append(to, m), err
}

// leaf checks whether the caller is a sub-agent too deep to start any; then it sees those of its parent.
func (s *subagents) leaf(ctx context.Context, tx *sql.Tx, f *subagentTree) error {
	above, depth := "", 0
	for key := s.call.Session; key.Kind == coordination.KeySubagent && depth < maxChain; depth++ {
		spawner, err := spawnerOf(ctx, tx, key)
		if err != nil {
			return err
		}
		if depth == 0 {
			above = spawner
		}
		if key, err = coordination.ParseSessionKey(spawner); err != nil {
			depth++
			break // not known
		}
	}
	if depth > 0 && depth >= s.call.Config.Defaults.Subagents.MaxSpawnDepth {
		f.of, f.siblings = above, true
	}
	return nil
}

// maxChain bounds the ancestors that are followed, above any permitted depth.
const maxChain = 32

// spawnerOf returns the key of the session that started a sub-agent, "" if it is not known.
func spawnerOf(ctx context.Context, tx *sql.Tx, key coordination.SessionKey) (string, error) {
	row, found, err := flows.ByID(ctx, tx, key.ID)
	if err != nil {
		return "", err
	}
	if found && row.Kind == a2a.Spawn && row.TargetSessionKey == key.String() {
		return row.RequesterSessionKey, nil
	}
	one, err := sessions.ByKey(ctx, tx, key.String())
	if one == nil || err != nil {
		return "", err
	}
	return one.Spawner, nil
}
