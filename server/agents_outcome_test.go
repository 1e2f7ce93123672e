package server

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// asksQuietly has ruda write to eden without waiting, and say something to what eden answers, until eden has nothing more to say.
func asksQuietly(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
	word := a.Message()
	switch {
	case a.Agent == "ruda" && a.AfterTool():
		return a2atest.Say("물어봤어요")
	case a.Agent == "ruda" && strings.Contains(word, "벽을 물어봐"):
		return a2atest.Use(a2atest.Send(map[string]any{"agentId": "eden", "message": "이 벽 무슨 색이 좋을까?", "timeoutSeconds": 0}))
	case a.Agent == "ruda" && strings.Contains(word, "저는 파란색이 좋다고 생각해요"):
		return a2atest.Say("왜 하필 파란색인가요? 이유를 자세히 알려 주세요")
	case a.Agent == "ruda":
		return a2atest.Say("네, 루다입니다")
	case strings.Contains(word, "announce step"):
		return a2atest.Say("이든이 알립니다: 벽은 파란색으로 정했습니다")
	case strings.Contains(word, "왜 하필 파란색"):
		return a2atest.Say("REPLY_SKIP")
	}
	return a2atest.Say("저는 파란색이 좋다고 생각해요, 어떻게 생각하세요?")
}

// internalWords are of what asksQuietly has agents say to each other.
var internalWords = []string{"왜 하필 파란색", "REPLY_SKIP", "ANNOUNCE_SKIP", "저는 파란색", "announce step"}

// What agents say to each other is not shown to people: neither in the history of the requester's session with them, nor in live events.
func TestTurnsBetweenAgentsDoNotReachPeoplesChat(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: asksQuietly})
	var mu sync.Mutex
	var heard []string
	watching := connect(t, gatewayURL(team.gatewayAddress()), func(o *client.Options) {
		o.Event = func(e client.Event) {
			if e.Name == "chat" || e.Name == "agent" || e.Name == "session.message" {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, e.Name+" "+string(e.Payload))
			}
		}
	})
	calls[struct{}](t, watching, "sessions.messages.subscribe", map[string]any{"key": "agent:ruda:main"})
	if got := team.tells("ruda", "이든에게 벽을 물어봐"); got != "물어봤어요" {
		t.Fatalf("ruda says %q", got)
	}
	team.await("the end of the exchange", func() bool { return len(team.events(coordination.TypeA2AJobCompleted)) == 1 })
	team.quiet()
	over := said[coordination.A2AJob](team, coordination.TypeA2AJobCompleted)[0]
	same(t, "turns", over.Turn, 1)
	if got := team.tells("ruda", "잘 지내?"); got != "네, 루다입니다" { // everything before it has been told
		t.Fatalf("ruda says %q", got)
	}
	h := calls[history](t, watching, "chat.history", map[string]any{"sessionKey": "agent:ruda:main"})
	all := strings.Join(h.texts(), "\n")
	mu.Lock()
	defer mu.Unlock()
	for _, word := range internalWords {
		if strings.Contains(all, word) {
			t.Errorf("%q is in the history:\n%s", word, all)
		}
		for _, e := range heard {
			if strings.Contains(e, word) && strings.Contains(e, "agent:ruda:main") {
				t.Errorf("%q is told: %s", word, e)
			}
		}
	}
	for _, word := range []string{"이든에게 벽을 물어봐", "물어봤어요", "네, 루다입니다"} {
		if !strings.Contains(all, word) || !slices.ContainsFunc(heard, func(e string) bool { return strings.Contains(e, "네, 루다입니다") }) {
			t.Errorf("%q is not shown:\n%s", word, all)
		}
	}
	var inPrompt bool // the agent itself knows what it has said
	for _, a := range team.asked("ruda") {
		for _, m := range a.Messages {
			inPrompt = inPrompt || strings.Contains(m.Text, "왜 하필 파란색")
		}
	}
	if !inPrompt {
		t.Error("ruda does not know any more what it has said to eden")
	}
}

// The result of an exchange is announced where the requester was last spoken to, by the bot of the target (S0 §10).
func TestTheTargetsBotAnnounces(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: asksQuietly})
	team.says(team.dev.ID, "%s 이든에게 벽을 물어봐", team.at("ruda"))
	team.await("the announcement", func() bool { return len(team.texts(team.dev.ID)) == 3 })
	team.quiet()
	texts := team.texts(team.dev.ID)
	same(t, "channel", texts[1:], []string{"루다: 물어봤어요", "이든: 이든이 알립니다: 벽은 파란색으로 정했습니다"})
}

// An exchange that starts in a conversation with one bot is announced by that bot: the target's bot cannot write there.
func TestAConversationIsToldByItsOwnBot(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: asksQuietly})
	talk, err := team.person.Conversation(team.bots["ruda"].ID)
	if err != nil {
		t.Fatal(err)
	}
	team.watch = append(team.watch, talk.ID)
	team.says(talk.ID, "이든에게 벽을 물어봐")
	team.await("the announcement", func() bool { return len(team.texts(talk.ID)) == 3 })
	team.quiet()
	same(t, "conversation", team.texts(talk.ID)[2], "루다: 이든이 알립니다: 벽은 파란색으로 정했습니다")
}

