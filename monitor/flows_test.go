package monitor_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/monitor"
)

// askingPort is what eden asks seum in flow j1.
const askingPort = `{"type":"question","questionId":"q1","question":"which port?"}`

// flowed stores an event of a flow, in its stream.
func (b *testBundle) flowed(t testing.TB, id, agent, typ string, data any) {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	b.tell(t, coordination.JobStream(id), agent, [2]string{typ, string(text)})
}

// flows stores a question that waits for its answer (j1), a message that waits for a permit (j2), work for a sub-agent that is done (j3), and
// a message that got no answer (j/4).
func (b *testBundle) flows(t testing.TB) {
	t.Helper()
	payload, warnings := handoff.Parse(askingPort)
	if payload == nil {
		t.Fatal(warnings)
	}
	depth := 1
	created := func(id, kind, from, to, phase string) coordination.A2AJobCreated {
		return coordination.A2AJobCreated{Context: coordination.Context{ConversationID: "c_" + id, WorkSessionID: "ws_" + to, EventRole: coordination.RoleOrchestration},
			JobID: id, Kind: kind, FromAgent: from, ToAgent: to, Phase: phase, DueAtMs: noon.UnixMilli() + 300_000,
			RequesterSessionKey: "agent:" + from + ":main", TargetSessionKey: "agent:" + to + ":a2a:c_" + id, Message: "포트가 뭐죠? " + id, EffectiveTurns: 1}
	}
	asked := created("j1", "send", "eden", "seum", "waiting")
	asked.PayloadType, asked.PayloadJSON, asked.PayloadSubject, asked.PayloadHash = string(payload.Type), askingPort, payload.Subject, payload.Hash
	b.flowed(t, "j1", "eden", coordination.TypeA2AJobCreated, asked)
	b.tell(t, "conversation/c_j1", "eden", [2]string{coordination.TypeA2ASend, fmt.Sprintf(
		`{"jobId":"j1","runId":"j1","fromAgent":"eden","toAgent":"seum","conversationId":"c_j1","workSessionId":"ws_seum","eventRole":"conversation.main","message":"m","payloadType":"question","payloadJson":%q}`, askingPort)})
	for _, id := range []string{"j1", "j1.t1"} {
		b.tell(t, coordination.RunStream(id), "seum", [2]string{coordination.TypeRunQueued,
			fmt.Sprintf(`{"runId":%q,"jobId":"j1","workSessionId":"ws_seum","sessionKey":"agent:seum:a2a:c_j1","lane":"nested","cause":"a2a","message":"m"}`, id)})
	}
	b.flowed(t, "j2", "eden", coordination.TypeA2AJobCreated, created("j2", "send", "eden", "seum", "dispatching"))
	sub := created("j3", "spawn", "seum", "ruda", "waiting")
	sub.Depth, sub.Label = &depth, "조사"
	b.flowed(t, "j3", "seum", coordination.TypeA2AJobCreated, sub)
	b.flowed(t, "j3", "seum", coordination.TypeA2AJobCompleted, coordination.A2AJob{JobID: "j3", FromAgent: "seum", ToAgent: "ruda", LastText: "done", Outcome: "ok"})
	b.flowed(t, "j/4", "ruda", coordination.TypeA2AJobCreated, created("j/4", "send", "ruda", "eden", "waiting"))
	b.flowed(t, "j/4", "ruda", coordination.TypeA2AJobFailed,
		coordination.A2AJob{JobID: "j/4", FromAgent: "ruda", ToAgent: "eden", Outcome: "no_reply", Reason: "wait_timeout"})
}

type flowPage struct {
	Jobs       []monitor.FlowAnswer
	Count      int
	Counts     []monitor.FlowCount
	NextCursor *string
}

func (p *flowPage) ids() (ids []string) {
	for i := range p.Jobs {
		ids = append(ids, p.Jobs[i].JobID)
	}
	return ids
}

