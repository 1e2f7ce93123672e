package server

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// Two agents are asked at once: one leads, the other one adds to it, both answer in the channel, once each.
func TestEB_TwoAgentsAreAskedAtOnce(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: play(
		part{"ruda", "이거 같이 봐줘", a2atest.Say("제가 먼저 살펴볼게요.")},
		part{"eden", "이거 같이 봐줘", a2atest.Say("루다 의견에 덧붙이면, 테스트도 필요합니다.")})})
	team.says(team.dev.ID, "%s %s 이거 같이 봐줘", team.at("ruda"), team.at("eden"))
	team.quiet()
	texts := team.texts(team.dev.ID)
	slices.Sort(texts) // who answers first is left to them
	same(t, "channel", texts, []string{"루다: 제가 먼저 살펴볼게요.", "병욱: " + team.at("ruda") + " " + team.at("eden") + " 이거 같이 봐줘",
		"이든: 루다 의견에 덧붙이면, 테스트도 필요합니다."})
	same(t, "runs", team.runs(), "ruda 1, eden 1")
	team.says(team.dev.ID, "%s 둘이 뭐래?", team.at("dajim"))
	team.quiet()
	for _, want := range []string{"루다: 제가 먼저 살펴볼게요.", "이든: 루다 의견에 덧붙이면"} {
		if system := team.asked("dajim")[0].System; !strings.Contains(system, want) {
			t.Errorf("dajim was not told %q, but\n%s", want, system)
		}
	}
}

// A person lets a third agent into a thread of two: it takes part from then on, and the others hear it.
func TestEC_AThirdAgentJoins(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{answer: asksEden(
		part{"seum", "도 봐줘", a2atest.Say("제 생각에는 세 군데입니다.")},
		part{"eden", "세 군데", a2atest.Say("맞네요, 세 군데입니다.")})})
	call := team.says(thread.ID, "%s 도 봐줘", team.at("seum"))
	team.quiet()
	same(t, "who handles the call", team.verdicts(call.ID), []string{"dajim observer not_participant", "eden handler participant",
		"ruda handler participant", "seum handler mentioned primary"})
	for agent, want := range map[string]string{"seum": "당신이 이 요청의 주 담당입니다.", "eden": "이 메시지는 세움에게 한 말입니다.", "ruda": "이 메시지는 세움에게 한 말입니다."} {
		if !slices.ContainsFunc(team.asked(agent), func(a a2atest.Asked) bool { return strings.Contains(a.System, want) }) {
			t.Errorf("%s is never told %q", agent, want)
		}
	}
	same(t, "who hears seum", team.handlers(team.message(thread.ID, "세움", "세 군데").ID), "eden ruda")
	same(t, "who hears eden", team.handlers(team.message(thread.ID, "이든", "맞네요").ID), "ruda seum")
	system := team.asked("seum")[0].System
	for _, want := range []string{"루다: @이든 코드 리뷰 해줘", "이든: 리뷰했습니다. 두 군데를 고쳐야 합니다."} {
		if !strings.Contains(system, want) {
			t.Errorf("seum, who has observed the thread before, was not told %q, but\n%s", want, system)
		}
	}
	same(t, "dajim", len(team.asked("dajim")), 0)
}

