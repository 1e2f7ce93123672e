package monitor_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/workspace"
)

// agentQuestions are all that can be asked of an agent's tasks.
var agentQuestions = []string{"info", "tasks", "tasks?status=blocked", "tasks?status=unheard", "tasks/task_a", "tasks/task_b", "tasks/task_c", "tasks/task_d",
	"tasks/task_r", "tasks/task_nowhere", "current", "blocked", "history", "history?limit=1", "history?limit=2", "history?month=2026-01", "history?month=2025-01"}

// The tasks of the log are answered as a server answers that reads them from their files: member by member, but for the seq beside each row. What is
// over is told more of by the log, and nothing else.
func TestOwnTasksAreAnsweredAsTheirFilesAre(t *testing.T) {
	t.Parallel()
	b, dir := withOwnTasks(t)
	b.ownTasks(t)
	b.filesOf(t, dir, "eden", "ruda", "seum")
	files := setup(t, func(o *monitor.Options) { o.Workspace = workspace.New(dir, workspace.Options{}) })
	for _, agent := range []string{"eden", "ruda"} {
		for _, question := range agentQuestions {
			path := "/api/agents/" + agent + "/" + question
			_, want := files.ask(t, http.MethodGet, path)
			_, got := b.ask(t, http.MethodGet, path)
			if diff := cmp.Diff(withoutStates(jsonOf(t, string(want))), withoutStates(withoutSeqs(jsonOf(t, string(got))))); diff != "" {
				t.Errorf("%s (-file +log):\n%s", path, diff)
			}
		}
	}
	for _, path := range []string{"/api/agents/eden/tasks/task_h", "/api/agents/eden/tasks/task_x"} {
		_, want := files.ask(t, http.MethodGet, path)
		_, got := b.ask(t, http.MethodGet, path)
		told, of := jsonOf(t, string(got)).(map[string]any), jsonOf(t, string(want)).(map[string]any)
		task := told["task"].(map[string]any)
		for member, value := range of["task"].(map[string]any) {
			if member == "outcome" {
				delete(task[member].(map[string]any), "by") // which history does not say
			}
			if diff := cmp.Diff(value, task[member]); diff != "" {
				t.Errorf("%s, %s (-file +log):\n%s", path, member, diff)
			}
		}
		delete(told, "task")
		delete(of, "task")
		if diff := cmp.Diff(of, told); diff != "" {
			t.Errorf("%s (-file +log):\n%s", path, diff)
		}
	}
}

// withoutSeqs takes derivedFromSeq out of an answer.
func withoutSeqs(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "derivedFromSeq")
		for _, member := range v {
			withoutSeqs(member)
		}
	case []any:
		for _, element := range v {
			withoutSeqs(element)
		}
	}
	return v
}

// withoutStates takes out of an answer how agents are doing, which TestAgentsSayHowTheyAreDoing checks.
func withoutStates(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v["workspaceDir"] != nil {
			for _, member := range []string{"status", "activity", "run", "queue", "next", "discord", "channels", "tokens", "sandbox", "approvals"} {
				delete(v, member)
			}
		}
		for _, member := range v {
			withoutStates(member)
		}
	case []any:
		for _, element := range v {
			withoutStates(element)
		}
	}
	return v
}

