package plantools

import (
	"errors"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// planAnswer is part of every answer to a change.
type planAnswer struct {
	Success       bool   `json:"success"`
	PlanID        string `json:"planId"`
	AgentID       string `json:"agentId"` // owner of the plan
	TaskID        string `json:"taskId"`
	WorkSessionID string `json:"workSessionId,omitempty"`
	Status        string `json:"status"`
	Duplicate     bool   `json:"duplicate,omitempty"` // repetition of an earlier call; the answer is the plan's current state
}

func (done *changeResult) answer() planAnswer {
	return planAnswer{Success: true, PlanID: done.ID, AgentID: done.Agent, TaskID: done.TaskID, WorkSessionID: done.WorkSessionID, Status: done.Status,
		Duplicate: done.Again}
}

type decidedAnswer struct {
	planAnswer
	Title        string   `json:"title"`
	DecidedBy    string   `json:"decidedBy"`
	DecidedAt    string   `json:"decidedAt"`
	RejectReason string   `json:"rejectReason,omitempty"`
	Opened       []string `json:"toolsOpened,omitempty"` // requested by an approved plan
	Told         *bool    `json:"agentTold,omitempty"`   // of a decision
	NotTold      string   `json:"notToldBecause,omitempty"`
}

func answered(done *changeResult, err error) (tool.Output, error) {
	if err != nil {
		return refuse(err, &done.Plan)
	}
	shown := done.Show()
	answer := decidedAnswer{planAnswer: done.answer(), Title: done.Title, DecidedBy: done.DecidedBy, DecidedAt: shown.DecidedAt, RejectReason: shown.RejectReason,
		NotTold: done.NotTold}
	if done.Status == plan.Approved {
		answer.Opened = done.Tools
	}
	if !done.Again {
		answer.Told = new(done.NotTold == "")
	}
	return tools.Answer(answer)
}

func decided(done *changeResult, err error) (*plan.Plan, error) {
	if err != nil {
		return nil, err
	}
	return &done.Plan, nil
}

type refused struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Hint    string `json:"hint,omitempty"`
	PlanID  string `json:"planId,omitempty"`
}

// refuse returns the output for a *plan.Refusal, with the plan if it is known. Other errors are not for agents.
func refuse(err error, p *plan.Plan) (tool.Output, error) {
	why := (*plan.Refusal)(nil)
	if !errors.As(err, &why) {
		return tool.Output{}, err
	}
	answer := refused{Error: why.Text, Code: why.Reason, Field: why.Field, Hint: why.HintText}
	if p != nil {
		answer.PlanID = p.ID
	}
	return tools.Refuse(answer)
}

// ownersOnly restricts a tool to agents that have tasks.
func ownersOnly() tools.Who {
	return tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}, NotUtility: true}
}

const (
	planIDProperties = `"plan_id":{"type":"string","maxLength":200,"description":"Id of the plan."},
		"planId":{"type":"string","maxLength":200,"description":"Alias of plan_id."}`
	taskIDProperties = `"task_id":{"type":"string","maxLength":200,"description":"Id of the task. Default: your current task."},
		"taskId":{"type":"string","maxLength":200,"description":"Alias of task_id."}`
)
