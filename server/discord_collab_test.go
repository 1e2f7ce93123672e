package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// collabAnswer is what the tool collaborate answers.
type collabAnswer struct {
	Success                                            bool
	ThreadID, ThreadName, ChannelID, MessageID         string
	Note, CollabID, Status, Error, Code, Hint, Message string
	ResetAtMs                                          int64
	Duplicate                                          bool
}

// toolAnswers are what an agent's calls of collaborate came to, in order.
func (team *discordTeam) toolAnswers(agent string) (list []collabAnswer) {
	team.t.Helper()
	for _, a := range team.asked(agent) {
		if !a.AfterTool() {
			continue
		}
		var one collabAnswer
		if err := json.Unmarshal([]byte(strings.TrimPrefix(a.Last().Text, "error: ")), &one); err != nil {
			team.t.Fatalf("%s is answered %q: %v", agent, a.Last().Text, err)
		}
		list = append(list, one)
	}
	return list
}

// inSession reports whether an agent is asked in a session.
func inSession(a *a2atest.Asked, key string) bool {
	return strings.Contains(a.System, "Its key is `"+key+"`")
}

// tells has a person write to an agent's main session by the gateway, as webchat does, and gives what the agent answers.
func (team *discordTeam) tells(agent, text string) string {
	team.t.Helper()
	c := connect(team.t, gatewayURL(team.gatewayAddress()))
	defer func() { _ = c.Close() }()
	live := liveTeam{reloading: team.reloading, client: c}
	return live.tell(team.t, agent, fmt.Sprintf("%s-%d", agent, len(team.models.Asked())), text)
}

// tellsIn has a person say something in a session over the wire, and returns what its agent answers.
func (team *discordTeam) tellsIn(key, text string) string {
	team.t.Helper()
	c := connect(team.t, gatewayURL(team.gatewayAddress()))
	defer func() { _ = c.Close() }()
	payload, err := c.CallFinal(team.t.Context(), "agent", map[string]string{"message": text, "idempotencyKey": text, "sessionKey": key}, nil)
	var answer struct {
		Result struct{ Payloads []struct{ Text string } }
	}
	if err != nil || json.Unmarshal(payload, &answer) != nil || len(answer.Result.Payloads) != 1 {
		team.t.Fatalf("%s answers %s: %v", key, payload, err)
	}
	return answer.Result.Payloads[0].Text
}

// has puts a file into an agent's workspace.
func (team *discordTeam) has(agent, name, text string) {
	team.t.Helper()
	dir := filepath.Join(team.opts.StateDir, "workspace-"+agent)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		team.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		team.t.Fatal(err)
	}
}

// requests are the requests that stand in threads.
func (team *discordTeam) requests() []coordination.A2ACollaborate {
	team.t.Helper()
	return said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateSent)
}

// edenIsAsked has ruda ask eden whenever a person says "물어봐", and tell the person so. In threads ruda says nothing; eden answers there.
func edenIsAsked(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
	switch {
	case a.Agent == "ruda" && a.AfterTool():
		return a2atest.Say("이든에게 전달했습니다")
	case a.Agent == "ruda" && strings.Contains(a.Message(), "물어봐"):
		return ask("eden", "PR #42 코드 리뷰 부탁해", "threadName", "인증 모듈 코드 리뷰")
	case a.Agent == "eden" && strings.Contains(a.Message(), "코드 리뷰 부탁해"):
		return a2atest.Say("확인했습니다. 문제 없어요")
	case a.Agent == "dajim":
		return a2atest.Say("루다가 이든에게 물어봤습니다")
	case strings.Contains(a.Message(), "뭐래?"):
		return a2atest.Say("문제 없대요")
	}
	return a2atest.Say("NO_REPLY")
}

