package plantools_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// From submission to the end, each tool shows the plan's state.
func TestAPlanFromItsSubmissionToItsEnd(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	taskID := o.starts("eden")
	a := o.does("eden", "plan_submit", `{"title":" 배포 계획 ","steps":["first","둘째\n줄"],"tools_requested":["WRITE","exec","write"]}`)
	id := a.text("planId")
	if a.text("status") != "pending" || a.text("taskId") != taskID || a.text("agentId") != "eden" || a.text("workSessionId") == "" || a["stepsCount"] != 2.0 ||
		a.text("message") == "" || !cmp.Equal(a.list("toolsRequested"), []any{"write", "exec"}) {
		t.Errorf("submitted: %v", a)
	}
	shown := o.does("ruda", "plan_status", `{"planId":%q}`, id).object("plan")
	if shown.text("status") != "pending" || shown.text("title") != "배포 계획" || !cmp.Equal(shown.list("steps"), []any{"first", "둘째\n줄"}) ||
		shown.text("submittedAt") == "" || shown["decidedAt"] != nil {
		t.Errorf("shown: %v", shown)
	}
	b := o.does("ruda", "plan_approve", `{"plan_id":%q}`, id)
	if b.text("status") != "approved" || b.text("decidedBy") != "ruda" || b.text("decidedAt") == "" || b["agentTold"] != true ||
		!cmp.Equal(b.list("toolsOpened"), []any{"write", "exec"}) || b.text("workSessionId") != a.text("workSessionId") {
		t.Errorf("approved: %v", b)
	}
	second := o.submits("eden")
	c := o.does("haru", "plan_reject", `{"plan_id":%q,"reason":"너무 크다"}`, second)
	if c.text("status") != "rejected" || c.text("rejectReason") != "너무 크다" || c.text("decidedBy") != "haru" || c["toolsOpened"] != nil || c["agentTold"] != true {
		t.Errorf("rejected: %v", c)
	}
	for plan, want := range map[string][]string{id: {"plan.submitted", "plan.approved"}, second: {"plan.submitted", "plan.rejected"}} {
		if diff := cmp.Diff(want, o.types(plan)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
	for _, e := range o.events("plan.") {
		if e.AgentID != "eden" || e.Actor != eventstore.ActorAgent || !strings.Contains(string(e.Data), `"eventRole":"orchestration.task"`) ||
			!strings.Contains(string(e.Data), `"taskId":"`+taskID+`"`) {
			t.Errorf("%s of %s by %s: %s", e.Type, e.AgentID, e.Actor, e.Data)
		}
	}
}

// What cannot be done is refused with a code and a hint, and nothing happens.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.refuses(plan.CodeUnknownTask, "eden", "plan_submit", `{"title":"t","steps":["a"]}`)
	own := o.starts("eden")
	mine := o.starts("ruda")
	over := o.starts("seum")
	o.does("seum", "task_complete", `{}`)
	pending, ofLead := o.submits("eden"), o.submits("ruda")
	decided := o.submits("eden")
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, decided)
	before := len(o.events(""))
	for _, c := range []struct{ code, agent, name, args string }{
		{plan.CodeUnknownTask, "eden", "plan_submit", fmt.Sprintf(`{"title":"t","steps":["a"],"task_id":%q}`, mine)},
		{plan.CodeUnknownTask, "eden", "plan_submit", `{"title":"t","steps":["a"],"task_id":"task_unheard_of"}`},
		{plan.CodeState, "seum", "plan_submit", fmt.Sprintf(`{"title":"t","steps":["a"],"task_id":%q}`, over)},
		{plan.CodeInvalid, "eden", "plan_submit", fmt.Sprintf(`{"title":"t","steps":["a"],"task_id":%q,"taskId":%q}`, own, mine)},
		{plan.CodeInvalid, "eden", "plan_submit", `{"title":"a\nb","steps":["a"]}`},
		{plan.CodeInvalid, "eden", "plan_submit", `{"title":"t","steps":[" "]}`},
		{plan.CodeUnknownTool, "eden", "plan_submit", `{"title":"t","steps":["a"],"tools_requested":["*"]}`},
		{plan.CodeUnknownTool, "eden", "plan_submit", `{"title":"t","steps":["a"],"tools_requested":["plan_submit"]}`},
		{plan.CodeUnknown, "ruda", "plan_approve", `{"plan_id":"plan_unheard_of"}`},
		{plan.CodeInvalid, "ruda", "plan_approve", `{}`},
		{plan.CodeInvalid, "ruda", "plan_approve", `{"plan_id":"a","planId":"b"}`},
		{plan.CodeNotAllowed, "eden", "plan_approve", fmt.Sprintf(`{"plan_id":%q}`, pending)},
		{plan.CodeNotAllowed, "seum", "plan_approve", fmt.Sprintf(`{"plan_id":%q}`, pending)},
		{plan.CodeNotAllowed, "ruda", "plan_approve", fmt.Sprintf(`{"plan_id":%q}`, ofLead)},
		{plan.CodeNotAllowed, "ruda", "plan_reject", fmt.Sprintf(`{"plan_id":%q,"reason":"r"}`, ofLead)},
		{plan.CodeInvalid, "ruda", "plan_reject", fmt.Sprintf(`{"plan_id":%q,"reason":" "}`, pending)},
		{plan.CodeState, "ruda", "plan_approve", fmt.Sprintf(`{"plan_id":%q}`, decided)},
		{plan.CodeState, "haru", "plan_reject", fmt.Sprintf(`{"plan_id":%q,"reason":"r"}`, decided)},
		{plan.CodeUnknown, "seum", "plan_status", fmt.Sprintf(`{"plan_id":%q}`, pending)},
		{plan.CodeNotAllowed, "seum", "plan_status", `{"agent":"eden"}`},
		{plan.CodeInvalid, "seum", "plan_status", `{"cursor":"x"}`},
	} {
		o.refuses(c.code, c.agent, c.name, "%s", c.args)
	}
	if a := o.refuses(plan.CodeUnknownTool, "eden", "plan_submit", `{"title":"t","steps":["a"],"tools_requested":["no"]}`); !strings.Contains(a.text("hint"), "write, exec") {
		t.Errorf("it does not say which tools there are: %v", a)
	}
	if after := len(o.events("")); after != before {
		t.Errorf("%d events were appended", after-before)
	}
}

