package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// Approvals is where people decide on waiting tasks, plans and calls of tools. Its refusals are *approval.Refusal.
type Approvals interface {
	Approve(ctx context.Context, id, person string) (approval.Decided, error)
	ApproveAlways(ctx context.Context, id, person, scope string) (approval.Decided, error)
	Reject(ctx context.Context, id, person, reason string) (approval.Decided, error)
}

// approvalMethods list what waits for approval and resolve it. To clients, a task and a call of a tool are commands to
// execute, and a plan is a proposal.
func (s *Server) approvalMethods() map[string]answer {
	return map[string]answer{
		"exec.approval.list":        s.answerWaitingCommands,
		"exec.approval.get":         s.answerWaitingCommand,
		"openclaw.approval.list":    s.answerWaitingPlans,
		"plugin.approval.list":      nothing([]any{}),
		"exec.approval.grants.list": nothing(map[string][]any{"grants": {}}),
		"approval.history":          s.answerDecisions,
		"exec.approval.resolve":     s.resolveApproval,
		"approval.resolve":          s.resolveApproval,
	}
}

// approvalTime is how long clients may show an approval of a task or a plan before they ask again. These never expire,
// but clients set a timer, which holds at most 24 days.
const approvalTime = 20 * 24 * time.Hour

const (
	maxWaiting       = 200 // approvals per list
	maxApprovalTitle = 80  // characters; the following limits too
	maxApprovalText  = 512
	allowOnce        = "allow-once"
	allowAlways      = "allow-always"
	deny             = "deny"
)

// decisions are the supported decisions about tasks and plans.
func decisions() []string { return []string{allowOnce, deny} }

type approvalInfo struct {
	ID        string          `json:"id"`
	Request   approvalRequest `json:"request"`
	CreatedAt int64           `json:"createdAtMs"`
	ExpiresAt int64           `json:"expiresAtMs"`
}

type approvalRequest struct {
	Command     string   `json:"command"`
	Title       string   `json:"title,omitempty"` // plans only, like the next two
	Description string   `json:"description,omitempty"`
	Hash        string   `json:"proposalHash,omitempty"` // changes with the text
	AgentID     string   `json:"agentId,omitempty"`
	SessionKey  string   `json:"sessionKey,omitempty"`
	RunID       string   `json:"runId,omitempty"` // calls only
	Allowed     []string `json:"allowedDecisions"`
}

func (s *Server) answerWaitingCommands(ctx context.Context, _ *wire.Call) (any, error) {
	list, open := []approvalInfo{}, true
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		rows, _, err := tasks.List(ctx, tx, tasks.Filter{Statuses: []string{coordination.StatePendingApproval}, Open: &open, Limit: maxWaiting})
		for i := range rows {
			if r := &rows[i]; !r.Gone {
				list = append(list, s.approvalOfTask(r))
			}
		}
		if err != nil {
			return err
		}
		calls, err := permissions.List(projections.Reading(ctx, tx), permissions.Query{Waiting: true, Now: s.opts.Now().UnixMilli(), Limit: maxWaiting})
		for i := range calls {
			list = append(list, approvalOfCall(&calls[i]))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b approvalInfo) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	return encoded(list)
}

// allowWhole offers to allow what is shown whole, and else only to deny it: a person must not allow what cannot be seen.
func (i *approvalInfo) allowWhole(isWhole bool, whole []string) {
	if i.Request.Allowed = whole; !isWhole {
		i.Request.Allowed = []string{deny}
	}
}

func (s *Server) approvalOfTask(r *tasks.Row) approvalInfo {
	text := cmp.Or(coordination.TrimJS(r.Description), r.ID)
	info := approvalInfo{ID: r.ID, CreatedAt: max(1, msOf(r.Created)), ExpiresAt: s.opts.Now().Add(approvalTime).UnixMilli(),
		Request: approvalRequest{Command: cutText(text, maxShownText, cutMark), AgentID: r.AgentID, SessionKey: r.CreatedBySessionKey}}
	info.allowWhole(info.Request.Command == text, decisions())
	return info
}