// A person asks ruda to ask eden: one answer to the person, a thread with its topic in the name, eden runs as itself there, the request
// is answered, the requester is told, and dajim says nothing but knows of it.
func TestEA_APersonAsksOneAgentToAskAnother(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: edenIsAsked})
	for name, text := range map[string]string{"SOUL.md": "soul-of-eden", "MEMORY.md": "memory-of-eden", "IDENTITY.md": "identity-of-eden",
		"AGENTS.md": "agents-of-eden", "TOOLS.md": "tools-of-eden", "HEARTBEAT.md": "heartbeat-of-eden"} {
		team.has("eden", name, text)
	}
	team.says(team.dev.ID, "%s 이든한테 물어봐줘", team.at("ruda"))
	team.quiet()
	if diff := gocmp.Diff([]string{"병욱: " + team.at("ruda") + " 이든한테 물어봐줘", "루다: 이든에게 전달했습니다"}, team.texts(team.dev.ID)); diff != "" {
		t.Errorf("channel (-want +got):\n%s", diff)
	}
	thread := team.thread(team.dev.ID)
	if want := "[협업] 루다 → 이든 · 인증 모듈 코드 리뷰"; thread.Name != want {
		t.Errorf("the thread is called %q, want %q", thread.Name, want)
	}
	want := []string{"루다: " + team.at("eden") + "\n\nPR #42 코드 리뷰 부탁해", "이든: 확인했습니다. 문제 없어요"}
	if diff := gocmp.Diff(want, team.texts(thread.ID)); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	if got := team.runs(); got != "ruda 2, eden 1" {
		t.Errorf("runs: %s, want ruda 2, eden 1", got)
	}

	eden := team.asked("eden")[0]
	if !inSession(&eden, "agent:eden:discord:channel:"+thread.ID) {
		t.Errorf("eden is asked in another session than that of the thread:\n%s", eden.System)
	}
	for _, text := range []string{"soul-of-eden", "memory-of-eden", "identity-of-eden", "agents-of-eden", "tools-of-eden"} {
		if !strings.Contains(eden.System, text) {
			t.Errorf("eden is not told %s", text)
		}
	}
	if strings.Contains(eden.System, "heartbeat-of-eden") {
		t.Error("eden's prompt in a thread mentions its heartbeat")
	}

	answered := said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateResponded)
	if len(answered) != 1 || answered[0].CollabID != team.requests()[0].CollabID || answered[0].Late {
		t.Errorf("answers: %+v, want one, of the request", answered)
	}
	team.advance(time.Hour)
	team.quiet()
	if got := team.texts(thread.ID); len(got) != 2 {
		t.Errorf("an hour later the thread says %q, want no reminder", got)
	}
	if answer := team.toolAnswers("ruda")[0]; answer.Note != "이든에게 메시지를 전달했습니다. 스레드에서 응답을 기다리세요." || answer.ThreadID != thread.ID ||
		answer.ThreadName != thread.Name || answer.ChannelID != team.dev.ID || answer.MessageID != team.discord.Messages(thread.ID)[0].ID || !answer.Success {
		t.Errorf("ruda is answered %+v", answer)
	}

	// ruda's session of the thread has the request, and its session of the channel the answer.
	inThread := team.asked("ruda")[2]
	if !inSession(&inThread, "agent:ruda:discord:channel:"+thread.ID) || !strings.Contains(transcript(&inThread), "[You asked 이든 in this thread]\nPR #42 코드 리뷰 부탁해") {
		t.Errorf("in the thread ruda is told %s", transcript(&inThread))
	}
	team.says(team.dev.ID, "%s 뭐래?", team.at("ruda"))
	team.quiet()
	last := team.asked("ruda")[3]
	if want := "[이든 answered in " + thread.Name + "]\n확인했습니다. 문제 없어요"; !strings.Contains(transcript(&last), want) {
		t.Errorf("where ruda was asked it is told\n%s\nwant %q in it", transcript(&last), want)
	}

	if got := team.asked("dajim"); len(got) != 0 {
		t.Fatalf("dajim was asked %d times", len(got))
	}
	team.says(team.dev.ID, "%s 아까 루다가 누구한테 물어봤어?", team.at("dajim"))
	team.quiet()
	dajim := team.asked("dajim")[0]
	if want := "병욱: @루다 이든한테 물어봐줘"; !strings.Contains(transcript(&dajim)+dajim.System, want) {
		t.Errorf("dajim is told\n%s\n%s\nwant %q in it", dajim.System, transcript(&dajim), want)
	}
	if left := team.stuck(); len(left) != 0 {
		t.Errorf("not delivered: %q", left)
	}
}

// transcript is all that a model was told besides what the system says.
func transcript(a *a2atest.Asked) string {
	var b strings.Builder
	for _, m := range a.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
	}
	return b.String()
}

