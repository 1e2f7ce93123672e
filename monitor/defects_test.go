package monitor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

// The seven defects of Task-Hub's conversations page (seed 000, section 13.2) come from what it is given. Each test shows, on lines as the
// original gateway writes them, that the answers hold what a page without the defect needs.

const (
	defectsConfig = `{"agents":[{"id":"ruda","name":"루다"},{"id":"eden","name":"이든"},{"id":"seum","name":"세움"}],"mentions":{"1001":"이든"},"hash":"h","source":"openclaw.json"}`
	betweenMains  = `"eventRole":"conversation.main","fromSessionType":"main","toSessionType":"main"`
)

// talk is a line of a conversation between main agents.
func talk(typ, from, to, session, conversation string, minute float64, data string) string {
	return event(typ, from, minute, fmt.Sprintf(`"fromAgent":%q,"toAgent":%q,"workSessionId":%q,"conversationId":%q,%s,%s`,
		from, to, session, conversation, betweenMains, data))
}

// defects serves lines to a page that knows its team.
func defects(t *testing.T, lines ...string) *testBundle {
	t.Helper()
	b := setup(t)
	b.appending(t, "config.applied", defectsConfig)
	b.importing(t, lines...)
	return b
}

// shown is everything of a work session and its threads that is meant to be read by people.
func shown(t *testing.T, b *testBundle, id string) (detail, []string) {
	t.Helper()
	d := get[detail](t, b, "/api/work-sessions/"+id, http.StatusOK)
	s := &d.Session
	texts := []string{s.Title, s.Summary}
	if s.BlockedReason != nil {
		texts = append(texts, *s.BlockedReason)
	}
	if s.LastMessage != nil {
		texts = append(texts, s.LastMessage.Text)
	}
	for _, thread := range s.Threads {
		texts = append(texts, thread.DisplayText)
		if thread.Reason != nil {
			texts = append(texts, *thread.Reason)
		}
	}
	for _, e := range get[eventPage](t, b, "/api/events?limit=100", http.StatusOK).Events {
		texts = append(texts, e.DisplayText, e.Reason)
	}
	return d, texts
}

func wantNone(t *testing.T, texts []string, barred ...string) {
	t.Helper()
	for _, text := range texts {
		for _, bad := range barred {
			if strings.Contains(text, bad) {
				t.Errorf("%q holds %q", text, bad)
			}
		}
	}
}

// 1: the raw text "[outcome] blocked: ..." as a chat bubble and in the list.
func TestDefect13_2_1_OutcomesAreStatedNotQuoted(t *testing.T) {
	t.Parallel()
	b := defects(t,
		talk("a2a.send", "ruda", "eden", "ws_1", "c1", 0, `"message":"배포 상태를 확인해 주세요"`),
		talk("a2a.response", "ruda", "eden", "ws_1", "c1", 5, `"message":"[outcome] blocked: 응답을 받지 못했습니다 (대기 시간 300초 초과)","replyPreview":"[outcome] blocked: 응답을 받지 못했습니다","outcome":"blocked","waitStatus":"timeout"`),
		talk("a2a.send", "ruda", "seum", "ws_1", "c2", 6, `"message":"테스트를 돌려 주세요"`),
		talk("a2a.response", "ruda", "seum", "ws_1", "c2", 7, `"message":"[outcome] no_reply: 응답을 받지 못했습니다 (LLM request rejected)","outcome":"no_reply","waitError":"LLM request rejected"`),
	)
	d, texts := shown(t, b, "ws_1")
	wantNone(t, texts, "[outcome]", "blocked:", "no_reply:")
	outcomes, codes := map[string]string{}, map[string]string{}
	for _, thread := range d.Session.Threads {
		if thread.Outcome == nil || thread.Reason == nil {
			t.Fatalf("thread %s has no outcome or no reason", thread.ID)
		}
		outcomes[thread.ConversationID] = *thread.Outcome + ": " + *thread.Reason
		codes[thread.ConversationID] = thread.ReasonCode
	}
	if outcomes["c1"] != "blocked: 대기 시간 300초 초과" || outcomes["c2"] != "no_reply: LLM request rejected" {
		t.Errorf("outcomes %q", outcomes)
	}
	if codes["c1"] != "wait_timeout" || codes["c2"] != "model_rejected" || d.Session.ReasonCode != "wait_timeout" {
		t.Errorf("codes %q, of the session %q", codes, d.Session.ReasonCode)
	}
	status := get[struct{ Trouble []struct{ ReasonCode string } }](t, b, "/api/status", http.StatusOK)
	if len(status.Trouble) != 2 || status.Trouble[0].ReasonCode != "model_rejected" || status.Trouble[1].ReasonCode != "wait_timeout" {
		t.Errorf("trouble %+v", status.Trouble)
	}
	traced := get[struct {
		Trace struct {
			Roots []struct{ ID, ReasonCode string }
		}
	}](t, b, "/api/trace/ws_1", http.StatusOK)
	for _, root := range traced.Trace.Roots {
		if root.ReasonCode != codes[root.ID] {
			t.Errorf("trace of %s: %q", root.ID, root.ReasonCode)
		}
	}
	if len(traced.Trace.Roots) != 2 {
		t.Errorf("trace %+v", traced)
	}
	states := map[string]string{}
	for _, e := range get[eventPage](t, b, "/api/events", http.StatusOK).Events {
		if e.State != "" {
			states[e.Data["conversationId"].(string)] = e.State + ": " + e.Reason
			if e.ReasonCode != codes[e.Data["conversationId"].(string)] {
				t.Errorf("code of event %d: %q", e.Seq, e.ReasonCode)
			}
		}
	}
	if states["c1"] != outcomes["c1"] || states["c2"] != outcomes["c2"] || len(states) != 2 {
		t.Errorf("states of events %q", states)
	}
}

