package monitor_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/workspace"
)

// withFiles serves an empty log and a state directory with files.
func withFiles(t testing.TB, files map[string]string, change ...func(*monitor.Options)) (b *testBundle, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	use := func(o *monitor.Options) { o.Workspace = workspace.New(dir, workspace.Options{}) }
	return setup(t, append(change, use)...), dir
}

// teamFiles are what a small team has written.
var teamFiles = map[string]string{
	"workspace-eden/CURRENT_TASK.md": "# Current Task\n\n**Focus:** task_a\n\n## 낡은 제목\n",
	"workspace-eden/tasks/task_a.md": "## Metadata\n- **Status:** in_progress\n- **Priority:** low\n- **Created:** 2026-02-20T07:00:00.000Z\n- **Source:** discord\n" +
		"- **Simple:** true\n\n## Description\n로그인 구현\n둘째 줄\n\n## Steps\n- [x] (s1) 하나\n- [ ] (s2) 둘\n\n## Delegations\n```json\n{\"delegations\": [{\"id\": \"d\"}], \"events\": []}\n```\n",
	"workspace-eden/tasks/task_b.md": "## Metadata\n- **Status:** blocked\n- **Priority:** low\n- **Created:** 2026-02-20T08:00:00.000Z\n\n## Blocking\n" +
		"{\"blockedReason\": \"키 대기\", \"unblockedBy\": [\"ruda\"], \"unblockRequestCount\": 0}\n",
	"workspace-eden/tasks/task_c.md":                "## Metadata\n- **Priority:** urgent\n- **Created:** 언젠가\n",
	"workspace-eden/tasks/task_d.md":                "## Metadata\n- **Priority:** whenever\n",
	"workspace-eden/tasks/task_e.md":                "*(No task)*",
	"workspace-eden/tasks/task_f.md":                "## Metadata\n- **Priority:** urgent\n- **Created:** 2026-02-20T08:00:00.000Z\n",
	"workspace-eden/tasks/task_big.md":              strings.Repeat("x", workspace.MaxFileBytes+1),
	"workspace-eden/AGENTS.md":                      "secret notes",
	"workspace-eden/task-history/2026-01.md":        "# Task History\n\n---\n\n## [2026-01-02T00:00:00.000Z] 끝\n\n**Task ID:** task_h\n### Progress\n- Task completed\n",
	"workspace-eden/task-history/2026-02.md":        "# Task History\n\n---\n\n## [2026-02-02T00:00:00.000Z] 그만\n\n**Task ID:** task_x\n### Progress\n- Task cancelled: 중복\n",
	"workspace-eden/.openclaw/plans/old.json":       `{"id":"old","createdAt":"2026-02-01"}`,
	"workspace-eden/.openclaw/plans/new.json":       `{"id":"new","submittedAt":"2026-02-03T00:00:00.000Z","big":12345678901234567890}`,
	"workspace-eden/.openclaw/plans/broken.json":    `{ not json`,
	"plans/eden_1.json":                             `{"id":"global","updatedAt":"2026-02-02"}`,
	"workspace-dajim/CURRENT_TASK.md":               "# Current Task\n\n## Current\n\n*(Last task ended with error)*\n",
	"workspace-ruda/CURRENT_TASK.md":                "# Current Task\n\n## Current\n\n**Task:** 온보딩 정리\n",
	"workspace-nuri/CURRENT_TASK.md":                "**Focus:** task_gone\n",
	"workspace-seum/CURRENT_TASK.md":                "*(No active focus task)*",
	"workspace-worker/x":                            "",
	"team-state.json":                               `{"version":"two","agents":{"eden":{"n":1.50}},"updatedAt":"2026-02-20T12:00:00.000Z"}`,
	"workspace-a-plain-file":                        "",
	"workspace-eden/task-history/notes.md":          "secret",
	"workspace-eden/tasks/notes.md":                 "secret",
	"workspace-eden/.openclaw/plans/not-a-plan.txt": "secret",
}

