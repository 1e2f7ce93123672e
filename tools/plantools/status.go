package plantools

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) statusTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: nameStatus, Group: tool.GroupPlans, Label: "Plan status",
			Description: "Show plans, newest first: yours, or if you are a lead those of all agents; status pending lists the plans to decide. " +
				"plan_id shows one plan with its steps.",
			Schema: tools.Object("", planIDProperties,
				`"status":{"type":"string","enum":["all","pending","approved","rejected"],"description":"Only plans in this state. Default: all."}`,
				`"agent":{"type":"string","maxLength":64,"description":"Only plans of this agent. Plans of other agents are visible to leads only."}`,
				`"limit":{"type":"integer","minimum":1,"maximum":200,"description":"Maximum number of plans. Default 50."}`,
				`"cursor":{"type":"string","maxLength":20,"description":"nextCursor of the previous page."}`),
		},
		Who: tools.Who{NotUtility: true},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[statusArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			id, err := oneOf("plan_id", "planId", args.PlanID, args.SameID)
			switch {
			case err != nil:
				return refuse(err, nil)
			case id != "":
				return s.status(ctx, call, id)
			}
			return s.list(ctx, call, &args)
		},
	}
}

const usualLimit = 50

const (
	maxAnswer    = 200 << 10 // bytes
	maxBrief     = 200       // characters of a text in a list
	maxShortened = 400       // characters of a step of a plan that is too long for an answer
)

type statusArgs struct {
	target
	Status string `json:"status"`
	Agent  string `json:"agent"`
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

type statusAnswer struct {
	Success   bool       `json:"success"`
	Plan      plan.Shown `json:"plan"`
	Version   int64      `json:"version"`
	Shortened bool       `json:"shortened,omitempty"` // texts are cut because it is too long
}

// status shows one plan: the agent's own, or any to a lead.
func (s *Service) status(ctx context.Context, call *tools.Call, id string) (tool.Output, error) {
	var p *plan.Plan
	err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		p, _, err = plans.Load(projections.Reading(ctx, tx), id)
		return err
	})
	if err != nil {
		return tool.Output{}, err
	}
	if p == nil || p.Agent != call.AgentID && !call.Config.Lead(call.AgentID) {
		return refuse(plan.Unknown(id), nil)
	}
	answer := statusAnswer{Success: true, Plan: p.Show(), Version: p.Version}
	out, err := tools.Answer(answer)
	if err != nil || len(out.Text) <= maxAnswer {
		return out, err
	}
	answer.Shortened = true
	answer.Plan.Steps = slices.Clone(answer.Plan.Steps)
	for i := range answer.Plan.Steps {
		answer.Plan.Steps[i] = coordination.Head(answer.Plan.Steps[i], maxShortened)
	}
	answer.Plan.RejectReason = coordination.Head(answer.Plan.RejectReason, maxShortened)
	return tools.Answer(answer)
}

type listAnswer struct {
	Success    bool         `json:"success"`
	Count      int          `json:"count"`
	Plans      []listedPlan `json:"plans"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

// listedPlan is a plan in a list, with shortened texts.
type listedPlan struct {
	PlanID         string   `json:"planId"`
	AgentID        string   `json:"agentId"`
	TaskID         string   `json:"taskId"`
	Title          string   `json:"title"`
	Status         string   `json:"status"`
	StepsCount     int      `json:"stepsCount"`
	ToolsRequested []string `json:"toolsRequested,omitempty"`
	SubmittedAt    string   `json:"submittedAt"`
	DecidedAt      string   `json:"decidedAt,omitempty"`
	DecidedBy      string   `json:"decidedBy,omitempty"`
	RejectReason   string   `json:"rejectReason,omitempty"`
}

func (s *Service) list(ctx context.Context, call *tools.Call, args *statusArgs) (tool.Output, error) {
	q, err := s.query(call, args)
	if err != nil {
		return refuse(err, nil)
	}
	limit := cmp.Or(args.Limit, usualLimit)
	for {
		var planList []plan.Plan
		q.Limit = limit + 1 // one more shows whether there are others
		err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
			planList, err = plans.List(ctx, tx, q)
			return err
		})
		if err != nil {
			return tool.Output{}, err
		}
		out, err := tools.Answer(listing(planList, limit))
		if err != nil || len(out.Text) <= maxAnswer || limit == 1 {
			return out, err
		}
		limit /= 2
	}
}

// query returns the query of a list. Agents that are not leads see only their own plans.
func (s *Service) query(call *tools.Call, args *statusArgs) (q plans.Query, err error) {
	q.Agent = strings.ToLower(coordination.TrimJS(args.Agent))
	if args.Status != "all" {
		q.Status = args.Status
	}
	switch {
	case call.Config.Lead(call.AgentID):
	case q.Agent == "":
		q.Agent = call.AgentID
	case q.Agent != call.AgentID:
		return q, &plan.Refusal{Reason: plan.CodeNotAllowed, Field: "agent", Text: "only leads see the plans of other agents", HintText: "leave agent out to see yours"}
	}
	if args.Cursor != "" {
		if q.Before, err = strconv.ParseInt(args.Cursor, 10, 64); err != nil || q.Before <= 0 {
			return q, &plan.Refusal{Reason: plan.CodeInvalid, Field: "cursor", Text: "the cursor is not one of plan_status",
				HintText: "give nextCursor of an answer, or none to start over"}
		}
	}
	return q, nil
}

func listing(plans []plan.Plan, limit int) listAnswer {
	more := len(plans) > limit
	plans = plans[:min(len(plans), limit)]
	answer := listAnswer{Success: true, Count: len(plans), Plans: make([]listedPlan, len(plans))}
	for i := range plans {
		s := plans[i].Show()
		answer.Plans[i] = listedPlan{
			PlanID: s.ID, AgentID: s.AgentID, TaskID: s.TaskID, Title: coordination.Head(s.Title, maxBrief), Status: s.Status, StepsCount: plans[i].StepsCount,
			ToolsRequested: s.ToolsRequested, SubmittedAt: s.SubmittedAt, DecidedAt: s.DecidedAt, DecidedBy: s.DecidedBy,
			RejectReason: coordination.Head(s.RejectReason, maxBrief),
		}
	}
	if more {
		answer.NextCursor = strconv.FormatInt(plans[len(plans)-1].Seq, 10)
	}
	return answer
}
