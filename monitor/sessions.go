package monitor

import (
	"context"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversation"
)

// sessionsQuery is what GET /api/work-sessions is asked.
type sessionsQuery struct {
	conversation.Query
	summary bool
	minSeq  int64

	viewCategory, tag *string // as they were given
}

func sessionsQueryOf(c echo.Context) (sessionsQuery, error) {
	p := parametersOf(c)
	q := sessionsQuery{
		Query: conversation.Query{
			Scope:      conversation.Scope{Roles: p.roles(), Types: p.list("type"), Internal: p.internal()},
			Categories: p.categories(), Tag: p.first("subTag"), Statuses: p.statuses(),
			Since: p.instant("since"), Until: p.instant("until"), After: p.sessionCursor(), Limit: p.limit(),
		},
		summary: p.summary(), minSeq: p.minSeq(), viewCategory: p.raw("viewCategory"), tag: p.raw("subTag"),
	}
	return q, p.err
}

// summary reads include: whether the events of sessions are left out.
func (p *parameters) summary() bool { return p.choice("include", "events", "summary") == "summary" }

// statuses reads status.
func (p *parameters) statuses() []coordination.Status {
	kept := []coordination.Status{}
	for _, word := range p.words("status", string(coordination.StatusActive), string(coordination.StatusQuiet), string(coordination.StatusArchived)) {
		kept = append(kept, coordination.Status(word))
	}
	return kept
}

// sessionsAnswer answers GET /api/work-sessions.
type sessionsAnswer struct {
	Sessions       []sessionAnswer       `json:"sessions"`
	Count          int                   `json:"count"`
	TotalMatched   int64                 `json:"totalMatched"`
	TotalSessions  int64                 `json:"totalSessions"`
	Role           []string              `json:"role"`
	Type           []string              `json:"type"`
	Status         []coordination.Status `json:"status"`
	ViewCategory   *string               `json:"viewCategory"`
	SubTag         *string               `json:"subTag"`
	CategoryCounts map[string]int64      `json:"categoryCounts"`
	NextCursor     *string               `json:"nextCursor"`
	AsOfSeq        int64                 `json:"asOfSeq"`
}

func (s *Server) listSessions(c echo.Context) error {
	q, err := sessionsQueryOf(c)
	if err != nil {
		return err
	}
	return s.answer(c, q.minSeq, func(ctx context.Context, v *view) (any, error) { return v.listSessions(ctx, q) })
}

func (v *view) listSessions(ctx context.Context, q sessionsQuery) (*sessionsAnswer, error) {
	q.Now = v.now
	found, err := conversation.Find(ctx, v.tx, q.Query)
	if err != nil {
		return nil, err
	}
	sessions, err := v.renderSessions(ctx, found.Kinds, found.IDs, q.summary)
	if err != nil {
		return nil, err
	}
	a := &sessionsAnswer{Sessions: sessions, Count: len(sessions), TotalMatched: found.Matched, TotalSessions: found.Total, Role: q.Roles,
		Type: q.Types, Status: q.Statuses, ViewCategory: q.viewCategory, SubTag: q.tag, CategoryCounts: found.Categories, AsOfSeq: v.asOf}
	if found.Next != nil {
		cursor := sessionCursor(found.Next)
		a.NextCursor = &cursor
	}
	return a, nil
}

// sessionQuery is what GET /api/work-sessions/:id is asked.
type sessionQuery struct {
	id      string
	scope   conversation.Scope
	summary bool
	minSeq  int64
}

func sessionQueryOf(c echo.Context) (sessionQuery, error) {
	p := parametersOf(c)
	q := sessionQuery{
		id:      idOf(c),
		scope:   conversation.Scope{Roles: p.roles(), Types: p.list("type"), Internal: p.internal()},
		summary: p.summary(), minSeq: p.minSeq(),
	}
	if q.id == "" {
		return q, echo.ErrNotFound
	}
	return q, p.err
}

// sessionDetail answers GET /api/work-sessions/:id.
type sessionDetail struct {
	Session *sessionAnswer `json:"session"`
	Role    *string        `json:"role"`
	Type    []string       `json:"type"`
	AsOfSeq int64          `json:"asOfSeq"`
}

func (s *Server) showSession(c echo.Context) error {
	q, err := sessionQueryOf(c)
	if err != nil {
		return err
	}
	return s.answer(c, q.minSeq, func(ctx context.Context, v *view) (any, error) { return v.showSession(ctx, q) })
}

// idPrefix makes the id of a work session in an answer of its workSessionId.
const idPrefix = "ws:"

func (v *view) showSession(ctx context.Context, q sessionQuery) (*sessionDetail, error) {
	id, ok, err := conversation.ByName(ctx, v.tx, q.id)
	if bare, prefixed := strings.CutPrefix(q.id, idPrefix); err == nil && !ok && prefixed {
		id, ok, err = conversation.ByName(ctx, v.tx, bare)
	}
	if err != nil {
		return nil, err
	}
	missing := notFound("Work session not found: " + q.id)
	if !ok {
		return nil, missing
	}
	kinds, err := conversation.SelectKinds(ctx, v.tx, q.scope)
	if err != nil {
		return nil, err
	}
	sessions, err := v.renderSessions(ctx, kinds, []int64{id}, q.summary)
	if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, missing
	}
	a := &sessionDetail{Session: &sessions[0], Type: q.scope.Types, AsOfSeq: v.asOf}
	if len(q.scope.Roles) > 0 {
		role := strings.Join(q.scope.Roles, ",")
		a.Role = &role
	}
	return a, nil
}
