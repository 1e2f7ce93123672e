package plantools_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// The agent of a decided plan is told in the same commit, no matter who decided: what, by whom, why, and which tools are open now.
func TestWhoHasSubmittedIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide     func(o *fixture, id string)
		status, by string
		actor      eventstore.Actor
		says       []string
	}{
		"approved by an agent": {func(o *fixture, id string) { o.does("ruda", "plan_approve", `{"plan_id":%q}`, id) }, "approved", "ruda", eventstore.ActorAgent,
			[]string{"[Approved]", "to you for this task now: write\n", "Go on with the task"}},
		"rejected by an agent": {func(o *fixture, id string) {
			o.does("ruda", "plan_reject", `{"plan_id":%q,"reason":"너무 크다"}`, id)
		}, "rejected", "ruda",
			eventstore.ActorAgent, []string{"[Rejected]", "Reason: 너무 크다", "now: none\n", "Submit a better one"}},
		"approved by a person": {func(o *fixture, id string) {
			p, err := o.service.Approve(o.t.Context(), " "+id, " 지민 ")
			if err != nil || p.Status != plan.Approved || p.ID != id || p.Version != 2 || p.DecidedBy != "지민" || p.Last == 0 {
				o.t.Errorf("approved: %+v, %v", p, err)
			}
		}, "approved", "지민", eventstore.ActorHuman, []string{"[Approved]"}},
		"rejected by a person": {func(o *fixture, id string) {
			p, err := o.service.Reject(o.t.Context(), id, "지민", "작게 나눠라")
			if err != nil || p.Status != plan.Rejected || p.Reason != "작게 나눠라" || p.DecidedBy != "지민" {
				o.t.Errorf("rejected: %+v, %v", p, err)
			}
		}, "rejected", "지민", eventstore.ActorHuman, []string{"[Rejected]", "Reason: 작게 나눠라"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setup(t, setting{asleep: true})
			taskID := o.starts("eden")
			id := o.submits("eden")
			if n := len(o.queued()); n != 0 {
				t.Fatalf("%d runs before anything is decided", n)
			}
			c.decide(o, id)
			all := o.queued()
			if len(all) != 1 {
				t.Fatalf("runs are %+v, want one", all)
			}
			q := all[0]
			if q.RunID != "plan:"+id+":"+c.status || q.SessionKey != "agent:eden:main" || q.TaskID != taskID || q.WorkSessionID == "" || q.OnRestart != "" || q.Deliver ||
				q.Provenance != "internal_system" {
				t.Errorf("asked for is %+v", q)
			}
			for _, text := range append(c.says, id, taskID, c.by, "배포 계획") {
				if !strings.Contains(q.Message, text) {
					t.Errorf("%q is not in\n%s", text, q.Message)
				}
			}
			of := o.events("plan.")
			decided := of[len(of)-1]
			if decided.Actor != c.actor || decided.AgentID != "eden" || !strings.Contains(string(decided.Data), `"decidedBy":"`+c.by+`"`) {
				t.Errorf("%s by %s: %s", decided.Type, decided.Actor, decided.Data)
			}
			rest := o.events("")[decided.Seq:]
			if i := slices.IndexFunc(rest, func(e eventstore.Event) bool { return e.Type == coordination.TypeRunQueued }); i != len(rest)-1 ||
				rest[i].RecordedAt != decided.RecordedAt {
				t.Errorf("after the decision: %+v", rest)
			}
		})
	}
}