// Where agents keep their tasks here, the log is the truth: each row says from which event, whatever files say, and each configured agent has a
// workspace or has had a task is there.
func TestOwnTasksComeFromTheLog(t *testing.T) {
	t.Parallel()
	b, dir := withOwnTasks(t)
	b.ownTasks(t)
	put(t, dir, "workspace-eden/tasks/task_forged.md", "## Metadata\n- **Status:** in_progress\n")
	put(t, dir, "workspace-eden/CURRENT_TASK.md", "**Focus:** task_forged\n")
	put(t, dir, "workspace-eden/task-history/2026-03.md", "## [2026-03-01T00:00:00.000Z] forged\n")
	put(t, dir, "workspace-eden/.openclaw/plans/p.json", `{"id":"p"}`)
	put(t, dir, "workspace-nuri/AGENTS.md", "")
	put(t, dir, "team-state.json", `{"agents":{"forged":{}}}`)
	contract := newContract(t, b)
	agent := func(id, rest string) string {
		return `{"id":"` + id + `","workspaceDir":"` + filepath.Join(dir, "workspace-"+id) + `",` + rest + `}`
	}
	eden := agent("eden", `"kind":"unknown","hasCurrentTask":true,"taskCount":4,"currentTask":{"id":"task_a","title":"로그인 구현"},
		"taskCounts":{"in_progress":1,"blocked":1,"backlog":1,"pending_approval":1},"derivedFromSeq":10`)
	idle := `"kind":"unknown","hasCurrentTask":false,"taskCount":0,"currentTask":null,"taskCounts":{}`
	const taskB = `{"id":"task_b","status":"blocked","priority":"low","description":"키가 필요한 일","source":"user","workSessionId":"ws_eden",
		"created":"2026-02-20T12:00:00.000Z","lastActivity":"2026-02-20T12:01:00.000Z","progress":["Task started","[BLOCKED] 키 대기"],
		"blockedReason":"키 대기","unblockedBy":["ruda"],"unblockedAction":"키를 보내기","unblockRequestCount":0,"escalationState":"none",
		"createdBySessionKey":"agent:eden:main","derivedFromSeq":6}`
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/api/agents", 200, `{"agents":[` + strings.Join([]string{eden, agent("nuri", idle),
			agent("ruda", `"kind":"main","hasCurrentTask":true,"taskCount":1,"currentTask":{"id":"task_r","title":"조사"},"taskCounts":{"in_progress":1},"derivedFromSeq":11`),
			agent("seum", idle)}, ",") + `],"count":4}`},
		{"/api/agents/eden/info?min_seq=12", 200, eden},
		{"/api/agents/eden/tasks?status=blocked", 200, `{"agentId":"eden","tasks":[` + taskB + `],"count":1}`},
		{"/api/agents/seum/tasks", 200, `{"agentId":"seum","tasks":[],"count":0}`},
		{"/api/agents/eden/tasks/task_b", 200, `{"agentId":"eden","source":"user","location":"active","task":` + taskB + `}`},
		{"/api/agents/ruda/tasks/task_b", 200, `{"agentId":"ruda","source":"not_found","location":"not_found","task":null}`},
		{"/api/agents/eden/tasks/task_forged", 200, `{"agentId":"eden","source":"not_found","location":"not_found","task":null}`},
		{"/api/agents/eden/blocked", 200, `{"agentId":"eden","count":1,"blockedTasks":[{"id":"task_b","description":"키가 필요한 일","blockedReason":"키 대기",
			"unblockedBy":["ruda"],"unblockedAction":"키를 보내기","unblockRequestCount":0,"escalationState":"none","lastActivity":"2026-02-20T12:01:00.000Z","derivedFromSeq":6}]}`},
		{"/api/agents/nuri/current", 200, `{"agentId":"nuri","hasTask":false,"content":null,"taskSummary":null,"taskId":null,"state":"none"}`},
		{"/api/agents/eden/history?month=2026-03", 200, `{"agentId":"eden","months":["2026-02","2026-01"],"currentMonth":"2026-03","hasHistory":false,"history":""}`},
		{"/api/agents/seum/history", 200, `{"agentId":"seum","months":[],"currentMonth":null,"hasHistory":false,"history":""}`},
		{"/api/agents/eden/plans", 200, `{"agentId":"eden","plans":[{"id":"p"}],"count":1}`},
		{"/api/agents/seum/plans", 200, `{"agentId":"seum","plans":[],"count":0}`},
		{"/api/team-state", 200, `{"version":1,"lastUpdatedMs":` + ms(6) + `,"agents":{
			"eden":{"agentId":"eden","role":"worker","currentTaskId":"task_a","lastHeartbeatMs":` + ms(5) + `,"status":"active","consecutiveFailures":0,"derivedFromSeq":10},
			"nuri":{"agentId":"nuri","role":"worker","currentTaskId":null,"lastHeartbeatMs":0,"status":"idle","consecutiveFailures":0,"derivedFromSeq":0},
			"ruda":{"agentId":"ruda","role":"worker","currentTaskId":"task_r","lastHeartbeatMs":` + ms(6) + `,"status":"active","consecutiveFailures":0,"derivedFromSeq":11},
			"seum":{"agentId":"seum","role":"lead","currentTaskId":null,"lastHeartbeatMs":0,"status":"idle","consecutiveFailures":0,"derivedFromSeq":0}}}`},
		{"/api/agents/stranger/tasks", 404, `{"error":"Agent not found: stranger","code":"not_found"}`},
		{"/api/agents/stranger/plans", 404, `{"error":"Agent not found: stranger","code":"not_found"}`},
		{"/api/agents/eden/bogus", 404, `{"error":"Unknown action: bogus","code":"not_found"}`},
	} {
		if tt.path != "/api/agents/eden/bogus" {
			contract.check(t, http.MethodGet, tt.path, tt.status)
		}
		response, body := b.ask(t, http.MethodGet, tt.path)
		if diff := cmp.Diff(jsonOf(t, tt.want), withoutStates(jsonOf(t, string(body)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
		if response.Header.Get("X-As-Of-Seq") != "12" {
			t.Errorf("%s: X-As-Of-Seq %q", tt.path, response.Header.Get("X-As-Of-Seq"))
		}
	}
	for _, path := range []string{"/api/agents", "/api/agents/eden/tasks", "/api/agents/eden/current", "/api/team-state"} {
		contract.check(t, http.MethodGet, path+"?min_seq=x", 400)
		contract.check(t, http.MethodGet, path+"?min_seq=1000", 503)
	}
}

// A task that its agent is at no more is in focus no more, and what is over is in history.
func TestOwnTasksFollowTheLog(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.ownTasks(t)
	type current struct {
		HasTask        bool
		TaskID         string
		Content        string
		DerivedFromSeq int64
	}
	before := get[current](t, b, "/api/agents/eden/current", http.StatusOK)
	if before.TaskID != "task_a" || !strings.Contains(before.Content, "- [s1] 하나 ## 끝\n") || before.DerivedFromSeq != 10 {
		t.Errorf("at first: %+v", before)
	}
	seq := b.tasked(t, "eden", "task_a", "task.completed", 60*24*10, map[string]any{"taskId": "task_a", "status": "completed", "summary": "됐다", "progress": "Task completed"})
	if after := get[current](t, b, "/api/agents/eden/current", http.StatusOK); after.HasTask || after.TaskID != "" || !strings.Contains(after.Content, "No active focus") {
		t.Errorf("afterwards: %+v", after)
	}
	history := get[struct {
		Months         []string
		History        string
		DerivedFromSeq int64
	}](t, b, "/api/agents/eden/history?limit=1", http.StatusOK)
	if history.Months[0] != "2026-03" || !strings.HasPrefix(history.History, "## [2026-03-02T12:00:00.000Z] 로그인 구현") || history.DerivedFromSeq != seq {
		t.Errorf("history: %+v", history)
	}
	state := get[struct {
		Agents map[string]struct{ Status string }
	}](t, b, "/api/team-state", http.StatusOK)
	if state.Agents["eden"].Status != "idle" {
		t.Errorf("team: %+v", state)
	}
}

type taskPage struct {
	Tasks      []monitor.TaskAnswer
	Count      int
	Counts     map[string]int
	NextCursor *string
}

func (p *taskPage) ids() (ids []string) {
	for i := range p.Tasks {
		ids = append(ids, p.Tasks[i].ID)
	}
	return ids
}

// Tasks of all agents are listed page by page, open ones first, with filters; also where files of another gateway say
// their state.
func TestTasksOfAllAgentsAreListed(t *testing.T) {
	t.Parallel()
	own, _ := withOwnTasks(t)
	for name, b := range map[string]*testBundle{"own": own, "another gateway's": setup(t)} {
		t.Run(name, func(t *testing.T) {
			contract := newContract(t, b)
			if page := get[taskPage](t, b, "/api/tasks", http.StatusOK); page.Tasks == nil || page.Counts == nil || page.NextCursor != nil {
				t.Errorf("none: %+v", page)
			}
			b.ownTasks(t)
			order := []string{"task_c", "task_a", "task_d", "task_r", "task_b", "task_h", "task_x"}
			all := get[taskPage](t, b, "/api/tasks", http.StatusOK)
			if diff := cmp.Diff(order, all.ids()); diff != "" {
				t.Error(diff)
			}
			want := map[string]int{"backlog": 1, "in_progress": 2, "pending_approval": 1, "blocked": 1}
			if diff := cmp.Diff(want, all.Counts); diff != "" {
				t.Error(diff)
			}
			if a := all.Tasks[1]; !a.Focus || a.AgentID != "eden" || a.ProgressCount != 2 || a.LastProgress != "[s1] 하나 ## 끝" || len(a.Progress) != 0 ||
				a.DerivedFromSeq != 10 || a.EndedAt != nil || a.StepsProgress.Done != 1 || a.WorkSessionID != "ws_eden" {
				t.Errorf("%+v", a)
			}
			if h := all.Tasks[5]; h.Focus || h.EndedAt == nil || *h.EndedAt != int64(at(-2*24*60)) || h.Status != "completed" {
				t.Errorf("%+v", h)
			}
			var paged []string
			for cursor := "?limit=3"; ; {
				page := get[taskPage](t, b, "/api/tasks"+cursor, http.StatusOK)
				paged = append(paged, page.ids()...)
				if page.NextCursor == nil || page.Count > 3 {
					break
				}
				cursor = "?limit=3&cursor=" + *page.NextCursor
			}
			if diff := cmp.Diff(order, paged); diff != "" {
				t.Errorf("page by page: %s", diff)
			}
			for query, want := range map[string][]string{
				"agent=Ruda":                            {"task_r"},
				"agent=ruda,eden&open=true&limit=2":     {"task_c", "task_a"},
				"status=blocked&status=backlog":         {"task_c", "task_b"},
				"status=cancelled":                      {"task_x"},
				"priority=low":                          {"task_b", "task_h"},
				"open=false":                            {"task_h", "task_x"},
				"open=true&status=completed":            nil,
				"workSessionId=ws:ws_ruda":              {"task_c", "task_r"},
				"q=" + url.QueryEscape("필요한"):           {"task_d", "task_b"},
				"q=" + url.QueryEscape("%") + "&agent=": nil,
			} {
				path := "/api/tasks?" + query
				contract.check(t, http.MethodGet, path, http.StatusOK)
				if page := get[taskPage](t, b, path, http.StatusOK); !cmp.Equal(page.ids(), want) {
					t.Errorf("%s: %v, want %v", query, page.ids(), want)
				}
			}
			for query, field := range map[string]string{"status=walking": "status", "priority=whenever": "priority", "priority=low,high": "priority", "open=1": "open",
				"limit=0": "limit", "cursor=x": "cursor", "cursor=dC5lQQ": "cursor", "cursor=" + forged("t", "nonsense"): "cursor",
				"cursor=" + forged("r", "t1.2"): "cursor", "q=" + strings.Repeat("a", 257): "q"} {
				contract.check(t, http.MethodGet, "/api/tasks?"+query, http.StatusBadRequest)
				if r := get[refusal](t, b, "/api/tasks?"+query, http.StatusBadRequest); r.Field != field || r.Code != "invalid_parameter" || r.Hint == "" {
					t.Errorf("%s: %+v", query, r)
				}
			}
		})
	}
}

// A task is shown with its progress and what is delegated for it, over or not.
func TestATaskOfAnyAgentIsShown(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.ownTasks(t)
	contract := newContract(t, b)
	type shown struct{ Task monitor.TaskAnswer }
	for _, id := range []string{"task_a", "task_c", "task_h", "task_r"} {
		contract.check(t, http.MethodGet, "/api/tasks/"+id+"?min_seq=12", http.StatusOK)
	}
	if a := get[shown](t, b, "/api/tasks/task_a", http.StatusOK).Task; !cmp.Equal(a.Progress, []string{"Task started", "[s1] 하나 ## 끝"}) || !a.Focus || len(a.Steps) != 2 ||
		!cmp.Equal(a.ProgressLines, []task.Line{{Text: "Task started", Code: task.LineStarted}, {Text: "[s1] 하나 ## 끝"}}) {
		t.Errorf("%+v", a)
	}
	if r := get[shown](t, b, "/api/tasks/task_r", http.StatusOK).Task; !strings.Contains(string(r.Delegations), `"delegationId":"d1"`) || r.DerivedFromSeq != 12 {
		t.Errorf("%+v", r)
	}
	if h := get[shown](t, b, "/api/tasks/task_h", http.StatusOK).Task; h.Context != "배경" || !strings.Contains(string(h.Outcome), "둘째 줄") || h.Created != stamp(-3*24*60) {
		t.Errorf("%+v", h)
	}
	if c := get[shown](t, b, "/api/tasks/task_c", http.StatusOK).Task; len(c.Dependencies) != 1 || c.Dependencies[0].ID != "task_a" ||
		c.Dependencies[0].Title != "로그인 구현" || c.Dependencies[0].Status != "in_progress" {
		t.Errorf("dependencies %+v", c.Dependencies)
	}
	for path, status := range map[string]int{"nothing": 404, "%20": 404, "": 404, "rewrite": 404, url.PathEscape(strings.Repeat("가", 1_025)): 400, "%ff": 400,
		"task_a?min_seq=x": 400, "task_a?min_seq=1000": 503} {
		r := get[refusal](t, b, "/api/tasks/"+path, status)
		if r.Error == "" || r.Code == "" {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// writer notes that it is to write files again.
type writer struct {
	asked int
	err   error
	ctx   error // why it was not to go on

	urgent bool
}

func (w *writer) Rewrite(ctx context.Context) (int, error) {
	w.asked++
	w.ctx, w.urgent = ctx.Err(), eventstore.IsUrgent(ctx)
	return 7, w.err
}

// A caller with write permission has the task files rewritten, completely even if it disconnects, where there are any
// to write. What is appended for all the files does not go before what people and agents wait for.
func TestFilesOfTasksAreRewritten(t *testing.T) {
	t.Parallel()
	const near, path = "127.0.0.1:1", "/api/tasks/rewrite"
	w := &writer{}
	b, _ := withOwnTasks(t, func(o *monitor.Options) { o.OwnTasks.Files = w })
	contract := newContract(t, b)
	o := operation{http.MethodPost, path}
	answer := b.from(near, http.MethodPost, path, "")
	contract.held(t, o, http.StatusOK, answer)
	if answer.Body.String() != `{"ok":true,"written":7}` || w.asked != 1 {
		t.Errorf("%s, asked %d times", answer.Body, w.asked)
	}
	if w.urgent {
		t.Error("the files are written urgently")
	}
	contract.held(t, o, http.StatusUnauthorized, b.from("192.0.2.7:1", http.MethodPost, path, ""))
	if w.asked != 1 {
		t.Error("written for a caller that may not write")
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:3847"+path, http.NoBody)
	r.RemoteAddr = near
	b.monitor.Handler().ServeHTTP(httptest.NewRecorder(), r)
	if w.asked != 2 || w.ctx != nil {
		t.Errorf("asked %d times, and then: %v", w.asked, w.ctx)
	}
	w.err = errors.New("secret")
	answer = b.from(near, http.MethodPost, path, "")
	contract.held(t, o, http.StatusInternalServerError, answer)
	if strings.Contains(answer.Body.String(), "secret") {
		t.Errorf("%s", answer.Body)
	}
	following := setup(t)
	answer = following.from(near, http.MethodPost, path, "")
	newContract(t, following).held(t, o, http.StatusConflict, answer)
	if !strings.Contains(answer.Body.String(), "tasks_not_kept") {
		t.Errorf("%s", answer.Body)
	}
}

// forged is a cursor that no answer gave: of a list, with a place in it.
func forged(list, place string) string {
	inner := base64.RawURLEncoding.EncodeToString([]byte(place))
	return base64.RawURLEncoding.EncodeToString([]byte(list + "." + inner))
}

// ms is a minute after noon as answers write it in numbers.
func ms(minute float64) string { return strconv.FormatInt(int64(at(minute)), 10) }
