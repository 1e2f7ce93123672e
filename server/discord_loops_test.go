package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// reportingToOps has conversations between agents reported in the channel ops.
func reportingToOps(text string) string {
	return strings.Replace(text, "gateway: {", `gateway: { conversationSinks: [{ id: "discord-conversation", enabled: true,
		options: { guildId: "1", defaultChannelId: "OPS", routerAccountId: "dajim" } }],`, 1)
}

// rudaWritesToEden has ruda write to eden, and tell the person what eden has answered. In Discord every agent would answer whatever is
// said.
func rudaWritesToEden(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
	switch {
	case a.Agent == "ruda" && inSession(&a, "agent:ruda:main") && !a.AfterTool():
		return a2atest.Use(a2atest.Send(map[string]any{"agentId": "eden", "message": "@세움 하고 이 벽 어때?", "timeoutSeconds": 20, "replyBack": false,
			"announceStep": false}))
	case a.Agent == "eden" && !strings.Contains(a.Message(), "in #"):
		return a2atest.Say("@루다 좋아요")
	}
	return a2atest.Say("네, 그렇습니다")
}

// Messages between agents are reported in a thread by one bot, without mentions, and start no run: neither the reports, nor what is
// written below them. It is dropped, with the reason.
func TestL1L2_ReportsStartNoRun(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: reportingToOps, answer: rudaWritesToEden})
	team.await("the sink to begin", func() bool { return len(team.events(coordination.TypeSinkAdvanced)) > 0 })
	if got := team.tells("ruda", "이든에게 벽을 물어봐"); got != "네, 그렇습니다" {
		t.Fatalf("ruda says %q", got)
	}
	team.await("the reports", func() bool { return len(said[coordination.DiscordOutbound](team, coordination.TypeDiscordSent)) >= 2 })
	team.quiet()
	thread := team.thread(team.ops.ID)
	same(t, "the thread's name", thread.Name, "[리포트] 루다 → 이든 · @세움 하고 이 벽 어때?")
	reports := team.discord.Messages(thread.ID)
	texts := team.texts(thread.ID)
	if len(texts) != 2 || texts[0] != "다짐: **루다 → 이든**\n@세움 하고 이 벽 어때?" || !strings.HasPrefix(texts[1], "다짐: **이든 → 루다** · ") ||
		!strings.HasSuffix(texts[1], "\n@루다 좋아요") {
		t.Fatalf("reports: %q, want what each has said, by dajim's bot", texts)
	}
	for _, m := range reports {
		if len(m.Mentions) > 0 || m.MentionEveryone {
			t.Errorf("%q calls %v", m.Content, m.Mentions)
		}
	}
	m := team.says(thread.ID, "%s %s 이 벽 어때요?", team.at("eden"), team.at("dajim"))
	team.says(thread.ID, "아무도 없어요?")
	team.quiet()
	reports = team.discord.Messages(thread.ID)
	if got := team.runs(); got != "" {
		t.Errorf("runs: %s, want none because of Discord", got)
	}
	others := []string{"eden dropped sink_thread", "ruda dropped sink_thread", "seum dropped sink_thread"}
	for id, want := range map[string][]string{reports[0].ID: others, reports[1].ID: others, m.ID: append([]string{"dajim dropped sink_thread"}, others...)} {
		if diff := gocmp.Diff(want, team.verdicts(id)); diff != "" {
			t.Errorf("verdicts (-want +got):\n%s", diff)
		}
	}
	team.again()
	team.quiet()
	if got := team.discord.Messages(thread.ID); len(got) != len(reports) || len(team.discord.Threads(team.ops.ID)) != 1 || team.runs() != "" {
		t.Errorf("after a restart there are %d messages in %d threads, and runs: %s; want nothing more", len(got), len(team.discord.Threads(team.ops.ID)), team.runs())
	}
}

