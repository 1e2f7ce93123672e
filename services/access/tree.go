package access

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/projections/sessions"
)

// tree lists the caller's own session and, if visible, its descendants.
func (g *Guard) tree(ctx context.Context, tx *sql.Tx, since int64, visit func(*sessions.Session) (bool, error)) error {
	list, err := g.descendants(ctx, tx)
	if err != nil {
		return err
	}
	own, err := sessions.ByKey(ctx, tx, g.own.String())
	if err != nil {
		return err
	}
	if own != nil {
		list = append(list, *own)
	}
	slices.SortFunc(list, func(a, b sessions.Session) int {
		return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.Row, b.Row))
	})
	for i := range list {
		if list[i].UpdatedAt < since {
			return nil
		}
		if more, err := visit(&list[i]); !more || err != nil {
			return err
		}
	}
	return nil
}

// descendants returns the sessions that descend from the caller's, each once, up to maxTree. It skips sessions of other agents and their
// descendants.
func (g *Guard) descendants(ctx context.Context, tx *sql.Tx) (all []sessions.Session, err error) {
	if g.config.Tools.Visibility != visibleTree {
		return nil, nil
	}
	seen := map[string]bool{g.own.String(): true}
	next := []string{g.own.String()}
	for depth := 0; depth < maxDepth && len(next) > 0; depth++ {
		var below []string
		for _, spawner := range next {
			children, err := sessions.List(ctx, tx, sessions.Query{Spawner: spawner, Global: true, Unknown: true, Limit: maxTree - len(all) + 1})
			if err != nil {
				return nil, err
			}
			for _, child := range children {
				if seen[child.Key] || g.OwnerOf(child.Agent) != g.agent {
					continue
				}
				if len(all) == maxTree {
					return all, nil
				}
				seen[child.Key] = true
				all, below = append(all, child), append(below, child.Key)
			}
		}
		next = below
	}
	return all, nil
}