// Flows are listed from the newest to the oldest, page by page and by who, what and where; they are counted over all.
func TestFlowsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if page := get[flowPage](t, b, "/api/a2a/jobs", http.StatusOK); page.Jobs == nil || page.Counts == nil || page.Count != 0 {
		t.Errorf("none: %+v", page)
	}
	b.flows(t)
	page := get[flowPage](t, b, "/api/a2a/jobs?limit=3", http.StatusOK)
	if !slices.Equal(page.ids(), []string{"j/4", "j3", "j2"}) || page.NextCursor == nil {
		t.Fatalf("first page: %+v", page)
	}
	last := get[flowPage](t, b, "/api/a2a/jobs?limit=3&cursor="+*page.NextCursor, http.StatusOK)
	if !slices.Equal(last.ids(), []string{"j1"}) || last.NextCursor != nil {
		t.Errorf("second page: %+v", last)
	}
	want := map[monitor.FlowCount]bool{{Kind: "send", Phase: "waiting", Flows: 1}: true, {Kind: "send", Phase: "dispatching", Flows: 1}: true,
		{Kind: "spawn", Phase: "over", Outcome: "ok", Flows: 1}: true, {Kind: "send", Phase: "over", Outcome: "no_reply", Flows: 1}: true}
	got := map[monitor.FlowCount]bool{}
	for _, c := range page.Counts {
		if c.Flows > 0 {
			got[c] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for query, want := range map[string][]string{
		"open=true":                        {"j2", "j1"},
		"open=false&kind=spawn":            {"j3"},
		"kind=send&to=SEUM":                {"j2", "j1"},
		"from=ruda":                        {"j/4"},
		"conversationId=c_j3":              {"j3"},
		"workSessionId=ws:ws_seum":         {"j2", "j1"},
		"from=stranger":                    nil,
		"open=true&kind=spawn&to=stranger": nil,
	} {
		if page := get[flowPage](t, b, "/api/a2a/jobs?"+query, http.StatusOK); !slices.Equal(page.ids(), want) {
			t.Errorf("%s: %v, want %v", query, page.ids(), want)
		}
	}
	for query, field := range map[string]string{"kind=letter": "kind", "kind=send,spawn": "kind", "open=1": "open", "limit=0": "limit", "cursor=x": "cursor",
		"cursor=" + base64.RawURLEncoding.EncodeToString([]byte("r.1")): "cursor"} {
		if r := get[refusal](t, b, "/api/a2a/jobs?"+query, http.StatusBadRequest); r.Field != field || r.Code != "invalid_parameter" || r.Hint == "" {
			t.Errorf("%s: %+v", query, r)
		}
	}
}

// A flow is shown with what it waits for and with its runs, and no other one's.
func TestAFlowIsShownWithItsRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.flows(t)
	b.asks(t, "another", "seum", "")
	type shown struct {
		Job  monitor.FlowAnswer
		Runs []struct{ RunID, JobID, WorkSessionID, State string }
	}
	got := get[shown](t, b, "/api/a2a/jobs/j1", http.StatusOK)
	if j := got.Job; j.Phase != "waiting" || j.RunID != "j1" || j.PayloadType != "question" || j.DueAt == nil || *j.DueAt != noon.UnixMilli()+300_000 ||
		j.EndedAt != nil || j.EffectiveTurns != 1 || j.Said == nil || j.RequesterSessionKey != "agent:eden:main" || !strings.HasPrefix(j.Preview, "포트가") {
		t.Errorf("it stands so: %+v", j)
	}
	if len(got.Runs) != 2 || got.Runs[0].RunID != "j1" || got.Runs[1].RunID != "j1.t1" || got.Runs[0].JobID != "j1" || got.Runs[0].WorkSessionID != "ws_seum" {
		t.Errorf("its runs: %+v", got.Runs)
	}
	got = get[shown](t, b, "/api/a2a/jobs/j%2F4", http.StatusOK)
	if j := got.Job; j.JobID != "j/4" || j.Phase != "over" || j.Outcome != "no_reply" || j.Reason != "wait_timeout" || j.EndedAt == nil || j.DueAt != nil || len(got.Runs) != 0 {
		t.Errorf("it ended so: %+v", got)
	}
	if got = get[shown](t, b, "/api/a2a/jobs/j3", http.StatusOK); len(got.Job.Said) != 1 || got.Job.Said[0].Text != "done" || got.Job.Said[0].Agent != "ruda" {
		t.Errorf("it was answered so: %+v", got.Job)
	}
	if page := get[runPage](t, b, "/api/runs?jobId=j1", http.StatusOK); !slices.Equal(page.ids(), []string{"j1.t1", "j1"}) {
		t.Errorf("runs by job: %v", page.ids())
	}
	if page := get[runPage](t, b, "/api/runs?workSessionId=ws_seum&jobId=j2", http.StatusOK); page.Count != 0 {
		t.Errorf("runs by job and work session: %v", page.ids())
	}
	for path, status := range map[string]int{"nothing": 404, "%20": 404, "": 404, "j1/cancel": 404, url.PathEscape(strings.Repeat("가", 1_025)): 400, "%ff": 400} {
		get[refusal](t, b, "/api/a2a/jobs/"+path, status)
	}
}