// What starts in webchat is seen in Discord, in the usual channel; the session where it started is told the answer.
func TestED_StartedInWebchatSeenInDiscord(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: edenIsAsked})
	if got := team.tells("ruda", "이든한테 물어봐줘"); got != "이든에게 전달했습니다" {
		t.Errorf("ruda says %q", got)
	}
	team.quiet()
	thread := team.thread(team.dev.ID)
	want := []string{"루다: " + team.at("eden") + "\n\nPR #42 코드 리뷰 부탁해", "이든: 확인했습니다. 문제 없어요"}
	if diff := gocmp.Diff(want, team.texts(thread.ID)); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	if got := team.texts(team.dev.ID); len(got) != 0 {
		t.Errorf("the channel says %q, want nothing: the person reads the answer in webchat", got)
	}
	team.tells("ruda", "뭐래?")
	asked := team.asked("ruda")
	last := asked[len(asked)-1]
	if want := "[이든 answered in " + thread.Name + "]\n확인했습니다. 문제 없어요"; !inSession(&last, "agent:ruda:main") || !strings.Contains(transcript(&last), want) {
		t.Errorf("in webchat ruda is told\n%s\nwant %q in it", transcript(&last), want)
	}
}

// Agents ask each other from sessions of all kinds: each time a thread is opened, the answer is immediate, and the requesting session is
// told the answer. The thread is in the channel of the session where it has one, else in the usual channel.
func TestC1C2C3_FromSessionsOfAllKinds(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{
		config: func(text string) string {
			text = strings.Replace(text, "collaboration: {", `collaboration: { allowedChannels: ["OPS"], rateLimit: { threadCreationPerMinute: 100 },`, 1)
			return strings.Replace(text, `model: "test/seum" }`, `model: "test/seum", subagents: { allowAgents: ["*"] } }`, 1)
		},
		answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
			word := a.Message()
			switch {
			case a.Agent == "eden":
				return a2atest.Say("답: " + word[strings.LastIndex(word, " ")+1:])
			case a.AfterTool():
				return a2atest.Say("전달했습니다")
			case a.Agent == "seum" && strings.Contains(word, "세움을 통해"):
				return a2atest.Use(a2atest.Send(map[string]any{"agentId": "ruda", "message": "이든한테 물어봐 a2a", "replyBack": false, "announceStep": false}))
			case a.Agent == "seum" && strings.Contains(word, "하위"):
				return a2atest.Use(a2atest.Call{Name: "sessions_spawn", Args: map[string]any{"agentId": "ruda", "task": "이든한테 물어봐 subagent"}})
			case a.Agent == "ruda" && strings.Contains(word, "이든한테 물어봐 "):
				name := strings.Fields(word[strings.Index(word, "이든한테 물어봐 ")+len("이든한테 물어봐 "):])[0]
				return ask("eden", "질문 "+name, "threadName", name)
			}
			return a2atest.Say("NO_REPLY")
		}})
	dm, err := team.person.Conversation(team.bots["ruda"].ID)
	if err != nil {
		t.Fatal(err)
	}
	team.says(team.dev.ID, "%s 이든한테 물어봐 channel", team.at("ruda"))
	team.says(team.ops.ID, "%s 이든한테 물어봐 other-channel", team.at("ruda"))
	own, err := team.person.StartThread(team.ops.ID, "own thread")
	if err != nil {
		t.Fatal(err)
	}
	team.says(own.ID, "%s 이든한테 물어봐 thread", team.at("ruda"))
	team.watch = append(team.watch, dm.ID)
	team.says(dm.ID, "이든한테 물어봐 direct")
	team.quiet()
	team.tells("ruda", "이든한테 물어봐 webchat")
	team.tells("seum", "세움을 통해 물어봐줘")
	team.tells("seum", "하위 에이전트로 물어봐줘")
	team.quiet()
	where := map[string]string{"channel": team.dev.ID, "other-channel": team.ops.ID, "thread": team.ops.ID, "direct": team.dev.ID,
		"webchat": team.dev.ID, "a2a": team.dev.ID, "subagent": team.dev.ID}
	got, sessions := map[string]string{}, map[string]string{}
	for _, r := range team.requests() {
		name := strings.TrimPrefix(r.Message, "질문 ")
		got[name] = r.ParentChannelID
		thread, _ := team.discord.Channel(r.ThreadID)
		if want := "[협업] 루다 → 이든 · " + name; thread.Name != want {
			t.Errorf("of %s the thread is called %q, want %q", name, thread.Name, want)
		}
		if texts := team.texts(r.ThreadID); len(texts) != 2 || texts[1] != "이든: 답: "+name {
			t.Errorf("of %s the thread says %q", name, texts)
		}
	}
	if diff := gocmp.Diff(where, got); diff != "" {
		t.Errorf("where they are asked (-want +got):\n%s", diff)
	}
	for _, r := range said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateRequested) {
		name := strings.TrimPrefix(r.Message, "질문 ")
		sessions[name] = r.SessionKey
		if said := team.saidIn(r.SessionKey); !slices.ContainsFunc(said, func(s string) bool { return strings.HasSuffix(s, "\n답: "+name) }) {
			t.Errorf("%s, which has asked, is told %q, want the answer", r.SessionKey, said)
		}
	}
	for name, prefix := range map[string]string{"channel": "agent:ruda:discord:channel:" + team.dev.ID, "other-channel": "agent:ruda:discord:channel:" + team.ops.ID,
		"thread": "agent:ruda:discord:channel:" + own.ID, "direct": "agent:ruda:main", "webchat": "agent:ruda:main", "a2a": "agent:ruda:a2a:",
		"subagent": "agent:ruda:subagent:"} {
		if !strings.HasPrefix(sessions[name], prefix) {
			t.Errorf("of %s it is asked in %s, want %s", name, sessions[name], prefix)
		}
	}
}