// A webhook gets each event once, whatever is restarted.
func TestTheWebhookIsToldOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls, failing := map[string]int{}, atomic.Bool{}
	var heard []string
	failing.Store(true)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var e struct {
			Type string
			Data struct{ Message string }
		}
		if json.Unmarshal(body, &e) != nil || r.Header.Get("Authorization") != "Bearer hook-token" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if failing.CompareAndSwap(true, false) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		calls[r.Header.Get("Idempotency-Key")]++
		heard = append(heard, e.Type+" "+e.Data.Message)
	}))
	t.Cleanup(hook.Close)
	told := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(heard)
	}
	team := startDiscordTeam(t, discordSetting{answer: rudaWritesToEden, config: func(text string) string {
		return strings.Replace(text, "gateway: {", fmt.Sprintf(`gateway: { conversationSinks: [{ id: "webhook", enabled: true,
			options: { url: %q, token: "hook-token" } }],`, hook.URL+"/in"), 1)
	}})
	team.await("the sink to begin", func() bool { return len(team.events(coordination.TypeSinkAdvanced)) > 0 })
	team.tells("ruda", "이든에게 벽을 물어봐")
	team.quiet()
	team.again()
	team.advance(time.Minute) // so that what has failed is tried again
	want := []string{"a2a.send @세움 하고 이 벽 어때?", "a2a.response @루다 좋아요", "a2a.complete "}
	team.await("the webhook to be told", func() bool { return len(told()) >= len(want) })
	team.quiet()
	team.again()
	team.quiet()
	if diff := gocmp.Diff(want, told()); diff != "" {
		t.Errorf("the webhook is told (-want +got):\n%s", diff)
	}
	mu.Lock()
	defer mu.Unlock()
	for key, n := range calls {
		if n != 1 {
			t.Errorf("%s is told %d times", key, n)
		}
	}
}

// A requester that asks again from a thread writes an ordinary message there: no thread is opened, and the tool says so.
func TestL3_NoRequestInAnswerToAnAnswer(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.AfterTool():
			return a2atest.Say("NO_REPLY")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "물어봐"):
			return ask("eden", "하나만 봐줘", "threadName", "리뷰")
		case a.Agent == "eden" && strings.Contains(a.Message(), "하나만"):
			return a2atest.Say("봤어요")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "봤어요"):
			return ask("eden", "고마워, 하나 더 확인해줘")
		case a.Agent == "eden":
			return a2atest.Say("그것도 됐어요, 끝")
		}
		return a2atest.Say("NO_REPLY")
	}})
	team.says(team.dev.ID, "%s 이든한테 물어봐줘", team.at("ruda"))
	team.quiet()
	want := []string{"루다: " + team.at("eden") + "\n\n하나만 봐줘", "이든: 봤어요", "루다: 고마워, 하나 더 확인해줘", "이든: 그것도 됐어요, 끝"}
	if diff := gocmp.Diff(want, team.texts(team.thread(team.dev.ID).ID)); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	answers := team.toolAnswers("ruda")
	if len(answers) != 2 || answers[1].Note != "이든과 이미 함께 있는 스레드이므로 새 스레드를 만들지 않고 일반 메시지로 남겼습니다." || answers[1].ThreadID != answers[0].ThreadID {
		t.Errorf("ruda is answered %+v", answers)
	}
	if sent := team.requests(); len(sent) != 2 || !sent[0].Tracked || sent[1].Tracked {
		t.Errorf("requests: %+v, want that the first one is followed, and the other is not", sent)
	}
}

