package monitor_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

// ownPrompts are texts of our own book-keeping: what runs are asked.
var ownPrompts = []string{
	"[Approved] Your task task_8258f0a1b2c3d4e5f607 was approved by ruda. It is in progress now: begin with it.",
	"A subagent has finished: 조사\nStatus: completed successfully\nSession: agent:eden:subagent:0d0f8a1e-1111-4222-8333-444455556666 (run 1)\n\nFindings:\n끝",
	"[seum]: 이어서 볼게요",
	"[Continue] Your task task_8258f0a1b2c3d4e5f607 is not finished. Go on with its next step now.",
}

func queued(text, more string) [2]string {
	quoted, _ := json.Marshal(text)
	return [2]string{"run.queued", `{"runId":"r","sessionKey":"agent:eden:main","lane":"main","cause":"x","workSessionId":"ws_1","message":` + string(quoted) + more + `}`}
}

// Title, summary, last message and display texts are what was said, not internal prompts or markers.
func TestPeopleReadWhatWasSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const of = `"workSessionId":"ws_1","eventRole":"conversation.main","fromSessionType":"main","toSessionType":"main","conversationId":"c1"`
	b.tell(t, "conversation/c1", "eden",
		[2]string{"a2a.send", `{"fromAgent":"eden","toAgent":"seum","message":"<@1465892> 님, [NO_REPLY_NEEDED] task_8258f0a1b2c3d4e5f607의 배포를 확인해 주세요",` + of + `}`},
		[2]string{"a2a.response", `{"fromAgent":"seum","toAgent":"eden","message":"작업 task_bb22을(를) 끝냈습니다 (task_bb22)","replyPreview":"",` + of + `}`})
	for _, text := range ownPrompts {
		b.tell(t, "run/r", "eden", queued(text, ""))
	}
	b.tell(t, "conversation/c2", "eden",
		[2]string{"a2a.job.created", `{"jobId":"j","kind":"send","fromAgent":"eden","toAgent":"seum","message":"[ESCALATION] Agent eden still waits for you","workSessionId":"ws_1","conversationId":"c2","eventRole":"orchestration.task"}`},
		[2]string{"a2a.send", `{"fromAgent":"eden","toAgent":"seum","message":"[ESCALATION] Agent eden still waits for you","origin":"unblock",` + strings.Replace(of, "c1", "c2", 1) + `}`},
		[2]string{"a2a.response", `{"fromAgent":"seum","toAgent":"eden","message":"[completed]","replyPreview":"[completed]",` + strings.Replace(of, "c1", "c2", 1) + `}`})

	for _, path := range []string{"/api/work-sessions/ws_1", "/api/work-sessions/ws_1?scope=all"} {
		s := get[detail](t, b, path, http.StatusOK).Session
		if s.Title != "작업의 배포를 확인해 주세요" || s.Summary != "작업을 끝냈습니다" || s.LastMessage == nil || s.LastMessage.Text != s.Summary || s.LastMessage.Type != "a2a.response" {
			t.Errorf("%s: title %q, summary %q, last message %+v", path, s.Title, s.Summary, s.LastMessage)
		}
		for _, thread := range s.Threads {
			if thread.ConversationID == "c2" && thread.DisplayText != "" {
				t.Errorf("%s: no one has said %q", path, thread.DisplayText)
			}
		}
	}
	var texts []string
	for _, e := range get[eventPage](t, b, "/api/events?scope=all&limit=100", http.StatusOK).Events {
		texts = append(texts, e.DisplayText, e.Reason)
		if e.Type == "a2a.send" && e.Data["conversationId"] == "c1" && !strings.Contains(e.Data["message"].(string), "task_8258") {
			t.Errorf("the data of an event is not as it is stored: %v", e.Data)
		}
	}
	wantNone(t, texts, "[Approved]", "[Continue]", "[ESCALATION]", "A subagent", "[seum]", "NO_REPLY", "task_", "agent:", "[completed]")
	if !slices.Contains(texts, "작업을 끝냈습니다") {
		t.Errorf("texts are %q", texts)
	}
}

// A session of a task that goes on is titled by it, also where the log knows of the task by its file alone.
func TestResumedTaskTitlesItsSession(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.tasked(t, "eden", "task_a1", coordination.TypeTaskStarted, 0, coordination.TaskStarted{Context: ofTask("task_a1", "ws_old"), Priority: "high",
		Description: "**결제** 흐름을 고친다\n둘째 줄", Progress: "Task started"})
	resumed := ofTask("task_a1", "ws_new")
	resumed.PreviousWorkSessionID = "ws_old"
	b.tasked(t, "eden", "task_a1", coordination.TypeTaskResumed, 1, coordination.TaskState{Context: resumed, Progress: "Task resumed"})
	b.tell(t, "run/r", "eden", [2]string{"run.queued", `{"runId":"r","sessionKey":"agent:eden:main","lane":"main","cause":"continuation","workSessionId":"ws_new","taskId":"task_a1","message":"[Continue] Your task task_a1 is not finished."}`})
	s := get[detail](t, b, "/api/work-sessions/ws_new", http.StatusOK).Session
	if s.Title != "결제 흐름을 고친다" || s.Summary != s.Title || s.LastMessage != nil {
		t.Errorf("title %q, summary %q, last message %+v", s.Title, s.Summary, s.LastMessage)
	}
	b.tell(t, coordination.FileStream("workspace-eden/tasks/task_f1.md"), "eden", [2]string{coordination.TypeFileImported,
		`{"path":"workspace-eden/tasks/task_f1.md","taskId":"task_f1","bytes":9,"sha256":"x","text":"# Task: task_f1\n\n## Metadata\n- **Status:** blocked\n- **Priority:** high\n\n## Description\n외부 API 연동\n"}`})
	b.tasked(t, "eden", "task_f1", coordination.TypeTaskResumed, 2, coordination.TaskState{Context: ofTask("task_f1", "ws_file"), Progress: "Task resumed"})
	if s := get[detail](t, b, "/api/work-sessions/ws_file", http.StatusOK).Session; s.Title != "외부 API 연동" {
		t.Errorf("of a file: title %q", s.Title)
	}
}