// TestAgentAnswers holds every answer about agents against what the files say, and against the contract.
func TestAgentAnswers(t *testing.T) {
	t.Parallel()
	b, dir := withFiles(t, teamFiles)
	b.appending(t, coordination.TypeConfigApplied, `{"hash":"h","source":"s","agents":[{"id":"Eden","name":"이든"},{"id":"worker","kind":"utility"}]}`)
	contract := newContract(t, b)
	const now, taskA = `"2026-02-20T12:00:00.000Z"`, `{"id":"task_a","status":"in_progress","priority":"low","description":"로그인 구현\n둘째 줄","source":"discord",
		"created":"2026-02-20T07:00:00.000Z","lastActivity":"2026-02-20T07:00:00.000Z","progress":[],"simple":true,
		"steps":[{"id":"s1","content":"하나","status":"done","order":1},{"id":"s2","content":"둘","status":"pending","order":2}],
		"stepsProgress":{"total":2,"done":1,"inProgress":0,"pending":1,"skipped":0},"delegations":[{"id":"d"}],"delegationEvents":[]}`
	const taskB = `{"id":"task_b","status":"blocked","priority":"low","description":"(no description)","created":"2026-02-20T08:00:00.000Z",
		"lastActivity":"2026-02-20T08:00:00.000Z","progress":[],"blockedReason":"키 대기","unblockedBy":["ruda"],"unblockRequestCount":0}`
	const invalid = `[{"file":"workspace-eden/tasks/task_big.md","error":"the file is too large"}]`
	agent := func(id, rest string) string {
		return `{"id":"` + id + `","workspaceDir":"` + filepath.Join(dir, "workspace-"+id) + `",` + rest + `}`
	}
	eden := agent("eden", `"hasCurrentTask":true,"taskCount":6,"name":"이든","kind":"main","currentTask":{"id":"task_a","title":"로그인 구현"},
		"taskCounts":{"in_progress":1,"blocked":1,"pending":3},"invalid":`+invalid)
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/api/agents", 200, `{"agents":[` + strings.Join([]string{
			agent("dajim", `"hasCurrentTask":false,"taskCount":0,"kind":"unknown","currentTask":null,"taskCounts":{}`),
			eden,
			agent("nuri", `"hasCurrentTask":true,"taskCount":0,"kind":"unknown","currentTask":{"id":"task_gone","title":"task_gone"},"taskCounts":{}`),
			agent("ruda", `"hasCurrentTask":true,"taskCount":0,"kind":"main","currentTask":{"title":"온보딩 정리"},"taskCounts":{}`),
			agent("seum", `"hasCurrentTask":false,"taskCount":0,"kind":"unknown","currentTask":null,"taskCounts":{}`),
			agent("worker", `"hasCurrentTask":false,"taskCount":0,"kind":"utility","currentTask":null,"taskCounts":{}`),
		}, ",") + `],"count":6}`},
		{"/api/agents/eden/info", 200, eden},
		{"/api/agents/eden/tasks?status=blocked", 200, `{"agentId":"eden","tasks":[` + taskB + `],"count":1,"invalid":` + invalid + `}`},
		{"/api/agents/eden/tasks?status=abandoned", 200, `{"agentId":"eden","tasks":[],"count":0,"invalid":` + invalid + `}`},
		{"/api/agents/worker/tasks", 200, `{"agentId":"worker","tasks":[],"count":0}`},
		{"/api/agents/eden/tasks/task_a", 200, `{"agentId":"eden","source":"discord","location":"active","task":` + taskA + `}`},
		{"/api/agents/eden/tasks/task_b", 200, `{"agentId":"eden","source":"active","location":"active","task":` + taskB + `}`},
		{"/api/agents/eden/tasks/task_x", 200, `{"agentId":"eden","source":"history","location":"history","task":{"id":"task_x","status":"cancelled",
			"priority":"medium","description":"그만","source":"history","created":"","lastActivity":"2026-02-02T00:00:00.000Z",
			"progress":["Task cancelled: 중복"],"outcome":{"kind":"cancelled","reason":"중복"}}}`},
		{"/api/agents/eden/tasks/task_h", 200, `{"agentId":"eden","source":"history","location":"history","task":{"id":"task_h","status":"completed",
			"priority":"medium","description":"끝","source":"history","created":"","lastActivity":"2026-01-02T00:00:00.000Z",
			"progress":["Task completed"],"outcome":{"kind":"completed"}}}`},
		{"/api/agents/eden/tasks/notes", 200, `{"agentId":"eden","task":null,"source":"not_found","location":"not_found"}`},
		{"/api/agents/eden/current", 200, `{"agentId":"eden","hasTask":true,"content":"# Current Task\n\n**Focus:** task_a\n\n## 낡은 제목\n",
			"taskSummary":"로그인 구현","taskId":"task_a","state":"task"}`},
		{"/api/agents/ruda/current", 200, `{"agentId":"ruda","hasTask":true,"content":"# Current Task\n\n## Current\n\n**Task:** 온보딩 정리\n",
			"taskSummary":"온보딩 정리","taskId":null,"state":"task"}`},
		{"/api/agents/dajim/current", 200, `{"agentId":"dajim","hasTask":false,"content":"# Current Task\n\n## Current\n\n*(Last task ended with error)*\n",
			"taskSummary":null,"taskId":null,"state":"error"}`},
		{"/api/agents/nuri/current", 200, `{"agentId":"nuri","hasTask":true,"content":"**Focus:** task_gone\n","taskSummary":"task_gone","taskId":"task_gone","state":"task"}`},
		{"/api/agents/worker/current", 200, `{"agentId":"worker","hasTask":false,"content":null,"taskSummary":null,"taskId":null,"state":"none"}`},
		{"/api/agents/eden/blocked", 200, `{"agentId":"eden","count":1,"invalid":` + invalid + `,"blockedTasks":[{"id":"task_b","description":"(no description)",
			"blockedReason":"키 대기","unblockedBy":["ruda"],"unblockRequestCount":0,"lastActivity":"2026-02-20T08:00:00.000Z"}]}`},
		{"/api/agents/eden/history", 200, `{"agentId":"eden","months":["2026-02","2026-01"],"currentMonth":"2026-02","hasHistory":true,
			"history":` + quoted(teamFiles["workspace-eden/task-history/2026-02.md"]) + `}`},
		{"/api/agents/eden/history?month=2026-01&limit=1", 200, `{"agentId":"eden","months":["2026-02","2026-01"],"currentMonth":"2026-01","hasHistory":true,
			"history":"## [2026-01-02T00:00:00.000Z] 끝\n\n**Task ID:** task_h\n### Progress\n- Task completed\n"}`},
		{"/api/agents/eden/history?month=2025-12", 200, `{"agentId":"eden","months":["2026-02","2026-01"],"currentMonth":"2025-12","hasHistory":false,"history":""}`},
		{"/api/agents/worker/history", 200, `{"agentId":"worker","months":[],"currentMonth":null,"hasHistory":false,"history":""}`},
		{"/api/agents/eden/plans", 200, `{"agentId":"eden","count":3,"plans":[{"id":"new","submittedAt":"2026-02-03T00:00:00.000Z","big":12345678901234567890},
			{"id":"global","updatedAt":"2026-02-02"},{"id":"old","createdAt":"2026-02-01"}],
			"invalid":[{"file":"workspace-eden/.openclaw/plans/broken.json","error":"it is not a JSON object"}]}`},
		{"/api/team-state", 200, `{"version":1,"agents":{"eden":{"n":1.50}},"lastUpdatedMs":1771588800000}`},
		{"/api/agents/stranger/tasks", 404, `{"error":"Agent not found: stranger","code":"not_found"}`},
		{"/api/agents/a-plain-file/info", 404, `{"error":"Agent not found: a-plain-file","code":"not_found"}`},
	} {
		contract.check(t, http.MethodGet, tt.path, tt.status)
		response, body := b.ask(t, http.MethodGet, tt.path)
		if diff := cmp.Diff(jsonOf(t, tt.want), withoutStates(jsonOf(t, string(body)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
		if response.Header.Get("X-As-Of-Seq") != "1" {
			t.Errorf("%s: X-As-Of-Seq %q", tt.path, response.Header.Get("X-As-Of-Seq"))
		}
	}
	tasks := get[struct {
		Tasks []struct{ ID, Created string }
	}](t, b, "/api/agents/eden/tasks", 200)
	var order []string
	for _, task := range tasks.Tasks {
		order = append(order, task.ID)
	}
	if want := []string{"task_f", "task_c", "task_b", "task_a", "task_d"}; !cmp.Equal(order, want) {
		t.Errorf("order: %q, want %q", order, want)
	}
	if got := quoted(tasks.Tasks[4].Created); got != now {
		t.Errorf("created: %s, want %s", got, now)
	}
}

func TestAgentsWithoutFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, want := range map[string]string{
		"/api/agents":           `{"agents":[],"count":0}`,
		"/api/team-state":       `{"version":1,"agents":{},"lastUpdatedMs":0}`,
		"/api/agents/eden/info": `{"error":"Agent not found: eden","code":"not_found"}`,
	} {
		if _, body := b.ask(t, http.MethodGet, path); string(body) != want {
			t.Errorf("%s: %s", path, body)
		}
	}
	b, _ = withFiles(t, map[string]string{"team-state.json": "{broken"})
	if _, body := b.ask(t, http.MethodGet, "/api/team-state"); string(body) !=
		`{"version":1,"agents":{},"lastUpdatedMs":0,"invalid":[{"file":"team-state.json","error":"it is not a JSON object"}]}` {
		t.Errorf("a broken file: %s", body)
	}
}

// Under the rules of the original, history knows completed tasks only.
func TestCancelledTasksUnderOldRules(t *testing.T) {
	t.Parallel()
	b, _ := withFiles(t, teamFiles, func(o *monitor.Options) { o.Rules = coordination.RulesV1 })
	a := get[struct {
		Task struct {
			Status  string
			Outcome struct{ Kind string }
		}
	}](t, b, "/api/agents/eden/tasks/task_x", 200)
	if a.Task.Status != "completed" || a.Task.Outcome.Kind != "cancelled" {
		t.Errorf("%+v", a)
	}
}

// TestAgentPathsLeadNowhereElse tries all known path traversals.
func TestAgentPathsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	b, dir := withFiles(t, teamFiles)
	if err := os.Symlink(filepath.Join(dir, "workspace-eden"), filepath.Join(dir, "workspace-link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/api/agents/eden":                                          {404, "Not found"},
		"/api/agents/":                                              {404, "Not found"},
		"/api/agents/eden/":                                         {404, "Not found"},
		"/api/agents/eden/tasks/":                                   {404, "Not found"},
		"/api/agents/eden/bogus":                                    {404, "Unknown action: bogus"},
		"/api/agents/eden/info/more":                                {404, "Unknown action: info/more"},
		"/api/agents/link/info":                                     {404, "Agent not found: link"},
		"/api/agents/../info":                                       {404, "Agent not found: .."},
		"/api/agents/%2e%2e/info":                                   {404, "Agent not found: .."},
		"/api/agents/%2e%2e%2fworkspace-eden/info":                  {404, "Agent not found: ../workspace-eden"},
		"/api/agents/%252e%252e/info":                               {404, "Agent not found: %2e%2e"},
		"/api/agents/eden%2f..%2feden/info":                         {404, "Agent not found: eden/../eden"},
		"/api/agents/eden%5c..%5ceden/info":                         {404, `Agent not found: eden\\..\\eden`},
		"/api/agents/eden%00/info":                                  {404, "Agent not found: eden\\u0000"},
		"/api/agents/..hidden/info":                                 {404, "Agent not found: ..hidden"},
		"/api/agents/CON/info":                                      {404, "Agent not found: CON"},
		"/api/agents/" + strings.Repeat("a", 5_000) + "/info":       {404, strings.Repeat("a", 80) + "..."},
		"/api/agents/eden/history?month=../AGENTS":                  {400, "month"},
		"/api/agents/eden/history?month=%2e%2e%2fAGENTS":            {400, "month"},
		"/api/agents/eden/history?month=notes":                      {400, "month"},
		"/api/agents/eden/history?month=2026-1":                     {400, "month"},
		"/api/agents/eden/history?month=2026-02%00":                 {400, "month"},
		"/api/agents/eden/history?month=２０２６-０２":                    {400, "month"},
		"/api/agents/eden/history?limit=0":                          {400, "limit"},
		"/api/agents/eden/history?limit=all":                        {400, "limit"},
		"/api/agents/eden/tasks/a/b":                                {200, "not_found"},
		"/api/agents/eden/tasks/../AGENTS":                          {200, "not_found"},
		"/api/agents/eden/tasks/..%2fAGENTS":                        {200, "not_found"},
		"/api/agents/eden/tasks/task_%2f..%2f..%2fAGENTS":           {200, "not_found"},
		"/api/agents/eden/tasks/..%5cAGENTS":                        {200, "not_found"},
		"/api/agents/eden/tasks/task_a%00":                          {200, "not_found"},
		"/api/agents/eden/tasks/task_" + strings.Repeat("a", 5_000): {200, "not_found"},
		"/api/agents/eden/tasks/notes":                              {200, "not_found"},
		"/api/workspace-file":                                       {404, "Not found"},
	} {
		response, body := b.ask(t, http.MethodGet, path)
		if response.StatusCode != want.status || !strings.Contains(string(body), want.text) || strings.Contains(string(body), "secret") {
			t.Errorf("%.80s: %d %.300s, want %d with %.90q", path, response.StatusCode, body, want.status, want.text)
		}
	}
}

func jsonOf(t testing.TB, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// What does not fit into an answer is named there, and task files are counted nevertheless.
func TestAgentAnswersAreBounded(t *testing.T) {
	t.Parallel()
	const blocked = "## Metadata\n- **Status:** blocked\n"
	long := strings.Repeat("가", 1_000)
	_, dir := withFiles(t, map[string]string{
		"workspace-eden/tasks/task_a.md": blocked, "workspace-eden/tasks/task_b.md": blocked,
		"workspace-eden/plans/a.json":    `{"id":"a","text":"` + strings.Repeat("x", len(blocked)) + `"}`,
		"workspace-eden/CURRENT_TASK.md": "**Task:** " + long + "\n",
		"workspace-seum/tasks/task_a.md": blocked,
	})
	files := workspace.New(dir, workspace.Options{ReadBytes: int64(len(blocked) + 1)})
	b := setup(t, func(o *monitor.Options) { o.Workspace = files })
	full := func(file string) string { return file + ": " + workspace.ReasonFull }
	type answer struct {
		Agents []struct {
			TaskCount   int
			TaskCounts  map[string]int
			CurrentTask *struct{ Title string }
			Invalid     []workspace.Fault
		}
		Count   int
		Invalid []workspace.Fault
	}
	check := func(path string, faults []workspace.Fault, want ...string) {
		t.Helper()
		got := []string{}
		for _, f := range faults {
			got = append(got, f.File+": "+f.Error)
		}
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Errorf("%s: invalid (-want +got):\n%s", path, diff)
		}
	}
	for range 20 {
		for path, want := range map[string]struct {
			count int
			full  string
		}{
			"/api/agents/eden/tasks":   {1, "workspace-eden/tasks/task_b.md"},
			"/api/agents/eden/blocked": {1, "workspace-eden/tasks/task_b.md"},
			"/api/agents/eden/plans":   {0, "workspace-eden/plans/a.json"},
		} {
			a := get[answer](t, b, path, 200)
			check(path, a.Invalid, full(want.full))
			if a.Count != want.count {
				t.Errorf("%s: %+v", path, a)
			}
		}
	}
	a := get[answer](t, b, "/api/agents", 200)
	if len(a.Agents) != 2 {
		t.Fatalf("%+v", a)
	}
	eden, seum := a.Agents[0], a.Agents[1]
	check("eden", eden.Invalid, full("workspace-eden/tasks/task_b.md"))
	check("seum", seum.Invalid, full("workspace-seum/tasks/task_a.md"))
	if eden.TaskCount != 2 || eden.TaskCounts["blocked"] != 1 || seum.TaskCount != 1 || len(seum.TaskCounts) != 0 {
		t.Errorf("%+v", a)
	}
	if title := eden.CurrentTask.Title; title != strings.Repeat("가", 333)+"..." {
		t.Errorf("a title of %d bytes", len(title))
	}
}
