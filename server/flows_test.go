package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
)

// writingConfig has two agents who may write to each other.
const writingConfig = `{
  gateway: { auth: { mode: "token", token: "secret" }, tools: { deny: [] } },
  agents: { list: [ { id: "eden", default: true, subagents: { allowAgents: ["seum"] } }, { id: "seum" } ] },
  tools: { agentToAgent: { enabled: true } },
  models: { scripted: { script: "script.json" } },
}
`

// writingScript has seum answer, eden say something to that once, and seum think that all is said.
const writingScript = `{"rules": [
  {"when": {"agent": "seum", "contains": ["slow"]}, "answer": {"text": "half of it and the rest", "chunk": 12, "fault": {"hang": true, "after": 1}}},
  {"when": {"agent": "seum", "contains": ["why that one"]}, "answer": {"text": "REPLY_SKIP"}},
  {"when": {"agent": "seum"}, "answer": {"text": "The gateway listens at port 18789 here."}},
  {"when": {"agent": "eden", "contains": ["18789"]}, "answer": {"text": "Thanks. And why that one, of all ports there are?"}},
  {"when": {"after": "any"}, "answer": {"text": "echo: {{message}}"}}
]}`

// startWriting serves agents who may write to each other, and a client of the gateway.
func startWriting(t *testing.T, script string) (*reloading, *client.Client) {
	t.Helper()
	r := startReloading(t, map[string]string{settings.FileName: writingConfig, "script.json": script}, withGateway)
	return r, connect(t, gatewayURL(r.gatewayAddress()))
}

// sent is what sessions_send says.
type sent struct {
	Status, RunID, JobID, Reply, ConversationID, WorkSessionID, Error, Code string
	Duplicate                                                               bool
}

// invokes has the gateway call a tool, and decodes what that says.
func invokes[T any](t testing.TB, c *client.Client, params map[string]any) (said T) {
	t.Helper()
	answer := calls[struct {
		OK     bool
		Output struct{ Content []struct{ Text string } }
		Error  struct{ Message string }
	}](t, c, "tools.invoke", params)
	if !answer.OK || len(answer.Output.Content) != 1 {
		t.Fatalf("%v: %+v", params, answer)
	}
	if err := json.Unmarshal([]byte(answer.Output.Content[0].Text), &said); err != nil {
		t.Fatalf("%v in %+v", err, answer)
	}
	return said
}

// read decodes what the API says of a path.
func read[T any](t testing.TB, r *reloading, path string) (said T) {
	t.Helper()
	response, err := http.Get(r.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, response.Status, err)
	}
	return said
}

// ended waits for the end of a flow, and lists what has happened in it, in order.
func (r *reloading) ended(t testing.TB, jobID string) (types []string) {
	t.Helper()
	over := []string{coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobCancelled, coordination.TypeA2AJobAbandoned}
	r.until(t, "the end of "+jobID, func(e *eventstore.Event) bool {
		if strings.HasPrefix(e.Type, "a2a.") && strings.Contains(string(e.Data), jobID) {
			types = append(types, strings.TrimPrefix(e.Type, "a2a."))
		}
		return slices.Contains(over, e.Type) && strings.Contains(string(e.Data), jobID)
	})
	return types
}

// until reads the log from its beginning until is says that it has come.
func (r *reloading) until(t testing.TB, what string, is func(*eventstore.Event) bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), longest)
	defer stop()
	for seq := int64(0); ; {
		list, err := r.Program.log.Read(ctx, seq, 1_000)
		for i := range list {
			if seq = list[i].Seq; is(&list[i]) {
				return
			}
		}
		if err == nil && len(list) == 0 {
			_, err = r.Program.log.Wait(ctx, seq+1)
		}
		if err != nil {
			t.Fatalf("%s has not come: %v", what, err)
		}
	}
}

