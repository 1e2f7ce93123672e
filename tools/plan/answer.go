package plan

import (
	"errors"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// told is what each answer to a change says.
type told struct {
	Success       bool   `json:"success"`
	PlanID        string `json:"planId"`
	AgentID       string `json:"agentId"` // whose plan it is
	TaskID        string `json:"taskId"`
	WorkSessionID string `json:"workSessionId,omitempty"`
	Status        string `json:"status"`
	Duplicate     bool   `json:"duplicate,omitempty"` // the same call has made the change before; the answer is how the plan stands now
}

func (done *changed) told() told {
	return told{Success: true, PlanID: done.ID, AgentID: done.Agent, TaskID: done.TaskID, WorkSessionID: done.WorkSessionID, Status: done.Status,
		Duplicate: done.Again}
}

type decidedAnswer struct {
	told
	Title        string   `json:"title"`
	DecidedBy    string   `json:"decidedBy"`
	DecidedAt    string   `json:"decidedAt"`
	RejectReason string   `json:"rejectReason,omitempty"`
	Opened       []string `json:"toolsOpened,omitempty"` // that it asks for, of an approved one
	Told         *bool    `json:"agentTold,omitempty"`   // of what was decided now
	NotTold      string   `json:"notToldBecause,omitempty"`
}

// answered is the answer to a decision.
func answered(done *changed, err error) (tool.Output, error) {
	if err != nil {
		return refuse(err, &done.Plan)
	}
	shown := done.Show()
	answer := decidedAnswer{told: done.told(), Title: done.Title, DecidedBy: done.DecidedBy, DecidedAt: shown.DecidedAt, RejectReason: shown.RejectReason,
		NotTold: done.NotTold}
	if done.Status == plan.Approved {
		answer.Opened = done.Tools
	}
	if !done.Again {
		answer.Told = new(done.NotTold == "")
	}
	return tools.Answer(answer)
}

// decided is what a person is told of a decision.
func decided(done *changed, err error) (*plan.Plan, error) {
	if err != nil {
		return nil, err
	}
	return &done.Plan, nil
}

// refused is the answer to what cannot be done.
type refused struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Mend    string `json:"mend,omitempty"`
	PlanID  string `json:"planId,omitempty"`
}

// refuse is the output for an error: what a *plan.Refusal says, of a plan if it is known. Other errors are not for agents.
func refuse(err error, p *plan.Plan) (tool.Output, error) {
	why := (*plan.Refusal)(nil)
	if !errors.As(err, &why) {
		return tool.Output{}, err
	}
	answer := refused{Error: why.Text, Code: why.Reason, Field: why.Field, Mend: why.Mend}
	if p != nil {
		answer.PlanID = p.ID
	}
	return tools.Refuse(answer)
}

// ownersOnly forbids a tool to who has no tasks of its own.
func ownersOnly() tools.Who {
	return tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}, NotUtility: true}
}

// Properties that several tools have.
const (
	planIDProperties = `"plan_id":{"type":"string","maxLength":200,"description":"The plan, by its id."},
		"planId":{"type":"string","maxLength":200,"description":"The same as plan_id."}`
	taskIDProperties = `"task_id":{"type":"string","maxLength":200,"description":"The task, by its id; the one that you are at if absent."},
		"taskId":{"type":"string","maxLength":200,"description":"The same as task_id."}`
)