// Ten requests between two agents within five minutes pass, from whichever sessions; the next one does not, with a warning and the time
// of the next.
func TestL4_TheEleventhRequestIsRefused(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{
		config: func(text string) string {
			return strings.Replace(text, "collaboration: {", `collaboration: { rateLimit: { threadCreationPerMinute: 1000 },`, 1)
		},
		answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
			n := 0
			for _, m := range a.Messages {
				n += m.Calls
			}
			switch {
			case a.Agent == "ruda" && inSession(&a, "agent:ruda:main") && n < 11:
				return ask("eden", fmt.Sprintf("질문 %d", n), "threadName", strconv.Itoa(n))
			case a.Agent == "ruda" && inSession(&a, "agent:ruda:main"):
				return a2atest.Say("그만 물어볼게요")
			case a.Agent == "ruda" && strings.Contains(a.Message(), "다시") && !a.AfterTool():
				return ask("eden", "질문 더", "threadName", "more")
			}
			return a2atest.Say("NO_REPLY")
		}})
	team.tells("ruda", "이든에게 열한 가지를 물어봐")
	team.quiet()
	answers := team.toolAnswers("ruda")
	for i, a := range answers[:10] {
		if !a.Success {
			t.Errorf("request %d: %+v", i+1, a)
		}
	}
	first := team.requests()[0].SentAt
	switch last := answers[10]; {
	case last.Success || last.Code != "pair_rate_limited" || last.Hint == "":
		t.Errorf("the eleventh is answered %+v, want pair_rate_limited", last)
	case last.ResetAtMs < first+(4*time.Minute).Milliseconds() || last.ResetAtMs > first+(5*time.Minute).Milliseconds():
		t.Errorf("it may ask again at %d, want five minutes after the first request at %d", last.ResetAtMs, first)
	}
	if limited := said[coordination.Collab](team, coordination.TypeCollabRateLimited); len(limited) != 1 || limited[0].FromAgent != "ruda" || limited[0].ToAgent != "eden" {
		t.Errorf("the log has %+v, want one warning", limited)
	}
	if n := len(team.discord.Threads(team.dev.ID)); n != 10 {
		t.Errorf("%d threads, want 10", n)
	}
	// All ten are accepted, though two agents may exchange only six messages in a minute: requests have their own limit.
	if got := team.runs(); got != "eden 10" {
		t.Errorf("runs: %s, want eden 10", got)
	}
	team.clock.Forward(5 * time.Minute)
	team.says(team.dev.ID, "%s 이든에게 다시 물어봐", team.at("ruda"))
	team.quiet()
	if answers := team.toolAnswers("ruda"); len(answers) != 12 || !answers[11].Success {
		t.Errorf("after five minutes it is answered %+v, want that it was sent", answers[11])
	}
}

// chatting has ruda and eden answer whatever they hear in threads, each time after a while.
func chatting(after time.Duration) func(*discordTeam, a2atest.Asked) a2atest.Answer {
	var n atomic.Int64
	return func(team *discordTeam, a a2atest.Asked) a2atest.Answer {
		team.clock.Forward(after)
		return a2atest.Say(fmt.Sprintf("그래 %d", n.Add(1)))
	}
}

// chat opens a thread in which ruda and eden take part, and has ruda begin to speak.
func (team *discordTeam) chat() discordtest.Channel {
	team.t.Helper()
	thread, err := team.person.StartThread(team.dev.ID, "수다")
	if err != nil {
		team.t.Fatal(err)
	}
	team.says(thread.ID, "%s 이든하고 이야기해", team.at("ruda"))
	return thread
}

// held are the messages of bots that started no run because the place was suspended.
func (team *discordTeam) held(place string) (n int) {
	for _, m := range team.written(place) {
		if slices.ContainsFunc(team.verdicts(m.ID), func(v string) bool { return strings.HasSuffix(v, " observer thread_suspended") }) {
			n++
		}
	}
	return n
}

// oneAnswers has people told in the channel ops, and who is mentioned in a thread answer alone, so that one message at a time goes to and fro.
func oneAnswers(text string) string {
	return escalatingToOps(strings.Replace(text, "collaboration: {", `collaboration: { threadMention: "mentioned",`, 1))
}