// 2: a raw task id as the title of a session.
func TestDefect13_2_2_TitlesAreWordsNotIDs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lines, title string }{
		"label":              {talk("a2a.spawn", "eden", "worker-quick", "ws", "c", 0, `"label":"login-fix","message":"task_ab12cd34"`), "login fix"},
		"label that is none": {talk("a2a.send", "eden", "seum", "ws", "c", 0, `"label":"task_ab12cd34","message":"[Goal] 로그인을 고친다 [Context] 급함"`), "로그인을 고친다"},
		"id before words":    {talk("a2a.send", "eden", "seum", "ws", "c", 0, `"message":"task_ab12cd34: 로그인을 고쳐 주세요"`), "로그인을 고쳐 주세요"},
		"only an id":         {talk("a2a.send", "eden", "seum", "ws", "c", 0, `"message":"task_ab12cd34"`), "협업 작업"},
		"nothing":            {event("task.started", "eden", 0, `"taskId":"task_ab12cd34","workSessionId":"ws","priority":"high","requiresApproval":false`), "협업 작업"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := shown(t, defects(t, c.lines), "ws")
			if d.Session.Title != c.title {
				t.Errorf("title %q, want %q", d.Session.Title, c.title)
			}
		})
	}
}

// 2, on: a text that names a task shows the title of the task, and neither title, summary nor last message is a prompt.
func TestDefect13_2_2_TasksAreTitledAndPromptsAreNotSaid(t *testing.T) {
	t.Parallel()
	b := defects(t, talk("a2a.send", "eden", "seum", "ws_1", "c1", 0, `"message":"[ESCALATION] Agent eden waits for task_ab12cd34"`))
	b.tasked(t, "eden", "task_ab12cd34", coordination.TypeTaskStarted, 0, coordination.TaskStarted{Context: ofTask("task_ab12cd34", "ws_2"), Priority: "low",
		Description: "외부 API 연동\n자세히"})
	b.importing(t,
		talk("a2a.response", "eden", "seum", "ws_1", "c1", 1, `"message":"작업 task_ab12cd34을(를) 다시 하실 수 있습니다."`),
		talk("a2a.send", "eden", "seum", "ws_1", "c1", 2, `"message":"[Continue] Your task task_ab12cd34 is not finished."`),
		event("continuation.sent", "eden", 3, `"workSessionId":"ws_1","message":"Go on with task_ab12cd34"`),
	)
	d, texts := shown(t, b, "ws_1")
	wantNone(t, texts, "task_", "[ESCALATION]", "[Continue]")
	if s := d.Session; s.Title != "작업을 다시 하실 수 있습니다." || s.LastMessage == nil || s.LastMessage.Text != "작업을 다시 하실 수 있습니다." || s.Summary != s.LastMessage.Text {
		t.Errorf("title %q, summary %q, last message %+v", s.Title, s.Summary, s.LastMessage)
	}
	for _, e := range get[eventPage](t, b, "/api/events?type=a2a.response", http.StatusOK).Events {
		want := `[{"text":"작업 "},{"ref":{"kind":"task","id":"task_ab12cd34","title":"외부 API 연동"}},{"text":"을 다시 하실 수 있습니다."}]`
		if string(e.DisplayParts) != want {
			t.Errorf("parts %s, want %s", e.DisplayParts, want)
		}
	}
}