// The example of the seed, section 3.5, from the first to the last line.
func TestS4Example(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{answer: asksEden(
		part{"ruda", "두 군데를 고쳐야", a2atest.Say("고마워, 한 가지 더 확인해줘")},
		part{"eden", "한 가지 더", a2atest.Say("그것도 확인했습니다.")},
		part{"ruda", "그것도 확인했습니다", a2atest.Say("@세움 도 확인해봐")},
		part{"seum", "도 확인해봐", a2atest.Say("저도 확인했습니다.")})})
	later := team.says(thread.ID, "모두 고마워요")
	team.quiet()
	same(t, "thread", team.texts(thread.ID), []string{
		"루다: " + team.at("eden") + "\n\n코드 리뷰 해줘", "이든: 리뷰했습니다. 두 군데를 고쳐야 합니다.", "루다: 고마워, 한 가지 더 확인해줘",
		"이든: 그것도 확인했습니다.", "루다: " + team.at("seum") + " 도 확인해봐", "세움: 저도 확인했습니다.", "병욱: 모두 고마워요"})
	var heard []string
	for _, m := range team.written(thread.ID) {
		heard = append(heard, team.handlers(m.ID))
	}
	same(t, "who handles each", heard, []string{"eden", "ruda", "eden", "ruda", "eden seum", "eden ruda", "eden ruda seum"})
	var agents []string
	for _, p := range team.participants(thread.ID) {
		agents = append(agents, strings.Fields(p)[0])
	}
	same(t, "participants", agents, []string{"eden", "ruda", "seum"})
	for _, v := range team.verdicts(later.ID) {
		if strings.HasPrefix(v, "dajim") && v != "dajim observer not_participant" {
			t.Errorf("%s, want dajim to observe alone", v)
		}
	}
	same(t, "dajim has observed", len(team.observed("dajim", thread.ID)), 7)
	same(t, "suspensions", len(team.events(coordination.TypeThreadSuspended)), 0)
}

// guideHeads are lines of what the seed's section 10 tells agents.
var guideHeads = []string{"## Peer Collaboration — collaborate 도구", "### collaborate vs sessions_send", "### 스레드 대화 규칙", "### 채널 발언 규칙 (CRITICAL)",
	"- `sessions_send`: A2A 내부 통신, 사용자 비가시, 백그라운드 위임", "- 채널에서 다른 에이전트와 대화하려면 반드시 collaborate() 사용",
	`- 스레드에 새 에이전트를 초대하려면 @멘션 사용 (예: "@세움 이것도 확인해줘")`}

// tellsOfCollaborate checks that exactly the agents that may call collaborate are told how, in every session, and that nothing
// contradicts it.
func (team *discordTeam) tellsOfCollaborate() {
	team.t.Helper()
	asked := team.models.Asked()
	for _, a := range asked {
		offered := slices.Contains(a.Offered, "collaborate")
		for _, line := range guideHeads {
			if told := strings.Count(a.System, line); told != map[bool]int{true: 1}[offered] {
				team.t.Errorf("%s is told %q %d times, and is offered the tool: %t; asked: %q", a.Agent, line, told, offered, a.Message())
			}
		}
		for _, never := range []string{"agentSend", "discord_action", "외부 채널 협업 금지"} {
			if strings.Contains(a.System, never) {
				team.t.Errorf("the prompt of %s mentions %s", a.Agent, never)
			}
		}
	}
	if len(asked) == 0 {
		team.t.Error("no model was asked anything")
	}
}

// everywhere is a team in which ruda answers in sessions of all kinds: a channel, a thread, a conversation, its main one, one of a message between
// agents, and a sub-agent's.
func everywhere(t *testing.T) *discordTeam {
	t.Helper()
	team, thread := collaborating(t, discordSetting{answer: asksEden(
		part{"eden", "네가 직접", a2atest.Use(a2atest.Send(map[string]any{"agentId": "ruda", "message": "몰래 물어볼게", "timeoutSeconds": 5}))},
		part{"ruda", "몰래 물어볼게", a2atest.Say("말해봐")},
		part{"ruda", "나눠서 해줘", a2atest.Use(a2atest.Call{Name: "sessions_spawn", Args: map[string]string{"task": "작은 일"}})},
		part{"ruda", "작은 일", a2atest.Say("했습니다")})})
	talk, err := team.person.Conversation(team.bots["ruda"].ID)
	if err != nil {
		t.Fatal(err)
	}
	team.watch = append(team.watch, talk.ID)
	team.says(talk.ID, "안녕, 나눠서 해줘")
	team.says(thread.ID, "%s 네가 직접 루다에게 전해", team.at("eden"))
	team.quiet()
	return team
}

