package command_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pronto-lab/openclawd/channel/command"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// fakeDecider decides everything for the person, or refuses it with err.
type fakeDecider struct{ err error }

func (d fakeDecider) Approve(_ context.Context, id, person string) (approval.Decided, error) {
	return approval.Decided{ID: id, Kind: approval.OfPlan, AgentID: "eden", DecidedBy: person}, d.err
}

func (d fakeDecider) ApproveAlways(_ context.Context, id, person, scope string) (approval.Decided, error) {
	return approval.Decided{ID: id, Kind: approval.OfCall, AgentID: "eden", Scope: scope, DecidedBy: person}, d.err
}

func (d fakeDecider) Reject(_ context.Context, id, person, _ string) (approval.Decided, error) {
	return approval.Decided{ID: id, Kind: "task", AgentID: "eden", DecidedBy: person}, d.err
}

// Decisions and refusals are told in the language of the team; internal errors are not told.
func TestDecisionsAreToldInWords(t *testing.T) {
	t.Parallel()
	refusal := func(r approval.Refusal) error { return &r }
	for name, c := range map[string]struct {
		err             error
		korean, english string
	}{
		"decided": {nil, "eden의 작업 t1: 민수 님이 거절했습니다: 너무 크다", "The task t1 of eden is rejected by 민수: 너무 크다"},
		"unknown": {refusal(approval.Refusal{Text: "gone", HintText: "look", Details: approval.Details{Unknown: true}}),
			"해당하는 작업이나 계획이 없습니다; openclawd approvals 명령으로 결정을 기다리는 목록을 볼 수 있습니다", "gone; look"},
		"too late": {refusal(approval.Refusal{Reason: task.CodeState, Text: "approved by 지민", HintText: "look"}),
			"이미 처리되어 더 이상 결정을 기다리지 않습니다 (approved by 지민); openclawd approvals 명령으로 결정을 기다리는 목록을 볼 수 있습니다", "approved by 지민; look"},
		"no reason": {refusal(approval.Refusal{Field: "reason", Text: "none", HintText: "give one"}),
			"이유가 없습니다; 이유를 적어 주세요: 에이전트에게 전달됩니다", "none; give one"},
		"the name of an agent": {refusal(approval.Refusal{Field: "by", Text: "eden is an agent", HintText: "use yours"}),
			"이 이름으로는 결정할 수 없습니다 (eden is an agent); 자신의 이름으로 결정하세요", "eden is an agent; use yours"},
		"internal": {errors.New("boom"), "", ""},
	} {
		for language, want := range map[coordination.Language]string{coordination.Korean: c.korean, coordination.English: c.english} {
			d := command.Decisions{Decider: fakeDecider{c.err}, Language: func() coordination.Language { return language }}
			text, err := d.Reject(t.Context(), "t1", "민수", "너무 크다")
			if text != want || !errors.Is(err, c.err) {
				t.Errorf("%s: %q, %v, want %q", name, text, err, want)
			}
		}
	}
	english := command.Decisions{Decider: fakeDecider{}, Language: func() coordination.Language { return coordination.English }}
	if text, err := english.ApproveAlways(t.Context(), "call_1", "민수"); err != nil ||
		text != "The call call_1 of eden is approved by 민수, also from now on. To take that back: `openclawd approvals forget call_1`" {
		t.Errorf("approved for good: %q, %v", text, err)
	}
	if text, err := english.Approve(t.Context(), "p1", "민수"); text != "The plan p1 of eden is approved by 민수." || err != nil {
		t.Errorf("approved: %q, %v", text, err)
	}
}