// A client has one agent write to another over the wire: they talk, and the API tells of the flow, its runs and its work session.
func TestAgentsWriteToEachOther(t *testing.T) {
	t.Parallel()
	r, c := startWriting(t, writingScript)
	ask := map[string]any{"name": "sessions_send", "agentId": "eden", "idempotencyKey": "ask-1", "args": map[string]any{
		"agentId": "seum", "message": "Let us brainstorm together about the port of the gateway."}}
	got := invokes[sent](t, c, ask)
	if got.Status != "ok" || !strings.Contains(got.Reply, "18789") || got.JobID == "" || got.ConversationID == "" || got.WorkSessionID == "" {
		t.Fatalf("sent: %+v", got)
	}
	want := []string{"job.created", "send", "response", "job.running", "response", "job.running", "complete", "job.completed"}
	if types := r.ended(t, got.JobID); !slices.Equal(types, want) {
		t.Errorf("it went so: %v", types)
	}
	again := invokes[sent](t, connect(t, gatewayURL(r.gatewayAddress())), ask)
	if again.JobID != got.JobID || again.RunID != got.RunID {
		t.Errorf("asked again: %+v, at first %+v", again, got)
	}
	listed := read[struct{ Jobs []monitor.FlowAnswer }](t, r, "/api/a2a/jobs?from=eden&to=seum&workSessionId="+got.WorkSessionID).Jobs
	if len(listed) != 1 || listed[0].JobID != got.JobID || listed[0].Outcome != "ok" || listed[0].ConversationID != got.ConversationID || listed[0].Turn != 1 {
		t.Errorf("flows: %+v", listed)
	}
	shown := read[struct {
		Runs []struct{ RunID, AgentID, State string }
	}](t, r, "/api/a2a/jobs/"+got.JobID).Runs
	if len(shown) != 3 || shown[0].RunID != got.JobID || shown[0].AgentID != "seum" || shown[1].AgentID != "eden" || shown[2].State != "ok" {
		t.Errorf("runs: %+v", shown)
	}
	sessions := read[struct {
		Sessions []struct {
			WorkSessionID, Status string
			Threads               []struct{ ConversationID, Outcome string }
		}
	}](t, r, "/api/work-sessions").Sessions
	if len(sessions) != 1 || sessions[0].WorkSessionID != got.WorkSessionID || sessions[0].Status != "QUIET" || len(sessions[0].Threads) != 1 ||
		sessions[0].Threads[0].ConversationID != got.ConversationID {
		t.Errorf("work sessions: %+v", sessions)
	}
	_, metrics := r.answers(t, http.MethodGet, "/metrics")
	for _, line := range []string{`openclawd_a2a_flows_total{kind="send",outcome="ok"} 1`, `openclawd_a2a_flows_open{kind="send",phase="waiting"} 0`,
		"openclawd_a2a_permits_in_use 0", "openclawd_a2a_throttled_total 0", `openclawd_work_capacity{pool="a2a"} 16`, `openclawd_work_waiting{pool="a2a"} 0`} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("metrics say nothing of %s", line)
		}
	}
}

// Clients cannot make agents do what clients may not, and policy refusals are reported.
//
// Promise: agent-policy
func TestAgentsWriteOnlyWhereTheyMay(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: strings.NewReplacer(`deny: []`, `deny: ["sessions_send"]`,
		"enabled: true", "enabled: false").Replace(writingConfig), "script.json": writingScript}, withGateway)
	c := connect(t, gatewayURL(r.gatewayAddress()))
	ask := map[string]any{"name": "sessions_send", "agentId": "eden", "args": map[string]any{"agentId": "seum", "message": "hello"}}
	if got := calls[struct {
		OK    bool
		Error struct{ Code string }
	}](t, c, "tools.invoke", ask); got.OK || got.Error.Code != "not_found" {
		t.Errorf("a client that may not: %+v", got)
	}
	r.write(t, settings.FileName, strings.Replace(writingConfig, "enabled: true", "enabled: false", 1))
	r.rereads(t)
	if got := invokes[sent](t, c, ask); got.Status != "forbidden" || got.Code == "" || got.Error == "" {
		t.Errorf("agents that may not: %+v", got)
	}
	type policyAnswer = policy.Policy
	policy := read[policyAnswer](t, r, "/api/a2a/policy?from=eden&to=SEUM")
	if policy.Send.Allowed || policy.Send.Rule != "disabled" || policy.Send.Hint == "" || !policy.Spawn.Allowed || policy.To != "seum" {
		t.Errorf("policy: %+v", policy)
	}
	r.write(t, settings.FileName, strings.Replace(writingConfig, "agentToAgent:", `deny: ["sessions_send"], agentToAgent:`, 1))
	r.rereads(t)
	if got := calls[struct{ OK bool }](t, c, "tools.invoke", ask); got.OK {
		t.Errorf("an agent without the tool: %+v", got)
	}
	if policy = read[policyAnswer](t, r, "/api/a2a/policy?from=eden&to=seum"); policy.Send.Allowed || policy.Send.Rule != "tool_policy" || !policy.Spawn.Allowed {
		t.Errorf("without the tool: %+v", policy)
	}
	r.until(t, "the event of the refusal", func(e *eventstore.Event) bool { return e.Type == coordination.TypeA2AForbidden })
}