// Two bots that answer each other at once are suspended after six messages in a minute: the log says so, people are told once and still
// answered. After five minutes the suspension ends by itself.
func TestL5_AFastExchangeIsSuspendedAndReleased(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: oneAnswers, answer: chatting(time.Second)})
	thread := team.chat()
	team.quiet()
	if got := team.texts(thread.ID); len(got) != 2 { // ruda is alone there
		t.Fatalf("the thread says %q, want what the person has said, and an answer", got)
	}
	team.says(thread.ID, "%s 너도 이야기해", team.at("eden"))
	team.quiet()
	suspended := said[coordination.Thread](team, coordination.TypeThreadSuspended)
	if len(suspended) != 1 || suspended[0].ThreadID != thread.ID || suspended[0].Reason != "bot_rate" {
		t.Fatalf("suspensions: %+v, want one of the thread, for bot_rate\n%s", suspended, strings.Join(team.texts(thread.ID), "\n"))
	}
	bots := 0
	for _, m := range team.written(thread.ID) {
		if m.Author.Bot {
			bots++
		}
	}
	if held := team.held(thread.ID); held == 0 || bots-held != 6 {
		t.Errorf("of %d messages of bots %d were held, want that six were heard", bots, held)
	}
	before := team.texts(thread.ID)
	team.says(thread.ID, "%s 아직 있어?", team.at("ruda"))
	team.quiet()
	if got := team.texts(thread.ID); len(got) != len(before)+2 || !strings.HasPrefix(got[len(got)-1], "루다: 그래") {
		t.Errorf("the thread says %q, want that ruda answers a person, and no agent answers ruda", got[len(before):])
	}
	// A second notice about the thread comes five minutes after the first at the earliest.
	team.await("people to be told of the first", func() bool { return len(team.texts(team.ops.ID)) == 1 })
	team.clock.Forward(5*time.Minute + time.Second)
	team.again()
	team.await("the release", func() bool { return len(team.events(coordination.TypeThreadReleased)) == 1 })
	team.says(thread.ID, "%s 이제 다시 이야기해", team.at("ruda"))
	team.await("the exchange to go on", func() bool { return len(team.events(coordination.TypeThreadSuspended)) == 2 })
	team.quiet()
	team.await("people to be told of both", func() bool { return len(team.texts(team.ops.ID)) == 2 })
	for _, line := range team.texts(team.ops.ID) {
		if !strings.Contains(line, "<#"+thread.ID+">") || !strings.Contains(line, "(bot_rate)") {
			t.Errorf("people are told %q, want where it is, and why", line)
		}
	}
}

// Two bots that answer each other slowly are suspended after twelve messages without a person.
func TestL6_ASlowLoopUsesUpItsTurns(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: oneAnswers, answer: chatting(15 * time.Second)})
	thread := team.chat()
	team.quiet()
	team.says(thread.ID, "%s 너도 이야기해", team.at("eden"))
	team.quiet()
	suspended := said[coordination.Thread](team, coordination.TypeThreadSuspended)
	if len(suspended) != 1 || suspended[0].Reason != "bot_turns" {
		t.Fatalf("suspensions: %+v, want one, for bot_turns\n%s", suspended, strings.Join(team.texts(thread.ID), "\n"))
	}
	texts := team.texts(thread.ID)
	turns := 0 // since the person has spoken
	for _, line := range texts {
		if turns++; strings.HasPrefix(line, "병욱") {
			turns = 0
		}
	}
	if turns != 13 || team.held(thread.ID) != 1 {
		t.Errorf("bots have written %d messages since, and %d were held; want 13 and the last one\n%s", turns, team.held(thread.ID), strings.Join(texts, "\n"))
	}
	team.clock.Forward(time.Hour)
	team.again()
	team.await("the release", func() bool { return len(team.events(coordination.TypeThreadReleased)) == 1 })
	team.quiet()
	if got := team.texts(thread.ID); len(got) != len(texts) {
		t.Errorf("after the release %q is said, want nothing: no agent starts again", got[len(texts):])
	}
	if got := team.texts(team.ops.ID); len(got) != 1 {
		t.Errorf("people are told %q, want it once", got)
	}
}