// The decision is reported in the session that submitted the plan, if that lasts; else in the agent's main session.
func TestWhereItIsTold(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	for _, key := range []string{"agent:ruda:main", "agent:eden:discord:channel:1", "agent:eden:a2a:c1", "agent:eden:other", "agent:eden:discord:direct:7"} {
		k, err := coordination.ParseSessionKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.runner.Queue(t.Context(), run.Ask{Session: k, RunQueued: coordination.RunQueued{RunID: "first in " + key, Cause: "chat", Message: "hi"}}); err != nil {
			t.Fatal(err)
		}
	}
	for from, want := range map[string]string{
		"agent:eden:main": "agent:eden:main", "agent:eden:discord:channel:1": "agent:eden:discord:channel:1", "agent:eden:a2a:c1": "agent:eden:a2a:c1",
		"agent:eden:other": "agent:eden:other", "agent:eden:discord:direct:7": "agent:eden:discord:direct:7", "agent:eden:gone": "agent:eden:main",
		"agent:eden:cron:1": "agent:eden:main", "agent:eden:cron:1:run:2": "agent:eden:main", "global": "agent:eden:main",
	} {
		a := o.doesAs(at("eden", from, ""), "plan_submit", `{"title":"t","steps":["a"]}`)
		o.does("ruda", "plan_approve", `{"plan_id":%q}`, a.text("planId"))
		all := o.queued()
		if q := all[len(all)-1]; q.SessionKey != want || q.RunID != "plan:"+a.text("planId")+":approved" {
			t.Errorf("submitted in %s, told in %s, want %s", from, q.SessionKey, want)
		}
	}
	forged := eventstore.StreamAppend{Stream: coordination.PlanStream("plan_forged"), Events: []eventstore.NewEvent{{Type: coordination.TypePlanSubmitted, AgentID: "eden",
		Data: json.RawMessage(`{"planId":"plan_forged","taskId":"x","steps":["a"],"sessionKey":"agent:ruda:main"}`)}}}
	if _, err := o.db.Append(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	o.does("ruda", "plan_approve", `{"plan_id":"plan_forged"}`)
	if all := o.queued(); all[len(all)-1].SessionKey != "agent:eden:main" {
		t.Errorf("told in the session of another agent: %+v", all[len(all)-1])
	}
}

// Where the report is refused, the decision stands, and the decider is told why it is not reported.
func TestADecisionStandsWithoutBeingTold(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true, limits: runqueue.Limits{SessionWaiting: 1}})
	taskID := o.starts("eden")
	o.starts("seum")
	for i, told := range []bool{true, false} {
		a := o.does("ruda", "plan_approve", `{"plan_id":%q}`, o.submits("eden"))
		if a.text("status") != "approved" || a["agentTold"] != told || (a.text("notToldBecause") == "") != told {
			t.Errorf("%d: %v", i, a)
		}
	}
	id := o.submits("eden")
	if p, err := o.service.Reject(t.Context(), id, "지민", "r"); err != nil || p.Status != plan.Rejected {
		t.Errorf("a person rejects: %+v, %v", p, err)
	}
	if n := len(o.queued()); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
	o.expectMay("approved", at("eden", "agent:eden:main", taskID), "write", true)

	gone := o.submits("seum")
	o.config = load(t, &setting{config: gate})
	o.config.Agents = slices.DeleteFunc(o.config.Agents, func(a config.Agent) bool { return a.ID == "seum" })
	if a := o.does("ruda", "plan_approve", `{"plan_id":%q}`, gone); a["agentTold"] != false || !strings.Contains(a.text("notToldBecause"), "seum") {
		t.Errorf("of an agent that there is not any more: %v", a)
	}
}

// A decision and its report belong to the task's current work session.
func TestADecisionBelongsWhereTheTaskGoesOn(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	id := o.submits("eden")
	o.does("eden", "task_block", `{"reason":"r","unblock_by":["seum"]}`)
	o.ahead.Add((72 * time.Hour).Milliseconds())
	resumed := o.does("eden", "task_resume", `{}`)
	was, is := resumed.text("previousWorkSessionId"), resumed.text("workSessionId")
	a := o.does("ruda", "plan_approve", `{"plan_id":%q}`, id)
	if was == "" || is == "" || was == is || a.text("workSessionId") != is || o.queued()[0].WorkSessionID != is {
		t.Errorf("the task went from %q to %q; approved in %q, told in %q", was, is, a.text("workSessionId"), o.queued()[0].WorkSessionID)
	}
}

