package monitor

import (
	"context"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// sessionsQuery holds the parameters of GET /api/work-sessions.
type sessionsQuery struct {
	conversations.Query
	summary bool
	minSeq  int64

	viewCategory, tag *string // as given
}

func sessionsQueryOf(c echo.Context) (sessionsQuery, error) {
	p := parametersOf(c)
	q := sessionsQuery{
		Query: conversations.Query{
			Scope:      conversations.Scope{Roles: p.roles(), Types: p.list("type"), Internal: p.internal()},
			Categories: p.categories(), Tag: p.first("subTag"), Statuses: p.statuses(),
			Outcomes: p.outcomes(), Agents: p.filter("agent"), Open: p.flag("open"),
			Since: p.instant("since"), Until: p.instant("until"), After: p.sessionCursor(), Limit: p.limit(),
		},
		summary: p.summary(), minSeq: p.minSeq(), viewCategory: p.raw("viewCategory"), tag: p.raw("subTag"),
	}
	return q, p.err
}

// summary reads include: whether sessions' events are left out.
func (p *parameters) summary() bool { return p.choice("include", "events", "summary") == "summary" }

func (p *parameters) statuses() []coordination.Status {
	kept := []coordination.Status{}
	for _, word := range p.words("status", string(coordination.StatusActive), string(coordination.StatusQuiet), string(coordination.StatusArchived)) {
		kept = append(kept, coordination.Status(word))
	}
	return kept
}

func (p *parameters) outcomes() []coordination.Outcome {
	kept := []coordination.Outcome{}
	for _, word := range p.words("outcome", string(coordination.OutcomeActive), string(coordination.OutcomeWaiting), string(coordination.OutcomeBlocked),
		string(coordination.OutcomeNoReply), string(coordination.OutcomeDone)) {
		kept = append(kept, coordination.Outcome(word))
	}
	return kept
}

// flag reads true or false; nil if missing.
func (p *parameters) flag(name string) *bool {
	word := p.word(name, "true", "false")
	if word == "" {
		return nil
	}
	is := word == "true"
	return &is
}

// sessionsAnswer answers GET /api/work-sessions.
type sessionsAnswer struct {
	Sessions []sessionAnswer `json:"sessions"`
	sessionsRest
}

type sessionsRest struct {
	Count          int                    `json:"count"`
	TotalMatched   int64                  `json:"totalMatched"`
	TotalSessions  int64                  `json:"totalSessions"`
	Role           []string               `json:"role"`
	Type           []string               `json:"type"`
	Status         []coordination.Status  `json:"status"`
	Outcome        []coordination.Outcome `json:"outcome"`
	Agent          []string               `json:"agent"`
	Open           *bool                  `json:"open"`
	ViewCategory   *string                `json:"viewCategory"`
	SubTag         *string                `json:"subTag"`
	CategoryCounts map[string]int64       `json:"categoryCounts"`
	NextCursor     *string                `json:"nextCursor"`
	AsOfSeq        int64                  `json:"asOfSeq"`
}

func (s *Server) listSessions(c echo.Context) error {
	q, err := sessionsQueryOf(c)
	if err != nil {
		return err
	}
	return s.answerKept(c, q.minSeq, func(ctx context.Context, v *view) (any, error) { return v.listSessions(ctx, q) })
}

func (v *view) listSessions(ctx context.Context, q sessionsQuery) (*sessionsAnswer, error) {
	q.Now = v.now
	if len(q.Statuses) > 0 { // any session may get another status at any time
		v.varies = true
	}
	found, err := conversations.Find(ctx, v.tx, q.Query)
	if err != nil {
		return nil, err
	}
	sessions, err := v.renderSessions(ctx, found.Kinds, found.IDs, q.summary)
	if err != nil {
		return nil, err
	}
	a := &sessionsAnswer{sessions, sessionsRest{Count: len(sessions), TotalMatched: found.Matched, TotalSessions: found.Total, Role: q.Roles,
		Type: q.Types, Status: q.Statuses, Outcome: q.Outcomes, Agent: q.Agents, Open: q.Open, ViewCategory: q.viewCategory, SubTag: q.tag, CategoryCounts: found.Categories, AsOfSeq: v.asOf}}
	if found.Next != nil {
		cursor := sessionCursor(found.Next)
		a.NextCursor = &cursor
	}
	return a, nil
}

// sessionQuery holds the parameters of GET /api/work-sessions/:id.
type sessionQuery struct {
	id      string
	scope   conversations.Scope
	summary bool
	page    *pageQuery // nil: everything
	minSeq  int64
}

func sessionQueryOf(c echo.Context) (sessionQuery, error) {
	p := parametersOf(c)
	q := sessionQuery{
		id:      idOf(c),
		scope:   conversations.Scope{Roles: p.roles(), Types: p.list("type"), Internal: p.internal()},
		summary: p.summary(), page: p.page(), minSeq: p.minSeq(),
	}
	if q.id == "" {
		return q, echo.ErrNotFound
	}
	return q, p.err
}

// sessionDetail answers GET /api/work-sessions/:id.
type sessionDetail struct {
	Session *sessionAnswer `json:"session"`
	detailRest
}

type detailRest struct {
	Role    *string  `json:"role"`
	Type    []string `json:"type"`
	AsOfSeq int64    `json:"asOfSeq"`
	*pageAnswer
}

func (s *Server) showSession(c echo.Context) error {
	q, err := sessionQueryOf(c)
	if err != nil {
		return err
	}
	return s.answerKept(c, q.minSeq, func(ctx context.Context, v *view) (any, error) { return v.showSession(ctx, q) })
}

// idPrefix turns a workSessionId into a work session's id in answers.
const idPrefix = "ws:"

func (v *view) showSession(ctx context.Context, q sessionQuery) (*sessionDetail, error) {
	id, ok, err := conversations.ByName(ctx, v.tx, q.id)
	if bare, prefixed := strings.CutPrefix(q.id, idPrefix); err == nil && !ok && prefixed {
		id, ok, err = conversations.ByName(ctx, v.tx, bare)
	}
	if err != nil {
		return nil, err
	}
	missing := notFound("Work session not found: " + q.id)
	if !ok {
		return nil, missing
	}
	kinds, err := conversations.SelectKinds(ctx, v.tx, q.scope)
	if err != nil {
		return nil, err
	}
	a := &sessionDetail{detailRest: detailRest{Type: q.scope.Types, AsOfSeq: v.asOf}}
	if q.page != nil {
		a.Session, a.pageAnswer, err = v.showPage(ctx, kinds, id, q.page)
	} else {
		a.Session, err = v.showWhole(ctx, kinds, id, q.summary)
	}
	if err != nil {
		return nil, err
	}
	if a.Session == nil {
		return nil, missing
	}
	if len(q.scope.Roles) > 0 {
		role := strings.Join(q.scope.Roles, ",")
		a.Role = &role
	}
	return a, nil
}

// showWhole renders a work session; nil if none of its events is listed.
func (v *view) showWhole(ctx context.Context, kinds *conversations.Kinds, id int64, summary bool) (*sessionAnswer, error) {
	sessions, err := v.renderSessions(ctx, kinds, []int64{id}, summary)
	if err != nil || len(sessions) == 0 {
		return nil, err
	}
	return &sessions[0], nil
}