// What three agents pass on in a circle, slowly and each time in another thread, ends: the number of hops is passed on, too.
func TestEchoesThroughThreeAgentsEnd(t *testing.T) {
	t.Parallel()
	next := map[string]string{"ruda": "eden", "eden": "seum", "seum": "ruda"}
	var n atomic.Int64
	team := startDiscordTeam(t, discordSetting{
		config: func(text string) string {
			return strings.Replace(text, "collaboration: {", `collaboration: { rateLimit: { threadCreationPerMinute: 1000 },`, 1)
		},
		answer: func(team *discordTeam, a a2atest.Asked) a2atest.Answer {
			if a.AfterTool() || !strings.Contains(a.Message(), "전달") {
				return a2atest.Say("NO_REPLY")
			}
			team.clock.Forward(12 * time.Second) // before the first reminder of the first one
			return ask(next[a.Agent], fmt.Sprintf("전달해줘 %d", n.Add(1)), "threadName", strconv.FormatInt(n.Load(), 10))
		}})
	team.says(team.dev.ID, "%s 전달해줘", team.at("ruda"))
	team.quiet()
	var hops []int
	session := map[string]bool{}
	for _, r := range said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateRequested) {
		hops = append(hops, *r.Hop)
		session[r.WorkSessionID] = true
	}
	var want []int
	for hop := range chain.DefaultLimits().Hops {
		want = append(want, hop+1)
	}
	if diff := gocmp.Diff(want, hops); diff != "" {
		t.Errorf("requests were passed on (-want +got):\n%s", diff)
	}
	failed := said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateFailed)
	if len(failed) != 1 || failed[0].ErrorCode != "hop_limit" {
		t.Errorf("failures: %+v, want one, for hop_limit", failed)
	}
	if len(session) != 1 || session[""] {
		t.Errorf("it belongs to the work sessions %v, want one", session)
	}
	if len(said[coordination.Thread](team, coordination.TypeThreadSuspended)) != 0 {
		t.Error("a place was suspended: then it is not the chain of causes that has ended it")
	}
}

// Without an answer: a reminder after five minutes, one after ten, and after fifteen a person is told, in the thread and in the channel
// of notices; each once, by the bot of the requester, and only those mentioned run because of it. A late answer is an answer.
func TestRemindersAndEscalationInTheSeedsWords(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: escalatingToOps, answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "ruda" && a.AfterTool():
			return a2atest.Say("물어봤어요")
		case a.Agent == "ruda" && strings.Contains(a.Message(), "물어봐"):
			return ask("eden", "코드 리뷰 해줘")
		case a.Agent == "eden" && strings.Contains(a.Message(), "뭐해?"):
			return a2atest.Say("지금 봤어요")
		}
		return a2atest.Say("NO_REPLY")
	}})
	team.says(team.dev.ID, "%s 이든한테 물어봐", team.at("ruda"))
	team.quiet()
	thread := team.thread(team.dev.ID)
	want := []string{"루다: " + team.at("eden") + "\n\n코드 리뷰 해줘"}
	for step := 1; step <= 3; step++ {
		team.advance(5 * time.Minute)
		line := "루다: [리마인더] " + team.at("eden") + " 위 요청 확인 부탁해요."
		if step == 3 {
			line = "루다: ⚠️ " + team.person.Mention() + " 이든이 15분째 무응답입니다. 확인 필요."
		}
		want = append(want, line)
		team.await("what is said of it", func() bool { return len(team.texts(thread.ID)) == step+1 })
		team.quiet()
		if diff := gocmp.Diff(want, team.texts(thread.ID)); diff != "" {
			t.Errorf("after %d minutes (-want +got):\n%s", 5*step, diff)
		}
	}
	last := team.written(thread.ID)[3]
	if len(last.Mentions) != 1 || last.Mentions[0].ID != team.person.ID {
		t.Errorf("the escalation calls %v, want 병욱", last.Mentions)
	}
	beside := team.texts(team.ops.ID)
	link := fmt.Sprintf("\nhttps://discord.com/channels/%s/%s", team.guild.ID, thread.ID)
	if diff := gocmp.Diff([]string{want[3] + link}, beside); diff != "" {
		t.Errorf("where people are told (-want +got):\n%s", diff)
	}
	if got := team.runs(); got != "ruda 1, eden 3" {
		t.Errorf("runs: %s, want ruda 1, eden 3: the request and two reminders", got)
	}
	team.advance(time.Hour)
	team.quiet()
	if got := team.texts(thread.ID); len(got) != 4 {
		t.Errorf("an hour later the thread says %q, want no more", got)
	}
	team.says(thread.ID, "%s 뭐해?", team.at("eden"))
	team.quiet()
	answered := said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateResponded)
	if len(answered) != 1 || !answered[0].Late {
		t.Errorf("answers: %+v, want a late one", answered)
	}
	if got := team.saidIn("agent:ruda:discord:channel:" + team.dev.ID); len(got) != 2 || got[1] != "[이든 answered in "+thread.Name+"]\n지금 봤어요" {
		t.Errorf("where it was asked it is told %q", got)
	}
}