func (s *Server) answerWaitingPlans(ctx context.Context, _ *wire.Call) (any, error) {
	list := []approvalInfo{}
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		found, err := plans.List(ctx, tx, plans.Query{Status: plan.Pending, Limit: maxWaiting, Oldest: true})
		for i := range found {
			list = append(list, s.approvalOfPlan(&found[i]))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return encoded(list)
}

// approvalOfPlan is a plan as a proposal. Clients accept a title of 80 characters and a description of 512, and show no more of it.
func (s *Server) approvalOfPlan(p *plan.Plan) approvalInfo {
	var steps strings.Builder
	for i, step := range p.Steps {
		fmt.Fprintf(&steps, "%d. %s\n", i+1, step)
	}
	text := strings.TrimSuffix(steps.String(), "\n")
	if len(p.Tools) > 0 {
		text = "Asks for " + strings.Join(p.Tools, ", ") + "\n" + text
	}
	title := cmp.Or(coordination.TrimJS(p.Title), p.ID)
	sum := sha256.Sum256([]byte(p.ID + "\x00" + title + "\x00" + text))
	text = cmp.Or(text, title)
	info := approvalInfo{ID: p.ID, CreatedAt: max(1, p.SubmittedAt), ExpiresAt: s.opts.Now().Add(approvalTime).UnixMilli(),
		Request: approvalRequest{Command: cutText(text, maxShownText, cutMark), Title: cutText(title, maxApprovalTitle-1, "…"),
			Description: cutText(text, maxApprovalText-1, "…"), Hash: hex.EncodeToString(sum[:]), AgentID: p.Agent, SessionKey: p.SessionKey}}
	info.allowWhole(info.Request.Title == title && info.Request.Description == text, decisions())
	return info
}

type approvalSnapshot struct {
	ID         string          `json:"id"`
	Path       string          `json:"urlPath"`
	CreatedAt  int64           `json:"createdAtMs"`
	ExpiresAt  int64           `json:"expiresAtMs"`
	Shown      approvalShown   `json:"presentation"`
	Status     string          `json:"status"` // allowed, denied
	Decision   string          `json:"decision"`
	Reason     string          `json:"reason"` // user
	ResolvedAt int64           `json:"resolvedAtMs"`
	Source     *approvalSource `json:"source,omitempty"`
	Resolver   approvalPerson  `json:"resolver"`
}

type approvalShown struct {
	Kind        string   `json:"kind"` // exec: a task; system-agent: a plan
	CommandText string   `json:"commandText,omitempty"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Hash        string   `json:"proposalHash,omitempty"`
	AgentID     string   `json:"agentId,omitempty"`
	Allowed     []string `json:"allowedDecisions"`
}

type approvalSource struct {
	AgentID    string `json:"agentId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
}

type approvalPerson struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
}

const usualDecisions = 50

// answerDecisions answers approval.history: past decisions, newest first.
func (s *Server) answerDecisions(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Cursor string `json:"cursor"`
		Limit  int    `json:"limit"`
		Kind   string `json:"kind"`
	}](call)
	if err != nil {
		return nil, err
	}
	before := int64(1 << 62)
	if p.Cursor != "" {
		if before, err = strconv.ParseInt(p.Cursor, 10, 64); err != nil {
			return nil, invalidRequest("invalid approval.history params: unknown cursor",
				fault{Field: "cursor", Value: echo(p.Cursor), Hint: "give a nextCursor, or leave it out"})
		}
	}
	limit := cmp.Or(p.Limit, usualDecisions)
	types := map[string][]string{
		"": {coordination.TypeTaskApproved, coordination.TypeTaskCancelled, coordination.TypePlanApproved, coordination.TypePlanRejected,
			coordination.TypeToolApprovalDecided},
		"exec":         {coordination.TypeTaskApproved, coordination.TypeTaskCancelled, coordination.TypeToolApprovalDecided},
		"system-agent": {coordination.TypePlanApproved, coordination.TypePlanRejected},
	}[p.Kind]
	a := struct {
		Items []approvalSnapshot `json:"items"`
		Next  string             `json:"nextCursor,omitempty"`
	}{Items: []approvalSnapshot{}}
	if types == nil {
		return a, nil
	}
	var seqs []int64
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		selected, err := index.Select(ctx, tx, index.Filter{Types: types, Internal: true})
		if err != nil {
			return err
		}
		seqs, err = selected.Newest(ctx, tx, before, limit+1)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(seqs, func(a, b int64) int { return cmp.Compare(b, a) })
	if len(seqs) > limit {
		seqs = seqs[:limit]
		a.Next = strconv.FormatInt(seqs[limit-1], 10)
	}
	for _, seq := range seqs {
		e, err := s.opts.Log.Event(ctx, seq)
		if err != nil {
			return nil, err
		}
		one, is, err := s.decided(ctx, &e)
		if err != nil {
			return nil, err
		}
		if is {
			a.Items = append(a.Items, one)
		}
	}
	return encoded(a)
}

// rejectedTask is the prefix of the progress of a task cancelled because its approval was denied.
const rejectedTask = "Task rejected by"

