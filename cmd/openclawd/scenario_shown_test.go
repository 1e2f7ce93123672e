//go:build full

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// bookkeeping is what no text for people may hold: prompts of openclawd, skip tokens, ids, types of runs, sentences about sessions.
var bookkeeping = regexp.MustCompile(`\[(Approved|Continue|ESCALATION|Backlog|NO_REPLY_NEEDED|outcome)\]|NO_REPLY|REPLY_SKIP|ANNOUNCE_SKIP|` +
	`task_[0-9a-f]{4,}|\bws_[0-9a-f]{8}|agent:[a-z]+:|[0-9a-f]{8}-[0-9a-f]{4}-|<@!?[0-9]+>|\brun\.[a-z]+|A subagent has finished|^\[(ruda|eden|seum|dajim)\]: `)

// readsWell checks every text of every work session that people see first.
func (s *scenario) readsWell(when string) {
	s.t.Helper()
	for _, w := range s.workSessions() {
		texts := map[string]string{"title": w.Title, "summary": w.Summary}
		if w.LastMessage != nil {
			texts["lastMessage"] = w.LastMessage.Text
		}
		if w.BlockedReason != nil {
			texts["blockedReason"] = *w.BlockedReason
			if *w.BlockedReason == "empty" || *w.BlockedReason == "" {
				s.t.Errorf("%s: %s is blocked for the reason %q", when, w.WorkSessionID, *w.BlockedReason)
			}
		}
		for _, t := range w.Threads {
			for _, e := range t.Events {
				texts["displayText of "+e.Type] = e.DisplayText
			}
		}
		for field, text := range texts {
			if bad := bookkeeping.FindString(text); bad != "" {
				s.t.Errorf("%s: %s of %s has %q: %q", when, field, w.WorkSessionID, bad, text)
			}
		}
		if strings.ContainsAny(w.Title, "\n\r") || w.Title == "" {
			s.t.Errorf("%s: the title of %s is not one line: %q", when, w.WorkSessionID, w.Title)
		}
	}
}

func (s *scenario) session(id string) (found shownWorkSession) {
	s.t.Helper()
	for _, w := range s.workSessions() {
		if w.WorkSessionID == id {
			return w
		}
	}
	s.t.Fatalf("there is no work session %q", id)
	return found
}

// What people read of a work session is what was said in it: an approval, a sub-agent's end, a turn, a prompt and a token that says nothing do not
// become its title, its summary or its last message.
func TestScenarioWorkSessionsReadAsWhatWasSaid(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer {
		switch said := a.Message(); {
		case a.AfterTool():
			return a2atest.Say("이든이 결과를 정리했습니다")
		case strings.Contains(said, "조사해"):
			return a2atest.Use(a2atest.Call{Name: "sessions_spawn", Args: map[string]any{"task": "로그를 조사해 요약해라", "agentId": "eden"}})
		case strings.Contains(said, "로그를"):
			return a2atest.Say("로그에는 오류가 세 건 있습니다")
		case strings.Contains(said, "배포 준비"):
			return a2atest.Say("[NO_REPLY_NEEDED]")
		}
		return a2atest.Say("알겠습니다")
	}, nil)

	asked := s.uses("seum", "task_start", map[string]any{"description": "저장소 청소 자동화", "requires_approval": true,
		"steps": []map[string]string{{"content": "조사"}, {"content": "정리"}, {"content": "보고"}}})
	task, workSession := fmt.Sprint(asked["taskId"]), fmt.Sprint(asked["workSessionId"])
	s.uses("ruda", "task_approve", map[string]any{"task_id": task})
	s.quiet()
	if w := s.session(workSession); w.Title != "저장소 청소 자동화" {
		t.Errorf("the session of the approved task is titled %q", w.Title)
	}
	s.readsWell("after task_approve")

	s.tells("eden", "조사해 줘")
	s.quiet()
	s.readsWell("after a sub-agent's end")

	s.uses("ruda", "sessions_send", map[string]any{"agentId": "eden", "message": "[Goal] 배포 준비\n둘째 줄\n셋째 줄", "timeoutSeconds": 0})
	s.quiet()
	s.readsWell("after a send that was not answered with words")
	titled := 0
	for _, w := range s.workSessions() {
		if w.Title == "배포 준비" {
			titled++
		}
		if strings.Contains(w.Title, "둘째") {
			t.Errorf("a goal's title is %q", w.Title)
		}
	}
	if titled != 1 {
		t.Errorf("%d sessions are titled by the goal", titled)
	}

	s.uses("seum", "task_complete", map[string]any{"task_id": task, "summary": "청소가 끝났습니다", "force_complete": true})
	again := s.uses("seum", "task_start", map[string]any{"description": "알림 문구 다듬기", "simple": true})
	s.uses("seum", "task_block", map[string]any{"task_id": fmt.Sprint(again["taskId"]), "reason": "문구를 기다립니다", "unblock_by": []string{"ruda"}})
	s.uses("seum", "task_resume", map[string]any{"task_id": fmt.Sprint(again["taskId"])})
	s.quiet()
	if w := s.session(fmt.Sprint(again["workSessionId"])); w.Title != "알림 문구 다듬기" {
		t.Errorf("the session of the resumed task is titled %q", w.Title)
	}
	s.readsWell("after a task was resumed")
	s.countsWhatItLists()
	s.refusesBadParameters()
}

