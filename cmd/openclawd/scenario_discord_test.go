//go:build full

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// collaborates is a call of the tool collaborate.
func collaborates(target, message string, more ...string) a2atest.Answer {
	args := map[string]string{"targetAgent": target, "message": message}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i]] = more[i+1]
	}
	return a2atest.Use(a2atest.Call{Name: "collaborate", Args: args})
}

func (s *scenario) thread() discordtest.Channel {
	s.t.Helper()
	threads := s.discord.Threads(s.dev.ID)
	if len(threads) != 1 {
		s.t.Fatalf("there are %d threads, want one", len(threads))
	}
	return threads[0]
}

// requests are how requests stand, by what was asked.
func (s *scenario) requests() map[string]string {
	s.t.Helper()
	var page struct {
		Collaborations []struct{ Status, Message string }
	}
	s.get("/api/collaborations?limit=100", &page)
	list := map[string]string{}
	for _, c := range page.Collaborations {
		list[c.Message] = c.Status
	}
	return list
}

// Two requests to one agent stand in one thread. It says nothing to the first one, and answers the second one: that one is closed, the first is not.
func TestScenarioTheRequestThatWasAnsweredIsClosed(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer {
		said := a.Message()
		switch {
		case a.Agent == "ruda" && a.AfterTool():
			return a2atest.Say("전달했습니다")
		case a.Agent == "ruda" && strings.Contains(said, "첫째를"):
			return collaborates("eden", "첫째 질문입니다", "threadName", "질문")
		case a.Agent == "ruda" && strings.Contains(said, "둘째를"):
			return collaborates("eden", "둘째 질문입니다", "threadName", "질문")
		case a.Agent == "eden" && strings.Contains(said, "둘째 질문입니다"):
			return a2atest.Say("둘째의 답입니다")
		}
		return a2atest.Say("NO_REPLY")
	}, nil)
	s.tells("ruda", "첫째를 물어봐")
	s.quiet()
	s.tells("ruda", "둘째를 물어봐")
	s.quiet()
	if got := s.requests(); len(got) != 2 || got["첫째 질문입니다"] != "pending" || got["둘째 질문입니다"] != "responded" {
		t.Errorf("the requests are %v\n%s", got, s.story())
	}
}

// A collaboration in Discord is a conversation: one work session for its thread, with what was asked and answered in it, quiet when it is answered.
func TestScenarioACollaborationIsAConversation(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer {
		said := a.Message()
		switch {
		case a.Agent == "ruda" && a.AfterTool():
			return a2atest.Say("이든에게 전달했습니다")
		case a.Agent == "ruda" && strings.Contains(said, "물어봐줘"):
			return collaborates("eden", "PR #42 코드 리뷰 부탁해", "threadName", "인증 모듈 코드 리뷰")
		case a.Agent == "ruda" && strings.Contains(said, "하나 더"):
			return collaborates("eden", "PR #43 도 봐줘", "threadName", "인증 모듈 코드 리뷰")
		case a.Agent == "eden" && strings.Contains(said, "PR #4"):
			return a2atest.Say("확인했습니다. 문제 없어요")
		}
		return a2atest.Say("NO_REPLY")
	}, nil)
	s.says(s.dev.ID, s.at("ruda")+" 이든한테 물어봐줘")
	s.quiet()
	s.says(s.dev.ID, s.at("ruda")+" 하나 더 부탁해")
	s.quiet()
	for _, w := range s.workSessions() {
		if w.Status != "QUIET" {
			t.Errorf("the requests are answered, and the session is %s", w.Status)
		}
	}
	s.says(s.thread().ID, "고생했어요")
	s.quiet()
	var page struct {
		Events []struct {
			Type, From, DisplayText string
			Data                    struct{ WorkSessionID, FromAgent, Message, ReplyPreview string }
		}
	}
	s.get("/api/events?role=conversation.main&limit=500", &page)
	var said []string
	sessions := map[string]bool{}
	for _, e := range slices.Backward(page.Events) {
		said = append(said, e.From+": "+e.Data.Message+e.Data.ReplyPreview)
		sessions[e.Data.WorkSessionID] = true
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"ruda: @이든\n\nPR #42 코드 리뷰 부탁해", "eden: 확인했습니다. 문제 없어요", "ruda: @이든\n\nPR #43 도 봐줘", "병욱: 고생했어요"} {
		if !strings.Contains(all, want) {
			t.Errorf("the conversation does not have %q:\n%s", want, all)
		}
	}
	if len(sessions) != 1 {
		t.Fatalf("the thread is in %d work sessions: %v\n%s", len(sessions), sessions, s.story())
	}
	s.readsWell("after a collaboration")
	s.countsWhatItLists()
}