// A code is not shown as a reason; if there is no reason, that is said.
func TestBlockedReasonIsNeverEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	of := func(id string) string {
		return `"workSessionId":"ws_` + id + `","conversationId":"` + id + `","eventRole":"conversation.main"`
	}
	b.tell(t, "conversation/a", "seum", [2]string{"a2a.response", `{"fromAgent":"seum","toAgent":"eden","message":"[outcome] blocked: 응답을 받지 못했습니다","outcome":"no_reply","waitStatus":"empty",` + of("a") + `}`})
	b.tell(t, "conversation/b", "seum", [2]string{"a2a.response", `{"fromAgent":"seum","toAgent":"eden","outcome":"no_reply",` + of("b") + `}`})
	b.tell(t, "task/t", "seum", [2]string{"task.blocked", `{"taskId":"t","reason":"","unblockedBy":[],"workSessionId":"ws_c","eventRole":"orchestration.task"}`})
	for id, want := range map[string]string{"a": "빈 응답", "b": "응답을 받지 못했습니다", "c": "메시지가 전달되지 않았습니다"} {
		s := get[detail](t, b, "/api/work-sessions/ws_"+id, http.StatusOK).Session
		if s.BlockedReason == nil || *s.BlockedReason != want || s.Summary != want {
			t.Errorf("%s: %v, summary %q, want %q", id, s.BlockedReason, s.Summary, want)
		}
	}
}

// roleCounts are of the events that are listed where no role and no type is asked for, whatever is.
func TestRoleCountsAreOfWhatIsListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tell(t, "conversation/c1", "eden",
		[2]string{"a2a.send", `{"fromAgent":"eden","toAgent":"seum","message":"x","workSessionId":"ws_1","eventRole":"conversation.main"}`},
		[2]string{"a2a.job.created", `{"jobId":"j","kind":"send","fromAgent":"eden","toAgent":"seum","message":"x","workSessionId":"ws_1","eventRole":"orchestration.task"}`},
		[2]string{"run.queued", `{"runId":"r","message":"x","workSessionId":"ws_1","eventRole":"system.observability"}`},
		[2]string{"session.message", `{"workSessionId":"ws_1","eventRole":"system.observability"}`})
	for query, want := range map[string][3]int64{"": {1, 1, 0}, "?role=conversation.main": {1, 1, 0}, "?type=a2a.send": {1, 1, 0}, "?scope=all": {1, 1, 2}} {
		s := get[detail](t, b, "/api/work-sessions/ws_1"+query, http.StatusOK).Session
		got := [3]int64{s.RoleCounts["conversation.main"], s.RoleCounts["orchestration.task"], s.RoleCounts["system.observability"]}
		if sum := got[0] + got[1] + got[2]; got != want || len(s.RoleCounts) != 4 || !strings.Contains(query, "=c") && !strings.Contains(query, "type") && sum != s.EventCount {
			t.Errorf("%q: %v of %d events", query, s.RoleCounts, s.EventCount)
		}
	}
}

// Every parameter with a few values refuses the others in the same way.
func TestValuesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.ownTasks(t)
	for query, allowed := range map[string]string{
		"/api/work-sessions?status=quiet": "QUIET", "/api/work-sessions?status=ACTIVE,quiet": "QUIET", "/api/work-sessions?role=main": "conversation.main",
		"/api/work-sessions/ws_eden?role=main": "conversation.main", "/api/work-sessions?viewCategory=typo": "qa_validation",
		"/api/events?viewCategory=typo": "all", "/api/events?role=main": "system.observability", "/api/events/search?q=x&role=main": "conversation.main",
		"/api/work-sessions/search?q=x&viewCategory=typo": "infra_ops", "/api/agents/eden/tasks?status=done": "completed", "/api/tasks?status=done": "completed",
		"/api/tasks?priority=high,low": "high", "/api/a2a/jobs?kind=x": "send", "/api/work?state=x": "leased", "/api/runs?state=x": "queued", "/api/events?scope=mine": "monitor",
		"/api/routing?mode=x": "handler",
	} {
		response, body := b.ask(t, http.MethodGet, query)
		var r struct {
			Code, Field, Value, Hint string
			Allowed                  []string
		}
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusBadRequest || r.Code != "invalid_parameter" || r.Field == "" || r.Value == "" || r.Hint == "" ||
			len(r.Allowed) == 0 || allowed != "" && !slices.Contains(r.Allowed, allowed) {
			t.Errorf("%s: %d %s", query, response.StatusCode, body)
		}
	}
	for _, query := range []string{"/api/work-sessions?status=QUIET,,ACTIVE&x=1", "/api/events?viewCategory=all&type=no.such.type", "/api/work-sessions?role=&limit="} {
		if response, body := b.ask(t, http.MethodGet, query); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", query, response.StatusCode, body)
		}
	}
}