// What waits for a person is posted with buttons; a permitted person presses one, all see what was decided, and the agent goes on.
// Others are told privately that they may not decide.
func TestPeopleDecideByButtons(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: escalatingToOps, answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		word := a.Message()
		switch {
		case a.AfterTool():
			return a2atest.Say("기다릴게요")
		case strings.Contains(word, "벽을 칠해"):
			return a2atest.Use(a2atest.Call{Name: "task_start", Args: map[string]any{"description": "벽 칠하기", "requires_approval": true, "simple": true}})
		case strings.Contains(word, "[Approved]"):
			return a2atest.Use(a2atest.Call{Name: "plan_submit", Args: map[string]any{"title": "밤에 칠하기", "steps": []string{"묻기", "칠하기"}}})
		}
		return a2atest.Say("알겠습니다")
	}})
	stranger := team.discord.AddHuman("낯선이")
	team.guild.Join(stranger.ID)
	team.await("people to be told", func() bool { return len(team.events(coordination.TypeSinkAdvanced)) > 0 })
	team.tells("ruda", "벽을 칠해줘")
	team.await("the request", func() bool { return len(team.written(team.ops.ID)) == 1 })
	team.quiet()
	first := team.written(team.ops.ID)[0]
	if !strings.Contains(first.Content, "**작업 승인 요청**") || !strings.Contains(first.Content, "벽 칠하기") || len(first.Mentions) != 1 ||
		first.Mentions[0].ID != team.person.ID {
		t.Fatalf("people are asked %q, calling %v", first.Content, first.Mentions)
	}
	task := said[coordination.TaskStarted](team, coordination.TypeTaskStarted)[0].TaskID
	if got := team.presses(stranger, first, "approve:"+task); got.Data == nil || !strings.Contains(string(got.Data), "이 건을 결정할 권한이 없습니다") ||
		!strings.Contains(string(got.Data), strconv.Itoa(discordtest.FlagEphemeral)) {
		t.Errorf("a stranger is told %s, want that it may not, alone", got.Data)
	}
	if n := len(team.events(coordination.TypeTaskApproved)); n != 0 {
		t.Errorf("a stranger has approved it")
	}
	team.presses(team.person, first, "approve:"+task)
	team.await("what was decided to be seen", func() bool { return strings.Contains(team.written(team.ops.ID)[0].Content, "승인했습니다") })
	if after := team.written(team.ops.ID)[0]; len(after.Components) != 0 || !strings.HasPrefix(after.Content, strings.TrimSpace(first.Content)) {
		t.Errorf("after that it says %q, with %d rows of buttons", after.Content, len(after.Components))
	}
	approved := said[struct{ TaskID, By, ApprovedBy string }](team, coordination.TypeTaskApproved)
	if len(approved) != 1 || approved[0].TaskID != task {
		t.Errorf("the log has %+v, want that 병욱 has approved it", approved)
	}

	// The plan of the task is rejected, with a reason that the agent is told.
	team.await("the plan", func() bool { return len(team.written(team.ops.ID)) == 2 })
	team.quiet()
	second := team.written(team.ops.ID)[1]
	plan := said[coordination.Plan](team, coordination.TypePlanSubmitted)[0].PlanID
	form := team.presses(team.person, second, "reject:"+plan)
	if form.Answer != discordtest.AnswerModal {
		t.Fatalf("the answer is %d %s, want a form for the reason", form.Answer, form.Data)
	}
	if _, err := team.person.Submit(form, "reject:"+plan, json.RawMessage(`[{"type":1,"components":[{"type":4,"custom_id":"reason","value":"너무 시끄러워요"}]}]`)); err != nil {
		t.Fatal(err)
	}
	team.await("what was decided to be seen", func() bool { return strings.Contains(team.written(team.ops.ID)[1].Content, "거절했습니다") })
	team.await("ruda to be told", func() bool {
		return slices.ContainsFunc(team.asked("ruda"), func(a a2atest.Asked) bool { return strings.Contains(a.Message(), "너무 시끄러워요") })
	})
	team.quiet()
	if got := team.runs(); got != "" {
		t.Errorf("runs: %s, want none because of what is posted", got)
	}
}

