package spawn

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
)

// listed is a sub-agent as the list shows it.
type listed struct {
	Index       int    `json:"index"` // in the list, from 1
	RunID       string `json:"runId"`
	SessionKey  string `json:"sessionKey"`
	AgentID     string `json:"agentId"`
	Label       string `json:"label"` // as it was given, else how the task begins
	Task        string `json:"task"`  // how it begins
	TaskID      string `json:"taskId,omitempty"`
	Delegation  string `json:"delegationId,omitempty"` // what it does for that task
	Status      string `json:"status"`
	Reason      string `json:"reason,omitempty"`
	Runtime     string `json:"runtime"`
	RuntimeMs   int64  `json:"runtimeMs"`
	StartedAt   int64  `json:"startedAt"`            // ms since 1970
	StartedAgo  string `json:"startedAgo"`           //
	EndedAt     int64  `json:"endedAt,omitempty"`    // ms since 1970
	EndedAgo    string `json:"endedAgo,omitempty"`   //
	Model       string `json:"model,omitempty"`      // that answered last
	TotalTokens int64  `json:"totalTokens,omitzero"` // of its newest answer
}

type listAnswer struct {
	Status              string   `json:"status"`
	Action              string   `json:"action"`
	RequesterSessionKey string   `json:"requesterSessionKey"` // whose sub-agents they are
	CallerSessionKey    string   `json:"callerSessionKey"`
	CallerIsSubagent    bool     `json:"callerIsSubagent"`
	Total               int      `json:"total"`
	Active              []listed `json:"active"`
	Recent              []listed `json:"recent"`
	Text                string   `json:"text"`
}

// list shows what there is: what works, and what has ended lately.
func (s *subagents) list(f family) listAnswer {
	a := listAnswer{
		Status: statusOK, Action: actionList, RequesterSessionKey: f.of, CallerSessionKey: s.call.Session.String(),
		CallerIsSubagent: s.call.Session.Kind == coordination.KeySubagent, Total: len(f.active) + len(f.recent), Active: []listed{}, Recent: []listed{},
	}
	var b strings.Builder
	b.WriteString("active sub-agents:\n")
	a.Active = s.lines(&b, f.active, 1)
	fmt.Fprintf(&b, "\nrecent (last %dm):\n", s.args.RecentMinutes)
	a.Recent = s.lines(&b, f.recent, len(f.active)+1)
	a.Text = strings.TrimSuffix(b.String(), "\n")
	return a
}

// lines are sub-agents as the list shows them, which it writes down for models besides. first is the number of the first.
func (s *subagents) lines(b *strings.Builder, of []member, first int) []listed {
	all := []listed{}
	for i := range of {
		l := s.listed(&of[i], first+i)
		all = append(all, l)
		fmt.Fprintf(b, "%d. %s (%s, %s) %s", l.Index, l.Label, cmp.Or(l.Model, "no model yet"), l.Runtime, l.Status)
		if l.Task != l.Label {
			b.WriteString(" - " + l.Task)
		}
		b.WriteByte('\n')
	}
	if len(of) == 0 {
		b.WriteString("(none)\n")
	}
	return all
}

// labelLength and taskLength are how many characters of a task are shown, in the place of a label and beside it.
const (
	labelLength = 48
	taskLength  = 72
)

func (s *subagents) listed(m *member, index int) listed {
	end := cmp.Or(m.EndedAt, s.now.UnixMilli())
	l := listed{
		Index: index, RunID: m.JobID, SessionKey: m.TargetSessionKey, AgentID: m.ToAgent, Label: labelOf(m),
		Task: coordination.Preview(m.Preview, nil, taskLength), TaskID: m.TaskID, Delegation: m.delegation, Status: statusOf(m), Reason: m.Reason,
		RuntimeMs: max(end-m.CreatedAt, 0), StartedAt: m.CreatedAt, EndedAt: m.EndedAt, Model: m.model, TotalTokens: m.tokens,
	}
	l.Runtime, l.StartedAgo = span(l.RuntimeMs), s.ago(m.CreatedAt)
	if m.EndedAt > 0 {
		l.EndedAgo = s.ago(m.EndedAt)
	}
	return l
}

func labelOf(m *member) string {
	return cmp.Or(m.Label, coordination.Preview(m.Preview, nil, labelLength), m.JobID)
}

// statusOf is how a sub-agent stands: running, done, failed, timeout or killed.
func statusOf(m *member) string {
	switch {
	case m.Phase.Open():
		return "running"
	case m.Outcome == decide.OutcomeOK:
		return "done"
	case m.Outcome == coordination.OutcomeValueTimeout, m.Outcome == coordination.OutcomeValueKilled:
		return m.Outcome
	case m.Outcome == coordination.OutcomeValueCancelled:
		return coordination.OutcomeValueKilled
	}
	return "failed"
}

func (s *subagents) ago(at int64) string { return span(max(s.now.UnixMilli()-at, 0)) + " ago" }

// span is how long something took, to people.
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return d.Truncate(time.Second).String()
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}
