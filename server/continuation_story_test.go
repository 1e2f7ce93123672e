package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// approvingConfig has agents who write to each other only as an approved plan says.
const approvingConfig = `{
  gateway: { auth: { mode: "token", token: "secret" } },
  agents: { list: [{ id: "main", role: "lead", model: "test/main" }, { id: "ruda", model: "test/ruda" }, { id: "eden", model: "test/eden" }] },
  tools: { agentToAgent: { enabled: true }, planGate: { enabled: true, tools: ["sessions_send"] } },
  models: { providers: { test: { baseUrl: %q, apiKey: "none", models: [{ id: "main" }, { id: "ruda" }, { id: "eden" }] } } },
}
`

// needsPlan names the tools that open a gate, as the refusal of a call without an approved plan does.
const needsPlan = "plan_submit"

// approving is a task of ruda's that needs approval, as do its plans.
type approving struct {
	*liveTeam
	restarts bool // between any two acts
	task     string
	plans    []string // by the order in which they were submitted
}

func newApproving(t *testing.T, restarts bool) *approving {
	t.Helper()
	s := &approving{restarts: restarts}
	call := func(name string, args map[string]any) func(a2atest.Asked) a2atest.Answer {
		return func(a2atest.Asked) a2atest.Answer { return a2atest.Use(a2atest.Call{Name: name, Args: args}) }
	}
	say := func(text string) func(a2atest.Asked) a2atest.Answer {
		return func(a2atest.Asked) a2atest.Answer { return a2atest.Say(text) }
	}
	// after is what comes after a tool whose answer has to say something.
	after := func(want string, then func(a2atest.Asked) a2atest.Answer) func(a2atest.Asked) a2atest.Answer {
		return func(a a2atest.Asked) a2atest.Answer {
			if !a.AfterTool() || !strings.Contains(a.Last().Text, want) {
				t.Errorf("%s is answered %q, want %q in it", a.Agent, a.Last().Text, want)
			}
			return then(a)
		}
	}
	write := call("sessions_send", map[string]any{"agentId": "eden", "message": "may I paint your wall?", "timeoutSeconds": 20, "replyBack": false,
		"announceStep": false})
	submit := func(title string) func(a2atest.Asked) a2atest.Answer {
		return call("plan_submit", map[string]any{"title": title, "steps": []string{"ask eden", "paint"}, "tools_requested": []string{"sessions_send"}})
	}
	answers := func(list ...func(a2atest.Asked) a2atest.Answer) []func(a2atest.Asked) a2atest.Answer { return list }
	models := a2atest.NewModel(t, plays(t,
		scene{"ruda", "please paint", answers(
			call("task_start", map[string]any{"description": "paint the house", "requires_approval": true, "simple": true}),
			after(coordination.StatePendingApproval, say("I wait for approval")))},
		scene{"ruda", "[Approved] Your task", answers(write, after(needsPlan, submit("paint it at night")),
			after(plan.Pending, say("I wait for the plan")))},
		scene{"ruda", "Reason: too loud", answers(write, after(needsPlan, submit("paint it in the morning")),
			after(plan.Pending, say("I wait for the other plan")))},
		scene{"ruda", "[Approved] Your plan", answers(write, after("paint as you like", say("I have asked eden")))},
		scene{"eden", "may I paint", answers(say("paint as you like"))},
		scene{"ruda", "[Restart]", answers(say("I am where I was"))},
		scene{"ruda", "[Continue]", answers(
			call("task_complete", map[string]any{"summary": "it is yellow"}), after(coordination.StateCompleted, say("it is painted")))},
	))
	s.liveTeam = &liveTeam{models: models, clock: &a2atest.Clock{}}
	s.reloading = startReloading(t, map[string]string{settings.FileName: fmt.Sprintf(approvingConfig, models.URL)}, withGateway,
		func(o *Options) { o.Now = s.clock.Now })
	s.client = connect(t, gatewayURL(s.gatewayAddress()))
	return s
}