// What an agent observed stands in its history: for the next run, for the one after that, and after a restart.
func TestScenarioObserversRemember(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer { return a2atest.Say(a.Agent + " 들었습니다") }, nil)
	s.says(s.dev.ID, s.at("ruda")+" 배포는 금요일 오후 네 시입니다")
	s.quiet()
	knows := func(when string) {
		t.Helper()
		heard := s.heard("eden")
		if len(heard) == 0 {
			t.Fatalf("%s: eden is not asked", when)
		}
		last := heard[len(heard)-1]
		told := last.System
		for _, m := range last.Messages {
			told += "\n" + m.Text
		}
		if !strings.Contains(told, "금요일 오후 네 시") {
			t.Errorf("%s: eden does not know what it observed:\n%s", when, told)
		}
	}
	s.says(s.dev.ID, s.at("eden")+" 언제인가요")
	s.quiet()
	knows("in the first run")
	s.says(s.dev.ID, s.at("eden")+" 다시 말해줘요")
	s.quiet()
	knows("in the second run")
	s.again(os.Kill)
	s.says(s.dev.ID, s.at("eden")+" 재시작 뒤에도 아나요")
	s.quiet()
	knows("after a restart")
}

// In a thread every participant handles a message, whichever one it mentions; the others are told that it is meant for another one.
func TestScenarioMentionedParticipantsHandleMessages(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(_ *scenario, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "ruda" && a.AfterTool():
			return a2atest.Say("전달했습니다")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "물어봐줘"):
			return collaborates("eden", "같이 봐줘")
		case a.Agent == "eden" && strings.Contains(a.Message(), "같이 봐줘"):
			return a2atest.Say("네, 보겠습니다")
		}
		return a2atest.Say("NO_REPLY")
	}, nil)
	s.says(s.dev.ID, s.at("ruda")+" 이든한테 물어봐줘")
	s.quiet()
	before := len(s.heard("eden"))
	s.says(s.thread().ID, s.at("seum")+" 이것도 확인해봐")
	s.quiet()
	if len(s.heard("seum")) == 0 || len(s.heard("eden")) == before {
		t.Fatalf("seum is asked %d times, eden %d times more\n%s", len(s.heard("seum")), len(s.heard("eden"))-before, s.story())
	}
	if told := s.heard("seum")[0]; !strings.Contains(told.System+told.Message(), "당신이 이 요청의 주 담당입니다") {
		t.Errorf("seum is not told that it is the primary:\n%s\n%s", told.System, told.Message())
	}
	if told := s.heard("eden")[before]; !strings.Contains(told.System+told.Message(), "세움") {
		t.Errorf("eden is not told that the message is meant for seum:\n%s\n%s", told.System, told.Message())
	}
}

// People call agents as they speak. The agent that handles such a message is told of whom it speaks.
func TestScenarioNamesAreKnownAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	s := playScenario(t, func(*scenario, a2atest.Asked) a2atest.Answer { return a2atest.Say("NO_REPLY") }, nil)
	for _, c := range []struct{ text, agent string }{
		{"이든아 봐줘", "eden"}, {"이든님, 부탁합니다", "eden"}, {"eden 한테 물어볼게요", "eden"}, {"세움 생각은?", "seum"}, {"하이든 음악 좋아해?", ""},
	} {
		s.says(s.dev.ID, s.at("ruda")+" "+c.text)
		s.quiet()
		heard := s.heard("ruda")
		last := heard[len(heard)-1]
		for _, agent := range []string{"eden", "seum", "dajim"} {
			hint := fmt.Sprintf("collaborate(targetAgent: %q)", agent)
			if hinted := strings.Contains(last.Message()+last.System, hint); hinted != (agent == c.agent) {
				t.Errorf("%q: ruda is told of %s: %v\n%s\n%s", c.text, agent, hinted, last.Message(), last.System[max(0, len(last.System)-1500):])
			}
		}
	}
}