// saidIn are the messages of a session that the system has put there.
func (team *discordTeam) saidIn(key string) (texts []string) {
	team.t.Helper()
	for _, m := range said[coordination.SessionMessage](team, coordination.TypeSessionMessage) {
		if m.SessionKey == key && m.Provenance == "internal_system" {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// An agent that is unknown or has no bot cannot be asked: the answer names the missing binding at once.
func TestC4E6_TheMissingBindingIsNamed(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{
		config: func(text string) string {
			return strings.Replace(text, "agents: { list: [", `agents: { list: [{ id: "mute", name: "무음" }, `, 1)
		},
		answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
			switch {
			case a.AfterTool():
				return a2atest.Say("안 됩니다")
			case strings.Contains(a.Message(), "모르는"):
				return ask("stranger", "안녕")
			}
			return ask("mute", "안녕")
		}})
	team.says(team.dev.ID, "%s 모르는 사람한테 물어봐", team.at("ruda"))
	team.quiet()
	team.says(team.dev.ID, "%s 무음한테 물어봐", team.at("ruda"))
	team.quiet()
	for i, want := range []string{`{agentId: "stranger", match: {channel: "discord"`, `{agentId: "mute", match: {channel: "discord"`} {
		if got := team.toolAnswers("ruda")[i]; got.Success || got.Code != "mapping_not_found" || !strings.Contains(got.Hint, want) {
			t.Errorf("ruda is answered %+v, want mapping_not_found, and %s", got, want)
		}
	}
	failed := said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateFailed)
	if len(failed) != 2 || failed[0].ErrorCode != "mapping_not_found" || failed[0].ToAgent != "stranger" || failed[1].ToAgent != "mute" {
		t.Errorf("the log has %+v", failed)
	}
	if n := len(team.discord.Threads(team.dev.ID)); n != 0 {
		t.Errorf("%d threads were opened", n)
	}
}

// A bot that may not open threads fails at once without retries, and people are told once; one that is gone is not asked at all.
func TestC5E1_ABotThatIsShutOut(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: edenIsAsked, config: escalatingToOps})
	team.discord.Permit(team.dev.ID, team.bots["ruda"].ID, 0, discordtest.CreatePublicThreads)
	team.says(team.dev.ID, "%s 이든한테 물어봐줘", team.at("ruda"))
	team.quiet()
	if got := team.toolAnswers("ruda")[0]; got.Success || got.Code != "permission_denied" || !strings.Contains(got.Hint, "Create Public Threads") {
		t.Errorf("ruda is answered %+v, want permission_denied", got)
	}
	if n := len(team.discord.RequestsTo(discordtest.Match{Route: "POST /channels/{channel}/threads"})); n != 1 {
		t.Errorf("Discord was asked %d times, want once", n)
	}
	told := team.texts(team.ops.ID)
	if len(told) != 1 || !strings.Contains(told[0], ": "+team.person.Mention()+"\n**에스컬레이션** · 이든에게 보낸 루다의 요청이 게시되지 않았습니다 (permission_denied: ") {
		t.Errorf("people are told %q, want one line", told)
	}
	if failed := said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateFailed); len(failed) != 1 || !failed[0].Escalate {
		t.Errorf("the log has %+v, want one failure that people are told of", failed)
	}

	team.bots["eden"].Refuse(403)
	team.await("eden to be given up", func() bool {
		bot, _ := team.agents.discord.bots.Registry().Bot("eden")
		return !bot.Connected && !bot.Coming
	})
	team.says(team.dev.ID, "%s 이든한테 다시 물어봐줘", team.at("ruda"))
	team.quiet()
	if got := team.toolAnswers("ruda")[1]; got.Success || got.Code != "mapping_not_found" || !strings.Contains(got.Error, "account eden of its binding is not connected") {
		t.Errorf("ruda is answered %+v, want that eden's account is not connected", got)
	}
	if got := team.texts(team.ops.ID); len(got) != 1 {
		t.Errorf("people are told %q, want no more: the agent was answered", got)
	}
}