// decides has a person decide, and checks the status of the answer.
func (s *approving) decides(t *testing.T, id, verdict, body string, want int) (answer struct {
	OK                                           bool
	ID, Kind, AgentID, TaskID, Status, DecidedBy string
	Code, Field                                  string
}) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/approvals/"+id+"/"+verdict, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != want {
		t.Fatalf("%s %s: %s, want %d: %+v, %v", verdict, id, response.Status, want, answer, err)
	}
	return answer
}

// shownStory is what the API shows of the story.
type shownStory struct {
	Approvals []string // kind, agent, title, tools
	Plans     []string // title, status, who has decided, why; the newest first
	Kind      continuation.Kind
	Reason    continuation.Reason
	Later     bool // it is looked at again when time has passed
}

// shows checks what the API shows, and, if the story has restarts, that it shows the same after one. If ruda could go on, it is told of
// the restart, and the next prompt waits longer from then on; while something waits for approval it is not told.
func (s *approving) shows(t *testing.T, when string, want shownStory) {
	t.Helper()
	if diff := gocmp.Diff(want, s.shown(t)); diff != "" {
		t.Errorf("%s (-want +shown):\n%s", when, diff)
	}
	if !s.restarts {
		return
	}
	s.again(t)
	if want.Reason == continuation.NotIdle {
		want.Reason = continuation.Cooldown
		s.awaitsPrompt(t, continuation.GatewayRestarted)
	}
	if diff := gocmp.Diff(want, s.shown(t)); diff != "" {
		t.Errorf("%s, after a restart (-want +shown):\n%s", when, diff)
	}
}