// decided returns the decision an event records, with its subject if known. is is false for an event that is no
// decision: a task that ended without waiting for approval.
func (s *Server) decided(ctx context.Context, e *eventstore.Event) (one approvalSnapshot, is bool, err error) {
	if e.Type == coordination.TypeToolApprovalDecided {
		return s.decidedCall(ctx, e)
	}
	var data struct{ TaskID, PlanID, AgentID, DecidedBy, Progress, Title string }
	if len(e.Data) > 0 {
		_ = json.Unmarshal(projections.Current(e).Data, &data) // a redacted one has no details
	}
	if e.Type == coordination.TypeTaskCancelled && !strings.HasPrefix(data.Progress, rejectedTask) {
		return one, false, nil
	}
	one = approvalSnapshot{Status: "allowed", Decision: allowOnce, Reason: "user", ResolvedAt: e.TS, CreatedAt: e.TS, ExpiresAt: e.TS,
		Resolver: approvalPerson{"system", data.DecidedBy}}
	if e.Type == coordination.TypeTaskCancelled || e.Type == coordination.TypePlanRejected {
		one.Status, one.Decision = "denied", deny
	}
	info := approvalInfo{Request: approvalRequest{AgentID: cmp.Or(data.AgentID, e.AgentID), Title: data.Title, Allowed: decisions()}}
	ofPlan := e.Type == coordination.TypePlanApproved || e.Type == coordination.TypePlanRejected
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		if ofPlan {
			found, err := plans.ByID(ctx, tx, data.PlanID)
			if err == nil && found != nil {
				info = s.approvalOfPlan(found)
			}
			return err
		}
		row, found, err := tasks.ByID(ctx, tx, data.TaskID)
		if err == nil && found {
			info = s.approvalOfTask(row)
		}
		return err
	})
	if err != nil {
		return one, false, err
	}
	one.ID = cmp.Or(info.ID, data.PlanID, data.TaskID, e.ID.String())
	one.Path = "/approve/" + one.ID
	if info.CreatedAt > 0 {
		one.CreatedAt = info.CreatedAt
	}
	r := &info.Request
	one.Shown = approvalShown{Kind: "exec", CommandText: cmp.Or(r.Command, one.ID), AgentID: r.AgentID, Allowed: r.Allowed}
	if ofPlan {
		one.Shown = approvalShown{Kind: "system-agent", Title: cmp.Or(r.Title, one.ID), Description: cmp.Or(r.Description, one.ID),
			Hash: cmp.Or(r.Hash, strings.Repeat("0", 2*sha256.Size)), AgentID: r.AgentID, Allowed: r.Allowed}
	}
	if r.AgentID != "" || r.SessionKey != "" {
		one.Source = &approvalSource{r.AgentID, r.SessionKey}
	}
	return one, true, nil
}

// resolveApproval answers exec.approval.resolve and approval.resolve. The first decision wins; later ones are refused.
func (s *Server) resolveApproval(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		ID       string `json:"id"`
		Decision string `json:"decision"`
		Kind     string `json:"kind"`
	}](call)
	if err != nil {
		return nil, err
	}
	if s.opts.Approvals == nil {
		return nil, notHere("decided_elsewhere", "another gateway runs the agents: decide there")
	}
	person := clientOf(call.Peer)
	one, err := s.callMeant(ctx, p.ID)
	if err == nil && one != nil {
		p.ID = one.ID
	}
	if err == nil && (p.Decision == allowOnce || p.Decision == allowAlways) {
		err = s.mayAllow(ctx, p.ID, one)
	}
	if err != nil {
		return nil, err
	}
	switch p.Decision {
	case allowOnce:
		_, err = s.opts.Approvals.Approve(ctx, p.ID, person)
	case allowAlways:
		if !strings.HasPrefix(p.ID, permission.Prefix) {
			return nil, invalidRequest("invalid decision: "+allowAlways, fault{Field: "decision", Value: allowAlways,
				Hint: "allow once or deny: only calls of tools can be allowed always", Known: decisions()})
		}
		_, err = s.opts.Approvals.ApproveAlways(ctx, p.ID, person, permission.ThisCall)
	case deny:
		_, err = s.opts.Approvals.Reject(ctx, p.ID, person, "denied by "+person)
	default:
		return nil, invalidRequest("invalid decision: "+echo(p.Decision), fault{Field: "decision", Value: echo(p.Decision),
			Hint: "allow once, allow always or deny", Known: decisionsOfCall()})
	}
	if err != nil {
		return nil, undecided(err)
	}
	return map[string]any{"ok": true, "applied": true, "id": p.ID, "decision": p.Decision}, nil
}

// undecided shows clients why a decision was refused: pages remove decided approvals by the reason in the details.
func undecided(err error) error {
	r, is := errors.AsType[*approval.Refusal](err)
	if !is {
		return err
	}
	reason := "APPROVAL_ALREADY_RESOLVED"
	if r.Details.Unknown {
		reason = "APPROVAL_NOT_FOUND"
	}
	return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: r.Text,
		Details: map[string]string{"code": r.Reason, "reason": reason, "field": r.Field, "hint": r.HintText}}
}