// The shared prompt says that Discord comes first, in the words of the seed, wherever agents may ask each other there.
func TestP1_TheGuideIsToldWhereverItApplies(t *testing.T) {
	t.Parallel()
	team := everywhere(t)
	team.tellsOfCollaborate()
	kinds := map[string]bool{}
	for _, q := range said[coordination.RunQueued](team, coordination.TypeRunQueued) {
		key, err := coordination.ParseSessionKey(q.SessionKey)
		if err != nil {
			t.Fatal(err)
		}
		kinds[fmt.Sprint(key.Kind)] = true
	}
	if len(kinds) < 4 {
		t.Errorf("agents have answered in sessions of the kinds %v alone, want channels, main, flows and sub-agents\n%s", kinds, team.story())
	}
}

// The guide has the rules of threads and channels, and none of the earlier ones.
func TestP2_TheGuideHasTheRules(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	team.says(team.dev.ID, "안녕")
	team.quiet()
	team.tellsOfCollaborate()
	a := team.asked("ruda")[0]
	if !slices.Contains(a.Offered, "collaborate") {
		t.Errorf("ruda is offered %v, want collaborate among them", a.Offered)
	}
	for _, gone := range []string{"agentSend", "discord_action"} {
		if slices.Contains(a.Offered, gone) {
			t.Errorf("ruda is offered %s", gone)
		}
	}
}

// A message between agents does not forbid asking others in Discord: the tool is offered, explained, and works.
func TestP3_MessagesBetweenAgentsForbidNothing(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: play(
		part{"ruda", "세움에게 물어보게", a2atest.Use(a2atest.Send(map[string]any{"agentId": "eden", "message": "세움에게 물어봐", "timeoutSeconds": 10}))},
		part{"eden", "세움에게 물어봐", ask("seum", "이것 좀 봐줘")},
		part{"eden", "전달했습니다", a2atest.Say("물어봤습니다.")},
		part{"seum", "이것 좀 봐줘", a2atest.Say("봤습니다.")})})
	team.says(team.dev.ID, "%s 이든이 세움에게 물어보게 해줘", team.at("ruda"))
	team.quiet()
	team.tellsOfCollaborate()
	thread := team.thread(team.dev.ID)
	same(t, "thread", team.texts(thread.ID), []string{"이든: " + team.at("seum") + "\n\n이것 좀 봐줘", "세움: 봤습니다."})
	first := team.asked("eden")[0]
	if !slices.Contains(first.Offered, "collaborate") {
		t.Errorf("eden is offered %v where ruda has written to it, want collaborate among them", first.Offered)
	}
	for line := range strings.Lines(strings.Replace(first.System, guideOf(t, first.System), "", 1)) {
		words := strings.Fields(strings.ToLower(line))
		if forbids := slices.Contains(words, "not") || slices.Contains(words, "never") || strings.Contains(line, "금지"); forbids &&
			strings.Contains(strings.ToLower(line), "discord") {
			t.Errorf("eden is told %q", line)
		}
	}
}

// guideOf is the guide as it stands in what an agent is told.
func guideOf(t *testing.T, system string) string {
	t.Helper()
	const last = "- 백그라운드 위임(사용자 안 봐도 됨)은 sessions_send를 사용하세요"
	from, to := strings.Index(system, guideHeads[0]), strings.Index(system, last)
	if from < 0 || to < from {
		t.Fatalf("the guide is not in\n%s", system)
	}
	return system[from : to+len(last)]
}

