package gateway

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// Events for clients that decide.
const (
	eventApprovalRequested = "exec.approval.requested"
	eventApprovalResolved  = "exec.approval.resolved"
)

// decisionsOfCall are the supported decisions about calls of tools.
func decisionsOfCall() []string { return []string{allowOnce, allowAlways, deny} }

// approvalOfCall is a call as a command: that of exec, or the tool with what it is called with. Clients show the beginning of a long command
// beside the decisions that they are offered: see allowWhole.
func approvalOfCall(s *permissions.Shown) approvalInfo {
	command, _ := permission.Line(cmp.Or(s.Tool, s.ID), s.Arguments)
	decisions, whole := decisionsOfCall(), s.Arguments != nil
	if in := approval.InputOf(s.Input); in != nil {
		command += "\n" + strings.TrimSpace(in.Message+"\n"+in.URL) + "\n" + in.Note(coordination.English)
		decisions, whole = []string{allowOnce, deny}, whole && !in.NeedsValues()
	}
	info := approvalInfo{ID: s.ID, CreatedAt: max(1, s.RequestedAt), ExpiresAt: max(1, s.ExpireAt), Request: approvalRequest{
		Command: cutText(command, maxShownText, cutMark), AgentID: s.Agent, SessionKey: s.SessionKey, RunID: s.RunID}}
	info.allowWhole(whole && info.Request.Command == command, decisions)
	return info
}

// callMeant is the call that an id, or the beginning of one as clients shorten ids, names: nil if there is none. An id that could mean
// several calls is refused.
func (s *Server) callMeant(ctx context.Context, id string) (meant *permissions.Shown, err error) {
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		one, found, several, err := permissions.Named(projections.Reading(ctx, tx), id)
		if several {
			return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "ambiguous approval id: several begin with " + echo(id),
				Details: map[string]string{"code": permission.CodeInvalid, "reason": "APPROVAL_NOT_FOUND", "field": "id", "hint": "give the whole id, which exec.approval.list has"}}
		}
		if found {
			meant = &one
		}
		return err
	})
	return meant, err
}

// codeUnseen is the code of a decision that allows what its client was not shown.
const codeUnseen = "approval_not_shown"

// mayAllow refuses to allow what clients have seen a part of only: a call, or, if that is nil, the task or the plan with an id.
func (s *Server) mayAllow(ctx context.Context, id string, call *permissions.Shown) error {
	if call != nil {
		if call.Status != permission.Pending || len(approvalOfCall(call).Request.Allowed) > 1 {
			return nil
		}
		return unseen("command", id)
	}
	what, shown := "", approvalInfo{}
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		found, err := plans.ByID(ctx, tx, id)
		if err == nil && found != nil && found.Status == plan.Pending {
			what, shown = "plan", s.approvalOfPlan(found)
			return nil
		}
		if err != nil {
			return err
		}
		row, is, err := tasks.ByID(ctx, tx, id)
		if err == nil && is && row.Status == coordination.StatePendingApproval {
			what, shown = "task", s.approvalOfTask(row)
		}
		return err
	})
	if err != nil || what == "" || len(shown.Request.Allowed) > 1 {
		return err
	}
	return unseen(what, id)
}

// unseen refuses to allow a command, a plan or a task of which clients have seen a part only.
func unseen(what, id string) error {
	return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "the " + what + " is too long to be shown here, so it can only be denied here",
		Details: map[string]string{"code": codeUnseen, "reason": "APPROVAL_NOT_SHOWN", "field": "decision",
			"hint": "openclawd approvals show " + id + ", and the Inbox of the page, show it whole: approve it there"}}
}

// answerWaitingCommand answers exec.approval.get for a call of a tool that waits.
func (s *Server) answerWaitingCommand(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		ID string `json:"id"`
	}](call)
	if err != nil {
		return nil, err
	}
	var found *approvalInfo
	one, err := s.callMeant(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	if one != nil && one.StatusAt(s.opts.Now().UnixMilli()) == permission.Pending {
		info := approvalOfCall(one)
		found = &info
	}
	if found == nil {
		return nil, &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unknown or expired approval id",
			Details: map[string]string{"code": permission.CodeUnknown, "reason": "APPROVAL_NOT_FOUND", "field": "id", "hint": "exec.approval.list lists what waits"}}
	}
	return encoded(found)
}

