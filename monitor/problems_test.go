package monitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/problems"
)

// limping is a program that has a problem of its own: a parked table, a failed backup, and a bot that Discord does not let in.
func limping(o *monitor.Options) {
	o.Operations.Reasons = func(context.Context) []health.Reason {
		return []health.Reason{
			{Severity: health.SeverityError, Code: "projection_parked", What: "projection search", Hint: "resume it", Subject: "search"},
			{Severity: health.SeverityWarning, Code: "backup_failed", What: "no space", Hint: "free some"},
			{Severity: health.SeverityWarning, Code: "work_dead", What: "1 piece", Hint: "see the list"},
		}
	}
	o.Operations.Running = func(context.Context) health.Running { return health.Running{Gateway: &health.GatewayState{}} }
	o.Operations.Capacity = func() map[string]int { return map[string]int{"main": 2} }
	o.Backup = func(context.Context) (monitor.Copy, error) { return monitor.Copy{}, nil }
	o.Work, o.Flows = &operator{}, nil
	o.Bots = func() []health.Bot {
		return []health.Bot{{Channel: "discord", AccountID: "default", AgentID: "ruda", State: health.BotReady, Since: int64(at(0))},
			{Channel: "discord", AccountID: "eden", AgentID: "eden", State: health.BotFailed, Class: "token_refused", Text: "4004", Hint: "set the token", Since: int64(at(3))}}
	}
}

// stuck stores one problem of each kind that is in the log.
func (b *testBundle) stuck(t testing.TB) {
	t.Helper()
	b.configured(t)
	b.importing(t,
		event("a2a.send", "eden", 0, `"workSessionId":"ws_b","conversationId":"c_b","fromAgent":"eden","toAgent":"seum","message":"webhook 좀 봐줘","eventRole":"conversation.main"`),
		event("a2a.response", "seum", 1, `"workSessionId":"ws_b","conversationId":"c_b","fromAgent":"seum","toAgent":"eden","message":"[outcome] blocked: 컨텍스트 초과","outcome":"blocked","eventRole":"conversation.main"`),
		event("a2a.send", "eden", 1, `"workSessionId":"ws_n","conversationId":"c_n","fromAgent":"eden","toAgent":"ruda","message":"배포 언제?","eventRole":"conversation.main"`),
		event("a2a.complete", "eden", 2, `"workSessionId":"ws_n","conversationId":"c_n","fromAgent":"eden","toAgent":"ruda","outcome":"no_reply","eventRole":"conversation.main"`))
	mail := func(typ, more string) [2]string { return [2]string{typ, `{"effectId":"mail/42"` + more + `}`} }
	b.tell(t, coordination.WorkStream("mail/42"), "eden", mail(coordination.TypeWorkScheduled, `,"kind":"mail","key":"box","pool":"post","owner":"eden"`),
		mail(coordination.TypeWorkLeased, `,"attempt":1`), mail(coordination.TypeWorkDead, `,"attempt":5,"error":"403 no such box"`))
	b.ownTasks(t)
	b.tasked(t, "eden", "task_b", coordination.TypeUnblockFailed, 4, coordination.Unblock{Context: ofTask("task_b", "ws_eden"), Reason: "nobody_to_ask", ToldAgentID: "seum"})
	b.failing(t)
	b.collaborated(t)
	b.happens(t, coordination.CollabStream(collabID), coordination.TypeCollabEscalated, "ruda", 9, coordination.Collab{CollabID: collabID, FromAgent: "ruda",
		ToAgent: "eden", ThreadID: threadID, Attempt: 3, Of: 3, Minutes: 8, MessageID: "1404000000000000071"})
	b.happens(t, coordination.ThreadStream(threadID), coordination.TypeThreadSuspended, "", 2, coordination.Thread{ThreadID: threadID, Reason: "bot_rate",
		UntilMs: int64(at(60))})
	b.flowed(t, "j1", "eden", coordination.TypeA2AJobCreated, coordination.A2AJobCreated{
		Context: coordination.Context{ConversationID: "c_j1", WorkSessionID: "ws_j", EventRole: coordination.RoleOrchestration},
		JobID:   "j1", Kind: "send", FromAgent: "eden", ToAgent: "seum", Phase: "waiting", DueAtMs: int64(at(5)), RequesterSessionKey: "agent:eden:main",
		TargetSessionKey: "agent:seum:a2a:c_j1", Message: "포트가 뭐죠?", EffectiveTurns: 1})
	b.asks(t, "long", "seum", coordination.TypeRunStarted)
	b.asks(t, "never", "ruda", "")
	b.now.Store(int64(at(15)))
}

