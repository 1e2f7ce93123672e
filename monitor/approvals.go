package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/projections"
	plans "github.com/pronto-lab/openclawd/projections/plan"
	tasks "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/workspace"
)

const (
	approvalsPath = "/api/approvals"
	approveTail   = "/approve"
	rejectTail    = "/reject"
	hintApprovals = "GET " + approvalsPath + " lists what waits"
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
	StepsCount     int      `json:"stepsCount,omitempty"` // how many there are; a list has the first of them only
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
	Limit int // of those that are listed, not of those that are counted
}

func (q *ApprovalQuery) wants(kind string) bool { return q.Kind == "" || q.Kind == kind }

// Waiting is what waits for an approval.
type Waiting struct {
	List  []Approval             // longest first, each in brief
	Kinds map[string]WaitingKind // whatever the limit; a kind of which nothing waits is missing
}

// WaitingKind is how much of a kind waits.
type WaitingKind struct {
	N       int
	SinceMs int64 // when the first of them was asked for, ms since 1970; 0 where nobody knows
}

func newWaiting() *Waiting { return &Waiting{List: []Approval{}, Kinds: map[string]WaitingKind{}} }

// Total is how much waits, whatever its kind.
func (w *Waiting) Total() (n int) {
	for _, of := range w.Kinds {
		n += of.N
	}
	return n
}

// PendingApprovals is what waits for an approval by the tables of tasks and plans.
func PendingApprovals(ctx context.Context, tx *sql.Tx, q ApprovalQuery) (*Waiting, error) {
	w := newWaiting()
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
			if waits(&rows[i]) {
				w.add(approvalOfTask(rows[i].AgentID, &boardTask{rows[i].Task, rows[i].Seq}))
			}
		}
	}
	if q.wants(ApprovalOfPlan) {
		if err := w.addPlans(ctx, tx, plans.Query{Agent: q.Agent, Status: plan.Pending, Limit: q.Limit, Oldest: true}); err != nil {
			return nil, err
		}
	}
	w.end(q.Limit)
	return w, nil
}

// waits reports whether a task waits for an approval. One whose file another gateway has removed does not.
func waits(r *tasks.Row) bool { return r.Status == coordination.StatePendingApproval && !r.Gone }

// addPlans reads no more plans than are listed: they may be long.
func (w *Waiting) addPlans(ctx context.Context, tx *sql.Tx, q plans.Query) error {
	found, err := plans.List(ctx, tx, q)
	if err != nil || len(found) == 0 {
		return err
	}
	for i := range found {
		w.add(approvalOfPlan(&found[i]))
	}
	of := w.Kinds[ApprovalOfPlan]
	of.N, err = plans.Count(ctx, tx, q)
	w.Kinds[ApprovalOfPlan] = of
	return err
}

func (w *Waiting) add(a *Approval) {
	of := w.Kinds[a.Kind]
	of.N++
	if at := a.RequestedAtMs; at > 0 && (of.SinceMs == 0 || at < of.SinceMs) {
		of.SinceMs = at
	}
	w.Kinds[a.Kind] = of
	w.List = append(w.List, *a.brief())
}