// 3: <@mention_id> as it is written to Discord.
func TestDefect13_2_3_MentionsAreNames(t *testing.T) {
	t.Parallel()
	b := defects(t,
		talk("a2a.send", "ruda", "eden", "ws_1", "c1", 0, `"message":"<@1001> 과 <@!1001>, <@99998888> 확인 부탁합니다"`),
		talk("a2a.response", "ruda", "eden", "ws_1", "c1", 1, `"message":"[outcome] blocked: 응답을 받지 못했습니다 (<@1001> 세션 없음)","outcome":"blocked"`),
	)
	d, texts := shown(t, b, "ws_1")
	wantNone(t, texts, "<@", "99998888")
	if s := d.Session; s.BlockedReason == nil || *s.BlockedReason != "@이든 세션 없음" {
		t.Errorf("reason %v", s.BlockedReason)
	}
	first := get[eventPage](t, b, "/api/events?type=a2a.send", http.StatusOK).Events[0]
	if first.DisplayText != "@이든 과 @이든, @…8888 확인 부탁합니다" {
		t.Errorf("text %q", first.DisplayText)
	}
	if !strings.Contains(first.Data["message"].(string), "<@1001>") {
		t.Error("the message itself was changed")
	}
	want := `[{"mention":{"userId":"1001","agentId":"eden","name":"이든"}},{"text":" 과 "},{"mention":{"userId":"1001","agentId":"eden","name":"이든"}},` +
		`{"text":", "},{"mention":{"userId":"99998888"}},{"text":" 확인 부탁합니다"}]`
	if string(first.DisplayParts) != want {
		t.Errorf("parts %s, want %s", first.DisplayParts, want)
	}
}

// 4: Markdown that is shown as it is written.
func TestDefect13_2_4_PreviewsHaveNoMarkdownAndMessagesKeepIt(t *testing.T) {
	t.Parallel()
	const message = "## ✅ 완료\n\n1. **배포** 끝\n2. `make test` 통과\n\n[기록](https://example.com/a)"
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	b := defects(t, talk("a2a.send", "ruda", "eden", "ws_1", "c1", 0, `"message":"**배포** 해 `+"`주세요`"+`"`),
		talk("a2a.response", "eden", "ruda", "ws_1", "c1", 1, `"message":`+string(text)))
	d, _ := shown(t, b, "ws_1")
	s := d.Session
	wantNone(t, []string{s.Title, s.Summary, s.LastMessage.Text, s.Threads[0].DisplayText}, "**", "##", "`", "](", "\n")
	if s.Title != "배포 해 주세요" || s.LastMessage.Text != "✅ 완료 배포 끝 make test 통과 기록" {
		t.Errorf("title %q, last message %q", s.Title, s.LastMessage.Text)
	}
	// The bubble renders it: the page has to get all of it, line breaks included.
	if last := get[eventPage](t, b, "/api/events?type=a2a.response", http.StatusOK).Events[0]; last.DisplayText != message {
		t.Errorf("message to render %q", last.DisplayText)
	}
}

// 5: no badge says how a conversation stands, and blocked ones look active.
func TestDefect13_2_5_EveryConversationSaysHowItStands(t *testing.T) {
	t.Parallel()
	b := defects(t,
		talk("a2a.send", "ruda", "eden", "ws_active", "c1", -2, `"message":"하나"`),
		talk("a2a.response", "eden", "ruda", "ws_active", "c1", -1, `"message":"진행 중입니다","turn":1,"maxTurns":5`),
		talk("a2a.send", "ruda", "eden", "ws_waiting", "c2", -2, `"message":"둘"`),
		talk("a2a.send", "ruda", "eden", "ws_blocked", "c3", -3, `"message":"셋"`),
		talk("a2a.response", "ruda", "eden", "ws_blocked", "c3", -2, `"message":"[outcome] blocked: 응답을 받지 못했습니다","outcome":"blocked"`),
		talk("a2a.complete", "ruda", "eden", "ws_blocked", "c3", -1, `"announced":false`),
		talk("a2a.send", "ruda", "eden", "ws_done", "c4", -3, `"message":"넷"`),
		talk("a2a.response", "eden", "ruda", "ws_done", "c4", -2, `"message":"끝났습니다"`),
		talk("a2a.complete", "ruda", "eden", "ws_done", "c4", -1, `"announced":true`),
		talk("a2a.send", "ruda", "eden", "ws_old", "c5", -3000, `"message":"다섯"`),
	)
	for id, want := range map[string]struct {
		status, outcome string
		open            bool
	}{
		"ws_active": {"ACTIVE", "active", true}, "ws_waiting": {"ACTIVE", "waiting", true}, "ws_blocked": {"QUIET", "blocked", false},
		"ws_done": {"QUIET", "done", false}, "ws_old": {"ARCHIVED", "waiting", true},
	} {
		d, _ := shown(t, b, id)
		thread := d.Session.Threads[0]
		if d.Session.Status != want.status || d.Session.Outcome != want.outcome || thread.Outcome == nil || *thread.Outcome != want.outcome || thread.Open != want.open {
			t.Errorf("%s: %s, %s; its thread %v, open %v; want %+v", id, d.Session.Status, d.Session.Outcome, *thread.Outcome, thread.Open, want)
		}
	}
	// The badges of the list are filters.
	if names := get[sessionPage](t, b, "/api/work-sessions?status=QUIET", http.StatusOK).names(); len(names) != 2 {
		t.Errorf("quiet sessions %q", names)
	}
}

