package samplework_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/samplework"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2atest"
	"github.com/pronto-lab/openclawd/tools/plantools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(path string) (*sqlite.DB, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) { return openStore(path) },
	append(slices.Concat(a2atest.Definitions(), a2atest.Keeping()), plans.Definition())...))

// setup makes a team of the sample's agents whose runs are carried out only after Wake.
func setup(t *testing.T) (*a2atest.Team, *samplework.Service, *plantools.Service) {
	t.Helper()
	var decides *plantools.Service
	team := a2atest.New(t, a2atest.Setting{
		Open:  func(path string) (a2atest.Store, error) { return openStore(path) },
		Empty: emptyLog, Agents: []string{"ruda", "yunseul", "onsae", "nuri", "dajim", "ieum", "hangyeol", "grim"}, KeepGoing: true, ByHand: true, Asleep: true,
		Begin: time.UnixMilli(1_790_000_000_000), Tables: []projections.Definition{plans.Definition()}, Answer: func(a2atest.Asked) a2atest.Answer { return a2atest.Say("ok") },
		Tools: func(team *a2atest.Team) []tools.Tool {
			n := 0
			decides = plantools.New(plantools.Options{Log: team.Log, Queue: team.Queue, Config: team.InForce, Now: team.Clock.Now,
				NewPlanID: func() string { n++; return "plan_0000000000000000000" + string(rune('0'+n)) }})
			return decides.Tools()
		},
	})
	return team, samplework.New(samplework.Options{Log: team.Log, Tools: team.Tools, Every: time.Minute, Now: team.Clock.Now}), decides
}

// state returns the open tasks, by agent, and how many approvals wait.
func state(t *testing.T, team *a2atest.Team) (open map[string]int, waiting *pending.Waiting) {
	t.Helper()
	open = map[string]int{}
	err := team.Log.View(t.Context(), func(tx *sql.Tx) (err error) {
		all := true
		rows, _, err := tasks.List(t.Context(), tx, tasks.Filter{Open: &all})
		if err != nil {
			return err
		}
		for i := range rows {
			open[rows[i].AgentID]++
		}
		waiting, err = pending.Approvals(t.Context(), tx, pending.Query{Limit: 10})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return open, waiting
}

// Without anyone who decides and without anyone who works the team gets a task for each agent that may have one, one of them to approve and two that will
// ask when they are worked on, and then nothing more. A decision makes room for the next.
func TestOpenWorkIsBounded(t *testing.T) {
	t.Parallel()
	team, s, decides := setup(t)
	give := func(n int) (next int) {
		t.Helper()
		next, err := s.Give(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	next := 0
	for range 30 {
		next = give(next)
	}
	open, waiting := state(t, team)
	if waiting.Total() != 1 || len(open) != 5 {
		t.Fatalf("%d approvals, open tasks %v", waiting.Total(), open)
	}
	for agent, n := range open {
		if n != 1 {
			t.Errorf("%s has %d open tasks", agent, n)
		}
	}
	if again := give(next); again != next {
		t.Errorf("a piece was given although nothing can take it up: %d after %d", again, next)
	}
	at := slices.IndexFunc(waiting.List, func(a approval.Approval) bool { return a.Kind == "plan" })
	if at < 0 {
		t.Fatalf("no plan waits: %+v", waiting.List)
	}
	plan := waiting.List[at]
	if plan.Title == "" || len(plan.Steps) != 2 {
		t.Errorf("the plan is %+v", plan)
	}
	if _, err := decides.Reject(t.Context(), plan.ID, "visitor", "no"); err != nil {
		t.Fatal(err)
	}
	if again := give(next); again != next {
		t.Error("a piece was given while the agent is to be told of the decision")
	}
	if out := team.Use(plan.AgentID, "task_cancel", `{"task_id":"`+plan.TaskID+`","reason":"rejected"}`); out.IsError {
		t.Fatal(out.Text)
	}
	team.Wake()
	team.Await("the run that tells of the decision to end", func(context.Context, *sql.Tx) (bool, error) { return ended(team), nil })
	if again := give(next); again == next {
		t.Error("no piece was given after the decision")
	}
}

func ended(team *a2atest.Team) bool {
	runs := team.Runs()
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(r run.Result) bool { return !r.State.Over() })
}

// A clock that stands still gives no work, and Run ends with its context.
func TestNoWorkWithoutTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		still := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		s := samplework.New(samplework.Options{Every: time.Minute, Now: func() time.Time { return still }})
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}