// A task that has ended without its consequences, such as in the file of another gateway, leaves its plans pending. The notice about
// them does not ask the agent to continue.
func TestOfATaskThatIsOver(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	taskID := o.starts("eden")
	id := o.submits("eden")
	ended := eventstore.StreamAppend{Stream: coordination.TaskStream(taskID), Events: []eventstore.NewEvent{{Type: coordination.TypeTaskCancelled, AgentID: "eden",
		Data: json.RawMessage(`{"taskId":"` + taskID + `"}`)}}}
	if _, err := o.db.Append(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, id)
	if q := o.queued()[0]; !strings.Contains(q.Message, "The task is over") || strings.Contains(q.Message, "Go on") || !strings.Contains(q.Message, "now: none") {
		t.Error(q.Message)
	}
	o.expectMay("over", at("eden", "agent:eden:main", taskID), "write", false)
}

// The tools that prompts name have the parameters that they mention.
func TestPromptsNameParametersThatThereAre(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, o.submits("eden"))
	o.does("ruda", "plan_reject", `{"plan_id":%q,"reason":"r"}`, o.submits("eden"))
	schemas := map[string]string{}
	for _, s := range o.box.Offer(caller("eden")) {
		schemas[s.Name] = string(s.Schema)
	}
	named := map[string]bool{}
	for _, q := range o.queued() {
		for _, call := range regexp.MustCompile(`\b((?:task|plan)_[a-z]+) \((\w+) `).FindAllStringSubmatch(q.Message, -1) {
			if !strings.Contains(schemas[call[1]], `"`+call[2]+`":{`) {
				t.Errorf("%s has no parameter %q: %s", call[1], call[2], schemas[call[1]])
			}
			named[call[1]] = true
		}
	}
	if want := map[string]bool{"plan_status": true, "task_update": true, "plan_submit": true, "task_cancel": true}; fmt.Sprint(named) != fmt.Sprint(want) {
		t.Errorf("named are %v, want %v", named, want)
	}
}

// An agent that needs a tool submits a plan in one run, is told of the approval in another one, and uses the tool there.
func TestAnAgentSubmitsIsToldAndGoesOn(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{script: `
		{"when": {"matches": "^fix it"}, "answer": {"toolCalls": [{"name": "write", "arguments": {}}]}},
		{"when": {"after": "tool", "tool": "write", "contains": ["[Approved]"]}, "answer": {"text": "result: {{result}}"}},
		{"when": {"after": "tool", "tool": "write"}, "answer": {"toolCalls": [{"name": "plan_submit", "arguments": {"title": "t", "steps": ["a"], "tools_requested": ["write"]}}]}},
		{"when": {"after": "tool", "tool": "plan_submit"}, "answer": {"text": "submitted: {{result}}"}},
		{"when": {"contains": ["[Approved]"]}, "answer": {"toolCalls": [{"name": "write", "arguments": {}}]}},`})
	taskID := o.starts("eden")
	ask := run.Ask{Session: coordination.MainKey("eden"), RunQueued: coordination.RunQueued{RunID: "r1", Cause: "chat", Message: "fix it"}}
	if _, err := o.runner.Queue(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	if r := o.over("r1"); r.State != run.OK || !strings.Contains(r.Over.Text, `"status":"pending"`) {
		t.Fatalf("the first run: %s %q", r.State, r.Over.Text)
	}
	id := o.does("ruda", "plan_status", `{"status":"pending"}`).list("plans")[0].(map[string]any)["planId"].(string)
	if _, err := o.service.Approve(t.Context(), id, "지민"); err != nil {
		t.Fatal(err)
	}
	if r := o.over("plan:" + id + ":approved"); r.State != run.OK || !strings.Contains(r.Over.Text, "write done") {
		t.Errorf("the run that is told: %s %q", r.State, r.Over.Text)
	}
	o.expectMay("approved", at("eden", "agent:eden:main", taskID), "write", true)
}