func problemsOf(t testing.TB, b *testBundle, query string) monitor.ProblemsAnswer {
	t.Helper()
	return get[monitor.ProblemsAnswer](t, b, "/api/problems"+query, http.StatusOK)
}

// Each kind of problem is found in real events, with since when it is, its code, where to look and what can be done.
func TestProblemsOfEveryKind(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, limping)
	b.stuck(t)
	contract := newContract(t, b)
	contract.check(t, http.MethodGet, "/api/problems", http.StatusOK)
	got := problemsOf(t, b, "")
	var kinds []problems.Kind
	said := map[string]string{}
	for i := range got.Problems {
		p := &got.Problems[i]
		kinds = append(kinds, p.Kind)
		since := "unknown"
		if p.SinceMs != nil {
			since = strconv.FormatFloat((float64(*p.SinceMs)-at(0))/60_000, 'g', 3, 64)
		}
		said[p.ID] = fmt.Sprint(p.Severity, " ", p.AgentID, " ", p.AgentName, " since ", since, " ", p.Code, " | ", p.Reason, " | ", p.Title, " | ", p.Actions)
	}
	want := map[string]string{
		"not_ready:projection_parked:search": "error   since unknown projection_parked | projection search |  | []",
		"dead:mail/42":                       "error eden 이든 since 0 auth | 403 no such box |  | [resend cancel message]",
		"blocked:ws_b:conv:c_b":              "error eden 이든 since 1 context_too_long | 컨텍스트 초과 | webhook 좀 봐줘 | [message]",
		"no_reply:ws_n:conv:c_n":             "error eden 이든 since 2 other |  | 배포 언제? | [message]",
		"task_blocked:eden:task_b":           "error eden 이든 since 1 task_blocked | 키 대기 | 키가 필요한 일 | [message]",
		"escalated:task:eden:task_b":         "error eden 이든 since 4 nobody_to_ask |  | 키가 필요한 일 | [message]",
		"escalated:request:c1":               "error ruda 루다 since 9 no_answer |  | @이든 리뷰 부탁 | [message]",
		"backoff:eden":                       "warning eden 이든 since 0 unknown |  |  | [message]",
		"stuck_run:long":                     "warning seum 세움 since 8.33e-05 running_long |  |  | [message]",
		"stuck_run:never":                    "warning ruda 루다 since 0 lane_free |  |  | [message]",
		"overdue:flow:j1":                    "warning eden 이든 since 5 check_missed |  | 포트가 뭐죠? | [message]",
		"suspended:" + threadID:              "warning   since 2 bot_rate |  | [협업] 루다 → 이든 · 리뷰 | []",
		"bot_down:eden":                      "error eden 이든 since 3 token_refused | 4004 |  | [message]",
		"warning:backup_failed":              "warning   since unknown backup_failed | no space |  | [back_up]",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	order := problems.Kinds()
	if !slices.IsSortedFunc(kinds, func(a, b problems.Kind) int { return slices.Index(order, a) - slices.Index(order, b) }) {
		t.Errorf("kinds are in the order %v", kinds)
	}
	for _, kind := range order {
		if got.Counts[kind] == 0 {
			t.Errorf("no problem of kind %s", kind)
		}
	}
	if got.Total != len(want) || len(got.Unknown) != 0 {
		t.Errorf("total %d, unknown %v", got.Total, got.Unknown)
	}
}

// References lead to what the problem is about.
func TestProblemsSayWhereToLook(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, limping)
	b.stuck(t)
	for i := range problemsOf(t, b, "").Problems {
		p := problemsOf(t, b, "").Problems[i]
		r := &p.Refs
		for path, id := range map[string]string{"/api/work-sessions/": r.WorkSession, "/api/tasks/": r.Task, "/api/collaborations/": r.CollabID, "/api/a2a/jobs/": r.JobID} {
			if id == "" || r.JobID != "" && path == "/api/work-sessions/" {
				continue
			}
			if response, body := b.ask(t, http.MethodGet, path+id); response.StatusCode != http.StatusOK && (r.Task != "task_a" || path != "/api/tasks/") {
				t.Errorf("%s: %s%s: %d %.200s", p.ID, path, id, response.StatusCode, body)
			}
		}
		if r.Seq > 0 {
			page := get[eventPage](t, b, fmt.Sprintf("/api/events?scope=all&after=%d&limit=1", r.Seq-1), http.StatusOK)
			if len(page.Events) != 1 || page.Events[0].Seq != r.Seq {
				t.Errorf("%s: no event %d", p.ID, r.Seq)
			}
		}
	}
}