// escalatingToOps has people told in the channel ops.
func escalatingToOps(text string) string {
	return strings.Replace(text, "escalation: {", `escalation: { channelId: "OPS",`, 1)
}

// A requester continues at once: it answers a person while the other agent still thinks, and takes up an answer that comes minutes
// later.
func TestA1A2A3_NoAgentWaits(t *testing.T) {
	t.Parallel()
	thinks := make(gate)
	team := startDiscordTeam(t, discordSetting{answer: func(team *discordTeam, a a2atest.Asked) a2atest.Answer {
		if a.Agent == "eden" {
			thinks.pass(a.Context)
		}
		if a.Agent == "ruda" && strings.Contains(a.Message(), "날씨") {
			return a2atest.Say("맑아요")
		}
		return edenIsAsked(team, a)
	}})
	team.says(team.dev.ID, "%s 이든한테 물어봐줘", team.at("ruda"))
	team.await("the person to be answered", func() bool { return len(team.texts(team.dev.ID)) == 2 })
	team.says(team.dev.ID, "%s 날씨 어때?", team.at("ruda"))
	team.await("the next answer", func() bool { return len(team.texts(team.dev.ID)) == 4 })
	if got := team.texts(team.dev.ID); got[1] != "루다: 이든에게 전달했습니다" || got[3] != "루다: 맑아요" {
		t.Errorf("the channel says %q", got)
	}
	thread := team.thread(team.dev.ID)
	if got := team.texts(thread.ID); len(got) != 1 {
		t.Errorf("the thread says %q, want the request alone", got)
	}
	team.clock.Forward(4 * time.Minute)
	thinks.open()
	team.quiet()
	if got := team.texts(thread.ID); len(got) != 2 || got[1] != "이든: 확인했습니다. 문제 없어요" {
		t.Errorf("the thread says %q, want the answer", got)
	}
	answered := said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateResponded)
	if len(answered) != 1 || answered[0].Late || answered[0].RespondedAt-team.requests()[0].SentAt < (4*time.Minute).Milliseconds() {
		t.Errorf("answers: %+v, want one, in time, after 4 minutes", answered)
	}
}