// end puts what has waited for longest first; of what nobody knows how long it has waited, all.
func (w *Waiting) end(limit int) {
	slices.SortFunc(w.List, func(a, b Approval) int {
		return cmp.Or(cmp.Compare(a.RequestedAtMs, b.RequestedAtMs), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	if limit > 0 {
		w.List = w.List[:min(limit, len(w.List))]
	}
}

// PendingApproval is what waits for an approval under an id, whole; nil if nothing does.
func PendingApproval(ctx context.Context, tx *sql.Tx, id string) (*Approval, error) {
	p, found, err := plans.Load(projections.Reading(ctx, tx), id)
	if err != nil {
		return nil, err
	}
	if found && p.Status == plan.Pending {
		return approvalOfPlan(p), nil
	}
	r, found, err := tasks.Brief(ctx, tx, id)
	if err != nil || !found || !waits(r) {
		return nil, err
	}
	return approvalOfTask(r.AgentID, &boardTask{r.Task, r.Seq}), nil
}

func approvalOfTask(agent string, t *boardTask) *Approval {
	a := &Approval{ID: t.ID, Kind: ApprovalOfTask, AgentID: agent, Title: t.Title(), Description: t.Description, TaskID: t.ID,
		WorkSessionID: t.WorkSessionID, Priority: t.Priority, SessionKey: t.CreatedBySessionKey, DerivedFromSeq: t.DerivedFromSeq, StepsCount: len(t.Steps)}
	for i := range t.Steps {
		a.Steps = append(a.Steps, t.Steps[i].Content)
	}
	a.since(t.Created)
	return a
}

func approvalOfPlan(p *plan.Plan) *Approval {
	a := &Approval{ID: p.ID, Kind: ApprovalOfPlan, AgentID: p.Agent, Title: p.Title, Steps: p.Steps, StepsCount: p.StepsCount, ToolsRequested: p.Tools,
		TaskID: p.TaskID, WorkSessionID: p.WorkSessionID, SessionKey: p.SessionKey, DerivedFromSeq: p.Last}
	a.since(p.Show().SubmittedAt)
	return a
}

// What a list has of an approval, so that it stays small whatever agents write.
const (
	briefSteps = 20
	briefStep  = 300   // characters
	briefText  = 2_000 // likewise, of a description
)

// brief is an approval as lists have it.
func (a *Approval) brief() *Approval {
	short := *a
	short.Description, short.Steps = beginning(a.Description, briefText), nil
	for _, step := range a.Steps[:min(briefSteps, len(a.Steps))] {
		short.Steps = append(short.Steps, beginning(step, briefStep))
	}
	return &short
}

// beginning is a text up to at most limit characters, the dots that say so included.
func beginning(text string, limit int) string {
	const dots = "..."
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return coordination.Head(text, limit-len(dots)) + dots
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
	q := ApprovalQuery{Agent: p.agent("agent"), Limit: p.limit()}
	q.Kind = p.word("kind", ApprovalOfTask, ApprovalOfPlan)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	if err := s.opts.knowsTasks(); err != nil {
		return err
	}
	a := &approvalsAnswer{Decidable: s.opts.Approvals != nil}
	w := newWaiting()
	if s.opts.OwnTasks == nil {
		var err error
		if a.Invalid, err = s.inFiles(c, minSeq, q, w.add); err != nil {
			return err
		}
		w.end(q.Limit)
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		if v.OwnTasks != nil {
			var err error
			if w, err = PendingApprovals(ctx, v.tx, q); err != nil {
				return nil, err
			}
		}
		a.Approvals, a.Count, a.Total, a.AsOfSeq = w.List, len(w.List), w.Total(), v.asOf
		for i := range a.Approvals {
			a.DerivedFromSeq = max(a.DerivedFromSeq, a.Approvals[i].DerivedFromSeq)
		}
		return a, nil
	})
}

// approvalAnswer answers GET /api/approvals/:id.
type approvalAnswer struct {
	Approval  *Approval `json:"approval"`
	Decidable bool      `json:"decidable"` // it can be decided here
	AsOfSeq   int64     `json:"asOfSeq"`
}

// showApproval shows the whole of what waits for an approval.
func (s *Server) showApproval(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	if err := s.opts.knowsTasks(); err != nil {
		return err
	}
	a := &approvalAnswer{Decidable: s.opts.Approvals != nil}
	if s.opts.OwnTasks == nil {
		_, err := s.inFiles(c, minSeq, ApprovalQuery{}, func(waiting *Approval) {
			if waiting.ID == id && a.Approval == nil {
				a.Approval = waiting
			}
		})
		if err != nil {
			return err
		}
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		if v.OwnTasks != nil {
			var err error
			if a.Approval, err = PendingApproval(ctx, v.tx, id); err != nil {
				return nil, err
			}
		}
		if a.Approval == nil {
			return nil, &problem{Status: http.StatusNotFound, Code: "not_found", Field: "id", Message: fmt.Sprintf("Nothing %.80q waits for approval", id),
				Hint: hintApprovals}
		}
		a.AsOfSeq = v.asOf
		return a, nil
	})
}

// inFiles visits what waits for an approval by the files of another gateway, in no order, once the log is read up to minSeq.
func (s *Server) inFiles(c echo.Context, minSeq int64, q ApprovalQuery, visit func(*Approval)) ([]workspace.Fault, error) {
	ctx := c.Request().Context()
	if err := s.await(ctx, minSeq); err != nil {
		return nil, err
	}
	b := &fileBoard{ctx: ctx, opts: &s.opts}
	defer b.end()
	return b.approvals(q, visit)
}

// approvals visits what waits for an approval, whatever the limit.
func (b *fileBoard) approvals(q ApprovalQuery, visit func(*Approval)) (faults []workspace.Fault, err error) {
	agents, err := b.agents()
	if err != nil {
		return nil, err
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
				return nil, err
			}
			faults = append(faults, more...)
			for i := range waiting {
				visit(approvalOfTask(agent, &waiting[i]))
			}
		}
		if q.wants(ApprovalOfPlan) {
			found, more, err := b.plans(agent)
			if errors.Is(err, workspace.ErrNoAgent) {
				continue
			}
			if err != nil {
				return nil, err
			}
			faults = append(faults, more...)
			for i := range found {
				if p := &found[i]; p.Text("status") == plan.Pending && !known[p.File] {
					known[p.File] = true
					visit(approvalOfFile(agent, p))
				}
			}
		}
	}
	slices.SortFunc(faults, func(a, b workspace.Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Error, b.Error))
	})
	return slices.Compact(faults), nil
}