// Numbers are of all, whatever is listed.
func TestProblemsAreCountedWhateverIsListed(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, limping)
	var lines []string
	for i := range 30 {
		lines = append(lines, event("a2a.send", "eden", float64(i), fmt.Sprintf(`"workSessionId":"ws_%d","conversationId":"c_%d","fromAgent":"eden","toAgent":"seum","message":"m"`, i/2, i)),
			event("a2a.complete", "eden", float64(i)+0.5, fmt.Sprintf(`"workSessionId":"ws_%d","conversationId":"c_%d","fromAgent":"eden","toAgent":"seum","outcome":%q`, i/2, i,
				[]string{"blocked", "no_reply", "done"}[i%3])))
	}
	b.importing(t, lines...)
	for i := range 7 {
		id := fmt.Sprint("mail/", i)
		mail := func(typ string, d coordination.WorkAttempt) {
			d.EffectID = id
			b.happens(t, coordination.WorkStream(id), typ, "eden", float64(i), d)
		}
		b.happens(t, coordination.WorkStream(id), coordination.TypeWorkScheduled, "eden", float64(i),
			coordination.WorkScheduled{EffectID: id, Kind: "mail", Key: "box", Pool: "post", Owner: "eden"})
		mail(coordination.TypeWorkLeased, coordination.WorkAttempt{Attempt: 1})
		mail(coordination.TypeWorkDead, coordination.WorkAttempt{Attempt: 1, Error: "x"})
	}
	b.now.Store(int64(at(60)))
	want := map[problems.Kind]int{problems.NotReady: 1, problems.Dead: 7, problems.Blocked: 10, problems.NoReply: 10, problems.BotDown: 1, problems.Warning: 1}
	for query, n := range map[string]int{"": 30, "?limit=3": 3, "?limit=500": 30, "?kind=blocked": 10, "?kind=blocked,dead&limit=9": 9, "?kind=overdue": 0,
		"?limit=9&offset=7": 9, "?limit=3&offset=28": 2, "?kind=blocked&offset=9": 1, "?kind=dead&limit=5&offset=5": 2, "?offset=30": 0, "?offset=10000": 0} {
		got := problemsOf(t, b, query)
		if len(got.Problems) != n || got.Total != 30 || !cmp.Equal(got.Counts, want) {
			t.Errorf("%s: %d listed of %d, %v; want %d of 30, %v", query, len(got.Problems), got.Total, got.Counts, n, want)
		}
		if query == "?limit=9&offset=7" && got.Problems[0].ID != "dead:mail/0" { // after one reason and six of the dead
			t.Errorf("the eighth problem is %s", got.Problems[0].ID)
		}
		if n == 9 && query != "?limit=9&offset=7" && (got.Problems[0].ID != "dead:mail/6" || got.Problems[6].ID != "dead:mail/0" || got.Problems[7].ID != "blocked:ws_13:conv:c_27") {
			t.Errorf("the newest do not come first: %s, %s, %s", got.Problems[0].ID, got.Problems[6].ID, got.Problems[7].ID)
		}
	}
	b.now.Add(48 * time.Hour.Milliseconds())
	if got := problemsOf(t, b, ""); got.Counts[problems.Blocked]+got.Counts[problems.NoReply] != 0 || got.Counts[problems.Dead] != 7 {
		t.Errorf("two days later: %v, want no conversations, which are archived", got.Counts)
	}
}

// blocked has an agent keep n blocked tasks, one a minute from minute 1 on.
func (b *testBundle) blocked(t testing.TB, n int) {
	t.Helper()
	var appends []eventstore.StreamAppend
	for i := range n {
		id := fmt.Sprintf("task_open%d", i)
		told := func(typ string, data any) eventstore.NewEvent {
			text, err := json.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			return eventstore.NewEvent{Type: typ, AgentID: "eden", Actor: eventstore.ActorAgent, Data: text}.WithTS(int64(at(float64(i) + 1)))
		}
		appends = append(appends, eventstore.StreamAppend{Stream: coordination.TaskStream(id), Events: []eventstore.NewEvent{
			told(coordination.TypeTaskStarted, coordination.TaskStarted{Context: ofTask(id, ""), Priority: "low", Description: "d"}),
			told(coordination.TypeTaskBlocked, coordination.TaskBlocked{Context: ofTask(id, ""), Reason: "r", UnblockedBy: []string{"seum"}})}})
	}
	if _, err := b.db.Append(t.Context(), appends...); err != nil {
		t.Fatal(err)
	}
}

