package monitor

import (
	"context"

	"github.com/pronto-lab/openclawd/projections/conversation"
	"github.com/pronto-lab/openclawd/projections/search"
)

// showSessionsFound shows work sessions as GET /api/work-sessions does, each with what was found in it. Their threads and events are
// listed by the roles and types that were asked for.
func (v *view) showSessionsFound(ctx context.Context, q *searchQuery, hits search.SessionHits, seq int64) (*sessionsFound, error) {
	newest := make([]int64, len(hits.Sessions))
	for i := range hits.Sessions {
		newest[i] = hits.Sessions[i].Seqs[0]
	}
	events, err := v.fetchFound(ctx, newest)
	if err != nil {
		return nil, err
	}
	kinds, err := conversation.SelectKinds(ctx, v.tx, conversation.Scope{Roles: q.Roles, Types: q.Types, Internal: q.Internal})
	if err != nil {
		return nil, err
	}
	var ids []int64
	byName := make(map[string]*search.SessionHit, len(hits.Sessions))
	for i := range hits.Sessions {
		hit := &hits.Sessions[i]
		byName[hit.Name] = hit
		id, ok, err := conversation.ByName(ctx, v.tx, hit.Name)
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