// The assignment of bots is in the log of the start, with warnings.
func TestM3_TheTableInTheLogOfTheStart(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: func(text string) string {
		text = strings.Replace(text, "agents: { list: [", `agents: { list: [{ id: "mute", name: "무음" }, `, 1)
		return strings.Replace(text, "bindings: [", `bindings: [{ agentId: "ruda", match: { channel: "discord", accountId: "ghost" } }, `, 1)
	}})
	lines := team.log.until(t, "Discord bot configured agents=account seum")
	lines = append(lines, team.log.until(t, "a binding gives ruda the account ghost")...)
	for _, want := range []string{
		"Discord bot configured agents=account eden -> agent eden, bot " + team.bots["eden"].ID,
		"Discord bot configured agents=account ruda -> agent ruda, bot " + team.bots["ruda"].ID,
		"agent mute has no bot in Discord code=agent_without_bot subject=mute hint=add an account to channels.discord.accounts",
	} {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("the log has no line %q, but\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// An agent that is added with its bot while the program runs can be asked at once; one that is removed cannot.
func TestM4_AgentsCanBeAddedWhileItRuns(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "ruda" && a.AfterTool():
			return a2atest.Say("전달했습니다")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "인사해줘"):
			return ask("narae", "안녕")
		case a.Agent == "narae":
			return a2atest.Say("저 여기 있어요")
		}
		return a2atest.Say("NO_REPLY")
	}})
	team.says(team.dev.ID, "%s 나래한테 인사해줘", team.at("ruda"))
	team.quiet()
	if got := team.toolAnswers("ruda")[0]; got.Code != "mapping_not_found" {
		t.Errorf("before there is narae ruda is answered %+v", got)
	}
	bot := team.discord.AddBot("나래", discordtest.BotOptions{})
	team.guild.Join(bot.ID)
	text := strings.NewReplacer(
		"agents: { list: [", `agents: { list: [{ id: "narae", name: "나래", model: "test/narae" }, `,
		"bindings: [", `bindings: [{ agentId: "narae", match: { channel: "discord", accountId: "narae" } }, `,
		"accounts: {", fmt.Sprintf("accounts: { narae: { token: %q, botUserId: %q }, ", bot.Token, bot.ID),
		"models: [", `models: [{ id: "narae" }, `).Replace(team.text)
	text = strings.Replace(text, `[{ id: "narae", name: "나래", model: "test/narae" }, { id: "ruda", `, `[{ id: "ruda", default: true, `, 1)
	text = strings.Replace(text, `{ id: "eden", name`, `{ id: "narae", name: "나래", model: "test/narae" }, { id: "eden", name`, 1)
	team.write(t, settings.FileName, text)
	team.bots["narae"] = bot
	team.connected()
	team.says(team.dev.ID, "%s 나래한테 다시 인사해줘", team.at("ruda"))
	team.quiet()
	thread := team.thread(team.dev.ID)
	want := []string{"루다: " + bot.Mention() + "\n\n안녕", "나래: 저 여기 있어요"}
	if diff := gocmp.Diff(want, team.texts(thread.ID)); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	for _, b := range said[coordination.IdentityBot](team, coordination.TypeIdentityBotRegistered) {
		if b.AgentID == "narae" && b.BotUserID == bot.ID && b.AccountID == "narae" {
			return
		}
	}
	t.Error("the log does not say whose bot narae's is")
}

// After a restart it goes on: the participants of a thread, the reuse of threads, and the times of reminders.
func TestEE_RestartsLoseNothing(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "ruda" && a.AfterTool():
			return a2atest.Say("전달했습니다")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "물어봐"):
			return ask("eden", a.Message()[strings.Index(a.Message(), "물어봐"):], "threadName", "리뷰")
		case a.Agent == "eden" && strings.Contains(a.Message(), "있어?"):
			return a2atest.Say("있어요")
		}
		return a2atest.Say("NO_REPLY")
	}})
	team.says(team.dev.ID, "%s 물어봐 하나", team.at("ruda"))
	team.quiet()
	thread := team.thread(team.dev.ID)
	team.again()
	team.advance(5 * time.Minute)
	team.await("the reminder", func() bool { return len(team.texts(thread.ID)) == 2 })
	team.says(team.dev.ID, "%s 물어봐 둘", team.at("ruda"))
	team.quiet()
	team.again()
	team.says(thread.ID, "누구 있어?")
	team.quiet()
	want := []string{
		"루다: " + team.at("eden") + "\n\n물어봐 하나", "루다: [리마인더] " + team.at("eden") + " 위 요청 확인 부탁해요.",
		"루다: " + team.at("eden") + "\n\n물어봐 둘", "병욱: 누구 있어?", "이든: 있어요",
	}
	if diff := gocmp.Diff(want, team.texts(thread.ID)); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	if n := len(team.discord.Threads(team.dev.ID)); n != 1 {
		t.Errorf("there are %d threads, want one", n)
	}
	answered := said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateResponded)
	if first := team.requests()[0].CollabID; len(answered) != 1 || answered[0].CollabID != first {
		t.Errorf("answers: %+v, want one, of %s", answered, first)
	}
	team.advance(5 * time.Minute)
	team.await("the reminder of the other one", func() bool { return len(team.texts(thread.ID)) == 6 })
	team.quiet()
	if reminded := said[coordination.Collab](team, coordination.TypeCollabReminded); len(reminded) != 2 ||
		reminded[1].CollabID != team.requests()[1].CollabID || reminded[1].Attempt != 1 {
		t.Errorf("reminders: %+v, want one of each request", reminded)
	}
}
