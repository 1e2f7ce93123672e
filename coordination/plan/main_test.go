package plan_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/plan"
)

const (
	planID = "plan_0123456789abcdef0123"
	secret = "sk-0123456789abcdef0123"
	began  = 1_771_574_400_000 // 2026-02-20T08:00:00Z
)

// stream is the events of one plan, as they are stored, and what they make of it.
type stream struct {
	tb     tester
	plan   plan.Plan
	stored []stored
	now    int64
}

type stored struct {
	typ, agent string
	data       []byte
	ts         int64
}

// tester is a test, or a run of a property.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newStream(tb tester) *stream { return &stream{tb: tb, now: began} }

// in is a plan of eden of a status; "" is one that there is not.
func in(tb tester, status string) *stream {
	s := newStream(tb)
	if status == "" {
		return s
	}
	s.take(plan.Submit(submission()))
	switch status {
	case plan.Approved:
		s.take(plan.Approve(&s.plan, lead()))
	case plan.Rejected:
		s.take(plan.Reject(&s.plan, lead(), "너무 크다"))
	}
	if s.plan.Status != status {
		tb.Fatalf("the plan is %s, want %s", s.plan.Status, status)
	}
	return s
}

// submission is what eden asks for.
func submission() plan.SubmitAsk {
	return plan.SubmitAsk{
		Asked: plan.Asked{By: "eden"}, PlanID: planID, SessionKey: "agent:eden:main",
		Task:  plan.Task{ID: "task_1", Agent: "eden", WorkSessionID: "ws_1"},
		Title: "로그인 기능", Steps: []string{"설계", "구현"}, Tools: []string{"exec", "write"}, Known: []string{"exec", "read", "write"},
	}
}

func lead() plan.DecideAsk { return plan.DecideAsk{Asked: plan.Asked{By: "ruda"}, Lead: true} }

// take folds what a decision says, which must not be refused.
func (s *stream) take(e plan.Event, err error) plan.Event {
	s.tb.Helper()
	s.taken(e, err)
	text, err := json.Marshal(e.Data)
	if err != nil {
		s.tb.Fatal(err)
	}
	if !s.happen(e.Type, e.AgentID, text) {
		s.tb.Fatalf("%s changes nothing", e.Type)
	}
	return e
}

// taken is what a decision says, which must not be refused, without folding it.
func (s *stream) taken(e plan.Event, err error) plan.Event {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatalf("refused: %v", err)
	}
	return e
}

// happen stores an event and folds it. Seqs are a hundred times the version.
func (s *stream) happen(typ, agent string, data []byte) bool {
	s.tb.Helper()
	s.stored = append(s.stored, stored{typ, agent, data, s.now})
	s.now += 1000
	return s.fold(len(s.stored) - 1)
}

func (s *stream) fold(i int) bool {
	s.tb.Helper()
	e, version := s.stored[i], int64(i+1)
	means, err := s.plan.Apply(e.typ, e.agent, e.data, version*100, version, e.ts)
	if err != nil {
		s.tb.Fatalf("%s %s: %v", e.typ, e.data, err)
	}
	return means
}

// refused is why a decision says no.
func refused(t tester, e plan.Event, err error) *plan.Refusal {
	t.Helper()
	var r *plan.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("not refused: %+v, %v", e, err)
	}
	if r.Text == "" || r.HintText == "" || e.Type != "" || r.Error() != r.Text || r.Code() != r.Reason || r.Hint() != r.HintText || len(r.Text) > 500 {
		t.Fatalf("%+v with %+v", r, e)
	}
	return r
}

func same[T any](t tester, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}

var statuses = []string{"", plan.Pending, plan.Approved, plan.Rejected}

func second[T any](_ T, err error) error { return err }

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