// 6: neither search nor filters.
func TestDefect13_2_6_ConversationsAreFoundFilteredAndCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, withSearch(t))
	b.importing(t,
		talk("a2a.send", "ruda", "eden", "ws_deploy", "c1", 0, `"message":"배포 서버 장애를 복구해 주세요"`),
		talk("a2a.send", "ruda", "seum", "ws_docs", "c2", 1, `"message":"사용자 가이드 문서를 정리해 주세요"`),
		event("task.started", "eden", 2, `"taskId":"task_ab12","workSessionId":"ws_docs"`),
	)
	for query, want := range map[string]string{
		"?role=conversation.main":                               "ws_docs ws_deploy",
		"?viewCategory=infra_ops":                               "ws_deploy",
		"?viewCategory=docs_knowledge":                          "ws_docs",
		"?type=task.started":                                    "ws_docs",
		"?status=ARCHIVED":                                      "",
		"?since=2026-02-20T12:00:30Z":                           "ws_docs",
		"?until=2026-02-20T12:00:30Z&viewCategory=biz_strategy": "",
	} {
		page := get[sessionPage](t, b, "/api/work-sessions"+query, http.StatusOK)
		if names := strings.Join(page.names(), " "); names != want {
			t.Errorf("%s: %s, want %s", query, names, want)
		}
	}
	// Words are found with the particles that stand behind them, and without what Korean leaves off.
	for word, want := range map[string]string{"배포": "ws_deploy", "장애": "ws_deploy", "문서": "ws_docs", "결제": ""} {
		page := get[foundPage](t, b, "/api/work-sessions/search?min_seq=3&q="+url.QueryEscape(word), http.StatusOK)
		var names []string
		for _, s := range page.Sessions {
			names = append(names, s.WorkSessionID)
		}
		if got := strings.Join(names, " "); got != want || page.Error != "" {
			t.Errorf("%s is found in %q, want %q (%s)", word, got, want, page.Error)
		}
	}
	// The badges go on counting what a chosen category hides.
	if page := get[sessionPage](t, b, "/api/work-sessions?viewCategory=infra_ops", http.StatusOK); page.CategoryCounts["docs_knowledge"] != 1 {
		t.Errorf("counts %v", page.CategoryCounts)
	}
}

// 7: bubbles without sender and time.
func TestDefect13_2_7_EveryMessageHasSenderAndTime(t *testing.T) {
	t.Parallel()
	b := defects(t,
		talk("a2a.send", "ruda", "eden", "ws_1", "c1", 0, `"message":"하나"`),
		event("a2a.auto_route", "", 1, `"senderAgentId":"eden","targetAgentId":"seum","channelId":"1","message":"둘","conversationId":"c2"`),
		event("a2a.response", "worker-quick", 2, `"replyPreview":"셋","runId":"r1","workSessionId":"ws_1"`),
		fmt.Sprintf(`{"type":"a2a.response","agentId":"seum","timestampMs":%.0f,"data":{"message":"넷"}}`, at(3)),
		fmt.Sprintf(`{"type":"a2a.response","agentId":"seum","ts":"%.0f","data":{"message":"다섯"}}`, at(4)),
		`{"type":"a2a.response","agentId":"seum","timestamp":"2026-02-20T12:05:00Z","data":{"message":"여섯"}}`,
		`{"type":"a2a.response","data":{"message":"일곱"}}`,
	)
	want := []string{"ruda eden", "eden seum", "worker-quick ", "seum ", "seum ", "seum ", "unknown "}
	for i, e := range get[eventPage](t, b, "/api/events", http.StatusOK).Events {
		if got := e.From + " " + e.To; got != want[i] {
			t.Errorf("message %d is from and to %q, want %q", i+1, got, want[i])
		}
		if (e.TimeSource == "") != (i < 6) || i < 6 && e.Time != at(float64(i)) || e.Time < at(0) {
			t.Errorf("message %d is of %.0f (%s)", i+1, e.Time, e.TimeSource)
		}
	}
	d, _ := shown(t, b, "ws_1")
	if m := d.Session.LastMessage; m == nil || m.From != "worker-quick" || m.Time != at(2) {
		t.Errorf("last message %+v", m)
	}
}
