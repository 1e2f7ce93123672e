package spawn

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/projections/session"
)

// family is what a session sees of sub-agents: its own, and where it may have none, those that were started beside it.
type family struct {
	of       string // key of the session that has started them
	siblings bool   // that is the one above the caller's
	active   []member
	recent   []member // the last that was started first, as active
}

// member is a sub-agent.
type member struct {
	flows.Row
	model      string // that answered last
	tokens     int64  // of its newest answer
	delegation string // what it does for a task; ""
}

// read finds the sub-agents that the caller sees, in one transaction.
func (s *subagents) read(ctx context.Context) (f family, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) error {
		f = family{of: s.call.Session.String()}
		if err := s.leaf(ctx, tx, &f); err != nil || f.of == "" {
			return err
		}
		open, err := flows.List(ctx, tx, flows.Query{Kind: decide.Spawn, Open: true, RequesterSessionKey: f.of})
		if err != nil {
			return err
		}
		all, err := flows.List(ctx, tx, flows.Query{Kind: decide.Spawn, RequesterSessionKey: f.of, Limit: len(open) + maxRecent})
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

func (f *family) add(ctx context.Context, tx *sql.Tx, to []member, row flows.Row) ([]member, error) {
	m := member{Row: row}
	one, err := session.ByKey(ctx, tx, row.TargetSessionKey)
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

// leaf sees whether the caller is a sub-agent that is too far down to start any: it sees those of the session that has started it.
func (s *subagents) leaf(ctx context.Context, tx *sql.Tx, f *family) error {
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
			break // nobody knows
		}
	}
	if depth > 0 && depth >= s.call.Config.Defaults.Subagents.MaxSpawnDepth {
		f.of, f.siblings = above, true
	}
	return nil
}

// maxChain is how many sessions that have started each other are looked at: more than may be.
const maxChain = 32

// spawnerOf is the key of the session that has started a sub-agent, "" if nobody knows.
func spawnerOf(ctx context.Context, tx *sql.Tx, key coordination.SessionKey) (string, error) {
	row, found, err := flows.ByID(ctx, tx, key.ID)
	if err != nil {
		return "", err
	}
	if found && row.Kind == decide.Spawn && row.TargetSessionKey == key.String() {
		return row.RequesterSessionKey, nil
	}
	one, err := session.ByKey(ctx, tx, key.String())
	if one == nil || err != nil {
		return "", err
	}
	return one.Spawner, nil
}