// An operator ends a flow in progress: the run that it waits for is stopped, and only its end is left.
func TestOperatorsEndFlows(t *testing.T) {
	t.Parallel()
	r, c := startWriting(t, writingScript)
	got := invokes[sent](t, c, map[string]any{"name": "sessions_send", "agentId": "eden", "args": map[string]any{
		"agentId": "seum", "message": "a slow one", "timeoutSeconds": 0}})
	if got.Status != "accepted" || got.JobID == "" {
		t.Fatalf("sent: %+v", got)
	}
	r.until(t, "its run", func(e *eventstore.Event) bool {
		return e.Type == coordination.TypeRunStarted && strings.Contains(string(e.Data), got.JobID)
	})
	if _, metrics := r.answers(t, http.MethodGet, "/metrics"); !strings.Contains(metrics, "\nopenclawd_a2a_permits_in_use 1\n") {
		t.Error("its permit is not counted")
	}
	if status, body := r.answers(t, http.MethodPost, "/api/a2a/jobs/"+got.JobID+"/cancel"); status != http.StatusOK || !strings.Contains(body, got.JobID) {
		t.Fatalf("cancel: %d %s", status, body)
	}
	if types := r.ended(t, got.JobID); !slices.Equal(types, []string{"job.created", "send", "response", "complete", "job.cancelled"}) {
		t.Errorf("it went so: %v", types)
	}
	r.until(t, "the end of its run", func(e *eventstore.Event) bool {
		return e.Type == coordination.TypeRunAborted && strings.Contains(string(e.Data), got.JobID)
	})
	if status, body := r.answers(t, http.MethodPost, "/api/a2a/jobs/"+got.JobID+"/cancel"); status != http.StatusConflict {
		t.Errorf("cancel again: %d %s", status, body)
	}
	if status, body := r.answers(t, http.MethodPost, "/api/work/job%2F"+got.JobID+"/cancel"); status != http.StatusNotFound {
		t.Errorf("cancel as work: %d %s", status, body)
	}
}

// A flow interrupted by the end of the program continues in the next one: nothing is sent or said twice, and it ends once.
func TestFlowsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	r, c := startWriting(t, writingScript)
	got := invokes[sent](t, c, map[string]any{"name": "sessions_send", "agentId": "eden", "args": map[string]any{
		"agentId": "seum", "message": "a slow one", "timeoutSeconds": 0, "replyBack": false}})
	r.until(t, "its run", func(e *eventstore.Event) bool {
		return e.Type == coordination.TypeRunStarted && strings.Contains(string(e.Data), got.JobID)
	})
	_ = c.Close()
	r.restart(t, map[string]string{"script.json": strings.Replace(writingScript, `"slow"`, `"not this time"`, 1)})
	types := r.ended(t, got.JobID)
	types = slices.DeleteFunc(types, func(typ string) bool { return typ == "job.resumed" || typ == "job.running" })
	if !slices.Equal(types, []string{"job.created", "send", "response", "complete", "job.completed"}) {
		t.Errorf("it went so: %v", types)
	}
	shown := read[struct {
		Job  monitor.FlowAnswer
		Runs []struct{ State, RetryOf string }
	}](t, r, "/api/a2a/jobs/"+got.JobID)
	if shown.Job.Outcome != "ok" || len(shown.Runs) != 2 || shown.Runs[0].State != "aborted" || shown.Runs[1].State != "ok" || shown.Runs[1].RetryOf != got.JobID {
		t.Errorf("it ended so: %+v", shown)
	}
}

