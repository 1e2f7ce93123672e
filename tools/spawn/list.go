package spawn

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
)

type listedSubagent struct {
	Index       int    `json:"index"` // position in the list, from 1
	RunID       string `json:"runId"`
	SessionKey  string `json:"sessionKey"`
	AgentID     string `json:"agentId"`
	Label       string `json:"label"` // as given, else the beginning of the task
	Task        string `json:"task"`  // beginning of the task
	TaskID      string `json:"taskId,omitempty"`
	Delegation  string `json:"delegationId,omitempty"` // delegation of that task
	Status      string `json:"status"`
	Reason      string `json:"reason,omitempty"`
	Runtime     string `json:"runtime"`
	RuntimeMs   int64  `json:"runtimeMs"`
	StartedAt   int64  `json:"startedAt"` // ms since 1970
	StartedAgo  string `json:"startedAgo"`
	EndedAt     int64  `json:"endedAt,omitempty"` // ms since 1970
	EndedAgo    string `json:"endedAgo,omitempty"`
	Model       string `json:"model,omitempty"`      // that answered last
	TotalTokens int64  `json:"totalTokens,omitzero"` // of its newest answer
}

type listAnswer struct {
	Status              string           `json:"status"`
	Action              string           `json:"action"`
	RequesterSessionKey string           `json:"requesterSessionKey"` // session whose sub-agents they are
	CallerSessionKey    string           `json:"callerSessionKey"`
	CallerIsSubagent    bool             `json:"callerIsSubagent"`
	Total               int              `json:"total"`
	Active              []listedSubagent `json:"active"`
	Recent              []listedSubagent `json:"recent"`
	Text                string           `json:"text"`
}

// list shows the active and the recently finished sub-agents.
func (s *subagents) list(f subagentTree) listAnswer {
	a := listAnswer{
		Status: statusOK, Action: actionList, RequesterSessionKey: f.of, CallerSessionKey: s.call.Session.String(),
		CallerIsSubagent: s.call.Session.Kind == coordination.KeySubagent, Total: len(f.active) + len(f.recent), Active: []listedSubagent{}, Recent: []listedSubagent{},
	}
	var b strings.Builder
	b.WriteString("active sub-agents:\n")
	a.Active = s.lines(&b, f.active, 1)
	fmt.Fprintf(&b, "\nrecent (last %dm):\n", s.args.RecentMinutes)
	a.Recent = s.lines(&b, f.recent, len(f.active)+1)
	a.Text = strings.TrimSuffix(b.String(), "\n")
	return a
}

// lines returns sub-agents as list entries and writes them as text for models. first is the number of the first.
func (s *subagents) lines(b *strings.Builder, of []member, first int) []listedSubagent {
	all := []listedSubagent{}
	for i := range of {
		l := s.listEntry(&of[i], first+i)
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

// labelLength and taskLength bound the characters of a task that are shown as label and beside it.
const (
	labelLength = 48
	taskLength  = 72
)

func (s *subagents) listEntry(m *member, index int) listedSubagent {
	end := cmp.Or(m.EndedAt, s.now.UnixMilli())
	l := listedSubagent{
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

// statusOf returns a sub-agent's status: running, done, failed, timeout or killed.
func statusOf(m *member) string {
	switch {
	case m.Phase.Open():
		return "running"
	case m.Outcome == a2a.OutcomeOK:
		return "done"
	case m.Outcome == coordination.OutcomeValueTimeout, m.Outcome == coordination.OutcomeValueKilled:
		return m.Outcome
	case m.Outcome == coordination.OutcomeValueCancelled:
		return coordination.OutcomeValueKilled
	}
	return "failed"
}

func (s *subagents) ago(at int64) string { return span(max(s.now.UnixMilli()-at, 0)) + " ago" }

func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return d.Truncate(time.Second).String()
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}
