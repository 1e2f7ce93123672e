package plans_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

var (
	modelPlans  = []string{planA, planB, planC}
	modelAgents = []string{"eden", "seum"}
	modelTasks  = []string{"task_1", "task_2"}
)

// model is what plans should be, kept as simply as can be: in the order in which they were submitted.
type model struct {
	plans    []*plan.Plan
	versions map[string]int64
}

func (m *model) find(id string) *plan.Plan {
	for _, p := range m.plans {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func drawEvent(t *rapid.T) eventstore.StreamAppend {
	id, agent := rapid.SampledFrom(modelPlans).Draw(t, "plan"), rapid.SampledFrom(modelAgents).Draw(t, "agent")
	a := map[string]func() eventstore.StreamAppend{
		"submitted": func() eventstore.StreamAppend {
			return submitted(1, id, agent, rapid.SampledFrom(modelTasks).Draw(t, "task"))
		},
		"approved": func() eventstore.StreamAppend { return approved(2, id, agent) },
		"rejected": func() eventstore.StreamAppend { return rejected(3, id, agent) },
	}[rapid.SampledFrom([]string{"submitted", "submitted", "approved", "rejected"}).Draw(t, "do")]()
	if rapid.IntRange(0, 5).Draw(t, "imported") == 0 {
		a.Events[0].Actor = eventstore.ActorImport
	}
	return a
}

// fold is what an event does to the model. seq is what the log has given it.
func (m *model) fold(t *rapid.T, a eventstore.StreamAppend, seq int64) {
	m.versions[a.Stream]++
	e := &a.Events[0]
	if e.Actor == eventstore.ActorImport {
		return
	}
	id := modelPlans[slices.IndexFunc(modelPlans, func(id string) bool { return coordination.PlanStream(id) == a.Stream })]
	p := m.find(id)
	if p == nil {
		if e.Type != coordination.TypePlanSubmitted {
			return
		}
		p = &plan.Plan{}
		m.plans = append(m.plans, p)
	}
	if _, err := p.Apply(e.Type, e.AgentID, e.Data, seq, m.versions[a.Stream], e.TS); err != nil {
		t.Fatal(err)
	}
}

// lines describes the model as got describes a log.
func (m *model) lines() (lines []string) {
	for _, p := range slices.Backward(m.plans) {
		lines = append(lines, fmt.Sprintf("%+v", *p))
	}
	for _, agent := range modelAgents {
		n := 0
		for _, p := range m.plans {
			if p.Agent == agent && p.Status == plan.Pending {
				n++
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %d pending", agent, n))
		for _, task := range modelTasks {
			lines = append(lines, fmt.Sprintf("%s, %s: %v", agent, task, plan.NewGate(m.plans, agent, task).Open()))
		}
	}
	return lines
}

func (l *log) got(t *rapid.T) (lines []string) {
	err := l.View(context.Background(), func(tx *sql.Tx) error {
		planList, err := plans.List(context.Background(), tx, plans.Query{})
		for i := range planList {
			lines = append(lines, fmt.Sprintf("%+v", planList[i]))
		}
		if err != nil {
			return err
		}
		r := projections.Reading(context.Background(), tx)
		for _, agent := range modelAgents {
			n, err := plans.PendingOf(r, agent)
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("%s: %d pending", agent, n))
			for _, task := range modelTasks {
				of, err := plans.Of(r, agent, task)
				if err != nil {
					return err
				}
				lines = append(lines, fmt.Sprintf("%s, %s: %v", agent, task, plan.NewGate(of, agent, task).Open()))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Whatever happens to plans, in transactions of any size, with the program opened again in between: the table says what a simple model does, and
// is the same when it is rebuilt.
func TestPlansAreAsTheModelHasThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "log")
		if err != nil {
			rt.Fatal(err)
		}
		path := filepath.Join(dir, "log.db")
		storetest.Copy(t, emptyLog, path)
		l := openAt(t, path)
		defer func() { l.close(t) }()
		m := &model{versions: map[string]int64{}}
		for range rapid.IntRange(1, 12).Draw(rt, "transactions") {
			var appends []eventstore.StreamAppend
			for range rapid.IntRange(1, 5).Draw(rt, "events") {
				appends = append(appends, drawEvent(rt))
			}
			result := l.append(t, appends...)
			for i, a := range appends {
				m.fold(rt, a, result.Events[i].Seq)
			}
			if rapid.IntRange(0, 4).Draw(rt, "reopen") == 0 {
				l.reopen(t)
			}
			if diff := gocmp.Diff(m.lines(), l.got(rt)); diff != "" {
				rt.Fatalf("-model +log:\n%s", diff)
			}
		}
		live := projectiontest.Dump(t, l, plans.Definition())
		if err := l.engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
			rt.Fatal(err)
		}
		if diff := gocmp.Diff(live, projectiontest.Dump(t, l, plans.Definition())); diff != "" {
			rt.Fatalf("rebuilt (-live +rebuilt):\n%s", diff)
		}
	})
}