// Sub-agents and utility agents have no tasks of their own: they neither submit nor decide. A sub-agent of a lead is no lead.
func TestWhoHasTheTools(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	for c, want := range map[tool.Caller]string{
		caller("eden"):  "plan_approve plan_reject plan_status plan_submit",
		caller("quick"): "",
		{Entry: tool.ByRun, AgentID: "ruda", SessionKey: coordination.SubagentKey("ruda", "1").String()}: "plan_status",
		{Entry: tool.ByHTTP, AgentID: "ruda", SessionKey: "agent:ruda:main"}:                             "plan_status plan_submit",
		{Entry: tool.ByWire, AgentID: "ruda", SessionKey: "agent:ruda:main"}:                             "plan_approve plan_reject plan_status plan_submit",
	} {
		var names []string
		for _, s := range o.box.Offer(c) {
			if strings.HasPrefix(s.Name, "plan_") {
				names = append(names, s.Name)
				if s.Group != tool.GroupPlans || s.Label == "" || s.Description == "" {
					t.Errorf("%+v", s)
				}
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s by %s is offered %q, want %q", c.SessionKey, c.Entry, got, want)
		}
	}
}

// The default is the task of the run, if it is the agent's own, else the one in focus. A plan may be for any open task of the agent.
func TestWhichTaskAPlanIsFor(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	first, second, other := o.starts("eden"), o.starts("eden"), o.starts("seum")
	for _, c := range []struct {
		named, ofRun, want string
	}{{"", "", second}, {"", first, first}, {first, second, first}, {"", other, second}, {"", "task_unheard_of", second}} {
		a := o.doesAs(at("eden", "agent:eden:main", c.ofRun), "plan_submit", `{"title":"t","steps":["a"],"taskId":%q}`, c.named)
		if a.text("taskId") != c.want {
			t.Errorf("%+v: it is for %s", c, a.text("taskId"))
		}
	}
}

// Agents see their own plans, leads those of all, in pages.
func TestLists(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	o.starts("seum")
	of := map[string]string{}
	for i, agent := range []string{"eden", "seum", "eden", "eden"} {
		of[o.submits(agent)] = fmt.Sprint(agent, i)
	}
	for id, name := range of {
		if name == "eden0" {
			o.does("ruda", "plan_approve", `{"plan_id":%q}`, id)
		}
	}
	for _, c := range []struct{ agent, args, want string }{
		{"eden", `{}`, "eden3 eden2 eden0"},
		{"eden", `{"status":"pending"}`, "eden3 eden2"},
		{"eden", `{"status":"approved","agent":"EDEN"}`, "eden0"},
		{"seum", `{"status":"all"}`, "seum1"},
		{"haru", `{}`, "eden3 eden2 seum1 eden0"},
		{"haru", `{"status":"pending","agent":"seum"}`, "seum1"},
		{"haru", `{"limit":2}`, "eden3 eden2 more"},
		{"haru", `{"limit":4}`, "eden3 eden2 seum1 eden0"},
		{"haru", `{"agent":"haru"}`, ""},
	} {
		a := o.does(c.agent, "plan_status", "%s", c.args)
		var got []string
		for _, row := range a.list("plans") {
			got = append(got, of[answer(row.(map[string]any)).text("planId")])
		}
		if a["count"] != float64(len(got)) {
			t.Errorf("count is %v of %d", a["count"], len(got))
		}
		if a.text("nextCursor") != "" {
			got = append(got, "more")
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s %s lists %q, want %q", c.agent, c.args, text, c.want)
		}
	}
	var all []string
	for cursor := ""; ; {
		a := o.does("haru", "plan_status", `{"limit":1,"cursor":%q}`, cursor)
		all = append(all, of[answer(a.list("plans")[0].(map[string]any)).text("planId")])
		if cursor = a.text("nextCursor"); cursor == "" {
			break
		}
	}
	if want := []string{"eden3", "eden2", "seum1", "eden0"}; !slices.Equal(all, want) {
		t.Errorf("page by page: %v, want %v", all, want)
	}
}

// The largest plan is shown completely or with shortened steps: the answer is always JSON.
func TestTheLargestPlan(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	for text, short := range map[string]bool{strings.Repeat("가", 660): false, strings.Repeat(`\u0001`, 800): true} {
		step := `"` + text + `"`
		a := o.does("eden", "plan_submit", `{"title":"t","steps":[%s]}`, strings.Repeat(step+",", 49)+step)
		shown := o.does("eden", "plan_status", `{"plan_id":%q}`, a.text("planId"))
		if (shown["shortened"] == true) != short || len(shown.object("plan").list("steps")) != 50 {
			t.Errorf("%.10s: shortened is %v", text, shown["shortened"])
		}
	}
	if n := len(o.does("ruda", "plan_status", `{"limit":200}`).list("plans")); n != 2 {
		t.Errorf("%d plans are listed", n)
	}
}

// The number of waiting plans of an agent is limited.
func TestAnAgentCannotFloodThoseWhoDecide(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	o.starts("seum")
	first := o.submits("eden")
	for range plan.MaxPending - 1 {
		o.submits("eden")
	}
	o.refuses(plan.CodeFull, "eden", "plan_submit", `{"title":"t","steps":["a"]}`)
	o.submits("seum")
	o.does("ruda", "plan_reject", `{"plan_id":%q,"reason":"r"}`, first)
	o.submits("eden")
}

// Secrets get neither into the log nor into an answer.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef0123"
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	id := o.does("eden", "plan_submit", `{"title":"use %s","steps":["%s"]}`, secret, secret).text("planId")
	if _, err := o.service.Reject(t.Context(), id, secret, "not "+secret); err != nil {
		t.Fatal(err)
	}
	for _, e := range o.events("") {
		if strings.Contains(string(e.Data), secret) {
			t.Errorf("%s: %s", e.Type, e.Data)
		}
	}
	_, err := o.service.Approve(t.Context(), secret, "지민")
	if r, is := errors.AsType[*plan.Refusal](err); !is || r.Reason != plan.CodeUnknown || strings.Contains(r.Text, secret) {
		t.Errorf("error is %v", err)
	}
}