// Both ways to reach another agent are available, and work in one run.
func TestP4_BothToolsWorkSideBySide(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: play(
		part{"ruda", "둘 다 해줘", a2atest.Use(a2atest.Send(map[string]any{"agentId": "seum", "message": "몰래 봐줘", "timeoutSeconds": 0}),
			a2atest.Call{Name: "collaborate", Args: map[string]string{"targetAgent": "eden", "message": "공개로 봐줘"}})},
		part{"eden", "공개로 봐줘", a2atest.Say("공개로 봤습니다.")},
		part{"seum", "몰래 봐줘", a2atest.Say("몰래 봤습니다.")})})
	team.says(team.dev.ID, "%s 둘 다 해줘", team.at("ruda"))
	team.quiet()
	offered := team.asked("ruda")[0].Offered
	if !slices.Contains(offered, "collaborate") || !slices.Contains(offered, "sessions_send") {
		t.Errorf("ruda is offered %v, want both tools", offered)
	}
	same(t, "thread", team.texts(team.thread(team.dev.ID).ID), []string{"루다: " + team.at("eden") + "\n\n공개로 봐줘", "이든: 공개로 봤습니다."})
	same(t, "seum was asked", len(team.asked("seum")) > 0, true)
	for _, m := range team.messages() {
		if strings.Contains(m.Content, "몰래") {
			t.Errorf("%s has said %q in Discord", m.Author.Username, m.Content)
		}
	}
}

// An agent that is named but not mentioned does not run; the handler is told how to reach it.
func TestNamesWithoutMentionGiveAHint(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	team.says(team.dev.ID, "%s 이든한테 물어보고 세움이랑 논의해봐", team.at("ruda"))
	team.quiet()
	system := team.asked("ruda")[0].System
	for _, want := range []string{
		`메시지에 이든이 언급되었습니다. 이든은 이 메시지를 처리하지 않으므로, 전할 내용이 있으면 collaborate(targetAgent: "eden") 도구를 사용하세요.`,
		`메시지에 세움이 언급되었습니다. 세움은 이 메시지를 처리하지 않으므로, 전할 내용이 있으면 collaborate(targetAgent: "seum") 도구를 사용하세요.`,
	} {
		if !strings.Contains(system, want) {
			t.Errorf("ruda was not told %q, but\n%s", want, system)
		}
	}
	if strings.Contains(system, "다짐이 언급") || team.runs() != "ruda 1" {
		t.Errorf("runs: %s, want ruda 1, without other agents in its prompt", team.runs())
	}
}

// The requester's session of the thread has the request and its origin when the answer comes.
func TestBug40_TheRequesterKnowsWhatItHasAsked(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{})
	var answered *a2atest.Asked
	for _, a := range team.asked("ruda") {
		if strings.Contains(a.Message(), "두 군데를 고쳐야") {
			answered = &a
		}
	}
	if answered == nil {
		t.Fatalf("ruda has not heard the answer\n%s", team.story())
	}
	var before []string
	for _, m := range answered.Messages[:len(answered.Messages)-1] {
		before = append(before, m.Text)
	}
	origin := coordination.ChannelKey("ruda", "discord", team.dev.ID).String()
	if told := strings.Join(before, "\n"); !strings.Contains(told, "코드 리뷰 해줘") || !strings.Contains(told, origin) {
		t.Errorf("before the answer ruda's session of thread %s has\n%s\nwant what it has asked, and that it has asked it in %s", thread.ID, told, origin)
	}
}

// An author that may not speak lets no agent into a thread, starts no run, and is not remembered.
func TestBug42_WhoMayNotSpeakLetsNoOneIn(t *testing.T) {
	t.Parallel()
	var stranger *discordtest.Human
	team, thread := collaborating(t, discordSetting{before: func(team *discordTeam) {
		stranger = team.discord.AddHuman("낯선이")
		team.guild.Join(stranger.ID)
		listed := fmt.Sprintf(`dmPolicy: "open", guilds: { %q: { users: [%q] } },`, team.guild.ID, team.person.ID)
		team.text = strings.Replace(team.text, `dmPolicy: "open",`, listed, 1)
	}})
	before, runs := team.participants(thread.ID), team.runs()
	seen := team.observed("seum", thread.ID)
	for _, place := range []string{thread.ID, team.dev.ID} {
		m, err := stranger.Post(place, team.at("seum")+" 도와줘")
		if err != nil {
			t.Fatal(err)
		}
		team.quiet()
		same(t, "verdicts", team.verdicts(m.ID), []string{"dajim dropped author_not_allowed", "eden dropped author_not_allowed",
			"ruda dropped author_not_allowed", "seum dropped author_not_allowed"})
	}
	same(t, "runs", team.runs(), runs)
	same(t, "participants", team.participants(thread.ID), before)
	same(t, "seum has observed", team.observed("seum", thread.ID), seen)
	allowed := team.says(thread.ID, "%s 도와줘", team.at("seum"))
	team.quiet()
	same(t, "who is mentioned by a permitted author", team.handlers(allowed.ID), "eden ruda seum")
}