// presses has a person press a button, and waits for the answer.
func (team *discordTeam) presses(who *discordtest.Human, m discordtest.Message, button string) (is discordtest.Interaction) {
	team.t.Helper()
	pressed, err := who.Click(m, button)
	if err != nil {
		team.t.Fatal(err)
	}
	team.await("an answer to "+button, func() bool {
		is, _ = team.discord.Interaction(pressed.ID)
		return is.Answer != 0 && is.Answer != discordtest.AnswerDeferredUpdate && is.Answer != discordtest.AnswerDeferred
	})
	return is
}

// Ten bots observe two hundred messages: each keeps the fifty newest, shortened, for a day; handled ones are kept as they were.
func TestO1O2O3O4_WhatObserversKeep(t *testing.T) {
	t.Parallel()
	var more []discordAgent
	for i := range 6 {
		more = append(more, discordAgent{fmt.Sprintf("extra%d", i), fmt.Sprintf("보조%d", i)})
	}
	team := startDiscordTeam(t, discordSetting{more: more, config: func(text string) string {
		return strings.Replace(text, "dmPolicy:", "requireMention: true, dmPolicy:", 1)
	}})
	const messages = 200
	long := strings.Repeat("길고 긴 이야기 ", 20)
	for i := range messages {
		team.says(team.dev.ID, "%03d %s https://example.com/%d PR #%d `code/file%d.go:12`", i, long, i, 1000+i, i)
	}
	team.quiet()
	if got := team.runs(); got != "" {
		t.Fatalf("runs: %s, want none", got)
	}
	for agent := range team.bots {
		list := read[struct{ Records []monitor.ObservedAnswer }](t, team.reloading, "/api/discord/observed?limit=1000&agent="+agent).Records
		if len(list) != 50 {
			t.Errorf("%s keeps %d records, want 50", agent, len(list))
		}
	}
	for _, e := range team.events(coordination.TypeDiscordInboundObserved) {
		var d coordination.DiscordInbound
		team.read(&e, &d)
		if d.Text != "" || utf8.RuneCountInString(d.Summary) > 50 || len(d.URLs) != 1 || len(d.PRs) != 1 || len(d.CodeRefs) == 0 || strings.Count(string(e.Data), "길고") > 5 {
			t.Fatalf("a record is %s, want 50 characters, a URL, a PR and a reference to code", e.Data)
		}
	}
	handled := team.says(team.dev.ID, "%s %s", team.at("eden"), long)
	team.quiet()
	eden := team.asked("eden")[0]
	told := transcript(&eden) + eden.System
	if strings.Contains(told, "병욱: 149 ") || !strings.Contains(told, "병욱: 180 ") || !strings.Contains(told, "병욱: 199 ") ||
		!strings.Contains(told, "https://example.com/199") || !strings.Contains(told, "#1199") || !strings.Contains(told, "code/file199.go:12") {
		t.Errorf("eden is told\n%s\nwant the newest records, as many as fit", told)
	}
	if !strings.Contains(transcript(&eden), strings.TrimSpace(long)) {
		t.Error("what eden handles is not told as it was said")
	}
	for _, d := range said[coordination.DiscordInbound](team, coordination.TypeDiscordInboundHandled) {
		if d.MessageID == handled.ID && !strings.Contains(d.Text, strings.TrimSpace(long)) {
			t.Errorf("the log keeps %q of what eden handles, want all of it", d.Text)
		}
	}
	team.clock.Forward(24*time.Hour + time.Minute)
	team.says(team.dev.ID, "%s 뭐라고 했어?", team.at("seum"))
	team.quiet()
	if seum := team.asked("seum")[0]; strings.Contains(transcript(&seum)+seum.System, "길고") {
		t.Errorf("a day later seum is told\n%s\n%s", seum.System, transcript(&seum))
	}
}
