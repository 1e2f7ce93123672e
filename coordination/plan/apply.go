package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Apply folds an event of the plan's stream and reports whether it changed the plan; an event that the plan's status does not allow
// changes nothing. agent is the event's agent, version the stream's version with the event, ts ms since 1970. Redacted data (nil) has
// the effect of the type alone. An event that cannot be read is an error and changes nothing.
func (p *Plan) Apply(typ, agent string, data []byte, seq, version, ts int64) (bool, error) {
	var status string
	switch typ {
	case coordination.TypePlanSubmitted:
		status = Pending
	case coordination.TypePlanApproved:
		status = Approved
	case coordination.TypePlanRejected:
		status = Rejected
	}
	if !leads(p.Status, status) {
		return false, nil
	}
	var d coordination.Plan
	if len(data) > 0 {
		if err := json.Unmarshal(data, &d); err != nil {
			return false, fmt.Errorf("fold %s into plan %s: %w", typ, p.ID, err)
		}
	}
	if status == Pending {
		p.submit(d, agent, seq, ts)
	} else {
		p.decide(status, d, ts)
	}
	p.Status, p.Version, p.Last = status, version, seq
	return true, nil
}

// leads reports whether a plan may go from one status to another. "" is the status of a plan that does not exist yet.
func leads(from, to string) bool {
	switch from {
	case "":
		return to == Pending
	case Pending:
		return to == Approved || to == Rejected
	}
	return false
}

func (p *Plan) submit(d coordination.Plan, agent string, seq, ts int64) {
	p.ID, p.Agent, p.Seq, p.SubmittedAt = cmp.Or(d.PlanID, p.ID), strings.ToLower(cmp.Or(agent, d.AgentID)), seq, ts
	p.TaskID, p.WorkSessionID, p.SessionKey = d.TaskID, d.WorkSessionID, d.SessionKey
	p.Title, p.Steps, p.Tools = d.Title, d.Steps, d.ToolsRequested
	p.StepsCount = max(len(d.Steps), d.StepsCount)
}

// decide ends the wait for a decision. If the task goes on in another work session by now, the plan moves to that one.
func (p *Plan) decide(status string, d coordination.Plan, ts int64) {
	p.DecidedAt, p.DecidedBy = max(ts, p.SubmittedAt), d.DecidedBy
	p.WorkSessionID = cmp.Or(d.WorkSessionID, p.WorkSessionID)
	if status == Rejected {
		p.Reason = d.Reason
	}
}
