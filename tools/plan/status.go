package plan

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
	projection "github.com/pronto-lab/openclawd/projections/plan"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) statusTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: nameStatus, Group: tool.GroupPlans, Label: "Status of plans",
			Description: "See how plans stand, the newest first: yours, and if you are a lead those of all agents, which wait for you with status pending. With " +
				"plan_id you see one with its steps.",
			Schema: tools.Object("", planIDProperties,
				`"status":{"type":"string","enum":["all","pending","approved","rejected"],"description":"Only plans in this state; all if absent."}`,
				`"agent":{"type":"string","maxLength":64,"description":"Only plans of this agent. Leads alone see those of others."}`,
				`"limit":{"type":"integer","minimum":1,"maximum":200,"description":"How many; 50 if absent."}`,
				`"cursor":{"type":"string","maxLength":20,"description":"nextCursor of the answer before, to go on from there."}`),
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
				return d.status(ctx, call, id)
			}
			return d.list(ctx, call, &args)
		},
	}
}

// usualLimit is how many plans are listed for who does not say.
const usualLimit = 50

// Bounds of an answer.
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
	Shortened bool       `json:"shortened,omitempty"` // its texts are beginnings, for it is too long
}

// status shows one plan: the agent's own, or to a lead that of anybody.
func (d *Desk) status(ctx context.Context, call *tools.Call, id string) (tool.Output, error) {
	var p *plan.Plan
	err := d.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		p, _, err = projection.Load(projections.Reading(ctx, tx), id)
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

// listedPlan is a plan in a list. Texts are beginnings.
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

func (d *Desk) list(ctx context.Context, call *tools.Call, args *statusArgs) (tool.Output, error) {
	q, err := d.query(call, args)
	if err != nil {
		return refuse(err, nil)
	}
	limit := cmp.Or(args.Limit, usualLimit)
	for {
		var plans []plan.Plan
		q.Limit = limit + 1 // one more tells whether there are others
		err := d.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
			plans, err = projection.List(ctx, tx, q)
			return err
		})
		if err != nil {
			return tool.Output{}, err
		}
		out, err := tools.Answer(listing(plans, limit))
		if err != nil || len(out.Text) <= maxAnswer || limit == 1 {
			return out, err
		}
		limit /= 2
	}
}

// query is what a list asks for. Who is no lead is shown plans of their own alone.
func (d *Desk) query(call *tools.Call, args *statusArgs) (q projection.Query, err error) {
	q.Agent = strings.ToLower(coordination.TrimJS(args.Agent))
	if args.Status != "all" {
		q.Status = args.Status
	}
	switch {
	case call.Config.Lead(call.AgentID):
	case q.Agent == "":
		q.Agent = call.AgentID
	case q.Agent != call.AgentID:
		return q, &plan.Refusal{Reason: plan.CodeNotAllowed, Field: "agent", Text: "only leads see the plans of other agents", Mend: "leave agent out to see yours"}
	}
	if args.Cursor != "" {
		if q.Before, err = strconv.ParseInt(args.Cursor, 10, 64); err != nil || q.Before <= 0 {
			return q, &plan.Refusal{Reason: plan.CodeInvalid, Field: "cursor", Text: "the cursor is none that plan_status has given",
				Mend: "give nextCursor of an answer, or none to begin anew"}
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