// Each cell of the matrix is the answer to the single question; agents that are not configured have none.
func TestPolicyMatrixIsTheSinglePolicies(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: strings.Replace(writingConfig, "enabled: true",
		`enabled: true, pairs: [{ from: "seum", to: "eden", allow: false }]`, 1)}, withGateway)
	m := read[policy.Matrix](t, r, "/api/a2a/policy/matrix")
	if len(m.Agents) < 2 || m.Count != len(m.Agents) || m.Truncated || len(m.Policies) != len(m.Agents)*len(m.Agents) {
		t.Fatalf("%+v", m)
	}
	denied := 0
	for i, got := range m.Policies {
		from, to := m.Agents[i/len(m.Agents)], m.Agents[i%len(m.Agents)]
		want := read[policy.Policy](t, r, "/api/a2a/policy?from="+from+"&to="+to)
		row := read[policy.Matrix](t, r, "/api/a2a/policy/matrix?from="+from)
		if one := row.Policies[i%len(m.Agents)]; one != want || len(row.Policies) != len(m.Agents) {
			t.Errorf("the row has %+v, want %+v", one, want)
		}
		for _, v := range []*policy.Verdict{&want.Send, &want.Spawn, &want.Visible} {
			v.Why, v.Hint = "", ""
		}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if !got.Send.Allowed {
			denied++
		}
	}
	if denied != 1 {
		t.Errorf("%d are not allowed to write: %+v", denied, m.Policies)
	}
	if status, body := r.answers(t, http.MethodGet, "/api/a2a/policy?from=eden&to=stranger"); status != http.StatusBadRequest || slices.Contains(m.Agents, "stranger") {
		t.Errorf("a stranger: %d %s", status, body)
	}
}

// While another gateway produces there are no flows, and the API says so.
func TestFollowerEndsNoFlows(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: writingConfig}, func(o *Options) { o.Follow = true })
	if status, body := r.answers(t, http.MethodPost, "/api/a2a/jobs/x/cancel"); status != http.StatusConflict || !strings.Contains(body, "runs_not_available") {
		t.Errorf("cancel: %d %s", status, body)
	}
	if status, body := r.answers(t, http.MethodGet, "/api/a2a/jobs"); status != http.StatusOK || !strings.Contains(body, `"jobs":[]`) {
		t.Errorf("flows: %d %s", status, body)
	}
	if policy := read[policy.Policy](t, r, "/api/a2a/policy?from=seum&to=eden"); !policy.Send.Allowed || policy.Spawn.Allowed {
		t.Errorf("policy: %+v", policy)
	}
}

// Runs that wait for another one's answer occupy no slot of their lane: with one slot, a chain of agents that ask each other ends.
func TestRunsThatWaitHoldNoPlace(t *testing.T) {
	t.Parallel()
	const script = `{"rules": [
	  {"when": {"after": "tool"}, "answer": {"text": "{{agent}} has heard: {{result.reply}}"}},
	  {"when": {"agent": "eden"}, "answer": {"text": "", "toolCalls": [{"name": "sessions_send", "arguments": {"agentId": "seum", "message": "ask on", "replyBack": false, "timeoutSeconds": 100}}]}},
	  {"when": {"agent": "seum"}, "answer": {"text": "", "toolCalls": [{"name": "sessions_send", "arguments": {"agentId": "ruda", "message": "ask on", "replyBack": false, "timeoutSeconds": 100}}]}},
	  {"when": {"agent": "ruda"}, "answer": {"text": "the end"}}
	]}`
	narrow := strings.NewReplacer(`{ id: "seum" } ]`, `{ id: "seum" }, { id: "ruda" } ], defaults: { maxConcurrent: 1, nested: { maxConcurrent: 1 } }`).Replace(writingConfig)
	r := startReloading(t, map[string]string{settings.FileName: narrow, "script.json": script}, withGateway)
	c := connect(t, gatewayURL(r.gatewayAddress()))
	payload, err := c.CallFinal(t.Context(), "agent", map[string]string{"message": "begin", "idempotencyKey": "k1", "agentId": "eden"}, nil)
	if err != nil || !strings.Contains(string(payload), "eden has heard: seum has heard: the end") {
		t.Errorf("%s, %v", payload, err)
	}
	flows := read[struct{ Jobs []monitor.FlowAnswer }](t, r, "/api/a2a/jobs").Jobs
	if len(flows) != 2 || flows[0].WorkSessionID != flows[1].WorkSessionID || flows[1].RequesterRunID != "k1" || flows[0].RequesterRunID != flows[1].JobID {
		t.Errorf("flows: %+v", flows)
	}
	if _, metrics := r.answers(t, http.MethodGet, "/metrics"); !strings.Contains(metrics, "\nopenclawd_work_capacity{pool=\"nested\"} 1\n") {
		t.Error("a place was given away for good")
	}
}