// What was asked and delegated is listed with whether it was answered.
func TestHandoffsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.flows(t)
	type page struct {
		Handoffs   []monitor.HandoffAnswer
		Count      int
		NextCursor *string
	}
	got := get[page](t, b, "/api/a2a/handoffs?open=true&agent=Seum", http.StatusOK)
	if len(got.Handoffs) != 1 || got.NextCursor != nil {
		t.Fatalf("%+v", got)
	}
	if h := got.Handoffs[0]; h.JobID != "j1" || h.RunID != "j1" || h.FromAgent != "eden" || h.ToAgent != "seum" || h.Type != "question" || h.Subject != "q1" ||
		h.State != "open" || h.AnsweredSeq != nil || h.WorkSessionID != "ws_seum" || h.At != noon.UnixMilli() {
		t.Errorf("%+v", h)
	}
	for query, n := range map[string]int{"agent=ruda": 0, "workSessionId=ws:ws_seum": 1, "workSessionId=ws_x": 0,
		"cursor=" + base64.RawURLEncoding.EncodeToString([]byte("h.1")): 0} {
		if got := get[page](t, b, "/api/a2a/handoffs?"+query, http.StatusOK); got.Count != n || got.Handoffs == nil {
			t.Errorf("%s: %+v", query, got)
		}
	}
}

// stopper notes which flows it is to stop, and stops what it is told to.
type stopper struct {
	asked   []string
	stopped []string
	err     error
	ctx     error // why it was not to go on
}

func (s *stopper) Stop(ctx context.Context, jobID, by, reason string) ([]string, error) {
	s.asked, s.ctx = append(s.asked, jobID+" by "+by+": "+reason), ctx.Err()
	return s.stopped, s.err
}

