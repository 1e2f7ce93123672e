package monitor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// team is a day of three work sessions: ws_old is finished and continued by ws_talk; ws_talk has two conversations and a task; ws_sub
// has a child run only.
func team(t *testing.T) *testBundle {
	b := setup(t)
	b.importing(t,
		event("a2a.send", "main", -2000, `"fromAgent":"main","toAgent":"ruda","message":"[Goal] 배포 서버 장애 점검","workSessionId":"ws_old","conversationId":"c0","eventRole":"conversation.main"`),
		event("a2a.complete", "main", -1990, `"fromAgent":"main","toAgent":"ruda","workSessionId":"ws_old","conversationId":"c0","eventRole":"conversation.main"`),
		event("a2a.send", "main", 0, `"fromAgent":"main","toAgent":"ruda","message":"배포 서버 **점검** 부탁","workSessionId":"ws_talk","previousWorkSessionId":"ws_old","conversationId":"c1","eventRole":"conversation.main"`),
		event("task.started", "ruda", 1, `"taskId":"task_1","workSessionId":"ws_talk","eventRole":"orchestration.task"`),
		event("a2a.response", "ruda", 2, `"fromAgent":"ruda","toAgent":"main","message":"인프라 배포 확인","workSessionId":"ws_talk","conversationId":"c1","eventRole":"conversation.main"`),
		event("a2a.spawn", "main", 3, `"fromAgent":"main","toAgent":"helper","message":"README 문서 가이드","collabCategory":"docs_knowledge","collabSubTags":["README"],"workSessionId":"ws_sub","runId":"r1","eventRole":"delegation.subagent"`),
		event("a2a.send", "ruda", 4, `"fromAgent":"ruda","toAgent":"eden","message":"서버 로그 확인","workSessionId":"ws_talk","conversationId":"c2","eventRole":"conversation.main"`),
		event("a2a.response", "eden", 5, `"fromAgent":"eden","toAgent":"ruda","message":"[outcome] no_reply: 응답을 받지 못했습니다 (대기 시간 초과)","outcome":"no_reply","workSessionId":"ws_talk","conversationId":"c2","eventRole":"conversation.main"`),
		event("task.completed", "ruda", 6, `"taskId":"task_1","workSessionId":"ws_talk","eventRole":"orchestration.task"`),
	)
	b.now.Store(int64(at(10)))
	return b
}

func TestSessionFilters(t *testing.T) {
	t.Parallel()
	b := team(t)
	for _, c := range []struct {
		query          string
		want           []string
		total, matched int64
	}{
		{"", []string{"ws_talk", "ws_sub", "ws_old"}, 3, 3},
		{"limit=1", []string{"ws_talk"}, 3, 3},
		{"role=conversation.main", []string{"ws_talk", "ws_old"}, 2, 2},
		{"role=delegation.subagent", []string{"ws_sub"}, 1, 1},
		{"role=conversation.main,delegation.subagent", []string{"ws_talk", "ws_sub", "ws_old"}, 3, 3},
		{"role=,delegation.subagent", []string{"ws_sub"}, 1, 1},
		{"role=conversation.main&type=a2a.response", []string{"ws_talk"}, 1, 1},
		{"type=a2a.complete,a2a.spawn", []string{"ws_sub", "ws_old"}, 2, 2},
		{"type=unheard.of", []string{}, 0, 0},
		{"status=ACTIVE", []string{"ws_talk", "ws_sub"}, 3, 2},
		{"status=ARCHIVED", []string{"ws_old"}, 3, 1},
		{"status=ARCHIVED,ACTIVE", []string{"ws_talk", "ws_sub", "ws_old"}, 3, 3},
		{"status=QUIET", []string{}, 3, 0},
		{"status=QUIET,ARCHIVED", []string{"ws_old"}, 3, 1},
		{"status=,ARCHIVED", []string{"ws_old"}, 3, 1},
		{"status=ACTIVE&role=conversation.main", []string{"ws_talk"}, 2, 1},
		{"viewCategory=infra_ops", []string{"ws_talk", "ws_old"}, 3, 2},
		{"viewCategory=docs_knowledge", []string{"ws_sub"}, 3, 1},
		{"viewCategory=infra_ops,docs_knowledge&status=ACTIVE", []string{"ws_talk", "ws_sub"}, 3, 2},
		{"viewCategory=all", []string{"ws_talk", "ws_sub", "ws_old"}, 3, 3},
		{"viewCategory=growth_marketing", []string{}, 3, 0},
		{"viewCategory=infra_ops&role=delegation.subagent", []string{}, 1, 0},
		{"since=2026-02-20T12:05:00Z", []string{"ws_talk"}, 3, 1},
		{fmt.Sprintf("since=%.0f", at(3)), []string{"ws_talk", "ws_sub"}, 3, 2},
		{"until=2026-02-20T12:03:00Z", []string{"ws_sub", "ws_old"}, 3, 2},
		{"since=2026-02-20T12:00:00Z&until=2026-02-20T12:03:00Z", []string{"ws_sub"}, 3, 1},
		{"since=2026-02-20T12:06:00Z&role=conversation.main", []string{}, 2, 0},
		{"subTag=README", []string{"ws_sub"}, 3, 1},
		{"subTag=readme", []string{"ws_sub"}, 3, 1},
		{"subTag=read", []string{}, 3, 0},
		{"subTag=%EB%B0%B0%ED%8F%AC&role=conversation.main", []string{"ws_talk", "ws_old"}, 2, 2},
	} {
		for _, include := range []string{"", "&include=summary"} {
			page := get[sessionPage](t, b, "/api/work-sessions?"+c.query+include, http.StatusOK)
			if diff := cmp.Diff(c.want, page.names()); diff != "" {
				t.Errorf("%s: sessions (-want +got)\n%s", c.query+include, diff)
			}
			if page.TotalSessions != c.total || page.TotalMatched != c.matched || page.Count != len(page.Sessions) {
				t.Errorf("%s: totalSessions %d, totalMatched %d, count %d; want %d, %d, %d", c.query, page.TotalSessions,
					page.TotalMatched, page.Count, c.total, c.matched, len(c.want))
			}
		}
	}
}

