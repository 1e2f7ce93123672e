package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/workspace"
)

const (
	approvalsPath = "/api/approvals"
	approveTail   = "/approve"
	alwaysTail    = "/always"
	forgetTail    = "/forget"
	rejectTail    = "/reject"
	hintApprovals = "GET " + approvalsPath + " lists what waits for approval"
)

// States of listed approvals.
const (
	statePending = "pending"
	stateDecided = "decided"
	stateLasting = "lasting" // permissions that outlast the call that was asked for
)

// Approvals decides pending approvals. Errors are *approval.Refusal, or the log's.
type Approvals interface {
	ApproveAlways(ctx context.Context, id, person, scope string) (approval.Decided, error)
	Forget(ctx context.Context, id, person string) (approval.Decided, error)
	// Answer approves, with values for what a call wants as input.
	Answer(ctx context.Context, id, person string, values map[string]json.RawMessage) (approval.Decided, error)
	Reject(ctx context.Context, id, person, reason string) (approval.Decided, error)
}

// approvalsAnswer answers GET /api/approvals.
type approvalsAnswer struct {
	Approvals      []approval.Approval `json:"approvals"`
	Count          int                 `json:"count"`
	Total          int                 `json:"total"`                    // number of pending approvals, regardless of limit; of decided ones, of those listed
	Decidable      bool                `json:"decidable"`                // they can be decided here
	DerivedFromSeq int64               `json:"derivedFromSeq,omitempty"` // the last event that changed one of them
	AsOfSeq        int64               `json:"asOfSeq"`
	Invalid        []workspace.Fault   `json:"invalid,omitempty"`
}

// listApprovals lists pending approvals, longest waiting first: from the log, or from files if another gateway stores
// the tasks. With state=decided it lists what the log says was decided.
func (s *Server) listApprovals(c echo.Context) error {
	p := parametersOf(c)
	q := pending.Query{Agent: p.agent("agent"), Limit: p.limit()}
	q.Kind = p.word("kind", approval.OfTask, approval.OfPlan, approval.OfCall)
	state := p.choice("state", statePending, stateDecided, stateLasting)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	if err := s.opts.knowsTasks(); err != nil {
		return err
	}
	if state != statePending {
		return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
			read := v.decidedApprovals
			if state == stateLasting {
				read = v.lastingPermissions
			}
			list, err := read(ctx, q)
			return &approvalsAnswer{Approvals: list, Count: len(list), Total: len(list), Decidable: false, AsOfSeq: v.asOf}, err
		})
	}
	a := &approvalsAnswer{Decidable: s.opts.Approvals != nil}
	w := pending.New()
	if s.opts.OwnTasks == nil {
		var err error
		if a.Invalid, err = s.inFiles(c, minSeq, q, w.Add); err != nil {
			return err
		}
		w.Sort(q.Limit)
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		if v.OwnTasks != nil {
			var err error
			q.Now = int64(v.now)
			if w, err = pending.Approvals(ctx, v.tx, q); err != nil {
				return nil, err
			}
			v.untilExpired(w.List)
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
	Approval  *approval.Approval `json:"approval"`
	Decidable bool               `json:"decidable"` // it can be decided here
	AsOfSeq   int64              `json:"asOfSeq"`
}

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
		_, err := s.inFiles(c, minSeq, pending.Query{}, func(waiting *approval.Approval) {
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
			if a.Approval, err = pending.Approval(ctx, v.tx, id, int64(v.now)); err != nil {
				return nil, err
			}
			if a.Approval != nil {
				v.untilExpired([]approval.Approval{*a.Approval})
			}
		}
		if a.Approval == nil {
			return nil, &problem{Status: http.StatusNotFound, Code: "not_found", Field: "id", Message: fmt.Sprintf("Approval %.80q is not pending", id),
				Hint: hintApprovals}
		}
		a.AsOfSeq = v.asOf
		return a, nil
	})
}

// inFiles visits the pending approvals in another gateway's files, unordered, once the log is read up to minSeq.
func (s *Server) inFiles(c echo.Context, minSeq int64, q pending.Query, visit func(*approval.Approval)) ([]workspace.Fault, error) {
	ctx := c.Request().Context()
	if err := s.await(ctx, minSeq); err != nil {
		return nil, err
	}
	b := &fileBoard{ctx: ctx, opts: &s.opts}
	defer b.end()
	return b.approvals(q, visit)
}