// A caller with write permission ends a flow. The id is passed unchanged, and a flow that cannot be ended is refused
// with the reason.
func TestFlowsAreCancelled(t *testing.T) {
	t.Parallel()
	s := &stopper{}
	b := setup(t, func(o *monitor.Options) { o.Flows = s })
	b.flows(t)
	const near = "127.0.0.1:1"
	contract := newContract(t, b)
	for _, c := range []struct {
		id      string
		stopped []string
		err     error
		status  int
		says    string
	}{
		{"j%2F1", []string{"j/1", "child"}, nil, 200, `{"ok":true,"jobId":"j/1","stopped":["j/1","child"]}`},
		{"j/cancel", []string{"j/cancel"}, nil, 200, `"jobId":"j/cancel"`},
		{"j3", nil, nil, 409, "has ended: ok"},
		{"nothing", nil, nil, 404, `"not_found"`},
		{"j1", nil, errors.New("secret"), 500, `"internal"`},
		{"%20", nil, nil, 404, ""},
	} {
		s.stopped, s.err = c.stopped, c.err
		answer := b.from(near, http.MethodPost, "/api/a2a/jobs/"+c.id+"/cancel", "")
		if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.says) {
			t.Errorf("%s: %d %s, want %d", c.id, answer.Code, answer.Body, c.status)
		}
		contract.held(t, operation{http.MethodPost, "/api/a2a/jobs/{id}/cancel"}, c.status, answer)
	}
	const why = " by api: cancelled by an operator"
	if want := []string{"j/1" + why, "j/cancel" + why, "j3" + why, "nothing" + why, "j1" + why}; !slices.Equal(s.asked, want) {
		t.Errorf("asked %q", s.asked)
	}
	var answer *httptest.ResponseRecorder
	if answer = b.from("192.0.2.7:1", http.MethodPost, "/api/a2a/jobs/j1/cancel", ""); answer.Code != http.StatusUnauthorized || len(s.asked) != 5 {
		t.Errorf("from elsewhere: %d, asked %q", answer.Code, s.asked)
	}
	if answer = setup(t).from(near, http.MethodPost, "/api/a2a/jobs/j1/cancel", ""); answer.Code != http.StatusConflict ||
		!strings.Contains(answer.Body.String(), "runs_not_available") {
		t.Errorf("where no agents run: %d %s", answer.Code, answer.Body)
	}
}

// A client that disconnects while it ends a flow leaves nothing half done.
func TestACancelledFlowIsEndedThoughTheClientLeaves(t *testing.T) {
	t.Parallel()
	s := &stopper{stopped: []string{"j1", "child"}}
	b := setup(t, func(o *monitor.Options) { o.Flows = s })
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:3847/api/a2a/jobs/j1/cancel", http.NoBody)
	r.RemoteAddr = "127.0.0.1:1"
	b.monitor.Handler().ServeHTTP(httptest.NewRecorder(), r)
	if len(s.asked) != 1 || s.ctx != nil {
		t.Errorf("asked %q, and then: %v", s.asked, s.ctx)
	}
}

// What one agent may do with another follows the configuration in force; a typo is refused with a suggestion.
func TestPolicyIsExplained(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) {
		o.Policy = func(from, to string) (policy.Policy, error) {
			if to == "seumm" {
				return policy.Policy{}, &policy.NoAgentError{Field: "to", ID: to, Known: []string{"eden", "seum"}, Text: "there is no agent", Hint: `did you mean "seum"?`}
			}
			if to == "broken" {
				return policy.Policy{}, errors.New("secret")
			}
			return policy.Policy{From: from, To: to, Send: policy.Verdict{Rule: "disabled", Why: "w", Hint: "m"}, Spawn: policy.Verdict{Allowed: true, Rule: "allow_agents", Why: "w"},
				Visible: policy.Verdict{Rule: "visibility", Why: "w", Hint: "m"}}, nil
		}
	})
	contract := newContract(t, b)
	contract.check(t, http.MethodGet, "/api/a2a/policy?from=eden&to=seum", 200)
	got := get[policy.Policy](t, b, "/api/a2a/policy?from=eden&to=seum", http.StatusOK)
	if got.From != "eden" || got.To != "seum" || got.Send.Allowed || got.Send.Hint != "m" || !got.Spawn.Allowed {
		t.Errorf("%+v", got)
	}
	for query, field := range map[string]string{"": "from", "from=eden": "to", "to=eden": "from", "from=eden&to=seumm": "to"} {
		if r := get[refusal](t, b, "/api/a2a/policy?"+query, http.StatusBadRequest); r.Field != field || r.Code != "invalid_parameter" || r.Hint == "" {
			t.Errorf("%s: %+v", query, r)
		}
	}
	if r := get[agentRefusal](t, b, "/api/a2a/policy?from=eden&to=seumm", http.StatusBadRequest); r.Value != "seumm" || !slices.Equal(r.Allowed, []string{"eden", "seum"}) {
		t.Errorf("what is allowed: %+v", r)
	}
	if r := get[refusal](t, b, "/api/a2a/policy?from=eden&to=broken", http.StatusInternalServerError); strings.Contains(r.Error, "secret") {
		t.Errorf("%+v", r)
	}
}

