package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/workspace"
)

// plansAnswer answers GET /api/agents/:id/plans.
type plansAnswer struct {
	AgentID        string            `json:"agentId"`
	Plans          []json.RawMessage `json:"plans"`
	Count          int               `json:"count"`
	DerivedFromSeq int64             `json:"derivedFromSeq,omitempty"` // the last event that changed a plan of the log
	Invalid        []workspace.Fault `json:"invalid,omitempty"`
}

// listPlans lists the plans of the log, newest first, then those of files unknown to the log.
func (s *Server) listPlans(c echo.Context, agent string) error {
	p := parametersOf(c)
	limit, minSeq := int(p.integer("limit", maxLimit, 1, maxLimit)), p.minSeq()
	if p.err != nil {
		return p.err
	}
	ctx := c.Request().Context()
	if err := s.await(ctx, minSeq); err != nil {
		return err
	}
	if err := s.opts.knowsTasks(); err != nil {
		return err
	}
	b := &fileBoard{ctx: ctx, opts: &s.opts}
	defer b.end()
	inFiles, faults, err := b.plans(agent)
	homeless := errors.Is(err, workspace.ErrNoAgent)
	if err != nil && !homeless {
		return err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		a := &plansAnswer{AgentID: agent, Plans: []json.RawMessage{}, Invalid: faults}
		logged, err := a.fromLog(ctx, v.tx, agent, limit)
		if err != nil {
			return nil, err
		}
		if homeless && len(logged) == 0 {
			if err := v.knows(ctx, agent); err != nil {
				return nil, err
			}
		}
		for i := range inFiles {
			if len(a.Plans) < limit && !logged[inFiles[i].Text("id")] {
				a.Plans = append(a.Plans, inFiles[i].JSON)
			}
		}
		a.Count = len(a.Plans)
		return a, nil
	})
}

// fromLog adds the newest plans of the log and returns their ids: of all plans if there are fewer than limit.
func (a *plansAnswer) fromLog(ctx context.Context, tx *sql.Tx, agent string, limit int) (known map[string]bool, err error) {
	list, err := plans.List(ctx, tx, plans.Query{Agent: strings.ToLower(agent), Limit: limit})
	if err != nil {
		return nil, err
	}
	known = map[string]bool{}
	for i := range list {
		known[list[i].ID] = true
		text, err := json.Marshal(list[i].Show())
		if err != nil {
			return nil, fmt.Errorf("write plan %s: %w", list[i].ID, err)
		}
		a.Plans, a.DerivedFromSeq = append(a.Plans, text), max(a.DerivedFromSeq, list[i].Last)
	}
	return known, nil
}

func (v *view) knows(ctx context.Context, agent string) error {
	if v.OwnTasks == nil {
		return noAgent(agent)
	}
	b, err := newLogBoard(ctx, v, nil)
	if err != nil {
		return err
	}
	if there, err := b.has(agent); !there && err == nil {
		return noAgent(agent)
	}
	return err
}

func (b *fileBoard) plans(agent string) ([]workspace.Plan, []workspace.Fault, error) {
	if b.opts.then != nil { // the log does not contain past file contents
		return nil, nil, workspace.ErrNoAgent
	}
	if err := b.begin(); err != nil {
		return nil, nil, err
	}
	list, faults, err := b.reading.Plans(agent)
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(list, func(a, b workspace.Plan) int { return cmp.Compare(planTime(&b), planTime(&a)) })
	return list, faults, nil
}

// planTime is the latest time a plan mentions, in ms since 1970; 0 for none.
func planTime(p *workspace.Plan) float64 {
	ms, _ := coordination.ParseTime(cmp.Or(p.Text("updatedAt"), p.Text("createdAt"), p.Text("submittedAt")))
	return ms
}