// awaitsPrompt waits until ruda was told to go on, for a reason that no other prompt of the story has, and the run of that is over.
func (s *approving) awaitsPrompt(t *testing.T, reason continuation.Reason) {
	t.Helper()
	runID := ""
	s.until(t, "the prompt because of "+string(reason), func(e *eventstore.Event) bool {
		var d coordination.Continuation
		if e.Type != coordination.TypeContinuationSent {
			return false
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		runID = d.RunID
		return d.Reason == string(reason)
	})
	s.awaitsRun(t, runID)
}

func (s *approving) shown(t *testing.T) (shown shownStory) {
	t.Helper()
	waiting := read[struct {
		Approvals []approval.Approval
		Count     int
		Decidable bool
	}](t, s.reloading, "/api/approvals")
	for _, a := range waiting.Approvals {
		shown.Approvals = append(shown.Approvals, fmt.Sprint(a.Kind, " ", a.AgentID, ": ", a.Title, a.ToolsRequested))
		id := map[string]string{"task": s.task, "plan": s.plan()}[a.Kind]
		if a.TaskID != s.task || a.WorkSessionID == "" || a.RequestedAtMs == 0 || id != "" && a.ID != id {
			t.Errorf("waiting: %+v", a)
		}
	}
	if waiting.Count != len(waiting.Approvals) || !waiting.Decidable {
		t.Errorf("waiting: %+v", waiting)
	}
	for _, p := range read[struct{ Plans []plan.Shown }](t, s.reloading, "/api/agents/ruda/plans").Plans {
		shown.Plans = append(shown.Plans, strings.TrimSpace(fmt.Sprint(p.Title, ", ", p.Status, " ", p.DecidedBy, " ", p.RejectReason)))
	}
	explained := read[monitor.ContinuationAnswer](t, s.reloading, "/api/agents/ruda/continuation")
	shown.Kind, shown.Reason, shown.Later = explained.Decision.Kind, explained.Decision.Reason, explained.Decision.LookAgainAtMs > explained.AtMs
	if explained.AgentID != "ruda" || !strings.HasPrefix(explained.Explanation, "Nothing is due for ruda: ") ||
		(explained.RestartedAt == "") != s.Program.agents.restartedAt.IsZero() {
		t.Errorf("explained: %+v", explained)
	}
	return shown
}

// plan is the id of the last plan, "" before there is one.
func (s *approving) plan() string {
	if len(s.plans) == 0 {
		return ""
	}
	return s.plans[len(s.plans)-1]
}

// submits waits until ruda has submitted another plan, at the end of a run.
func (s *approving) submits(t *testing.T, runID string) {
	t.Helper()
	if end := s.awaitsRun(t, runID); end.Type != coordination.TypeRunEnded {
		t.Fatalf("ruda was told, and it came to %+v", end)
	}
	s.plans = nil
	for _, f := range s.events(t) {
		if f.Type == coordination.TypePlanSubmitted {
			s.plans = append(s.plans, strings.TrimPrefix(f.Stream, "plan/"))
		}
	}
}

func (s *approving) events(t *testing.T) []eventstore.Event {
	t.Helper()
	events, err := s.Program.log.Read(t.Context(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// A task needs approval, and so does a plan before ruda may write to others: people see in the API what waits, approve or reject it, and
// ruda is told in the transaction of the decision. The API shows the same after each restart.
func TestPeopleDecideByTheAPI(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts=", restarts), func(t *testing.T) {
			t.Parallel()
			newApproving(t, restarts).plays(t)
		})
	}
}

func (s *approving) plays(t *testing.T) {
	t.Helper()
	if said := s.tell(t, "ruda", "asked", "please paint the house, once it is approved"); said != "I wait for approval" {
		t.Fatalf("ruda says %q", said)
	}
	rows := taskRows(t, s.Program)
	if len(rows) != 1 {
		t.Fatalf("tasks: %+v", rows)
	}
	s.task = rows[0].ID
	s.shows(t, "when the task is asked for", shownStory{Approvals: []string{"task ruda: paint the house[]"}, Kind: continuation.Nothing,
		Reason: continuation.Approval})

	s.decides(t, "task_00000000000000000000", "approve", "", http.StatusNotFound)
	if refused := s.decides(t, s.task, "reject", `{"by":"jane"}`, http.StatusBadRequest); refused.Field != "reason" {
		t.Errorf("rejected without a reason: %+v", refused)
	}
	done := s.decides(t, s.task, "approve", `{"by":"jane"}`, http.StatusOK)
	if !done.OK || done.ID != s.task || done.Kind != "task" || done.AgentID != "ruda" || done.TaskID != s.task ||
		done.Status != coordination.StateInProgress || done.DecidedBy != "jane" {
		t.Errorf("approved: %+v", done)
	}
	if refused := s.decides(t, s.task, "approve", "", http.StatusConflict); refused.Code != "wrong_state" {
		t.Errorf("approved again: %+v", refused)
	}
	s.submits(t, "task:"+s.task+":approved:2")
	waits := shownStory{Approvals: []string{"plan ruda: paint it at night[sessions_send]"}, Plans: []string{"paint it at night, pending"},
		Kind: continuation.Nothing, Reason: continuation.Approval}
	s.shows(t, "when a plan is submitted", waits)

	done = s.decides(t, s.plan(), "reject", `{"by":"jane","reason":"too loud"}`, http.StatusOK)
	if !done.OK || done.Kind != "plan" || done.TaskID != s.task ||
		done.Status != plan.Rejected || done.DecidedBy != "jane" {
		t.Errorf("rejected: %+v", done)
	}
	s.decides(t, s.plan(), "approve", "", http.StatusConflict)
	s.submits(t, "plan:"+s.plan()+":rejected")
	waits.Approvals = []string{"plan ruda: paint it in the morning[sessions_send]"}
	waits.Plans = []string{"paint it in the morning, pending", "paint it at night, rejected jane too loud"}
	s.shows(t, "when another plan is submitted", waits)

	if done := s.decides(t, s.plan(), "approve", `{"by":"jane"}`, http.StatusOK); done.Status != plan.Approved {
		t.Errorf("approved: %+v", done)
	}
	s.submits(t, "plan:"+s.plan()+":approved")
	plans := []string{"paint it in the morning, approved jane", waits.Plans[1]}
	s.shows(t, "when the plan is approved", shownStory{Plans: plans, Kind: continuation.Nothing, Reason: continuation.NotIdle, Later: true})

	s.advance(t, 6*time.Minute)
	s.awaitsPrompt(t, continuation.Idle)
	s.shows(t, "at the end", shownStory{Plans: plans, Kind: continuation.Nothing, Reason: continuation.Done})
	s.checkStreams(t)
}

// checkStreams checks what the log has of tasks, plans, agents and runs, stream by stream, and that a decision is reported in its
// transaction.
func (s *approving) checkStreams(t *testing.T) {
	t.Helper()
	names := []string{s.task, "TASK", s.plans[0], "NIGHT", s.plans[1], "MORNING"}
	for _, f := range s.facts(t, coordination.TypeA2AJobCreated) {
		names = append(names, f.JobID, "FLOW")
	}
	named := strings.NewReplacer(names...)
	got := map[string][]string{}
	var before eventstore.Event
	for _, e := range s.events(t) {
		var d struct{ RunID, Reason, DecidedBy, Cause, SessionKey string }
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatalf("%s: %v in %s", e.Type, err, e.Data)
		}
		if d.Cause == "approval" && (e.Type != coordination.TypeRunQueued || before.TS != e.TS || before.Seq+1 != e.Seq ||
			!slices.Contains([]string{coordination.TypeTaskApproved, coordination.TypePlanApproved, coordination.TypePlanRejected}, before.Type)) {
			t.Errorf("ruda is told by %s %d of %s %d, want it right after the decision", e.Type, e.Seq, before.Type, before.Seq)
		}
		before = e
		stream := e.Stream
		switch family, _, _ := strings.Cut(stream, "/"); family {
		case "run": // what cannot stand in a stream's name stands there as its hash
			stream = "run/" + named.Replace(d.RunID)
		case "task", "plan", "agent", "job":
			stream = named.Replace(stream)
		default:
			continue
		}
		line := e.Type
		if key, err := coordination.ParseSessionKey(d.SessionKey); err == nil && key.Kind == coordination.KeyA2A {
			d.SessionKey = "agent:" + key.Agent + ":a2a:TALK"
		}
		for _, more := range []string{d.DecidedBy, d.Reason, d.Cause, d.SessionKey} {
			if more != "" && (e.Type == coordination.TypeRunQueued || !strings.HasPrefix(e.Type, "run.")) {
				line += " " + more
			}
		}
		got[stream] = append(got[stream], line)
	}
	ran := func(cause, session string) []string {
		return []string{"run.queued " + cause + " agent:" + session, "run.started", "run.ended"}
	}
	want := map[string][]string{
		"task/TASK":                 {"task.started agent:ruda:main", "task.approved jane", "task.completed"},
		"plan/NIGHT":                {"plan.submitted agent:ruda:main", "plan.rejected jane too loud"},
		"plan/MORNING":              {"plan.submitted agent:ruda:main", "plan.approved jane"},
		"job/FLOW":                  {"a2a.job.created", "a2a.job.completed"},
		"run/asked":                 ran("agent", "ruda:main"),
		"run/task:TASK:approved:2":  ran("approval", "ruda:main"),
		"run/plan:NIGHT:rejected":   ran("approval", "ruda:main"),
		"run/plan:MORNING:approved": ran("approval", "ruda:main"),
		"run/FLOW":                  ran("a2a", "eden:a2a:TALK"),
	}
	prompts := []continuation.Reason{continuation.Idle}
	if s.restarts {
		prompts = []continuation.Reason{continuation.GatewayRestarted, continuation.Idle}
	}
	for i, reason := range prompts {
		kind := continuation.Continue
		if reason == continuation.GatewayRestarted {
			kind = continuation.Restart
		}
		want["agent/ruda"] = append(want["agent/ruda"], coordination.TypeContinuationSent+" "+string(reason))
		want[fmt.Sprintf("run/continuation:ruda:%d:%s", i, kind)] = ran("continuation", "ruda:main")
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}
