package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Decider decides approvals. An error that people can do something about is an *approval.Refusal.
type Decider interface {
	Approve(ctx context.Context, id, person string) (approval.Decided, error)
	ApproveAlways(ctx context.Context, id, person, scope string) (approval.Decided, error)
	Reject(ctx context.Context, id, person, reason string) (approval.Decided, error)
}

// Decisions are Approvals of a Decider, in a language.
type Decisions struct {
	Decider  Decider
	Language func() coordination.Language
}

// Approve implements Approvals.
func (s Decisions) Approve(ctx context.Context, id, person string) (string, error) {
	d, err := s.Decider.Approve(ctx, id, person)
	in := s.Language()
	if err != nil {
		return refusalText(in, err), err
	}
	return fmt.Sprintf(in.Say("%[3]s의 %[1]s %[2]s: %[4]s 님이 승인했습니다.", "The %s %s of %s is approved by %s."), kindOf(in, d.Kind), d.ID, d.AgentID, d.DecidedBy), nil
}

// ApproveAlways implements Approvals: calls with the same arguments do not wait any more.
func (s Decisions) ApproveAlways(ctx context.Context, id, person string) (string, error) {
	d, err := s.Decider.ApproveAlways(ctx, id, person, permission.ThisCall)
	in := s.Language()
	if err != nil {
		return refusalText(in, err), err
	}
	return fmt.Sprintf(in.Say("%[2]s의 도구 호출 %[1]s: %[3]s 님이 앞으로도 승인했습니다. 거두려면 `openclawd approvals forget %[1]s`",
		"The call %[1]s of %[2]s is approved by %[3]s, also from now on. To take that back: `openclawd approvals forget %[1]s`"), d.ID, d.AgentID, d.DecidedBy), nil
}

// Reject implements Approvals.
func (s Decisions) Reject(ctx context.Context, id, person, reason string) (string, error) {
	d, err := s.Decider.Reject(ctx, id, person, reason)
	in := s.Language()
	if err != nil {
		return refusalText(in, err), err
	}
	return fmt.Sprintf(in.Say("%[3]s의 %[1]s %[2]s: %[4]s 님이 거절했습니다: %[5]s", "The %s %s of %s is rejected by %s: %s"), kindOf(in, d.Kind), d.ID, d.AgentID,
		d.DecidedBy, reason), nil
}

// kindOf is the display name of a kind of approval.
func kindOf(in coordination.Language, kind string) string {
	switch kind {
	case approval.OfPlan:
		return in.Say("계획", kind)
	case approval.OfCall:
		return in.Say("도구 호출", kind)
	}
	return in.Say("작업", kind)
}

// refusalText is the reason why a decision was refused, "" if it is internal.
func refusalText(in coordination.Language, err error) string {
	r, is := errors.AsType[*approval.Refusal](err)
	if !is {
		return ""
	}
	why, hint := r.Text, r.HintText
	if in == coordination.Korean {
		why, hint = koreanRefusal(r)
	}
	return why + "; " + hint
}

// koreanRefusal is a refusal in Korean, by its code.
func koreanRefusal(r *approval.Refusal) (why, hint string) {
	hint = "openclawd approvals 명령으로 결정을 기다리는 목록을 볼 수 있습니다"
	switch {
	case r.Details.Unknown:
		return "해당하는 작업이나 계획이 없습니다", hint
	case r.Reason == task.CodeState:
		return "이미 처리되어 더 이상 결정을 기다리지 않습니다 (" + r.Text + ")", hint
	case r.Field == "reason":
		return "이유가 없습니다", "이유를 적어 주세요: 에이전트에게 전달됩니다"
	case r.Field == "by":
		return "이 이름으로는 결정할 수 없습니다 (" + r.Text + ")", "자신의 이름으로 결정하세요"
	}
	return "결정할 수 없습니다 (" + r.Text + ")", hint
}
