package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
)

// ApproveAlways approves a call and permits such calls of the agent from now on: with the same arguments, or with any if scope is
// permission.AnyCall; "" is permission.ThisCall. Person and errors are as for Approve.
func (s *Service) ApproveAlways(ctx context.Context, id, person, scope string) (approval.Decided, error) {
	if scope == "" {
		scope = permission.ThisCall
	}
	return s.onCall(id, person, func(id, person string) (*permission.Approval, error) { return s.Calls.Approve(ctx, id, person, scope) })
}

// Answer approves what a call wants as input, with values for its fields, and has the call made again. Without values it is Approve. Person
// and errors are as for Approve.
func (s *Service) Answer(ctx context.Context, id, person string, values map[string]json.RawMessage) (approval.Decided, error) {
	switch id = coordination.TrimJS(id); {
	case len(values) == 0:
		return s.Approve(ctx, id, person)
	case id != "" && !strings.HasPrefix(id, permission.Prefix):
		return approval.Decided{}, &approval.Refusal{Reason: CodeInvalid, Field: "values", Text: fmt.Sprintf("%q asks for no values", shown(id)),
			HintText: "leave them out: only calls that want input take values"}
	}
	return s.onCall(id, person, func(id, person string) (*permission.Approval, error) { return s.Calls.Answer(ctx, id, person, values) })
}

// Forget takes a permission back that ApproveAlways gave. Such calls wait for people again. Person and errors are as for Approve.
func (s *Service) Forget(ctx context.Context, id, person string) (approval.Decided, error) {
	done, err := s.onCall(id, person, func(id, person string) (*permission.Approval, error) { return s.Calls.Revoke(ctx, id, person) })
	if err == nil {
		done.Status = approval.Forgotten
	}
	return done, err
}

func (s *Service) onCall(id, person string, decide func(id, person string) (*permission.Approval, error)) (approval.Decided, error) {
	id = coordination.TrimJS(id)
	if id == "" {
		return approval.Decided{}, &approval.Refusal{Reason: CodeInvalid, Field: "id", Text: "id is missing or blank", HintText: hintList}
	}
	person, err := s.nameOf(person)
	if err != nil {
		return approval.Decided{}, err
	}
	return onCall(id, person, decide)
}

func onCall(id, person string, decide func(id, person string) (*permission.Approval, error)) (approval.Decided, error) {
	a, err := decide(id, person)
	if r, is := errors.AsType[*permission.Refusal](err); is {
		return approval.Decided{}, refusal(r.Reason, r.Field, r.Text, r.HintText, r.Reason == permission.CodeUnknown)
	}
	if err != nil {
		return approval.Decided{}, err
	}
	return approval.Decided{ID: a.ID, Kind: approval.OfCall, AgentID: a.Agent, TaskID: a.TaskID, Status: a.Status, Scope: a.Scope, DecidedBy: person}, nil
}
