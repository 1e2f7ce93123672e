package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	plans "github.com/pronto-lab/openclawd/projections/plan"
	tasks "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/workspace"
)

const (
	approvalsPath = "/api/approvals"
	approveTail   = "/approve"
	rejectTail    = "/reject"
)

// Kinds of what waits for an approval.
const (
	ApprovalOfTask = "task"
	ApprovalOfPlan = "plan"
)

// Approvals is where people decide what waits for an approval. Errors are *ApprovalError, or the log's.
type Approvals interface {
	Approve(ctx context.Context, id, person string) (Decided, error)
	Reject(ctx context.Context, id, person, reason string) (Decided, error)
}

// Decided is what was decided.
type Decided struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"` // task, plan
	AgentID   string `json:"agentId"`
	TaskID    string `json:"taskId"`
	Status    string `json:"status"` // afterwards
	DecidedBy string `json:"decidedBy"`
}

// ApprovalError says why something was not decided. Nothing has happened then.
type ApprovalError struct {
	Reason, Field, Text, Mend string
	Unknown                   bool // there is no such thing, or none that can be decided
}

func (e *ApprovalError) Error() string { return e.Text }

// Approval is something that waits for somebody to agree to it.
type Approval struct {
	ID             string   `json:"id"`
	Kind           string   `json:"kind"` // task, plan
	AgentID        string   `json:"agentId"`
	Title          string   `json:"title"`
	Description    string   `json:"description,omitempty"`
	Steps          []string `json:"steps,omitempty"`
	ToolsRequested []string `json:"toolsRequested,omitempty"`
	TaskID         string   `json:"taskId"`
	WorkSessionID  string   `json:"workSessionId"`
	Priority       string   `json:"priority,omitempty"`
	RequestedAt    string   `json:"requestedAt"`              // ISO 8601; "" where nobody knows
	RequestedAtMs  int64    `json:"requestedAtMs"`            // 0 likewise
	SessionKey     string   `json:"sessionKey,omitempty"`     // the session that has asked
	DerivedFromSeq int64    `json:"derivedFromSeq,omitempty"` // of the event that last changed it; 0: it is from a file
}

// ApprovalQuery selects what waits. Zero values select all.
type ApprovalQuery struct {
	Agent string // lower case
	Kind  string
}

func (q *ApprovalQuery) wants(kind string) bool { return q.Kind == "" || q.Kind == kind }

// PendingApprovals is what waits for an approval by the tables of tasks and plans, longest first.
func PendingApprovals(ctx context.Context, tx *sql.Tx, q ApprovalQuery) ([]Approval, error) {
	list := []Approval{}
	if q.wants(ApprovalOfTask) {
		open := true
		f := tasks.Filter{Statuses: []string{coordination.StatePendingApproval}, Open: &open}
		if q.Agent != "" {
			f.Agents = []string{q.Agent}
		}
		rows, _, err := tasks.List(ctx, tx, f)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if r := &rows[i]; !r.Gone {
				list = append(list, approvalOfTask(r.AgentID, &boardTask{r.Task, r.Seq}))
			}
		}
	}
	if q.wants(ApprovalOfPlan) {
		found, err := plans.List(ctx, tx, plans.Query{Agent: q.Agent, Status: plan.Pending})
		if err != nil {
			return nil, err
		}
		for i := range found {
			list = append(list, approvalOfPlan(&found[i]))
		}
	}
	sortApprovals(list)
	return list, nil
}

