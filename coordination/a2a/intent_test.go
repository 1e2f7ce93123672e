package a2a_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/handoff"
)

// labelled are messages and what they are meant to lead to.
var labelled = map[string][]string{
	"notification": {
		"[NO_REPLY_NEEDED] 배포했습니다",
		"[notification] Build 42 is out. Can you see it?",
		"참고로 로그를 전달합니다",
		"회의록 공유합니다.",
		"알림: 오늘 18시에 점검이 있습니다",
		"작업 완료 내역 공유합니다",
		"please read this [Notification]",
		"[URGENT] [NOTIFICATION] disk is full",
		"공유드립니다: 새 일정",
		"알려드립니다. 오늘 밤 서버를 재시작합니다",
	},
	"escalation": {
		"[URGENT] 서버가 죽었습니다",
		"db is down [escalation] please help",
		"[Urgent] 이 내용 공유합니다",
		"[URGENT] is it done?",
	},
	"result_report": {
		"[outcome] blocked: 응답을 받지 못했습니다",
		"[result] 12 tests pass. 확인해 주세요",
		"로그인 작업을 완료했습니다",
		"작업 v1.2 완료",
		"결과를 보고드립니다",
		"분석 결과입니다",
		"The migration is completed.",
		"I have finished the review",
		"All done!",
		"done",
		"Deployment finished. What is next?",
		"작업이 완료되었습니다. 다음은 무엇을 할까요?",
		"요청하신 작업 처리해서 완료했습니다",
		"부탁하신 작업 완료했습니다",
		"부탁드린 작업은 이미 완료되었습니다",
		"검토해줘서 고마워요, 수정 작업 완료했습니다",
		"Please note that the deployment is finished.",
		"배포 done했습니다",
		"처리해 주신 덕분에 끝났습니다",
		"Review is done, see the notes",
		"데이터 이전을 완료했습니다.",
		"배포가 끝났습니다",
		"점검하는 동안 이전이 끝났습니다",
		"수정 완료",
	},
	"request": {
		"로그인 버그를 수정해줘",
		"검토해줘",
		"작업을 완료해줘",
		"이 작업을 금요일까지 완료해 주세요",
		"작업을 완료하세요",
		"작업 완료 부탁드립니다",
		"작업 완료 바랍니다",
		"작업을 오늘까지 마무리해라",
		"결과를 보고해주세요",
		"분석 결과를 정리해서 보내줘",
		"문서 좀 봐줘",
		"PR 봐주세요",
		"이거 처리해",
		"리뷰 부탁해",
		"같이 검토 부탁드려요",
		"초안을 만들어줘",
		"원인을 알아봐줘",
		"의견 좀 말해줘",
		"테스트를 실행해 줄래?",
		"이 문서를 확인해 주실 수 있나요?",
		"안녕하세요. 이 코드를 분석해 주시겠어요?",
		"please review",
		"Please review the PR",
		"Could you please check the logs?",
		"Review this, please.",
		"Please complete the work by Friday.",
		"Complete the work and report back.",
		"Finish the report by noon.",
		"Get the migration done by Friday.",
		"This needs to be done today.",
		"Can you finish this by tomorrow?",
		"Please get it done.",
		"I need you to look at the build",
		"eden: fix the login bug",
		"Make sure it is finished before the demo",
		"The tests are finished. Please deploy.",
		"Let me know when you are done",
		"회의록 공유합니다. 금요일까지 검토해 주세요",
		"보고서 써줘",
		"설정을 바꿔 주세요",
		"정리해 주시면 감사하겠습니다",
		"정리해 주면 좋겠어요",
		"번역 부탁",
		"Summarize the document",
		"Explain how the cache works",
		"Investigate why login fails",
		"give me the list of open tasks",
	},
	"collaboration": {
		"배포 전략을 논의합시다",
		"새 구조를 함께 설계하자",
		"같이 생각해 볼까요?",
		"이 안에 대한 의견을 들려주면 좋겠어요",
		"피드백 기다릴게요",
		"일정을 조율합시다",
		"Let's discuss the rollout",
		"let’s figure out why",
		"Shall we brainstorm?",
		"What do you think?",
		"We could work together on it",
		"I want to collaborate on that",
		// nothing tells
		"", "   ", "?!", "안녕하세요", "수고하셨습니다",
		"The plan was abandoned",
		"We condone no shortcuts",
		"is_done stays false",
		"I am pleased with the cake",
		"완료되면 다시 이야기합시다. 작업은 계속합니다",
		"When it is done we go home",
		"It is not done yet",
		"결과는 내일 보고하겠습니다",
		"점검이 아직 안 끝났습니다",
		"이전을 완료했는지 확인 중입니다",
		"Deploy",
	},
	"question": {
		"Is it done?",
		"Is the work completed?",
		"작업 완료했나요?",
		"작업 완료됐어？",
		"결과 보고는 언제인가요?",
		"분석 결과 알려줘",
		"작업이 완료되면 알려줘",
		"이건 어떻게 된 거죠",
		"로그는 어디에 있나요",
		"뭐가 문제인지 모르겠어요",
		"Can you see the logs",
		"could you tell me the port",
		"Has the plan been abandoned?",
		"Is it done? 🙂",
		"Are you sure (really?)",
		"부탁드린 작업은 됐나요?",
		"다음과 같이 진행하면 될까요?",
		"안녕하세요, 상태가 궁금합니다. 지금 가능한가요?",
		"누가 담당인가요",
		"이 값이 맞나요",
		"로그를 공유합니다. 원인이 무엇일까요?",
		"배포가 끝났습니까",
	},
}