// agentRefusal says which agents there are.
type agentRefusal struct {
	Field, Value string
	Allowed      []string
}

// The matrix of all agents is limited, the row of one is not; both keep the contract.
func TestPolicyMatrixIsLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) {
		o.PolicyMatrix = func(from string, most int) (policy.Matrix, error) {
			if from == "stranger" {
				return policy.Matrix{}, &policy.NoAgentError{Field: "from", ID: from, Known: []string{"eden"}, Text: "there is no agent", Hint: "h"}
			}
			verdict := policy.Verdict{Rule: "disabled"}
			if from != "" {
				verdict.Why, verdict.Hint = "w", "m"
			}
			return policy.Matrix{Agents: []string{"eden"}, Policies: []policy.Policy{{From: "eden", To: "eden", Send: verdict, Spawn: verdict, Visible: verdict}},
				Count: most, Truncated: true}, nil
		}
	})
	contract := newContract(t, b)
	contract.check(t, http.MethodGet, "/api/a2a/policy/matrix", 200)
	contract.check(t, http.MethodGet, "/api/a2a/policy/matrix?from=eden", 200)
	if got := get[policy.Matrix](t, b, "/api/a2a/policy/matrix", http.StatusOK); got.Count != 50 || !got.Truncated || len(got.Policies) != 1 || got.Policies[0].Send.Why != "" {
		t.Errorf("%+v", got)
	}
	if _, text := b.ask(t, http.MethodGet, "/api/a2a/policy/matrix"); strings.Contains(string(text), "why") {
		t.Errorf("texts that it does not have: %s", text)
	}
	if got := get[policy.Matrix](t, b, "/api/a2a/policy/matrix?from=eden", http.StatusOK); got.Policies[0].Send.Why != "w" {
		t.Errorf("one agent: %+v", got)
	}
	if r := get[agentRefusal](t, b, "/api/a2a/policy/matrix?from=stranger", http.StatusBadRequest); r.Field != "from" || r.Value != "stranger" || len(r.Allowed) != 1 {
		t.Errorf("a stranger: %+v", r)
	}
	if r := get[refusal](t, setup(t), "/api/a2a/policy/matrix", http.StatusConflict); r.Code != "runs_not_available" {
		t.Errorf("where no agents run: %+v", r)
	}
}

// Flows wait on purpose: waiting for an answer is not reported as overdue.
func TestFlowsThatWaitDoNotLookStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.flows(t)
	b.now.Add(3_600_000)
	status := get[struct{ Work monitor.WorkState }](t, b, "/api/status", http.StatusOK).Work
	i := slices.IndexFunc(status.Lanes, func(l monitor.LaneState) bool { return l.Lane == "a2a" })
	if i < 0 || status.Lanes[i].Waiting != 2 || status.Lanes[i].Owner != "seum" || status.Lanes[i].OldestMs != 0 {
		t.Errorf("lanes: %+v", status.Lanes)
	}
	if i = slices.IndexFunc(status.Lanes, func(l monitor.LaneState) bool { return l.Lane == "nested" }); i < 0 || status.Lanes[i].OldestMs != 3_600_000 {
		t.Errorf("lanes: %+v", status.Lanes)
	}
	open := slices.DeleteFunc(status.Jobs, func(c monitor.FlowCount) bool { return !c.Phase.Open() || c.Flows == 0 })
	if len(open) != 2 {
		t.Errorf("flows: %+v", status.Jobs)
	}
}
