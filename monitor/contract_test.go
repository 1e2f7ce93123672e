package monitor_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/pronto-lab/openclawd/eventstore"
)

// TestAnswersKeepTheContract holds real answers of every endpoint, refusals included, against openapi.yaml as it is served.
//
// Promise: contract
func TestAnswersKeepTheContract(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.importing(t, `{broken`, `{"type":"note"}`, event("a2a.send", "", 7, `"workSessionId":"ws_bare","collabIntent":"ask","message":"<@99> [x](y)"`))
	b.appending(t, "run.started", `{"runId":"r","workSessionId":"ws_talk"}`)
	b.flows(t)
	b.redactions(t)
	if err := b.db.Redact(context.Background(), 3); err != nil {
		t.Fatal(err)
	}
	contract := newContract(t, b)
	asked := map[string]bool{}
	for _, c := range []struct {
		path   string
		status int
	}{
		{"/", 200},
		{"/api", 200},
		{"/api/openapi.yaml", 200},
		{"/api/health", 200},
		{"/api/health?min_seq=1", 200},
		{"/api/health?min_seq=x", 400},
		{"/api/health?min_seq=1000", 503},
		{"/api/status", 200},
		{"/api/status?min_seq=x", 400},
		{"/api/status?min_seq=1000", 503},
		{"/api/problems", 200},
		{"/api/problems?kind=blocked,no_reply&kind=dead&limit=1", 200},
		{"/api/problems?kind=trouble", 400},
		{"/api/problems?limit=501", 400},
		{"/api/problems?min_seq=1000", 503},
		{"/api/pairings", 200},
		{"/api/pairings?channel=telegram&state=approved&limit=1", 200},
		{"/api/pairings?channel=irc", 400},
		{"/api/pairings?min_seq=1000", 503},
		{"/api/schedules", 200},
		{"/api/schedules?agent=Eden&enabled=false&q=report&limit=1&offset=1", 200},
		{"/api/schedules?enabled=yes", 400},
		{"/api/schedules?min_seq=1000", 503},
		{"/api/schedules/nothing", 404},
		{"/api/schedules/nothing?min_seq=1000", 503},
		{"/api/schedules/nothing/runs", 404},
		{"/api/schedules/nothing/runs?status=late", 400},
		{"/api/schedules/nothing/runs?min_seq=1000", 503},
		{"/api/tools/calls", 200},
		{"/api/tools/calls?agent=Eden&tool=exec&server=files&state=unknown&limit=1", 200},
		{"/api/tools/calls?state=lost", 400},
		{"/api/tools/calls?min_seq=1000", 503},
		{"/api/tools/rights", 409},
		{"/api/mcp/servers", 200},
		{"/api/migrations", 200},
		{"/api/migrations?min_seq=1000", 503},
		{"/api/sandboxes", 200},
		{"/api/sandboxes?agent=Eden", 200},
		{"/api/sandboxes?min_seq=1000", 503},
		{"/api/counts", 200},
		{"/api/counts?min_seq=x", 400},
		{"/api/counts?min_seq=1000", 503},
		{"/healthz", 200},
		{"/readyz", 200},
		{"/metrics", 404},
		{"/api/events", 200},
		{"/api/events?scope=all", 200},
		{"/api/events?limit=2&role=conversation.main&type=a2a.send&viewCategory=infra_ops&since=2026-02-19", 200},
		{"/api/events?after=3&limit=1", 200},
		{"/api/events?role=stranger", 400},
		{"/api/events?limit=0", 400},
		{"/api/events?since=never", 400},
		{"/api/events?min_seq=1000", 503},
		{"/api/events?agent=Eden&workSession=ws_talk&isError=true", 200},
		{"/api/events?isError=1", 400},
		{"/api/events?doubt=guessed_role", 200},
		{"/api/events/histogram", 200},
		{"/api/events/histogram?from=2&to=5&buckets=2&by=type", 200},
		{"/api/events/histogram?buckets=0", 400},
		{"/api/events/histogram?min_seq=1000", 503},
		{"/api/events/1", 200},
		{"/api/events/3", 200},
		{"/api/events/x", 400},
		{"/api/events/1000", 404},
		{"/api/events/1?min_seq=1000", 503},
		{"/api/events/search", 200},
		{"/api/events/search?q=%EB%B0%B0%ED%8F%AC", 200},
		{"/api/events/search?q=" + strings.Repeat("a", 257), 400},
		{"/api/work-sessions/search", 200},
		{"/api/work-sessions/search?q=ws", 200},
		{"/api/work-sessions/search?q=ws&limit=0", 400},
		{"/api/work-sessions", 200},
		{"/api/work-sessions?scope=all&include=summary", 200},
		{"/api/work-sessions?limit=1&role=conversation.main&status=ACTIVE,QUIET&viewCategory=infra_ops", 200},
		{"/api/work-sessions?type=unheard.of", 200},
		{"/api/work-sessions?include=all", 400},
		{"/api/work-sessions?outcome=blocked,done&agent=eden&open=true&include=summary", 200},
		{"/api/work-sessions?open=false", 200},
		{"/api/work-sessions?outcome=stuck", 400},
		{"/api/work-sessions?min_seq=1000", 503},
		{"/api/work-sessions/ws_talk", 200},
		{"/api/work-sessions/ws_bare?include=summary", 200},
		{"/api/work-sessions/ws_talk?role=conversation.main", 200},
		{"/api/work-sessions/ws_talk?limit=1", 200},
		{"/api/work-sessions/ws_talk?limit=1&before=1", 200},
		{"/api/work-sessions/ws_talk?after=0&limit=1&scope=all", 200},
		{"/api/work-sessions/ws_talk?thread=conv:none", 200},
		{"/api/work-sessions/ws_talk?before=0", 400},
		{"/api/work-sessions/ws_missing?limit=1", 404},
		{"/api/work-sessions/ws_missing", 404},
		{"/api/work-sessions/ws_talk?scope=mine", 400},
		{"/api/work-sessions/ws_talk?min_seq=1000", 503},
		{"/api/work-sessions/ws_talk/category", 200},
		{"/api/work-sessions/%20/category", 404},
		{"/api/work-sessions/ws_talk/category?limit=0", 400},
		{"/api/work-sessions/ws_talk/category?min_seq=1000", 503},
		{"/api/categories", 200},
		{"/api/categories?scope=mine", 400},
		{"/api/categories?min_seq=1000", 503},
		{"/api/agents", 200},
		{"/api/agents?min_seq=x", 400},
		{"/api/agents/stranger/info", 404},
		{"/api/agents/stranger/tasks", 404},
		{"/api/agents/stranger/tasks/task_1", 404},
		{"/api/agents/stranger/current", 404},
		{"/api/agents/stranger/history", 404},
		{"/api/agents/stranger/blocked", 404},
		{"/api/agents/stranger/plans", 404},
		{"/api/agents/stranger/plans?limit=0", 400},
		{"/api/agents/stranger/plans?min_seq=1000", 503},
		{"/api/agents/eden/continuation", 409},
		{"/api/agents/eden/continuation?min_seq=x", 400},
		{"/api/continuation", 409},
		{"/api/continuation?min_seq=x", 400},
		{"/api/approvals", 200},
		{"/api/approvals?agent=Eden&kind=plan&limit=1", 200},
		{"/api/approvals?state=decided&limit=1", 200},
		{"/api/approvals?state=lasting&kind=call", 200},
		{"/api/approvals?state=lost", 400},
		{"/api/owed", 200},
		{"/api/owed?from=Eden&to=seum&kind=flow,handoff&kind=request&limit=1", 200},
		{"/api/owed?open=false", 200},
		{"/api/owed?kind=letter", 400},
		{"/api/owed?open=maybe", 400},
		{"/api/owed?limit=0", 400},
		{"/api/owed?min_seq=1000", 503},
		{"/api/approvals?kind=letter", 400},
		{"/api/approvals?kind=task,plan", 400},
		{"/api/approvals?limit=0", 400},
		{"/api/approvals?min_seq=1000", 503},
		{"/api/approvals/task_none", 404},
		{"/api/approvals/task_none?min_seq=x", 400},
		{"/api/team-state", 200},
		{"/api/milestones", 502},
		{"/api/milestones/m1", 502},
		{"/api/milestones/%2e%2e", 404},
		{"/api/tasks", 200},
		{"/api/tasks?agent=eden&status=blocked&priority=low&workSessionId=ws_1&open=true&q=x&limit=1", 200},
		{"/api/tasks?open=1", 400},
		{"/api/tasks?min_seq=1000", 503},
		{"/api/tasks/task_nowhere", 404},
		{"/api/tasks/task_nowhere?min_seq=x", 400},
		{"/api/tasks/task_nowhere?min_seq=1000", 503},
		{"/api/runs", 200},
		{"/api/runs?session=agent:eden:main&agent=eden&state=queued,ok&limit=1", 200},
		{"/api/runs?state=walking", 400},
		{"/api/runs?cursor=x", 400},
		{"/api/runs?min_seq=1000", 503},
		{"/api/runs/j1", 200},
		{"/api/runs/nothing", 404},
		{"/api/runs/j1?min_seq=x", 400},
		{"/api/runs/j1?min_seq=1000", 503},
		{"/api/trace/ws_talk", 200},
		{"/api/trace/ws_missing", 404},
		{"/api/trace/1", 200},
		{"/api/trace/%20", 404},
		{"/api/trace/ws_talk?min_seq=x", 400},
		{"/api/trace/ws_talk?min_seq=1000", 503},
		{"/api/redactions", 200},
		{"/api/redactions?limit=0", 400},
		{"/api/redactions?min_seq=1000", 503},
		{"/api/redactions/nothing", 404},
		{"/api/redactions/r1", 200},
		{"/api/redactions/r2?min_seq=1", 200},
		{"/api/work", 200},
		{"/api/work?state=dead&kind=mail&key=k&owner=eden", 200},
		{"/api/work?state=undead", 400},
		{"/api/work?state=dead,waiting", 400},
		{"/api/work?min_seq=1000", 503},
		{"/api/a2a/jobs", 200},
		{"/api/a2a/jobs?kind=send&open=true&from=eden&to=seum&conversationId=c&workSessionId=ws:ws_talk&limit=1", 200},
		{"/api/a2a/jobs?kind=letter", 400},
		{"/api/a2a/jobs?open=yes", 400},
		{"/api/a2a/jobs?cursor=x", 400},
		{"/api/a2a/jobs?min_seq=1000", 503},
		{"/api/a2a/jobs/j1", 200},
		{"/api/a2a/jobs/j2", 200},
		{"/api/a2a/jobs/nothing", 404},
		{"/api/a2a/jobs/j1?min_seq=x", 400},
		{"/api/a2a/jobs/j1?min_seq=1000", 503},
		{"/api/a2a/handoffs", 200},
		{"/api/a2a/handoffs?agent=eden&open=true&workSessionId=ws_talk", 200},
		{"/api/a2a/handoffs?limit=0", 400},
		{"/api/a2a/handoffs?min_seq=1000", 503},
		{"/api/a2a/policy?from=eden&to=seum", 409},
		{"/api/a2a/policy?from=eden", 400},
		{"/api/a2a/policy/matrix", 409},
		{"/api/routing", 200},
		{"/api/routing?agent=eden&place=1400000000000000002&mode=handler&limit=1", 200},
		{"/api/routing?mode=handler", 400},
		{"/api/routing?agent=eden&mode=handler,observer", 400},
		{"/api/routing?place=general", 400},
		{"/api/routing?cursor=x", 400},
		{"/api/routing?min_seq=1000", 503},
		{"/api/routing/1404000000000000001", 404},
		{"/api/routing/latest", 400},
		{"/api/routing/-5", 400},
		{"/api/routing/1404000000000000001?min_seq=1000", 503},
		{"/api/discord/threads", 200},
		{"/api/channels/all/threads", 200},
		{"/api/discord/threads?agent=eden&kind=all&id=1400000000000000003&limit=1", 200},
		{"/api/channels/all/threads?agent=eden&kind=all&id=1400000000000000003&limit=1", 200},
		{"/api/discord/threads?kind=forum", 400},
		{"/api/channels/all/threads?kind=forum", 400},
		{"/api/discord/threads?min_seq=1000", 503},
		{"/api/channels/all/threads?min_seq=1000", 503},
		{"/api/discord/observed", 200},
		{"/api/channels/all/observed", 200},
		{"/api/discord/observed?agent=eden&place=1400000000000000002&since=2026-02-19&limit=1", 200},
		{"/api/channels/all/observed?agent=eden&place=1400000000000000002&since=2026-02-19&limit=1", 200},
		{"/api/discord/observed?since=never", 400},
		{"/api/channels/all/observed?since=never", 400},
		{"/api/discord/observed?min_seq=1000", 503},
		{"/api/channels/all/observed?min_seq=1000", 503},
		{"/api/discord/posts", 200},
		{"/api/channels/all/posts", 200},
		{"/api/discord/posts?messageId=1404000000000000001&place=1400000000000000002&agent=eden&purpose=reply&effectId=e&limit=1", 200},
		{"/api/channels/all/posts?messageId=1404000000000000001&place=1400000000000000002&agent=eden&purpose=reply&effectId=e&limit=1", 200},
		{"/api/discord/posts?purpose=fun", 400},
		{"/api/channels/all/posts?purpose=fun", 400},
		{"/api/discord/posts?purpose=reply,report", 400},
		{"/api/channels/all/posts?purpose=reply,report", 400},
		{"/api/discord/posts?min_seq=1000", 503},
		{"/api/channels/all/posts?min_seq=1000", 503},
		{"/api/discord/bots", 200},
		{"/api/channels/all/bots", 200},
		{"/api/channels", 200},
		{"/api/channels/telegram/threads", 200},
		{"/api/channels/slack/posts?messageId=slack:c0:1700000000.000100&place=slack:c0", 200},
		{"/api/channels/slack/posts?place=1400000000000000002", 400},
		{"/api/channels/irc/threads", 404},
		{"/api/channels/irc/bots", 404},
		{"/api/routing?channel=telegram&place=telegram:-1001", 200},
		{"/api/routing?channel=irc", 400},
		{"/api/collaborations?channel=slack", 200},
		{"/api/collaborations", 200},
		{"/api/collaborations?from=ruda&to=eden&status=pending&delivery=sent&threadId=1400000000000000003&workSessionId=ws_1&limit=1", 200},
		{"/api/collaborations?status=open", 400},
		{"/api/collaborations?status=pending,failed", 400},
		{"/api/collaborations?delivery=lost", 400},
		{"/api/collaborations?delivery=sent,failed", 400},
		{"/api/collaborations?threadId=x", 400},
		{"/api/collaborations?min_seq=1000", 503},
		{"/api/collaborations/none", 404},
		{"/api/collaborations/none?min_seq=x", 400},
		{"/api/collaborations/none?min_seq=1000", 503},
		{"/api/sql/schema", 404},
		{"/api/backups", 409},
		{"/api/cluster", 404},
		{"/api/files/x", 404},
		{"/api/config/check", 409},
		{"/api/config/effective", 409},
		{"/api/replay/diff?a=1&b=2", 409},
		{"/api/replay/step?at=1", 409},
		{"/api/replay/point?at=1", 409},
		{"/ws", 404},
		{"/debug/pprof/goroutine", 200},
		{"/debug/pprof/goroutine?seconds=61", 400},
		{"/debug/pprof/nothing", 404},
	} {
		asked[contract.check(t, http.MethodGet, c.path, c.status)] = true
	}
	asked[contract.check(t, http.MethodPost, "/api/workspace-file", 400)] = true
	asked[contract.check(t, http.MethodPost, "/api/sql", 404)] = true
	asked[contract.check(t, http.MethodPost, "/api/tasks/rewrite", 409)] = true
	for _, what := range []string{"cancel", "unblock", "reassign", "priority"} {
		asked[contract.check(t, http.MethodPost, "/api/tasks/x/"+what, 409)] = true
	}
	asked[contract.check(t, http.MethodPost, "/api/backups", 409)] = true
	asked[contract.check(t, http.MethodPost, "/api/backups/x/verify", 409)] = true
	for _, what := range []string{"promote", "step-down"} {
		asked[contract.check(t, http.MethodPost, "/api/cluster/"+what, 404)] = true
	}
	asked[contract.check(t, http.MethodPost, "/api/work/x/resend", 409)] = true
	asked[contract.check(t, http.MethodPost, "/api/work/x/cancel", 409)] = true
	asked[contract.check(t, http.MethodPost, "/api/a2a/jobs/x/cancel", 409)] = true
	asked[contract.check(t, http.MethodPost, "/api/approvals/x/approve", 409)] = true
	asked[contract.check(t, http.MethodPost, "/api/approvals/x/reject", 409)] = true
	for _, what := range []string{"run", "pause", "resume"} {
		asked[contract.check(t, http.MethodPost, "/api/schedules/x/"+what, 409)] = true
	}
	asked[contract.check(t, http.MethodPost, "/api/approvals/x/always", 409)] = true
	asked[contract.check(t, http.MethodPost, "/api/approvals/x/forget", 409)] = true
	asked[contract.check(t, http.MethodPost, "/api/pairings/approve", 400)] = true
	asked[contract.check(t, http.MethodPost, "/api/pairings/revoke", 400)] = true
	for path := range contract.document.Paths.Map() {
		if !asked[path] {
			t.Errorf("nothing asks for %s", path)
		}
	}
	park := func(tx eventstore.Tx) error {
		_, err := tx.Exec("UPDATE projections SET state = 'parked', parked_seq = 3, parked_error = 'defect', parked_at = 1 WHERE name = 'index'")
		return err
	}
	if err := b.db.Exclusive(context.Background(), park, nil); err != nil {
		t.Fatal(err)
	}
	contract.check(t, http.MethodGet, "/api/health", 200)
}