// Blocked tasks are counted, and the newest listed, whichever kinds are asked for.
func TestBlockedTasksAreCountedAndTheNewestListed(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, limping)
	b.blocked(t, 30)
	for query, want := range map[string][]string{
		"?kind=task_blocked&limit=2": {"task_blocked:eden:task_open29", "task_blocked:eden:task_open28"},
		"?kind=overdue":              nil,
	} {
		got := problemsOf(t, b, query)
		var ids []string
		for _, p := range got.Problems {
			ids = append(ids, p.ID)
			if p.SinceMs == nil || p.Refs.Seq == 0 {
				t.Errorf("%s: no event of %s", query, p.ID)
			}
		}
		if !slices.Equal(ids, want) || got.Counts[problems.TaskBlocked] != 30 {
			t.Errorf("%s: %v of %d, want %v of 30", query, ids, got.Counts[problems.TaskBlocked], want)
		}
	}
}

// A task that only imported events tell of is a problem of its conversation. One that the tables have is told by them.
func TestBlockedTasksOfImportedEventsAreProblems(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, limping)
	b.blocked(t, 1)
	b.importing(t,
		event("task.blocked", "seum", 1, `"workSessionId":"ws_t","taskId":"task_old1","reason":"외부 API 키 대기"`),
		event("task.blocked", "eden", 1, `"workSessionId":"ws_t","taskId":"task_open0","reason":"오래된 말"`),
		event("task.blocked", "ruda", 1, `"workSessionId":"ws_t","taskId":"task_old2","reason":"검토 대기"`),
		event("task.resumed", "ruda", 2, `"workSessionId":"ws_t","taskId":"task_old2"`))
	b.now.Store(int64(at(15)))
	got := problemsOf(t, b, "?kind=task_blocked")
	said := map[string]string{}
	for _, p := range got.Problems {
		said[p.ID] = p.Reason + "|" + p.Refs.WorkSession + "|" + p.Refs.Task
	}
	want := map[string]string{"task_blocked:eden:task_open0": "r||task_open0", "task_blocked:seum:task_old1": "외부 API 키 대기|ws_t|"}
	if diff := cmp.Diff(want, said); diff != "" || got.Counts[problems.TaskBlocked] != 2 {
		t.Errorf("%d blocked tasks (-want +got):\n%s", got.Counts[problems.TaskBlocked], diff)
	}
}

// Where another gateway runs the agents only conversations, the files' tasks and the program's own state are known.
func TestProblemsOfAnotherGateway(t *testing.T) {
	t.Parallel()
	b, dir := withOwnTasks(t, limping, func(o *monitor.Options) { o.OwnTasks, o.Work = nil, nil })
	b.stuck(t)
	put(t, dir, "workspace-seum/tasks/task_f.md", "# Task: task_f\n\n## Metadata\n- **Status:** blocked\n- **Priority:** high\n\n## Description\n정산 배치\n")
	got := problemsOf(t, b, "?kind=task_blocked")
	if len(got.Problems) != 1 || got.Problems[0].ID != "task_blocked:seum:task_f" || got.Problems[0].Title != "정산 배치" {
		t.Errorf("blocked tasks: %+v", got.Problems)
	}
	want := []problems.Kind{problems.Dead, problems.Escalated, problems.Backoff, problems.StuckRun, problems.Overdue, problems.Suspended}
	if !slices.Equal(got.Unknown, want) {
		t.Errorf("unknown: %v, want %v", got.Unknown, want)
	}
}

// What has ended and was archived is no problem, however much of it there is.
func TestProblemsAreNotOfTheLongPast(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, limping)
	b.past(t, 1_000)
	b.stuck(t)
	if got := problemsOf(t, b, ""); got.Total != 14 {
		t.Errorf("%d problems, want the 14 of TestProblemsOfEveryKind: %+v", got.Total, got.Problems)
	}
	for id, s := range statesOf(t, b) {
		if s.Tokens.In != 0 || s.Queue.Dead != 0 && id != "eden" {
			t.Errorf("%s: %+v", id, s)
		}
	}
}