// decidedCall returns what a person has decided about a call; is is false where no one has.
func (s *Server) decidedCall(ctx context.Context, e *eventstore.Event) (one approvalSnapshot, is bool, err error) {
	var data struct{ ApprovalID string }
	_ = json.Unmarshal(projections.Current(e).Data, &data) // a redacted one has no details
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		shown, known, err := permissions.Show(projections.Reading(ctx, tx), data.ApprovalID)
		decision, _ := decisionOn(&shown.Approval)
		if is = known && decision != ""; !is {
			return err
		}
		info := approvalOfCall(&shown)
		one = approvalSnapshot{ID: info.ID, Path: "/approve/" + info.ID, CreatedAt: info.CreatedAt, ExpiresAt: info.ExpiresAt, Status: "allowed", Decision: decision,
			Reason: "user", ResolvedAt: e.TS, Resolver: approvalPerson{"system", shown.DecidedBy}, Source: &approvalSource{info.Request.AgentID, info.Request.SessionKey},
			Shown: approvalShown{Kind: "exec", CommandText: info.Request.Command, AgentID: info.Request.AgentID, Allowed: info.Request.Allowed}}
		if decision == deny {
			one.Status = "denied"
		}
		return err
	})
	return one, is, err
}

// decisionOn is what a person has decided, in clients' terms; "" if none has. over is false while it waits.
func decisionOn(a *permission.Approval) (decision string, over bool) {
	switch a.Status {
	case permission.Approved:
		if a.Scope != "" {
			return allowAlways, true
		}
		return allowOnce, true
	case permission.Rejected:
		return deny, true
	}
	return "", a.Status != permission.Pending
}

// approvalOver is the event that an approval is decided. Without a decision of a person the call was refused.
type approvalOver struct {
	ID         string          `json:"id"`
	Decision   string          `json:"decision"`
	ResolvedBy string          `json:"resolvedBy,omitempty"`
	TS         int64           `json:"ts"`
	Request    approvalRequest `json:"request"`
}

const approvalPage = 200

// tellApprovals tells clients that decide of calls that wait, and of decisions, in the order of the log, until ctx ends. It tells the
// newest state: what was decided before it could be told is told as decided only.
func (s *Server) tellApprovals(ctx context.Context, after int64) {
	for ctx.Err() == nil {
		err := s.tellApprovalsOnce(ctx, &after)
		switch {
		case errors.Is(err, eventstore.ErrClosed), ctx.Err() != nil:
			return
		case err != nil:
			s.opts.Logger.WarnContext(ctx, "cannot read approvals of calls; will retry", "after", after, "err", err)
			_ = wait.For(ctx, feedPause)
		}
	}
}

func (s *Server) tellApprovalsOnce(ctx context.Context, after *int64) error {
	head, err := s.opts.Log.Wait(ctx, *after+1)
	if err != nil {
		return err
	}
	var changed []permissions.Shown
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		changed, err = permissions.Since(projections.Reading(ctx, tx), *after, approvalPage)
		return err
	})
	if err != nil {
		return err
	}
	for i := range changed {
		*after = changed[i].Last
		if changed[i].RevokedAt == 0 {
			s.tellApproval(&changed[i])
		}
	}
	if len(changed) < approvalPage {
		*after = max(*after, head)
	}
	return nil
}

func (s *Server) tellApproval(a *permissions.Shown) {
	info := approvalOfCall(a)
	decision, over := decisionOn(&a.Approval)
	if !over {
		s.hub.Broadcast(wire.Event{Name: eventApprovalRequested, Payload: info, Scope: protocol.ScopeApprovals})
		return
	}
	s.hub.Broadcast(wire.Event{Name: eventApprovalResolved, Scope: protocol.ScopeApprovals,
		Payload: approvalOver{a.ID, cmp.Or(decision, deny), a.DecidedBy, a.DecidedAt, info.Request}})
}
