//go:build full

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// sends is a call of sessions_send that does not wait.
func sends(agent, message string) a2atest.Answer {
	return a2atest.Use(a2atest.Send(map[string]any{"agentId": agent, "message": message, "timeoutSeconds": 0}))
}

// The same two go on with their conversation, and with its work session, over the turns of the user.
func TestScenarioAConversationGoesOnOverTurns(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.AfterTool():
			return a2atest.Say("보냈습니다")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "이든에게"):
			return sends("eden", "질문이 있습니다")
		case a.Agent == "eden" && strings.Contains(a.Message(), "질문이"):
			return a2atest.Say("답입니다")
		}
		return a2atest.Say("REPLY_SKIP")
	}, nil)
	for _, text := range []string{"이든에게 첫 질문을 전해줘", "이든에게 두 번째 질문을 전해줘"} {
		s.tells("ruda", text)
		s.quiet()
	}
	sent := s.events("a2a.send")
	if len(sent) != 2 {
		t.Fatalf("%d messages were sent\n%s", len(sent), s.story())
	}
	for _, field := range []string{"conversationId", "workSessionId", "routeKey"} {
		if first, second := sent[0].text(field), sent[1].text(field); first == "" || first != second {
			t.Errorf("%s is %q, then %q", field, first, second)
		}
	}
}

// An agent that has sent a message that got no answer finds that in its session.
func TestScenarioTheAskerIsToldThatThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.AfterTool():
			return a2atest.Say("보냈습니다")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "이든에게"):
			return sends("eden", "상태를 알려줘")
		case a.Agent == "eden":
			return a2atest.Fail(400)
		}
		return a2atest.Say("알겠습니다")
	}, nil)
	s.tells("ruda", "이든에게 물어봐")
	s.quiet()
	s.tells("ruda", "어떻게 됐어?")
	s.quiet()
	heard := s.heard("ruda")
	var told strings.Builder
	for _, m := range heard[len(heard)-1].Messages {
		fmt.Fprintln(&told, m.Text)
	}
	if !strings.Contains(told.String(), "응답을 받지 못했습니다") {
		t.Errorf("ruda does not know that there is no answer:\n%s\n%s", told.String(), s.story())
	}
}

// What agents say to each other in turns, and tokens that say nothing, do not stand in the chat of people.
func TestScenarioTurnsStayOutOfTheChat(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer {
		said := a.Message()
		switch {
		case a.AfterTool():
			return a2atest.Say("보냈습니다")
		case a.Agent == "ruda" && strings.Contains(said, "이든에게"):
			return sends("eden", "첫 질문 어디까지 되었나요?")
		case a.Agent == "eden" && strings.Contains(said, "첫 질문"):
			return a2atest.Say("절반이 되었습니다. 나머지는 무엇을 먼저 할까요?")
		case a.Agent == "ruda" && strings.Contains(said, "무엇을 먼저"):
			return a2atest.Say("차례의 말: 짧은 것을 먼저 해 주세요, 언제 끝나나요?")
		case strings.Contains(a.System+said, "ANNOUNCE_SKIP"):
			return a2atest.Say("ANNOUNCE_SKIP")
		}
		return a2atest.Say("REPLY_SKIP")
	}, nil)
	s.tells("ruda", "이든에게 물어봐")
	s.quiet()
	payload, err := s.client.Call(t.Context(), "chat.history", map[string]any{"sessionKey": "agent:ruda:main", "limit": 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"REPLY_SKIP", "ANNOUNCE_SKIP", "차례의 말"} {
		if strings.Contains(string(payload), hidden) {
			t.Errorf("the chat has %q: %s", hidden, payload)
		}
	}
	if !strings.Contains(string(payload), "이든에게 물어봐") || !strings.Contains(string(payload), "보냈습니다") {
		t.Errorf("the chat lacks what was said in it: %s", payload)
	}
}

// An agent whose task does not move is asked again, but later each time.
func TestScenarioPromptsWithoutProgressSlowDown(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer {
		if a.N == 1 {
			return a2atest.Use(a2atest.Call{Name: "task_start", Args: map[string]any{"description": "느린 일",
				"steps": []map[string]string{{"content": "첫째"}, {"content": "둘째"}, {"content": "셋째"}}}})
		}
		return a2atest.Say("생각하고 있습니다")
	}, func(text string) string {
		return strings.Replace(text, "taskContinuation: { enabled: false }", "taskContinuation: { enabled: true }", 1)
	})
	s.tells("eden", "느린 일을 시작해")
	end := time.NewTimer(3 * time.Second)
	<-end.C
	if got := len(s.heard("eden")); got > 4 {
		t.Errorf("eden was asked %d times within three seconds\n%s", got, s.story())
	}
}

// Agents that send to each other for ever are stopped, whatever work sessions they name; so are those that approve each other's tasks for ever.
func TestScenarioLoopsEnd(t *testing.T) {
	t.Parallel()
	for name, loop := range map[string]func(a a2atest.Asked) a2atest.Answer{
		"fresh work sessions": func(a a2atest.Asked) a2atest.Answer {
			if a.AfterTool() {
				return a2atest.Say("계속합니다")
			}
			var calls []a2atest.Call
			for _, other := range []string{"eden", "seum", "dajim"} {
				if other != a.Agent {
					calls = append(calls, a2atest.Send(map[string]any{"agentId": other, "message": fmt.Sprintf("이어서 %s %d", a.Agent, a.N),
						"timeoutSeconds": 0, "workSessionId": fmt.Sprintf("ws_fresh_%s_%s_%d", a.Agent, other, a.N)}))
				}
			}
			return a2atest.Use(calls...)
		},
		"approvals": func(a a2atest.Asked) a2atest.Answer {
			if a.AfterTool() && strings.Contains(a.Last().Text, "pending_approval") {
				return sends(map[string]string{"eden": "seum", "seum": "eden"}[a.Agent], "승인해줘 "+a.Last().Text)
			}
			if a.AfterTool() {
				return a2atest.Say("계속합니다")
			}
			if _, rest, ok := strings.Cut(a.Message(), `"taskId":"`); ok && strings.Contains(a.Message(), "승인해줘") {
				id, _, _ := strings.Cut(rest, `"`)
				return a2atest.Use(a2atest.Call{Name: "task_approve", Args: map[string]any{"task_id": id}})
			}
			return a2atest.Use(a2atest.Call{Name: "task_start", Args: map[string]any{"description": fmt.Sprintf("일 %s %d", a.Agent, a.N),
				"requires_approval": true, "simple": true}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer { return loop(a) }, func(text string) string {
				return strings.Replace(text, "agents: { list", "session: { agentToAgent: { maxPingPongTurns: 0 } }, agents: { list", 1)
			})
			s.tells("eden", "시작해")
			s.quiet()
			if got := len(s.models.Asked()); got > 500 {
				t.Errorf("the models were asked %d times", got)
			}
		})
	}
}
