package monitor

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/search"
)

// showSessionsFound shows work sessions like GET /api/work-sessions, each with its hits. Threads and events are
// filtered by the requested roles and types.
func (v *view) showSessionsFound(ctx context.Context, q *searchQuery, hits search.SessionHits, seq int64) (*sessionsFound, error) {
	hits, err := v.judged(ctx, q, hits)
	if err != nil {
		return nil, err
	}
	newest := make([]int64, len(hits.Sessions))
	for i := range hits.Sessions {
		newest[i] = hits.Sessions[i].Seqs[0]
	}
	events, err := v.fetchFound(ctx, newest)
	if err != nil {
		return nil, err
	}
	kinds, err := conversations.SelectKinds(ctx, v.tx, conversations.Scope{Roles: q.Roles, Types: q.Types, Internal: q.Internal})
	if err != nil {
		return nil, err
	}
	var ids []int64
	byName := make(map[string]*search.SessionHit, len(hits.Sessions))
	for i := range hits.Sessions {
		hit := &hits.Sessions[i]
		byName[hit.Name] = hit
		id, ok, err := conversations.ByName(ctx, v.tx, hit.Name)
		if err != nil {
			return nil, err
		}
		if ok {
			ids = append(ids, id)
		}
	}
	sessions, err := v.renderSessions(ctx, kinds, ids, q.summary)
	if err != nil {
		return nil, err
	}
	a := &sessionsFound{make([]sessionFound, len(sessions)), q.answer(v, len(hits.Sessions), hits.Total, hits.Exact, seq)}
	a.Count = len(sessions)
	for i := range sessions {
		hit := byName[sessions[i].WorkSessionID]
		a.Sessions[i] = sessionFound{sessionAnswer: sessions[i], MatchCount: hit.Count, MatchSeqs: hit.Seqs}
		if e := events[hit.Seqs[0]]; e != nil {
			a.Sessions[i].Snippet = v.snippet(q.Words, e)
		}
	}
	return a, nil
}

// judged returns the page of those of the found sessions that pass the query's filters on status, outcome and open work.
func (v *view) judged(ctx context.Context, q *searchQuery, hits search.SessionHits) (search.SessionHits, error) {
	if q.standing == nil {
		return hits, nil
	}
	ids := map[string]int64{}
	var list []int64
	for i := range hits.Sessions {
		id, ok, err := conversations.ByName(ctx, v.tx, hits.Sessions[i].Name)
		if err != nil {
			return hits, err
		}
		if ok {
			ids[hits.Sessions[i].Name] = id
			list = append(list, id)
		}
	}
	standing := *q.standing
	standing.Now = v.now
	passing, err := conversations.Passing(ctx, v.tx, standing, list)
	if err != nil {
		return hits, err
	}
	hits.Exact = hits.Exact && int64(len(hits.Sessions)) == hits.Total
	hits.Sessions = slices.DeleteFunc(hits.Sessions, func(s search.SessionHit) bool { return !passing[ids[s.Name]] })
	hits.Total = int64(len(hits.Sessions))
	hits.Sessions = hits.Sessions[min(q.Offset, len(hits.Sessions)):]
	hits.Sessions = hits.Sessions[:min(q.Limit, len(hits.Sessions))]
	return hits, nil
}