func TestIntentOfLabelledMessages(t *testing.T) {
	t.Parallel()
	count := 0
	for want, messages := range labelled {
		for _, m := range messages {
			count++
			if got := a2a.IntentOf(m, nil); got.Name != want {
				t.Errorf("%q is a %s, not a %s", m, got.Name, want)
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d messages", count)
	}
}

func TestWhatIntentsCallFor(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]a2a.Intent{
		"[NOTIFICATION] x": {Name: "notification", Turns: 0, Confidence: 1},
		"[URGENT] x":       {Name: "escalation", Turns: 0, Confidence: 1},
		"all done":         {Name: "result_report", Turns: 1, Confidence: 0.8},
		"해줘":               {Name: "request", Turns: 3, Confidence: 0.75},
		"논의":               {Name: "collaboration", Turns: -1, Confidence: 0.8},
		"정말?":              {Name: "question", Turns: 1, Confidence: 0.7},
		"x":                {Name: "collaboration", Turns: -1, Confidence: 0.5},
	} {
		if got := a2a.IntentOf(message, nil); got != want {
			t.Errorf("%q: %+v", message, got)
		}
	}
}

// A payload says it, whatever the words say.
func TestBug08_AnAnswerTakesNoTurns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]a2a.Intent{
		`{"type":"task_delegation","taskId":"t","taskTitle":"a","taskDescription":"b"}`: {Name: "delegate", Turns: -1, Confidence: 1},
		`{"type":"status_report","taskId":"t","status":"completed"}`:                    {Name: "report", Turns: 1, Confidence: 1},
		`{"type":"question","questionId":"q","question":"a"}`:                           {Name: "ask", Turns: 1, Confidence: 1},
		`{"type":"answer","questionId":"q","answer":"a"}`:                               {Name: "respond", Turns: 0, Confidence: 1},
	} {
		p, warnings := handoff.Parse(text)
		if p == nil {
			t.Fatal(warnings)
		}
		got := a2a.IntentOf("[URGENT] let's discuss this, please?", p)
		if got != want {
			t.Errorf("%s: %+v", text, got)
		}
		if most := got.Within(5, false); most != map[string]int{"delegate": 5, "report": 1, "ask": 1, "respond": 0}[want.Name] {
			t.Errorf("%s takes %d turns", want.Name, most)
		}
	}
}

func TestTurnsStayWithinWhatIsConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turns, configured int
		none              bool
		want              int
	}{
		{-1, 5, false, 5}, {-1, 0, false, 0}, {-1, 30, false, 30}, {-1, -1, false, 0}, {3, 5, false, 3}, {3, 2, false, 2}, {3, 0, false, 0}, {0, 5, false, 0},
		{-1, 5, true, 0}, {3, 5, true, 0},
	} {
		if got := (a2a.Intent{Turns: c.turns}).Within(c.configured, c.none); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func FuzzIntent(f *testing.F) {
	for _, messages := range labelled {
		for _, m := range messages {
			f.Add(m)
		}
	}
	f.Add(strings.Repeat("작업 ", 30_000) + "완료")
	f.Fuzz(func(t *testing.T, text string) {
		if i := a2a.IntentOf(text, nil); labelled[i.Name] == nil || i.Turns < -1 || i.Confidence < 0.5 || i.Confidence > 1 {
			t.Errorf("%+v", i)
		}
		a2a.EndsEarly(text, text)
		if plain := a2a.Plain(text); a2a.Plain(plain) != plain || !strings.HasSuffix(text, plain) {
			t.Errorf("%q became %q", text, plain)
		}
	})
}
