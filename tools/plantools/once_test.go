package plantools_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

const submission = `{"title":"t","steps":["a"],"tools_requested":["write"]}`

// asking is an agent in its main session, with the id of its call.
func asking(agent, callID string) tool.Caller {
	c := caller(agent)
	c.CallID = callID
	return c
}

// A repeated call does nothing, and is answered with the plan's current state; also after a restart.
func TestACallActsOnce(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	first := o.doesAs(asking("eden", "1"), "plan_submit", submission)
	id := first.text("planId")
	args := map[string]string{"plan_submit": submission, "plan_approve": `{"plan_id":"` + id + `"}`, "plan_reject": `{"plan_id":"` + id + `","reason":"r"}`}
	for _, c := range []struct{ agent, name string }{{"eden", "plan_submit"}, {"ruda", "plan_approve"}} {
		who := asking(c.agent, "1")
		was := first
		if c.name != "plan_submit" {
			was = o.doesAs(who, c.name, "%s", args[c.name])
		}
		before := len(o.events(""))
		o = o.reopened()
		again := o.doesAs(who, c.name, "%s", args[c.name])
		if again["duplicate"] != true || was["duplicate"] != nil || again["agentTold"] != nil {
			t.Errorf("%s: first %v, again %v", c.name, was, again)
		}
		for _, field := range []string{"planId", "taskId", "status", "workSessionId", "title", "decidedBy", "decidedAt", "stepsCount"} {
			if diff := cmp.Diff(was[field], again[field]); diff != "" {
				t.Errorf("%s: %s (-first +again)\n%s", c.name, field, diff)
			}
		}
		if after := len(o.events("")); after != before {
			t.Errorf("%s: %d events were appended", c.name, after-before)
		}
	}
	if a := o.doesAs(asking("eden", "1"), "plan_submit", submission); a.text("status") != plan.Approved || a["message"] != nil {
		t.Errorf("submitted again after it was approved: %v", a)
	}
	if a, err := o.call(asking("ruda", "1"), "plan_reject", args["plan_reject"]); err != nil || a.text("code") != plan.CodeState {
		t.Errorf("another tool with the same id: %v, %v", a, err)
	}
	if n := len(o.queued()); n != 1 {
		t.Errorf("%d runs tell of it, want 1", n)
	}
}

// The same id means another call for another agent, session or argument; without an id nothing is recognised.
func TestCallsAreToldApart(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	o.starts("seum")
	elsewhere := asking("eden", "1")
	elsewhere.SessionKey = "agent:eden:elsewhere"
	for _, c := range []tool.Caller{asking("eden", "1"), asking("seum", "1"), elsewhere, asking("eden", "2"), asking("eden", ""), asking("eden", "")} {
		o.doesAs(c, "plan_submit", submission)
	}
	o.doesAs(asking("eden", "1"), "plan_submit", `{"title":"u","steps":["a"]}`)
	if n := len(o.events("plan.")); n != 7 {
		t.Errorf("%d plans, want 7", n)
	}
}

// An interrupted run that is repeated makes the same calls; another run that uses the same id makes others.
func TestCallsOfRunsThatBeginAgain(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	queued := func(runID, retryOf string) {
		data, err := json.Marshal(coordination.RunQueued{RunID: runID, RetryOf: retryOf, SessionKey: "agent:eden:main", Cause: "chat", Message: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.RunStream(runID),
			Events: []eventstore.NewEvent{{Type: coordination.TypeRunQueued, AgentID: "eden", Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	queued("first", "")
	queued("again", "first")
	queued("other", "")
	ids := map[string]string{}
	for _, runID := range []string{"first", "again", "other"} {
		c := asking("eden", "1")
		c.RunID = runID
		a := o.doesAs(c, "plan_submit", submission)
		if ids[runID] = a.text("planId"); (a["duplicate"] == true) != (runID == "again") {
			t.Errorf("%s: %v", runID, a)
		}
	}
	if ids["first"] != ids["again"] || ids["first"] == ids["other"] {
		t.Errorf("submitted are %v", ids)
	}
}

// Many concurrent repetitions of one call are one.
func TestRepetitionsAtOnce(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	ids := map[string]bool{}
	for _, a := range together(16, func(int) answer {
		a, err := o.call(asking("eden", "1"), "plan_submit", submission)
		if err != nil {
			t.Error(err)
		}
		return a
	}) {
		ids[a.text("planId")] = true
	}
	if n := len(o.events("plan.")); n != 1 || len(ids) != 1 {
		t.Errorf("%d events, plans %v; want one", n, ids)
	}
}

// A call whose event is redacted is still recognised.
func TestACallThatWasRedactedActsOnce(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	first := o.doesAs(asking("eden", "1"), "plan_submit", submission)
	if err := o.db.Redact(t.Context(), o.events("plan.")[0].Seq); err != nil {
		t.Fatal(err)
	}
	if a := o.doesAs(asking("eden", "1"), "plan_submit", submission); a["duplicate"] != true || a.text("planId") != first.text("planId") {
		t.Errorf("first %v, again %v", first, a)
	}
}