// countsWhatItLists compares the counts of roles with the events that a session lists.
func (s *scenario) countsWhatItLists() {
	s.t.Helper()
	for _, w := range s.workSessions() {
		counted, listed := 0, 0
		for _, n := range w.RoleCounts {
			counted += n
		}
		for _, t := range w.Threads {
			listed += len(t.Events)
		}
		if counted != listed {
			s.t.Errorf("%s counts %d events by role and lists %d", w.WorkSessionID, counted, listed)
		}
	}
}

// refusesBadParameters asks with values that there are not.
func (s *scenario) refusesBadParameters() {
	s.t.Helper()
	for path, field := range map[string]string{
		"/api/work-sessions?status=quiet": "status", "/api/work-sessions?viewCategory=typo": "viewCategory", "/api/work-sessions?limit=5000": "limit",
		"/api/events?viewCategory=typo": "viewCategory", "/api/events?role=typo": "role", "/api/events?limit=abc": "limit",
	} {
		code, text := s.status(http.MethodGet, path, "")
		if code != http.StatusBadRequest || !strings.Contains(text, field) {
			s.t.Errorf("GET %s: %d %s", path, code, text)
		}
	}
}

// An entry of the overrides file that is not valid is kept and reported, and stops no other one from being written.
func TestScenarioABadOverrideStopsNoOther(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(*scenario, a2atest.Asked) a2atest.Answer { return a2atest.Say("좋아요") }, nil)
	s.uses("ruda", "sessions_send", map[string]any{"agentId": "eden", "message": "배포 점검 부탁해", "timeoutSeconds": 0})
	s.quiet()
	id := s.workSessions()[0].WorkSessionID
	s.end(os.Interrupt)
	s.file("work-session-category-overrides.json", `{"ws_other": {"collabCategory": "no_such_category", "updatedAt": "2026-02-17T00:00:00.000Z"}}`)
	s.serve()
	code, text := s.status(http.MethodPatch, "/api/work-sessions/"+id+"/category", `{"collabCategory": "docs_knowledge", "updatedBy": "병욱"}`)
	if code != http.StatusOK {
		t.Fatalf("PATCH: %d %s", code, text)
	}
	var kept map[string]struct{ CollabCategory string }
	s.until("the file has both entries", func() bool {
		bytes, err := os.ReadFile(filepath.Join(s.server.dir, "work-session-category-overrides.json"))
		return err == nil && json.Unmarshal(bytes, &kept) == nil && kept[id].CollabCategory == "docs_knowledge" && kept["ws_other"].CollabCategory == "no_such_category"
	})
	if code, text = s.status(http.MethodPatch, "/api/work-sessions/ws_there_is_none/category", `{"collabCategory": "docs_knowledge"}`); code != http.StatusNotFound {
		t.Errorf("PATCH of no session: %d %s", code, text)
	}
}
