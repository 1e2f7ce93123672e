package plan_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
)

var types = []string{coordination.TypePlanSubmitted, coordination.TypePlanApproved, coordination.TypePlanRejected}

// What the life of a plan makes of it, step by step.
func TestAPlanIsFoldedFromItsEvents(t *testing.T) {
	t.Parallel()
	s := in(t, plan.Pending)
	want := plan.Plan{
		ID: planID, Agent: "eden", Version: 1, Seq: 100, Last: 100,
		TaskID: "task_1", WorkSessionID: "ws_1", SessionKey: "agent:eden:main",
		Title: "로그인 기능", Steps: []string{"설계", "구현"}, StepsCount: 2, Tools: []string{"exec", "write"},
		Status: "pending", SubmittedAt: began,
	}
	same(t, s.plan, want)

	approved := in(t, plan.Approved)
	want.Version, want.Last, want.Status, want.DecidedAt, want.DecidedBy = 2, 200, "approved", began+1000, "ruda"
	same(t, approved.plan, want)

	rejected := in(t, plan.Pending)
	a := plan.DecideAsk{Asked: plan.Asked{By: "지민", Human: true}, WorkSessionID: "ws_2"}
	rejected.take(plan.Reject(&rejected.plan, a, " 너무 크다\n"))
	want.Status, want.DecidedBy, want.Reason, want.WorkSessionID = "rejected", "지민", " 너무 크다\n", "ws_2"
	same(t, rejected.plan, want)
}

// Each event says by itself which plan, whose, and for what it is, and is in the stream that its readers look for it in.
func TestEveryEventSaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	approve, reject := in(t, plan.Pending), in(t, plan.Pending)
	for typ, e := range map[string]plan.Event{
		coordination.TypePlanSubmitted: newStream(t).take(plan.Submit(submission())),
		coordination.TypePlanApproved:  approve.take(plan.Approve(&approve.plan, lead())),
		coordination.TypePlanRejected:  reject.take(plan.Reject(&reject.plan, lead(), "r")),
	} {
		text := marshal(t, e.Data)
		if e.Type != typ || e.AgentID != "eden" {
			t.Errorf("%s: %+v", typ, e)
		}
		for _, member := range []string{`"planId":"` + planID + `"`, `"agentId":"eden"`, `"taskId":"task_1"`, `"workSessionId":"ws_1"`,
			`"title":"로그인 기능"`, `"stepsCount":2`, `"eventRole":"orchestration.task"`} {
			if !strings.Contains(text, member) {
				t.Errorf("%s lacks %s: %s", typ, member, text)
			}
		}
		r := coordination.ReadRecord(coordination.RulesV2, typ, e.AgentID, began, began, []byte(text), nil)
		if stream := coordination.StreamOf(&r); stream != coordination.PlanStream(planID) || stream != "plan/"+planID {
			t.Errorf("%s is in %s", typ, stream)
		}
	}
	if odd := coordination.PlanStream("a/b"); !strings.HasPrefix(odd, "plan/sha256:") {
		t.Errorf("in %s", odd)
	}
}

// What the status of a plan does not lead to, and what is not of plans, changes nothing.
func TestMovesOfAPlan(t *testing.T) {
	t.Parallel()
	leads := map[string]string{
		" " + coordination.TypePlanSubmitted:       "pending",
		"pending " + coordination.TypePlanApproved: "approved",
		"pending " + coordination.TypePlanRejected: "rejected",
	}
	for _, status := range statuses {
		for _, typ := range append(slices.Clone(types), coordination.TypeTaskApproved, "plan.nonsense", "") {
			s := in(t, status)
			want := s.plan
			to, should := leads[status+" "+typ]
			means, err := s.plan.Apply(typ, "seum", []byte(`{"planId":"p","taskId":"t","reason":"r","decidedBy":"d","steps":["x"]}`), 900, 9, began)
			if err != nil || means != should {
				t.Errorf("%s of a plan that is %q: %v, %v", typ, status, means, err)
			}
			if (s.plan.Reason != "") != (s.plan.Status == plan.Rejected) {
				t.Errorf("%s of a plan that is %q: %+v", typ, status, s.plan)
			}
			if should && (s.plan.Status != to || s.plan.Version != 9 || s.plan.Last != 900) || !should && !reflect.DeepEqual(s.plan, want) {
				t.Errorf("%s of a plan that is %q: %+v", typ, status, s.plan)
			}
		}
	}
}