// contract is what openapi.yaml promises.
type contract struct {
	document *openapi3.T
	router   routers.Router
	server   *testBundle
}

func newContract(t *testing.T, b *testBundle) *contract {
	t.Helper()
	_, text := b.ask(t, http.MethodGet, "/api/openapi.yaml")
	read, _ := readContracts.LoadOrStore(string(text), sync.OnceValues(func() (contract, error) { return readContract(text) }))
	c, err := read.(func() (contract, error))()
	if err != nil {
		t.Fatal(err)
	}
	c.server = b
	return &c
}

// readContracts has what readContract returns, by text: reading it takes longer than most tests.
var readContracts sync.Map

func readContract(text []byte) (contract, error) {
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return contract{}, err
	}
	if err := document.Validate(context.Background()); err != nil {
		return contract{}, err
	}
	router, err := legacy.NewRouter(document)
	return contract{document: document, router: router}, err
}

// check asks and returns the path of the contract that the answer was held against.
func (c *contract) check(t *testing.T, method, path string, status int) string {
	t.Helper()
	response, body := c.server.ask(t, method, path)
	return c.hold(t, method, path, status, response, body)
}

// hold holds an answer against the contract.
func (c *contract) hold(t *testing.T, method, path string, status int, response *http.Response, body []byte) string {
	t.Helper()
	if response.StatusCode != status {
		t.Errorf("%s: status %d, want %d: %.200s", path, response.StatusCode, status, body)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	route, values, err := c.router.FindRoute(request)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, PathParams: values, Route: route},
		Status:                 response.StatusCode, Header: response.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return route.Path
}