func TestSessionsEchoAndBadges(t *testing.T) {
	t.Parallel()
	b := team(t)
	page := get[sessionPage](t, b, "/api/work-sessions?role=,conversation.main&status=,ACTIVE&type=a2a.send&viewCategory=docs_knowledge&subTag=%20", http.StatusOK)
	if diff := cmp.Diff(map[string]int64{"infra_ops": 1}, page.CategoryCounts); diff != "" {
		t.Errorf("categoryCounts (-want +got)\n%s", diff)
	}
	got := []any{page.Role, page.Status, page.Type, *page.ViewCategory, page.SubTag}
	if diff := cmp.Diff([]any{[]string{"conversation.main"}, []string{"ACTIVE"}, []string{"a2a.send"}, "docs_knowledge", (*string)(nil)}, got); diff != "" {
		t.Errorf("echo (-want +got)\n%s", diff)
	}
	_, body := b.ask(t, http.MethodGet, "/api/work-sessions?type=unheard.of")
	for _, want := range []string{`"sessions":[]`, `"role":[]`, `"status":[]`, `"viewCategory":null`, `"subTag":null`, `"categoryCounts":{}`, `"nextCursor":null`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}

// What is listed describes what was asked for, as the original does; status, categories and totals describe the whole session.
func TestFilteredSessionKeepsTheWhole(t *testing.T) {
	t.Parallel()
	b := team(t)
	page := get[sessionPage](t, b, "/api/work-sessions?role=conversation.main&type=a2a.response", http.StatusOK)
	s := page.Sessions[0]
	listed := extent{StartTime: at(2), LastTime: at(5), DurationMs: 180_000, ThreadCount: 2, EventCount: 2}
	if diff := cmp.Diff(listed, s.extent); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
	whole := extent{StartTime: at(0), LastTime: at(6), DurationMs: 360_000, ThreadCount: 3, EventCount: 6}
	if diff := cmp.Diff(whole, s.Totals); diff != "" {
		t.Errorf("totals (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"conversation.main": 4, "delegation.subagent": 0, "orchestration.task": 2, "system.observability": 0}, s.RoleCounts); diff != "" {
		t.Errorf("roleCounts (-want +got)\n%s", diff)
	}
	// The agents are those of the first listed event: the one who answered.
	first := s.Threads[1]
	if first.ID != "conv:c1" || first.ConversationID != "c1" || first.FromAgent != "ruda" || first.ToAgent != "main" || first.EventCount != 1 || first.StartTime != at(2) {
		t.Errorf("thread is %+v", first)
	}
	summary := get[sessionPage](t, b, "/api/work-sessions?role=conversation.main&type=a2a.response&include=summary", http.StatusOK).Sessions[0]
	for i := range summary.Threads {
		if summary.Threads[i].Events != nil {
			t.Errorf("a summary has events")
		}
		s.Threads[i].Events, s.Threads[i].DisplayText, summary.Threads[i].DisplayText = nil, "", ""
	}
	if diff := cmp.Diff(s, summary, cmp.AllowUnexported(workSession{})); diff != "" {
		t.Errorf("a summary says something else (-events +summary)\n%s", diff)
	}
}

func TestSessionIsReadable(t *testing.T) {
	t.Parallel()
	b := team(t)
	s := get[detail](t, b, "/api/work-sessions/ws_talk", http.StatusOK).Session
	if s.ID != "ws:ws_talk" || s.CategorySource != "event" || s.CollabCategory != "infra_ops" || s.CategoryLabel != "인프라/운영" {
		t.Errorf("id %s, category %s (%s), source %s", s.ID, s.CollabCategory, s.CategoryLabel, s.CategorySource)
	}
	if s.Title != "배포 서버 점검 부탁" || s.Outcome != "no_reply" || s.BlockedReason == nil || *s.BlockedReason != "대기 시간 초과" || s.Summary != *s.BlockedReason {
		t.Errorf("title %q, outcome %s, blockedReason %v, summary %q", s.Title, s.Outcome, s.BlockedReason, s.Summary)
	}
	if s.LastMessage == nil || s.LastMessage.From != "eden" || *s.LastMessage.To != "ruda" || s.LastMessage.Text != "응답을 받지 못했습니다 (대기 시간 초과)" || s.LastMessage.Seq != 8 {
		t.Errorf("lastMessage %+v", s.LastMessage)
	}
	var agents []string
	for _, p := range s.Participants {
		agents = append(agents, p.Agent)
	}
	if diff := cmp.Diff([]string{"main", "ruda", "eden"}, agents); diff != "" {
		t.Errorf("participants (-want +got)\n%s", diff)
	}
	if s.PreviousWorkSessionID == nil || *s.PreviousWorkSessionID != "ws_old" || s.NextWorkSessionID != nil {
		t.Errorf("previous %v, next %v", s.PreviousWorkSessionID, s.NextWorkSessionID)
	}
	if old := get[detail](t, b, "/api/work-sessions/ws_old", http.StatusOK).Session; old.NextWorkSessionID == nil || *old.NextWorkSessionID != "ws_talk" ||
		old.Outcome != "done" || old.BlockedReason != nil || old.Title != "배포 서버 장애 점검" {
		t.Errorf("ws_old: next %v, outcome %s, title %q", old.NextWorkSessionID, old.Outcome, old.Title)
	}
	// The thread that moved last comes first; the one of a task has no conversation and no outcome.
	type row struct {
		ID, From, To, Outcome, Text string
		Open                        bool
		Events                      []int64
	}
	var got []row
	for _, th := range s.Threads {
		r := row{ID: th.ID, From: th.FromAgent, To: th.ToAgent, Open: th.Open, Text: th.DisplayText}
		if th.Outcome != nil {
			r.Outcome = *th.Outcome
		}
		for _, e := range th.Events {
			r.Events = append(r.Events, e.Seq)
		}
		got = append(got, r)
	}
	want := []row{
		{"pair:ruda_unknown", "ruda", "unknown", "", "", false, []int64{4, 9}},
		{"conv:c2", "ruda", "eden", "no_reply", "대기 시간 초과", true, []int64{7, 8}},
		{"conv:c1", "main", "ruda", "active", "인프라 배포 확인", true, []int64{3, 5}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("threads (-want +got)\n%s", diff)
	}
}

func TestOneSession(t *testing.T) {
	t.Parallel()
	b := team(t)
	path := "/api/work-sessions/ws_talk"
	for _, c := range []struct {
		query  string
		role   *string
		events int64
	}{
		{"", nil, 6},
		{"?role=conversation.main", ptr("conversation.main"), 4},
		{"?role=orchestration.task,conversation.main", ptr("orchestration.task,conversation.main"), 6},
		{"?type=a2a.send", nil, 2},
		{"?type=a2a.send,task.started", nil, 3},
	} {
		d := get[detail](t, b, path+c.query, http.StatusOK)
		if diff := cmp.Diff(c.role, d.Role); diff != "" || d.Session.EventCount != c.events {
			t.Errorf("%s: %d events, want %d; role (-want +got)\n%s", c.query, d.Session.EventCount, c.events, diff)
		}
	}
	for _, path := range []string{"/api/work-sessions/ws_talk?type=unheard.of", "/api/work-sessions/ws_talk?role=delegation.subagent"} {
		if r := get[refusal](t, b, path, http.StatusNotFound); r.Error != "Work session not found: ws_talk" {
			t.Errorf("%s: %q", path, r.Error)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestOwnBookKeepingIsHiddenUnlessAskedFor(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.appending(t, "run.started", `{"runId":"r","workSessionId":"ws_internal","eventRole":"system.observability"}`)
	b.appending(t, "run.ended", `{"runId":"r","workSessionId":"ws_sub","eventRole":"system.observability"}`)
	page := get[sessionPage](t, b, "/api/work-sessions", http.StatusOK)
	if diff := cmp.Diff([]string{"ws_talk", "ws_sub", "ws_old"}, page.names()); diff != "" || page.TotalSessions != 3 || page.Sessions[1].EventCount != 1 {
		t.Errorf("without scope: %d sessions (-want +got)\n%s", page.TotalSessions, diff)
	}
	get[refusal](t, b, "/api/work-sessions/ws_internal", http.StatusNotFound)
	page = get[sessionPage](t, b, "/api/work-sessions?scope=all", http.StatusOK)
	less := func(a, b string) bool { return a < b }
	if diff := cmp.Diff([]string{"ws_internal", "ws_old", "ws_sub", "ws_talk"}, page.names(), cmpopts.SortSlices(less)); diff != "" || page.TotalSessions != 4 {
		t.Errorf("scope=all: %d sessions (-want +got)\n%s", page.TotalSessions, diff)
	}
	// Imported events show whatever they are called.
	b.importing(t, event("run.queued", "main", 9, `"workSessionId":"ws_imported"`))
	if page := get[sessionPage](t, b, "/api/work-sessions?type=run.queued", http.StatusOK); page.Count != 1 {
		t.Errorf("an imported event of an internal family is hidden")
	}
}