// A sender that does not wait is told when there is no answer: seed 000's message of §11.2 is in its session, and starts a run where the
// answer would have done so.
func TestWhoAskedIsToldThatNoAgentAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  map[string]any
		wakes bool
	}{
		"an answer is wanted": {map[string]any{}, true},
		"nothing comes back":  {map[string]any{"replyBack": false}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
				switch {
				case a.Agent == "eden":
					return a2atest.Fail(401)
				case a.AfterTool():
					return a2atest.Say("물어봤어요")
				case strings.Contains(a.Message(), "이든에게"):
					args := map[string]any{"agentId": "eden", "message": "이 벽 무슨 색이 좋을까?", "timeoutSeconds": 0}
					for k, v := range c.args {
						args[k] = v
					}
					return a2atest.Use(a2atest.Send(args))
				case strings.Contains(a.Message(), "[outcome] blocked: 응답을 받지 못했습니다"):
					return a2atest.Say("이든이 대답하지 않습니다")
				}
				return a2atest.Say("네")
			}})
			team.says(team.dev.ID, "%s 이든에게 벽을 물어봐", team.at("ruda"))
			team.await("the end of the exchange", func() bool { return len(team.events(coordination.TypeA2AJobFailed)) == 1 })
			team.quiet()
			key := "agent:ruda:discord:channel:" + team.dev.ID
			var told []string
			for _, m := range said[coordination.SessionMessage](team, coordination.TypeSessionMessage) {
				if m.SessionKey == key && strings.HasPrefix(m.Text, "[outcome] blocked: 응답을 받지 못했습니다 (") {
					told = append(told, m.Text)
				}
			}
			if len(told) != 1 || !strings.HasSuffix(told[0], "\n\n→ 이든 (eden): 이 벽 무슨 색이 좋을까?") {
				t.Errorf("ruda's session is told %q, want it once, with what was asked", told)
			}
			want := 2
			if c.wakes {
				want = 3
			}
			texts := team.texts(team.dev.ID)
			if len(texts) != want || c.wakes && texts[2] != "루다: 이든이 대답하지 않습니다" {
				t.Errorf("the channel says %q, want %d messages", texts, want)
			}
			team.again()
			team.quiet()
			same(t, "after a restart", len(team.texts(team.dev.ID)), want)
		})
	}
}

// An agent that asks again whenever it is told that there is no answer comes to an end: each time is one hop further from the start of
// the chain.
func TestAskingAgainAndAgainEnds(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "eden":
			return a2atest.Fail(401)
		case a.AfterTool():
			return a2atest.Say("다시 물어봤어요")
		}
		return a2atest.Use(a2atest.Send(map[string]any{"agentId": "eden", "message": "이 벽 무슨 색이 좋을까?", "timeoutSeconds": 0}))
	}})
	team.tells("ruda", "이든에게 벽을 물어봐")
	team.quiet()
	if n := len(team.events(coordination.TypeA2ASend)); n == 0 || n > chain.DefaultLimits().Hops {
		t.Errorf("ruda has asked %d times, want at most %d", n, chain.DefaultLimits().Hops)
	}
	if len(team.events(coordination.TypeA2AForbidden)) == 0 {
		t.Error("nothing says why it ended")
	}
}

// A sender that waits in vain is told by the tool alone, one that no longer waits in its session.
func TestWhoWaitsIsToldOnce(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "eden":
			if strings.Contains(a.Message(), "늦게") {
				<-release
			}
			return a2atest.Fail(401)
		case a.AfterTool():
			return a2atest.Say("알겠습니다")
		case strings.Contains(a.Message(), "바로"):
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": "eden", "message": "바로 알려줘", "timeoutSeconds": 60}))
		case strings.Contains(a.Message(), "나중"):
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": "eden", "message": "늦게 알려줘", "timeoutSeconds": 1}))
		}
		return a2atest.Say("네")
	}})
	told := func() (n int) {
		for _, m := range said[coordination.SessionMessage](team, coordination.TypeSessionMessage) {
			if m.SessionKey == "agent:ruda:main" && m.Author == "user" && strings.HasPrefix(m.Text, "[outcome] blocked:") {
				n++
			}
		}
		return n
	}
	team.tells("ruda", "바로 물어봐")
	team.quiet()
	same(t, "who waits", told(), 0)
	team.tells("ruda", "나중에 물어봐")
	close(release)
	team.await("the end of the exchange", func() bool { return len(team.events(coordination.TypeA2AJobFailed)) == 2 })
	team.quiet()
	same(t, "who has stopped waiting", told(), 1)
}

// A requester in a thread without an answer finds that in its session once people are told.
func TestWhoAskedInAThreadIsToldOfTheEscalation(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "ruda" && a.AfterTool():
			return a2atest.Say("물어봤어요")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "물어봐"):
			return ask("eden", "코드 리뷰 해줘")
		}
		return a2atest.Say("NO_REPLY")
	}})
	team.says(team.dev.ID, "%s 이든한테 물어봐", team.at("ruda"))
	team.quiet()
	thread := team.thread(team.dev.ID)
	for step := 1; step <= 3; step++ {
		team.advance(5 * time.Minute)
		team.await("what is said of it", func() bool { return len(team.texts(thread.ID)) == step+1 })
		team.quiet()
	}
	key := "agent:ruda:discord:channel:" + team.dev.ID
	want := []string{"[outcome] blocked: 응답을 받지 못했습니다 (이든이 15분째 무응답입니다)\n\n→ " + thread.Name + ": 코드 리뷰 해줘"}
	same(t, "ruda's session", team.saidIn(key), want)
	team.advance(time.Hour)
	team.quiet()
	same(t, "an hour later", team.saidIn(key), want)
}