func (b *fileBoard) approvals(q pending.Query, visit func(*approval.Approval)) (faults []workspace.Fault, err error) {
	agents, err := b.agents()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{} // plans that name several agents
	for _, agent := range agents {
		if q.Agent != "" && !strings.EqualFold(agent, q.Agent) {
			continue
		}
		if q.Wants(approval.OfTask) {
			waiting, more, err := b.tasks(agent, coordination.StatePendingApproval)
			if errors.Is(err, workspace.ErrNoAgent) { // it has disappeared since
				continue
			}
			if err != nil {
				return nil, err
			}
			faults = append(faults, more...)
			for i := range waiting {
				visit(pending.OfTask(agent, &waiting[i].Task, waiting[i].DerivedFromSeq))
			}
		}
		if q.Wants(approval.OfPlan) {
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

func approvalOfFile(agent string, p *workspace.Plan) *approval.Approval {
	a := &approval.Approval{ID: p.Text("id"), Kind: approval.OfPlan, AgentID: cmp.Or(p.Text("agentId"), agent), Title: p.Text("title"), TaskID: p.Text("taskId"),
		Steps: textsOf(p.Members["steps"]), ToolsRequested: textsOf(p.Members["toolsRequested"]), WorkSessionID: p.Text("workSessionId")}
	a.StepsCount = len(a.Steps)
	a.Since(cmp.Or(p.Text("submittedAt"), p.Text("createdAt")))
	return a
}

// textsOf returns a list's strings; none if it contains anything else.
func textsOf(list json.RawMessage) (texts []string) {
	if json.Unmarshal(list, &texts) != nil {
		return nil
	}
	return texts
}

// decidedAnswer answers POST /api/approvals/:id/approve, /reject, /always and /forget.
type decidedAnswer struct {
	OK bool `json:"ok"`
	approval.Decided
}

func (s *Server) approve(c echo.Context) error {
	values := map[string]json.RawMessage{}
	return s.decideTaking(c, approveTail, []string{"by"}, values, func(ctx context.Context, id, person string, _ map[string]string) (approval.Decided, error) {
		return s.opts.Approvals.Answer(ctx, id, person, values)
	})
}

func (s *Server) reject(c echo.Context) error {
	return s.decide(c, rejectTail, []string{"by", "reason"}, func(ctx context.Context, id, person string, said map[string]string) (approval.Decided, error) {
		reason := said["reason"]
		if coordination.TrimJS(reason) == "" {
			return approval.Decided{}, &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "reason is required", Field: "reason",
				Hint: "say in reason what should be different: the requester is told"}
		}
		return s.opts.Approvals.Reject(ctx, id, person, reason)
	})
}

func (s *Server) approveAlways(c echo.Context) error {
	return s.decide(c, alwaysTail, []string{"by", "scope"}, func(ctx context.Context, id, person string, said map[string]string) (approval.Decided, error) {
		return s.opts.Approvals.ApproveAlways(ctx, id, person, said["scope"])
	})
}

func (s *Server) forgetPermission(c echo.Context) error {
	return s.decide(c, forgetTail, []string{"by"}, func(ctx context.Context, id, person string, _ map[string]string) (approval.Decided, error) {
		return s.opts.Approvals.Forget(ctx, id, person)
	})
}

// decision reads a person's decision on the approval with this id; said holds the other body fields.
type decision func(ctx context.Context, id, person string, said map[string]string) (approval.Decided, error)

// decide applies a person's decision; the body may contain the given fields. It is on disk when the answer is sent,
// and completes even if the client leaves.
func (s *Server) decide(c echo.Context, tail string, fields []string, decide decision) error {
	return s.decideTaking(c, tail, fields, nil, decide)
}

// decideTaking is decide, and takes the body's values for what a call wants as input into a map, unless that is nil.
func (s *Server) decideTaking(c echo.Context, tail string, fields []string, values map[string]json.RawMessage, decide decision) error {
	id, err := pathID(c, tail)
	if err != nil {
		return err
	}
	body, err := readBodyIfAny(c)
	if err != nil {
		return err
	}
	if s.opts.Approvals == nil {
		return &problem{Status: http.StatusConflict, Code: "decided_elsewhere", Message: "No approvals are decided here",
			Hint: "another gateway runs the agents: ask it, or the server that replaced it"}
	}
	if values != nil {
		if err := valuesIn(body, values); err != nil {
			return err
		}
	}
	said, err := textsIn(body, fields)
	if err != nil {
		return err
	}
	person, err := personIn(c, said["by"])
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

// valuesIn takes the values of a form out of the body.
func valuesIn(body map[string]any, values map[string]json.RawMessage) error {
	given, has := body["values"]
	if !has || given == nil {
		delete(body, "values")
		return nil
	}
	form, is := given.(map[string]any)
	if !is {
		return badField("values", fmt.Sprintf("Bad value %s for values: it is no object", shownJSON(given)), `give an object such as {"name": "value"}, or leave it out`)
	}
	for name, value := range form {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		values[name] = text
	}
	delete(body, "values")
	return nil
}

// textsIn reads the body's text fields. Unknown fields and other types are refused.
func textsIn(body map[string]any, fields []string) (map[string]string, error) {
	texts := make(map[string]string, len(body))
	for _, field := range slices.Sorted(maps.Keys(body)) {
		text, is := body[field].(string)
		switch {
		case !slices.Contains(fields, field):
			return nil, badField(field, fmt.Sprintf("Unknown field %q", coordination.Beginning(field, maxField)),
				"remove it; allowed are "+strings.Join(fields, " and "))
		case !is:
			return nil, badField(field, fmt.Sprintf("Bad value %s for %s: it is no text", shownJSON(body[field]), field), "give a string, or leave it out")
		}
		texts[field] = text
	}
	return texts, nil
}

// personIn is the deciding person: the one whose session it is, whatever the request says, else the one that it names.
func personIn(c echo.Context, by string) (string, error) {
	if grant, _ := grantOf(c.Request().Context()); grant.By != "" {
		return grant.By, nil
	}
	return personOf(by)
}

// askerOf is who asks for something that no name can be given for.
func askerOf(c echo.Context) string {
	grant, _ := grantOf(c.Request().Context())
	return cmp.Or(grant.By, byAPI)
}

const maxPerson = 200

// personOf is the deciding person: a name on one line, or the API itself if none is given.
func personOf(by string) (string, error) {
	by = coordination.TrimJS(by)
	switch {
	case len(by) > maxPerson:
		return "", badField("by", fmt.Sprintf("Bad value %q for by: it has more than %d bytes", coordination.Beginning(by, maxField), maxPerson),
			fmt.Sprintf("give a name of at most %d bytes in UTF-8", maxPerson))
	case strings.ContainsFunc(by, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }):
		return "", badField("by", fmt.Sprintf("Bad value %.80q for by", by), "give a name on one line")
	}
	return cmp.Or(by, byAPI), nil
}
