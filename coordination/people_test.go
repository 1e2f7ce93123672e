package coordination

import "testing"

func TestSaid(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ typ, data, want string }{
		{"a2a.send", `{"message":"a\n\n b","replyPreview":"c"}`, "a\n\n b"},
		{"a2a.response", `{"message":" ","replyPreview":"c"}`, "c"},
		{"a2a.spawn_result", `{"status":"accepted"}`, "하위 에이전트가 작업을 맡아 진행하고 있습니다"},
		{"a2a.spawn_result", `{"status":"accepted","replyPreview":"spawn accepted"}`, "하위 에이전트가 작업을 맡아 진행하고 있습니다"},
		{"a2a.collaborate.requested", `{"message":"봐 주세요"}`, "봐 주세요"},
		{"task.updated", `{"message":"절반 끝"}`, "절반 끝"},

		{"run.queued", `{"message":"[Approved] Your task task_8258f0a1b2c3d4e5f607 was approved by ruda. It is in progress now: begin with it."}`, ""},
		{"run.queued", `{"message":"A subagent has finished: 조사\nStatus: completed successfully\nSession: agent:eden:subagent:0d0f8a1e-1111-4222-8333-444455556666 (run x)"}`, ""},
		{"run.queued", `{"message":"[seum]: 확인했습니다"}`, ""},
		{"session.message", `{"message":"x"}`, ""},
		{"a2a.job.created", `{"message":"배포해 주세요"}`, ""},
		{"a2a.send", `{"message":"[ESCALATION] Agent eden still waits for you","origin":"unblock"}`, ""},
		{"a2a.send", `{"message":"배포해 주세요","origin":"tool"}`, "배포해 주세요"},
		{"a2a.response", `{"message":"[completed]"}`, ""},
		{"a2a.response", `{"message":"NO_REPLY"}`, ""},
		{"a2a.response", `{"message":" [NO_REPLY_NEEDED]\n"}`, ""},
		{"a2a.response", `{"message":"REPLY_SKIP."}`, ""},
		{"a2a.response", `{"message":"announce_skip"}`, ""},
		{"task.started", `{}`, ""},
	} {
		r := read(t, RulesV2, tt.typ, "eden", tt.data)
		if got := Words(&r); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.typ, tt.data, got, tt.want)
		}
	}
}

func TestPromptOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Prompt{
		"[Unblock request 1 of 3] Agent eden cannot go on with a task, and you can help.": PromptUnblock,
		"[eden]: [Unblock request 2 of 3] Agent eden cannot go on":                        PromptUnblock,
		"[ESCALATION] Agent eden still waits for you":                                     PromptUnblockLast,
		"[ESCALATION] Task task_1 of agent eden stays blocked":                            PromptEscalation,
		"[Restart] You have open tasks":                                                   PromptOther,
		"배포해 주세요":                                                                         "",
		"see [Unblock request 1 of 3]":                                                    "",
		"":                                                                                "",
	} {
		if got := PromptOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestForPeople(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"[NO_REPLY_NEEDED] 배포가 끝났습니다":                                               "배포가 끝났습니다",
		"배포가 끝났습니다. [no_reply_needed]":                                              "배포가 끝났습니다.",
		"[NOTIFICATION] 서버를 다시 띄웠습니다 [NO_REPLY_NEEDED]":                             "서버를 다시 띄웠습니다",
		"끝났습니다\n\nANNOUNCE_SKIP":                                                    "끝났습니다",
		"답은 NO_REPLY로 하세요":                                                          "답은 하세요",
		"[Continue] Your task task_8258f0a1b2c3d4e5f607 is not finished. Go on.":    "Your task is not finished. Go on.",
		"[ESCALATION] Task task_ab12 of agent eden stays blocked":                   "Task of agent eden stays blocked",
		"[Unblock request 2 of 3] Agent eden cannot go on":                          "Agent eden cannot go on",
		"[seum]: 확인했습니다":                                                            "확인했습니다",
		"[메모]: 확인했습니다":                                                              "[메모]: 확인했습니다",
		"작업 task_bb22을(를) 다시 하실 수 있습니다.":                                            "작업을 다시 하실 수 있습니다.",
		"task_8258f0a1b2c3d4e5f607를 끝냈습니다":                                          "작업을 끝냈습니다",
		"`task_ab12`은 끝났고 \"plan_ab12\"으로 갑니다":                                      "작업은 끝났고 계획으로 갑니다",
		"task_ab12: 배포 끝":                                                           "배포 끝",
		"배포 끝 (task_ab12)":                                                          "배포 끝",
		"남은 것: task_a1, task_b2, 문서":                                                "남은 것: 문서",
		"파일은 tasks/task_ab12.md 입니다":                                                "파일은 tasks/task_ab12.md 입니다",
		"task_update로 알려 주세요":                                                       "task_update로 알려 주세요",
		"Your task task_8258f0a1b2c3d4e5f607 was approved by ruda.":                 "Your task was approved by ruda.",
		"task_ab12's owner":                                                         "owner",
		"ws_a198c9f9-21b5-44b7-a5e9-2003d9f44d7b에서 이어집니다":                           "작업 세션에서 이어집니다",
		"Session: agent:eden:subagent:0d0f8a1e-1111-4222-8333-444455556666 (run 1)": "Session: 이든 (run 1)",
		"agent:seum:main가 답했습니다":                                                    "세움이 답했습니다",
		"주문 b76def94-f73c-4dbb-ac50-a9b0419e90b0을 환불":                               "주문 …90b0을 환불",
		"스레드 1404000000000000001에 있습니다":                                             "스레드 …0001에 있습니다",
		"<@111122223333444455>님, **굵게**":                                            "@세움님, **굵게**",
		"2026-02-20 12:00:00-09:00, a-b-c-d-e":                                      "2026-02-20 12:00:00-09:00, a-b-c-d-e",
		"":                                                                          "",
	} {
		if got := ForPeople(text, testRoster()).Text; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := LineForPeople("# 제목\n\n- [NO_REPLY_NEEDED] **끝** task_ab12", nil, 40); got != "제목 끝" {
		t.Errorf("in one line: %q", got)
	}
}

// A title has no particle of a mention or an id that was cut.
func TestTitlesAreWholeSentences(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"<@1465892> 님, 결제 건 한번 봐주세요.":                 "결제 건 한번 봐주세요.",
		"<@1465892>님 결제 건 한번 봐주세요.":                   "결제 건 한번 봐주세요.",
		"<@1465892>아 봐줘":                              "봐줘",
		"<@1465892>이 만든 API 검토":                       "만든 API 검토",
		"<@111122223333444455>이 만든 API 검토":            "세움이 만든 API 검토",
		"<@111122223333444455>님, 배포 부탁":               "배포 부탁",
		"배포 부탁해요 <@111122223333444455>":               "배포 부탁해요",
		"결제는 <@111122223333444455>님께 물어보세요":           "결제는 세움님께 물어보세요",
		"결제는 <@999>에게 물어보세요":                          "결제는 물어보세요",
		"<@999>'s API":                                "API",
		"<@999>확인해줘":                                  "확인해줘",
		"task_8258f0a1b2c3d4e5f607을 끝내 주세요":           "작업을 끝내 주세요",
		"[Goal] 로그인 복구\n두 번째 줄\n[Context] 어제":         "로그인 복구",
		"[Goal]\n로그인 복구\n두 번째 줄":                      "로그인 복구",
		"[NO_REPLY_NEEDED] 배포 완료 알림":                  "배포 완료 알림",
		"[Approved] Your task task_ab12 was approved": "Your task was approved",
	} {
		if got, _ := TitleIn(text, testRoster()); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestReasonsAreSentences(t *testing.T) {
	t.Parallel()

	for status, want := range map[string]string{"empty": "빈 응답", "aborted": "실행 중단", "queue_timeout": "동시 처리 대기 시간 초과", "timeout": "대기 시간 초과"} {
		r := read(t, RulesV2, "a2a.response", "eden", `{"outcome":"no_reply","message":"[outcome] blocked: 응답을 받지 못했습니다","waitStatus":"`+status+`"}`)
		if got := ThreadStep(&r).Reason; got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}