func approvalOfFile(agent string, p *workspace.Plan) *Approval {
	a := &Approval{ID: p.Text("id"), Kind: ApprovalOfPlan, AgentID: cmp.Or(p.Text("agentId"), agent), Title: p.Text("title"), TaskID: p.Text("taskId"),
		Steps: textsOf(p.Members["steps"]), ToolsRequested: textsOf(p.Members["toolsRequested"]), WorkSessionID: p.Text("workSessionId")}
	a.StepsCount = len(a.Steps)
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
	return s.decide(c, approveTail, []string{"by"}, func(ctx context.Context, id, person string, _ map[string]string) (Decided, error) {
		return s.opts.Approvals.Approve(ctx, id, person)
	})
}

func (s *Server) reject(c echo.Context) error {
	return s.decide(c, rejectTail, []string{"by", "reason"}, func(ctx context.Context, id, person string, said map[string]string) (Decided, error) {
		reason := said["reason"]
		if coordination.TrimJS(reason) == "" {
			return Decided{}, &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "reason is required", Field: "reason",
				Hint: "say in reason what should be different: whoever has asked is told"}
		}
		return s.opts.Approvals.Reject(ctx, id, person, reason)
	})
}

// decision is what a person decides about what has that id; said is what else the body says.
type decision func(ctx context.Context, id, person string, said map[string]string) (Decided, error)

// decide has a person decide something; the body may say those fields. It is on disk when the answer goes out. Who leaves before does not keep
// it from being done to its end.
func (s *Server) decide(c echo.Context, tail string, fields []string, decide decision) error {
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
	said, err := textsIn(body, fields)
	if err != nil {
		return err
	}
	person, err := personOf(said["by"])
	if err != nil {
		return err
	}
	decided, err := decide(context.WithoutCancel(c.Request().Context()), id, person, said)
	if err != nil {
		return approvalProblem(err)
	}
	s.opts.Logger.Info("approval decided", "kind", decided.Kind, "id", decided.ID, "status", decided.Status, "by", decided.DecidedBy)
	s.position(c)
	return writeJSON(c, http.StatusOK, decidedAnswer{true, decided})
}

// textsIn are the texts that a body says. A field that is none of those, or no text, is refused.
func textsIn(body map[string]any, fields []string) (map[string]string, error) {
	texts := make(map[string]string, len(body))
	for _, field := range slices.Sorted(maps.Keys(body)) {
		text, is := body[field].(string)
		switch {
		case !slices.Contains(fields, field):
			return nil, badField(field, fmt.Sprintf("There is no field %q", beginning(field, maxField)),
				"leave it away; say only "+strings.Join(fields, " and "))
		case !is:
			return nil, badField(field, fmt.Sprintf("Bad value %s for %s: it is no text", shownJSON(body[field]), field), "give a string, or leave it away")
		}
		texts[field] = text
	}
	return texts, nil
}

// maxPerson is how many bytes the name of a person has at most.
const maxPerson = 200

// personOf is who decides: a name on one line, or the API itself for none.
func personOf(by string) (string, error) {
	by = coordination.TrimJS(by)
	switch {
	case len(by) > maxPerson:
		return "", badField("by", fmt.Sprintf("Bad value %q for by: it has more than %d bytes", beginning(by, maxField), maxPerson),
			fmt.Sprintf("give a name of at most %d bytes in UTF-8", maxPerson))
	case strings.ContainsFunc(by, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }):
		return "", badField("by", fmt.Sprintf("Bad value %.80q for by", by), "give a name on one line")
	}
	return cmp.Or(by, byAPI), nil
}
