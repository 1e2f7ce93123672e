package plan

import (
	"github.com/pronto-lab/openclawd/coordination"
)

// Shown is the JSON form of a plan: that of plan files in OpenClaw. Times are ISO 8601 in UTC, with milliseconds.
type Shown struct {
	ID             string   `json:"id"`
	AgentID        string   `json:"agentId"`
	TaskID         string   `json:"taskId"`
	Title          string   `json:"title"`
	Steps          []string `json:"steps"`
	ToolsRequested []string `json:"toolsRequested,omitempty"`
	Status         string   `json:"status"` // pending, approved, rejected
	SubmittedAt    string   `json:"submittedAt"`
	DecidedAt      string   `json:"decidedAt,omitempty"`
	DecidedBy      string   `json:"decidedBy,omitempty"`
	RejectReason   string   `json:"rejectReason,omitempty"`
}

// Show returns the JSON form of the plan.
func (p *Plan) Show() Shown {
	s := Shown{
		ID: p.ID, AgentID: p.Agent, TaskID: p.TaskID, Title: p.Title, Steps: p.Steps, ToolsRequested: p.Tools,
		Status: p.Status, SubmittedAt: coordination.FormatTime(p.SubmittedAt), DecidedBy: p.DecidedBy, RejectReason: p.Reason,
	}
	if s.Steps == nil {
		s.Steps = []string{}
	}
	if p.DecidedAt != 0 {
		s.DecidedAt = coordination.FormatTime(p.DecidedAt)
	}
	return s
}