// sortApprovals puts what has waited for longest first; of what nobody knows how long it has waited, all.
func sortApprovals(list []Approval) {
	slices.SortFunc(list, func(a, b Approval) int {
		return cmp.Or(cmp.Compare(a.RequestedAtMs, b.RequestedAtMs), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
}

func approvalOfTask(agent string, t *boardTask) Approval {
	a := Approval{ID: t.ID, Kind: ApprovalOfTask, AgentID: agent, Title: t.Title(), Description: t.Description, TaskID: t.ID,
		WorkSessionID: t.WorkSessionID, Priority: t.Priority, SessionKey: t.CreatedBySessionKey, DerivedFromSeq: t.DerivedFromSeq}
	for i := range t.Steps {
		a.Steps = append(a.Steps, t.Steps[i].Content)
	}
	a.since(t.Created)
	return a
}

func approvalOfPlan(p *plan.Plan) Approval {
	a := Approval{ID: p.ID, Kind: ApprovalOfPlan, AgentID: p.Agent, Title: p.Title, Steps: p.Steps, ToolsRequested: p.Tools, TaskID: p.TaskID,
		WorkSessionID: p.WorkSessionID, SessionKey: p.SessionKey, DerivedFromSeq: p.Last}
	a.since(p.Show().SubmittedAt)
	return a
}

// since notes when the approval was asked for.
func (a *Approval) since(text string) {
	if ms, ok := coordination.ParseTime(text); ok {
		a.RequestedAt, a.RequestedAtMs = text, int64(ms)
	}
}

// approvalsAnswer answers GET /api/approvals.
type approvalsAnswer struct {
	Approvals      []Approval        `json:"approvals"`
	Count          int               `json:"count"`
	Total          int               `json:"total"`                    // how many wait, whatever limit says
	Decidable      bool              `json:"decidable"`                // they can be decided here
	DerivedFromSeq int64             `json:"derivedFromSeq,omitempty"` // the last event that changed one of them
	AsOfSeq        int64             `json:"asOfSeq"`
	Invalid        []workspace.Fault `json:"invalid,omitempty"`
}

// listApprovals lists what waits for an approval, longest first: from the log or, where another gateway keeps the tasks, from its files.
func (s *Server) listApprovals(c echo.Context) error {
	p := parametersOf(c)
	q, limit := ApprovalQuery{Agent: p.agent("agent")}, p.limit()
	switch kinds := p.words("kind", ApprovalOfTask, ApprovalOfPlan); {
	case len(kinds) > 1:
		p.refuse("kind", kinds[1], "name one kind, or none for both")
	case len(kinds) == 1:
		q.Kind = kinds[0]
	}
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	a := &approvalsAnswer{Decidable: s.opts.Approvals != nil}
	if s.opts.OwnTasks == nil {
		ctx := c.Request().Context()
		if err := s.await(ctx, minSeq); err != nil {
			return err
		}
		b := &fileBoard{ctx: ctx, opts: &s.opts}
		defer b.end()
		var err error
		if a.Approvals, a.Invalid, err = b.approvals(q); err != nil {
			return err
		}
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		if v.OwnTasks != nil {
			var err error
			if a.Approvals, err = PendingApprovals(ctx, v.tx, q); err != nil {
				return nil, err
			}
		}
		a.Total, a.AsOfSeq = len(a.Approvals), v.asOf
		a.Approvals = a.Approvals[:min(limit, a.Total)]
		a.Count = len(a.Approvals)
		for i := range a.Approvals {
			a.DerivedFromSeq = max(a.DerivedFromSeq, a.Approvals[i].DerivedFromSeq)
		}
		return a, nil
	})
}

// approvals is what waits for an approval by the files of another gateway, longest first.
func (b *fileBoard) approvals(q ApprovalQuery) (list []Approval, faults []workspace.Fault, err error) {
	list = []Approval{}
	agents, err := b.agents()
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{} // plans that name several agents
	for _, agent := range agents {
		if q.Agent != "" && !strings.EqualFold(agent, q.Agent) {
			continue
		}
		if q.wants(ApprovalOfTask) {
			waiting, more, err := b.tasks(agent, coordination.StatePendingApproval)
			if errors.Is(err, workspace.ErrNoAgent) { // it has gone since
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			faults = append(faults, more...)
			for i := range waiting {
				list = append(list, approvalOfTask(agent, &waiting[i]))
			}
		}
		if q.wants(ApprovalOfPlan) {
			found, more, err := b.plans(agent)
			if errors.Is(err, workspace.ErrNoAgent) {
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			faults = append(faults, more...)
			for i := range found {
				if p := &found[i]; p.Text("status") == plan.Pending && !known[p.File] {
					known[p.File] = true
					list = append(list, approvalOfFile(agent, p))
				}
			}
		}
	}
	slices.SortFunc(faults, func(a, b workspace.Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Error, b.Error))
	})
	sortApprovals(list)
	return list, slices.Compact(faults), nil
}

func approvalOfFile(agent string, p *workspace.Plan) Approval {
	a := Approval{ID: p.Text("id"), Kind: ApprovalOfPlan, AgentID: cmp.Or(p.Text("agentId"), agent), Title: p.Text("title"), TaskID: p.Text("taskId"),
		Steps: textsOf(p.Members["steps"]), ToolsRequested: textsOf(p.Members["toolsRequested"]), WorkSessionID: p.Text("workSessionId")}
	a.since(cmp.Or(p.Text("submittedAt"), p.Text("createdAt")))
	return a
}

// textsOf are the strings of a list; none where it holds anything else.
func textsOf(list json.RawMessage) (texts []string) {
	if json.Unmarshal(list, &texts) != nil {
		return nil
	}
	return texts
}

// decidedAnswer answers POST /api/approvals/:id/approve and /reject.
type decidedAnswer struct {
	OK bool `json:"ok"`
	Decided
}

func (s *Server) approve(c echo.Context) error {
	return s.decide(c, approveTail, func(ctx context.Context, id, person string, _ map[string]any) (Decided, error) {
		return s.opts.Approvals.Approve(ctx, id, person)
	})
}

func (s *Server) reject(c echo.Context) error {
	return s.decide(c, rejectTail, func(ctx context.Context, id, person string, body map[string]any) (Decided, error) {
		reason, _ := body["reason"].(string)
		if coordination.TrimJS(reason) == "" {
			return Decided{}, &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "reason is required", Field: "reason",
				Hint: "say in reason what should be different: whoever has asked is told"}
		}
		return s.opts.Approvals.Reject(ctx, id, person, reason)
	})
}

// decision is what a person decides about what has that id; body is what else was said.
type decision func(ctx context.Context, id, person string, body map[string]any) (Decided, error)

// decide has a person decide something. It is on disk when the answer goes out. Who leaves before does not keep it from being done to its end.
func (s *Server) decide(c echo.Context, tail string, decide decision) error {
	id, err := pathID(c, tail)
	if err != nil {
		return err
	}
	body, err := readBodyIfAny(c)
	if err != nil {
		return err
	}
	if s.opts.Approvals == nil {
		return &problem{Status: http.StatusConflict, Code: "decided_elsewhere", Message: "Nothing is approved here",
			Hint: "another gateway runs the agents: ask it, or the server that took its place"}
	}
	person, err := personOf(body)
	if err != nil {
		return err
	}
	decided, err := decide(context.WithoutCancel(c.Request().Context()), id, person, body)
	if err != nil {
		return approvalProblem(err)
	}
	s.opts.Logger.Info("approval decided", "kind", decided.Kind, "id", decided.ID, "status", decided.Status, "by", decided.DecidedBy)
	s.position(c)
	return writeJSON(c, http.StatusOK, decidedAnswer{true, decided})
}

// personOf is who decides: what a body says, one line, or the API itself. What is no string is passed over.
func personOf(body map[string]any) (string, error) {
	by, _ := body["by"].(string)
	by = coordination.TrimJS(by)
	switch {
	case utf8.RuneCountInString(by) > maxUpdatedBy:
		return "", tooLong("by", by, maxUpdatedBy)
	case strings.ContainsFunc(by, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }):
		return "", &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "by", Message: fmt.Sprintf("Bad value %.80q for by", by),
			Hint: "give a name on one line"}
	}
	return cmp.Or(by, byAPI), nil
}