// Messages that came while an agent was busy are not lost with those that it has read.
func TestBug43_WhatCameMeanwhileIsToldNext(t *testing.T) {
	t.Parallel()
	var once sync.Once
	started, release := make(chan struct{}), make(chan struct{})
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		if a.Agent == "dajim" {
			once.Do(func() { close(started); <-release })
		}
		return a2atest.Say(nothing)
	}})
	defer func() {
		select {
		case <-release:
		default:
			close(release)
		}
	}()
	team.says(team.dev.ID, "%s 먼저 온 말", team.at("ruda"))
	team.says(team.dev.ID, "%s 뭐래?", team.at("dajim"))
	<-started
	late := team.says(team.dev.ID, "%s 나중에 온 말", team.at("ruda"))
	team.await("the late message to be decided about", func() bool { return len(team.verdicts(late.ID)) > 0 })
	close(release)
	team.quiet()
	same(t, "dajim has observed", team.observed("dajim", team.dev.ID), []string{"병욱: @루다 먼저 온 말", "병욱: @루다 나중에 온 말"})
	team.says(team.dev.ID, "%s 그리고?", team.at("dajim"))
	team.quiet()
	asked := team.asked("dajim")
	if len(asked) != 2 || !strings.Contains(asked[0].System, "먼저 온 말") || strings.Contains(asked[0].System, "나중에 온 말") ||
		!strings.Contains(asked[1].System, "나중에 온 말") || !strings.Contains(asked[1].System, "먼저 온 말") {
		t.Errorf("dajim was asked %d times, want each message told once, in its time", len(asked))
	}
}

// A message that the guard holds is in the log with its reason, and remembered by its target.
func TestBug46_WhatTheGuardHoldsIsRecorded(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "ruda" && strings.Contains(a.Last().Text, "이든한테 물어봐줘"):
			return ask("eden", "안녕")
		case a.Agent == "ruda" && a.AfterTool():
			return a2atest.Say(nothing)
		}
		return a2atest.Say(fmt.Sprintf("%s says %d", a.Agent, a.N)) // for ever
	}})
	team.says(team.dev.ID, "%s 이든한테 물어봐줘", team.at("ruda"))
	team.quiet()
	thread := team.thread(team.dev.ID)
	written := team.written(thread.ID)
	same(t, "messages", len(written), 7)
	last := written[len(written)-1]
	meant := map[string]string{"루다": "eden", "이든": "ruda"}[last.Author.Username]
	if got := team.verdicts(last.ID); !slices.Contains(got, meant+" observer thread_suspended") {
		t.Errorf("the seventh message is %v, want %s to observe it because the thread is suspended", got, meant)
	}
	if seen := team.observed(meant, thread.ID); !slices.Contains(seen, last.Author.Username+": "+last.Content) {
		t.Errorf("%s has observed %v, want %q among it", meant, seen, last.Content)
	}
	suspended := said[coordination.Thread](team, coordination.TypeThreadSuspended)
	if len(suspended) != 1 || suspended[0].ThreadID != thread.ID {
		t.Errorf("suspensions %+v, want one, of the thread", suspended)
	}
	m := team.says(thread.ID, "%s 뭐라고?", team.at(meant))
	team.quiet()
	same(t, "a person is heard all the same", team.handlers(m.ID), "eden ruda")
	asked := team.asked(meant)
	if system := asked[len(asked)-1].System; !strings.Contains(system, last.Content) {
		t.Errorf("%s is not told what was held from it: %q", meant, last.Content)
	}
}
