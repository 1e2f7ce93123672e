package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
)

// model is what the plans of a team ought to be, kept in another way: as a list of what was said of each.
type model struct {
	said  map[string][]string // by the id of a plan: its owner, its task, its decision, if any
	tools map[string][]string // likewise: what it asks for
}

// opens are the tools that are open to an agent for a task.
func (m *model) opens(agent, task string) []string {
	open := map[string]bool{}
	for id, words := range m.said {
		if len(words) == 3 && words[0] == agent && words[1] == task && words[2] == "approved" {
			for _, tool := range m.tools[id] {
				open[tool] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(open))
}

var (
	agents = []string{"eden", "ruda", "seum"} // ruda is a lead
	tasks  = []string{"task_1", "task_2"}
	tools  = []string{"exec", "read", "write"}
)

// Whatever agents and people ask for in whatever order, plans and the gate are what the model says, what is refused changes nothing, and folding
// all events of a plan at once gives the same plan.
func TestPlansAreAsTheModelSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{said: map[string][]string{}, tools: map[string][]string{}}
		streams := map[string]*stream{}
		for n := rapid.IntRange(1, 25).Draw(t, "requests"); n > 0; n-- {
			if len(streams) == 0 || rapid.IntRange(0, 2).Draw(t, "submit") == 0 {
				m.submit(t, streams)
			} else {
				m.decide(t, streams)
			}
			m.check(t, streams)
		}
		for _, s := range streams {
			again := newStream(t)
			again.stored = s.stored
			for i := range again.stored {
				again.fold(i)
			}
			same(t, again.plan, s.plan)
		}
	})
}

func (m *model) submit(t *rapid.T, streams map[string]*stream) {
	a := submission()
	a.PlanID = fmt.Sprintf("plan_%020x", len(streams))
	a.By, a.Task.ID = rapid.SampledFrom(agents).Draw(t, "by"), rapid.SampledFrom(tasks).Draw(t, "task")
	a.Task.Agent = rapid.SampledFrom(append([]string{a.By, a.By, a.By}, agents...)).Draw(t, "whose task")
	a.Task.Over = rapid.IntRange(0, 5).Draw(t, "over") == 0
	a.Steps = rapid.SliceOfN(rapid.StringMatching(`[a-z ]{0,3}[a-z]`), 0, 4).Draw(t, "steps")
	a.Tools = rapid.SliceOfN(rapid.SampledFrom(tools), 0, 4).Draw(t, "tools")
	e, err := plan.Submit(a)
	if right := a.Task.Agent == a.By && !a.Task.Over && len(a.Steps) > 0; right != (err == nil) {
		t.Fatalf("%+v: want %v, have %v", a, right, err)
	}
	if err != nil {
		refused(t, e, err)
		return
	}
	s := newStream(t)
	streams[a.PlanID] = s
	s.take(e, nil)
	m.said[a.PlanID], m.tools[a.PlanID] = []string{a.By, a.Task.ID}, a.Tools
	same(t, s.plan.Steps, a.Steps)
}

func (m *model) decide(t *rapid.T, streams map[string]*stream) {
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(streams))).Draw(t, "plan")
	s, words := streams[id], m.said[id]
	by := rapid.SampledFrom(append([]string{"person"}, agents...)).Draw(t, "by")
	a := plan.DecideAsk{Asked: plan.Asked{By: by, Human: by == "person"}, Lead: by == "ruda"}
	a.WorkSessionID = rapid.SampledFrom([]string{"", "ws_2"}).Draw(t, "in")
	before := s.plan
	what := rapid.SampledFrom([]string{"approved", "rejected"}).Draw(t, "what")
	reason := rapid.SampledFrom([]string{"", "r", "r"}).Draw(t, "reason")
	var e plan.Event
	var err error
	if what == "approved" {
		e, err = plan.Approve(&s.plan, a)
	} else {
		e, err = plan.Reject(&s.plan, a, reason)
	}
	same(t, s.plan, before)
	right := len(words) == 2 && by != words[0] && (by == "ruda" || by == "person") && (what == "approved" || reason != "")
	if right != (err == nil) {
		t.Fatalf("%s by %s of %v: want %v, have %v", what, by, words, right, err)
	}
	if err == nil {
		s.take(e, nil)
		m.said[id] = append(slices.Clone(words), what)
	} else {
		refused(t, e, err)
		typ := map[string]string{"approved": coordination.TypePlanApproved, "rejected": coordination.TypePlanRejected}[what]
		if len(words) == 3 && s.happen(typ, words[0], []byte(`{"decidedBy":"late","toolsRequested":["exec"]}`)) {
			t.Fatalf("%v is decided again", words)
		}
	}
}

func (m *model) check(t *rapid.T, streams map[string]*stream) {
	t.Helper()
	var plans []*plan.Plan
	for id, words := range m.said {
		p := &streams[id].plan
		plans = append(plans, p)
		status := append(slices.Clone(words), "pending")[2]
		if p.ID != id || p.Agent != words[0] || p.TaskID != words[1] || p.Status != status {
			t.Fatalf("%v: %+v", words, p)
		}
		if (p.DecidedAt > 0) != (status != "pending") || (p.Reason != "") != (status == "rejected") {
			t.Fatalf("%v: %+v", words, p)
		}
	}
	for _, agent := range agents {
		for _, task := range append(tasks, "") {
			gate := plan.NewGate(plans, agent, task)
			if open, want := gate.Open(), m.opens(agent, task); !slices.Equal(open, want) {
				t.Fatalf("%s at %s: %v is open, want %v", agent, task, open, want)
			}
		}
	}
}