// A redacted event keeps only its type. A redacted plan cannot be approved, and opens nothing.
func TestRedactedEventsDoWhatTheirTypeSays(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	s.plan.ID = planID
	s.happen(coordination.TypePlanSubmitted, "Eden", nil)
	same(t, s.plan, plan.Plan{ID: planID, Agent: "eden", Version: 1, Seq: 100, Last: 100, Status: plan.Pending, SubmittedAt: began})
	e, err := plan.Approve(&s.plan, lead())
	if r := refused(t, e, err); r.Reason != plan.CodeState {
		t.Errorf("%+v", r)
	}
	s.take(plan.Reject(&s.plan, lead(), "r"))

	for typ, status := range map[string]string{coordination.TypePlanApproved: plan.Approved, coordination.TypePlanRejected: plan.Rejected} {
		s := in(t, plan.Pending)
		if !s.happen(typ, "eden", nil) || s.plan.Status != status || s.plan.DecidedAt == 0 || s.plan.WorkSessionID != "ws_1" || s.plan.Reason != "" {
			t.Errorf("%s: %+v", typ, s.plan)
		}
	}
}

// Producers that keep the steps to themselves say how many there are.
func TestStepsThatAreOnlyCounted(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	s.happen(coordination.TypePlanSubmitted, "", []byte(`{"planId":"plan_9","agentId":"Eden","taskId":"task_1","title":"t","stepsCount":3}`))
	if s.plan.ID != "plan_9" || s.plan.Agent != "eden" || s.plan.StepsCount != 3 {
		t.Errorf("%+v", s.plan)
	}
	if e := s.take(plan.Reject(&s.plan, lead(), "r")); e.Data.StepsCount != 3 {
		t.Errorf("%+v", e)
	}
}

func TestDataThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	for _, typ := range types {
		status := plan.Pending
		if typ == coordination.TypePlanSubmitted {
			status = ""
		}
		for _, text := range []string{`[1]`, `{"title":1}`, `{`, `"x"`} {
			s := in(t, status)
			before := s.plan
			if means, err := s.plan.Apply(typ, "eden", []byte(text), 900, 9, began); means || err == nil {
				t.Errorf("%s %s: %v, %v", typ, text, means, err)
			}
			same(t, s.plan, before)
		}
	}
}

func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	s := in(t, plan.Pending)
	s.now = began - 1
	s.take(plan.Approve(&s.plan, lead()))
	if s.plan.DecidedAt != began {
		t.Errorf("it was decided %d ms before it was submitted", began-s.plan.DecidedAt)
	}
}

// Foreign data does no harm: what was submitted stays what it was, a decision stays, and no tool is opened but by an
// approval.
func FuzzApply(f *testing.F) {
	for i := range types {
		f.Add(i, "eden", `{"planId":"p","agentId":"seum","taskId":"task_1","title":"t","stepsCount":-1,"steps":["a",""],"toolsRequested":["read","EXEC"]}`)
		f.Add(i, "", `{"stepsCount":9223372036854775807,"steps":null,"reason":"r","decidedBy":"eden","workSessionId":"ws_9"}`)
		f.Add(i, "ruda", `[]`)
		f.Add(i, "eden", ``)
	}
	f.Fuzz(func(t *testing.T, which int, agent, text string) {
		typ := types[(which%len(types)+len(types))%len(types)]
		for _, status := range statuses {
			s := in(t, status)
			before := s.plan
			means, err := s.plan.Apply(typ, agent, []byte(text), 900, 9, began)
			if (!means || err != nil) && !reflect.DeepEqual(s.plan, before) || means && err != nil {
				t.Fatalf("%s of a plan that is %q: %v, %v, %+v", typ, status, means, err, s.plan)
			}
			if means && text != "" && !json.Valid([]byte(text)) {
				t.Fatalf("%q was read", text)
			}
			asked := slices.Equal(s.plan.Steps, before.Steps) && slices.Equal(s.plan.Tools, before.Tools)
			if status != "" && (!asked || s.plan.Agent != "eden" || s.plan.TaskID != "task_1") {
				t.Fatalf("%s makes another plan of it: %+v", typ, s.plan)
			}
			if s.plan.StepsCount < len(s.plan.Steps) || s.plan.DecidedAt != 0 && s.plan.DecidedAt < s.plan.SubmittedAt {
				t.Fatalf("%+v", s.plan)
			}
			if open := plan.NewGate([]*plan.Plan{&s.plan}, s.plan.Agent, s.plan.TaskID).Open(); len(open) > 0 && s.plan.Status != plan.Approved {
				t.Fatalf("%s opens %v", s.plan.Status, open)
			}
			if shown, err := json.Marshal(s.plan.Show()); err != nil || !json.Valid(shown) {
				t.Fatalf("%s, %v", shown, err)
			}
			for _, decide := range []error{second(plan.Approve(&s.plan, lead())), second(plan.Reject(&s.plan, lead(), "r"))} {
				if decide == nil && s.plan.Status != plan.Pending && s.plan.Agent != "ruda" {
					t.Fatalf("a plan that is %q is decided", s.plan.Status)
				}
			}
		}
	})
}
