package continuer_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2atest"
	"github.com/pronto-lab/openclawd/tools/plantools"
)

// emptyPlanLog is the file of a log that has the table of plans too.
var emptyPlanLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) { return openStore(path) },
	slices.Concat(a2atest.Definitions(), a2atest.Keeping(), []projections.Definition{plans.Definition()})...))

// planning gives a team the tools of plans.
func planning(s *a2atest.Setting) {
	s.Empty, s.Tables = emptyPlanLog, []projections.Definition{plans.Definition()}
	s.Tools = func(team *a2atest.Team) []tools.Tool {
		return plantools.New(plantools.Options{Log: team.Log, Queue: team.Queue, Config: team.InForce, Now: team.Clock.Now,
			NewPlanID: func() string { return "plan_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }}).Tools()
	}
}

// submits submits a plan for the task that an agent is at, and gives its id.
func (c *crew) submits(agent string) (planID string) {
	c.t.Helper()
	return c.planned(agent, "plan_submit", map[string]any{"title": "a roof", "steps": []string{"buy tiles", "lay tiles"}})
}

// planned calls a tool of plans in the name of an agent, and gives the id of the plan.
func (c *crew) planned(agent, name string, args map[string]any) (planID string) {
	c.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	out := c.Use(agent, name, string(text))
	var answer struct {
		PlanID  string `json:"planId"`
		Success bool   `json:"success"`
	}
	if err := json.Unmarshal([]byte(out.Text), &answer); err != nil || !answer.Success {
		c.t.Fatalf("%s %s: %s", name, text, out.Text)
	}
	return answer.PlanID
}

// An agent whose plan waits for approval is not prompted, nor is its task taken away, until the plan is decided. It may go on with an
// approved plan although an older one was never decided.
func TestNoAgentIsPromptedWhileAPlanWaits(t *testing.T) {
	t.Parallel()
	c := setup(t, nil, byHand, planning)
	c.starts("eden", "tile the roof", "buy tiles", "lay tiles")
	c.submits("eden")
	second := c.submits("eden")
	c.Ended(c.SayTo("eden", "hello"))
	c.after(0)
	c.after(10 * time.Minute)
	c = c.crashed()
	c.after(48 * time.Hour)
	if reasons := c.reasons("eden"); len(reasons) != 0 || len(c.Events("zombie.")) != 0 {
		t.Fatalf("while a plan waits it is told %v, and %d tasks are taken away", reasons, len(c.Events("zombie.")))
	}
	c.rests("eden", continuation.Approval, 0)
	c.planned("main", "plan_reject", map[string]any{"plan_id": second, "reason": "too dear"})
	c.quiet()
	c.submits("eden")
	c.planned("main", "plan_approve", map[string]any{"plan_id": c.submits("eden")})
	c.quiet()
	if e := c.explains("eden"); e.Reason == continuation.Approval {
		t.Fatalf("once the last plan is approved: %s", e.Text)
	}
}

// A decided plan has its agent checked, even if the agent could not be told.
func TestADecidedPlanHasItsAgentLookedAt(t *testing.T) {
	t.Parallel()
	c := setup(t, nil, planning)
	c.starts("eden", "tile the roof", "buy tiles")
	id := c.submits("eden")
	c.sendPolicy("eden", "deny")
	c.Advance(10 * time.Minute)
	c.looks()
	c.planned("main", "plan_reject", map[string]any{"plan_id": id, "reason": "too dear"})
	c.wants("the pause after a prompt that was refused", func() bool { return len(c.Events(coordination.TypeContinuationBackoff)) == 1 })
}
