package server

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// nothing is what agents say that have nothing to say.
const nothing = "NO_REPLY"

// part is what an agent says once, when it is told something.
type part struct {
	agent, told string // a piece of what it is told: by a person, another agent, or a tool
	answer      a2atest.Answer
}

// play has each agent say its parts, each of them once, and nothing where none fits.
func play(parts ...part) func(*discordTeam, a2atest.Asked) a2atest.Answer {
	var mu sync.Mutex
	said := make([]bool, len(parts))
	return func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		mu.Lock()
		defer mu.Unlock()
		for i, p := range parts {
			if !said[i] && p.agent == a.Agent && strings.Contains(a.Last().Text, p.told) {
				said[i] = true
				return p.answer
			}
		}
		return a2atest.Say(nothing)
	}
}

// asksEden is how ruda, whom a person has asked, asks eden in a thread, and eden answers there, and what else is played.
func asksEden(more ...part) func(*discordTeam, a2atest.Asked) a2atest.Answer {
	return play(append([]part{
		{"ruda", "이든한테 물어봐줘", ask("eden", "코드 리뷰 해줘")},
		{"ruda", "전달했습니다", a2atest.Say("이든에게 전달했습니다.")},
		{"eden", "코드 리뷰 해줘", a2atest.Say("리뷰했습니다. 두 군데를 고쳐야 합니다.")},
	}, more...)...)
}

// collaborating is a team in which ruda has asked eden in a thread, at the wish of a person, and eden has answered there.
func collaborating(t *testing.T, set discordSetting) (*discordTeam, discordtest.Channel) {
	t.Helper()
	if set.answer == nil {
		set.answer = asksEden()
	}
	team := startDiscordTeam(t, set)
	team.says(team.dev.ID, "%s 이든한테 물어봐줘", team.at("ruda"))
	team.quiet()
	return team, team.thread(team.dev.ID)
}

// observed is what an agent has observed in a place and not read yet: "병욱: hello".
func (team *discordTeam) observed(agent, place string) (lines []string) {
	team.t.Helper()
	team.view(func(ctx context.Context, tx *sql.Tx) error {
		records, err := routing.ObservedRecords(ctx, tx, routing.ObservedQuery{Agent: agent, PlaceID: place})
		for _, o := range slices.Backward(records) {
			lines = append(lines, o.Record.Sender+": "+o.Record.Summary)
		}
		return err
	})
	return lines
}

// participants are the agents that take part in a thread, as the log has it: "eden mentioned".
func (team *discordTeam) participants(thread string) (lines []string) {
	team.t.Helper()
	team.view(func(ctx context.Context, tx *sql.Tx) error {
		list, err := routing.Participants(ctx, tx, thread)
		for _, p := range list {
			if p.Left == 0 {
				lines = append(lines, p.AgentID+" "+p.Reason)
			}
		}
		return err
	})
	slices.Sort(lines)
	return lines
}

func (team *discordTeam) view(read func(context.Context, *sql.Tx) error) {
	team.t.Helper()
	if err := team.Program.log.View(team.t.Context(), func(tx *sql.Tx) error { return read(team.t.Context(), tx) }); err != nil {
		team.t.Fatal(err)
	}
}

// handlers are the agents that handled a message, in order.
func (team *discordTeam) handlers(messageID string) string {
	team.t.Helper()
	var agents []string
	for _, v := range team.verdicts(messageID) {
		if f := strings.Fields(v); f[1] == "handler" {
			agents = append(agents, f[0])
		}
	}
	return strings.Join(agents, " ")
}

// message is the one that a bot or person has posted in a place with a text.
func (team *discordTeam) message(place, author, text string) discordtest.Message {
	team.t.Helper()
	for _, m := range team.written(place) {
		if m.Author.Username == author && strings.Contains(m.Content, text) {
			return m
		}
	}
	team.t.Fatalf("%s has not written %q, but there are\n%s\n%s", author, text, strings.Join(team.texts(place), "\n"), team.story())
	return discordtest.Message{}
}

// same compares what is with what was wanted.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// The agent that is mentioned in a channel answers, once, and no other; the others remember it.
//
// Promise: one-decision
func TestH1_OnlyTheMentionedAgentAnswers(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	m := team.says(team.dev.ID, "%s 안녕", team.at("ruda"))
	team.quiet()
	same(t, "runs", team.runs(), "ruda 1")
	same(t, "verdicts", team.verdicts(m.ID),
		[]string{"dajim observer other_mentioned", "eden observer other_mentioned", "ruda handler mentioned", "seum observer other_mentioned"})
	same(t, "channel", team.texts(team.dev.ID), []string{"병욱: " + team.at("ruda") + " 안녕", "루다: ruda has heard"})
	for _, agent := range []string{"eden", "seum", "dajim"} {
		same(t, agent+" has observed", team.observed(agent, team.dev.ID), []string{"병욱: @루다 안녕", "루다: ruda has heard"})
	}
	same(t, "ruda has observed", team.observed("ruda", team.dev.ID), nil)
	if asked := team.asked("ruda")[0]; asked.Message() != "[병욱 in #dev] @루다 안녕" {
		t.Errorf("ruda was told %q, want who says what and where", asked.Message())
	}
}

// A message without a mention is answered by the default agent alone, where an agent is bound to the channel by that one.
func TestH2_WithoutMentionOneAgentAnswers(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{before: func(team *discordTeam) {
		bound := fmt.Sprintf(`bindings: [{ agentId: "dajim", match: { channel: "discord", accountId: "*", peer: { kind: "channel", id: %q } } }, `, team.ops.ID)
		team.text = strings.Replace(team.text, "bindings: [", bound, 1)
	}})
	usual, bound := team.says(team.dev.ID, "프론트엔드 진행 어때?"), team.says(team.ops.ID, "배포 진행 어때?")
	team.quiet()
	same(t, "runs", team.runs(), "ruda 1, dajim 1")
	same(t, "without a binding", team.verdicts(usual.ID),
		[]string{"dajim observer not_owner", "eden observer not_owner", "ruda handler default_agent", "seum observer not_owner"})
	same(t, "with a binding", team.verdicts(bound.ID),
		[]string{"dajim handler binding", "eden observer not_owner", "ruda observer not_owner", "seum observer not_owner"})
	same(t, "usual channel", team.texts(team.dev.ID), []string{"병욱: 프론트엔드 진행 어때?", "루다: ruda has heard"})
	same(t, "bound channel", team.texts(team.ops.ID), []string{"병욱: 배포 진행 어때?", "다짐: dajim has heard"})
}

// Of two mentioned agents the first one leads, and the second one adds to it: both are told so, in the words of the seed.
func TestH3_TheFirstMentionedLeads(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	m := team.says(team.dev.ID, "%s %s 이거 같이 봐줘 %s", team.at("ruda"), team.at("eden"), team.at("ruda"))
	team.quiet()
	same(t, "runs", team.runs(), "ruda 1, eden 1")
	same(t, "verdicts", team.verdicts(m.ID), []string{"dajim observer other_mentioned", "eden handler mentioned secondary",
		"ruda handler mentioned primary", "seum observer other_mentioned"})
	const leads, adds = "당신이 이 요청의 주 담당입니다. 리드하여 응답하세요.", "당신은 보조 역할입니다. 루다의 응답이 있으면 참고하여 보완 의견을 제시하세요."
	for agent, hints := range map[string][2]string{"ruda": {leads, adds}, "eden": {adds, leads}} {
		if system := team.asked(agent)[0].System; !strings.Contains(system, hints[0]) || strings.Contains(system, hints[1]) {
			t.Errorf("%s was not told %q alone, but\n%s", agent, hints[0], system)
		}
	}
}

// An agent that is mentioned later gets the earlier messages of the channel in short, also after a restart, once, and only of the last
// day.
func TestH4_WhoIsAskedLaterKnowsWhatWasSaid(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: play(part{"ruda", "진행", a2atest.Say("거의 끝났습니다. PR #42 를 보세요.")},
		part{"dajim", "웹에서 묻는데", a2atest.Say("dajim has heard")})})
	team.says(team.dev.ID, "%s 프론트엔드 진행 어때?", team.at("ruda"))
	team.says(team.ops.ID, "%s 여기는 다른 채널입니다", team.at("ruda"))
	team.quiet()
	team.again()
	team.says(team.dev.ID, "%s what did ruda say", team.at("dajim"))
	team.quiet()
	system := team.asked("dajim")[0].System
	for _, want := range []string{"병욱: @루다 프론트엔드 진행 어때?", "루다: 거의 끝났습니다. PR #42 를 보세요. (#42)"} {
		if !strings.Contains(system, want) {
			t.Errorf("dajim was not told %q, but\n%s", want, system)
		}
	}
	if strings.Contains(system, "다른 채널") {
		t.Errorf("dajim's prompt has another channel:\n%s", system)
	}
	same(t, "dajim still remembers", team.observed("dajim", team.dev.ID)[:2], []string{"병욱: @루다 프론트엔드 진행 어때?", "루다: 거의 끝났습니다. PR #42 를 보세요."})
	team.again()
	team.says(team.dev.ID, "%s and what else", team.at("dajim"))
	team.quiet()
	if system := team.asked("dajim")[1].System; !strings.Contains(system, "거의 끝났습니다. PR #42 를 보세요. (#42)") {
		t.Errorf("dajim was told once and after a restart not again, but\n%s", system)
	}
	if got := team.tellsIn("agent:dajim:discord:channel:"+team.dev.ID, "웹에서 묻는데, 루다가 뭐래?"); got != "dajim has heard" {
		t.Errorf("dajim says %q", got)
	}
	if system := team.asked("dajim")[2].System; !strings.Contains(system, "거의 끝났습니다. PR #42 를 보세요. (#42)") {
		t.Errorf("dajim was not told in a run that is not of Discord, but\n%s", system)
	}

	team.says(team.dev.ID, "%s 어제 이야기", team.at("ruda"))
	team.quiet()
	team.advance(24 * time.Hour)
	team.says(team.dev.ID, "%s and now?", team.at("dajim"))
	team.quiet()
	if asked := team.asked("dajim"); len(asked) != 4 || strings.Contains(asked[3].System, "거의 끝났습니다") || strings.Contains(asked[3].System, "어제 이야기") {
		t.Errorf("dajim was asked %d times, want 4, or its prompt has what is a day old:\n%s", len(asked), asked[len(asked)-1].System)
	}
}

// A request opens a thread, mentions the target, and both take part in it.
func TestT1_ARequestOpensAThread(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{})
	same(t, "name", thread.Name, "[협업] 루다 → 이든 · 코드 리뷰 해줘")
	same(t, "thread", team.texts(thread.ID), []string{"루다: " + team.at("eden") + "\n\n코드 리뷰 해줘", "이든: 리뷰했습니다. 두 군데를 고쳐야 합니다."})
	same(t, "channel", team.texts(team.dev.ID), []string{"병욱: " + team.at("ruda") + " 이든한테 물어봐줘", "루다: 이든에게 전달했습니다."})
	var who []string
	for _, p := range team.participants(thread.ID) {
		agent, _, _ := strings.Cut(p, " ")
		who = append(who, agent)
	}
	same(t, "participants", who, []string{"eden", "ruda"})
	request := team.message(thread.ID, "루다", "코드 리뷰")
	same(t, "verdicts", team.verdicts(request.ID),
		[]string{"dajim observer not_participant", "eden handler mentioned", "seum observer not_participant"})
}

// A participant answers without mentioning any agent, and the other one hears it.
func TestT2_AnswersNeedNoMention(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{})
	answer := team.message(thread.ID, "이든", "리뷰했습니다")
	same(t, "verdicts", team.verdicts(answer.ID),
		[]string{"dajim observer not_participant", "ruda handler participant", "seum observer not_participant"})
	same(t, "answered requests", len(team.events(coordination.TypeA2ACollaborateResponded)), 1)
	same(t, "runs", team.runs(), "ruda 2, eden 1")
}

// The requester's next message needs no mention either.
func TestT3_TheRequesterGoesOnWithoutMention(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{answer: asksEden(
		part{"ruda", "두 군데를 고쳐야", a2atest.Say("고마워, 한 가지 더 확인해줘")},
		part{"eden", "한 가지 더", a2atest.Say("그것도 봤습니다.")})})
	more := team.message(thread.ID, "루다", "한 가지 더")
	same(t, "verdicts", team.verdicts(more.ID),
		[]string{"dajim observer not_participant", "eden handler participant", "seum observer not_participant"})
	team.message(thread.ID, "이든", "그것도 봤습니다.")
	same(t, "threads", len(team.discord.Threads(team.dev.ID)), 1)
}

// An agent mentioned in the thread takes part from then on, without further mentions.
func TestT4_AMentionLetsIn(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{answer: asksEden(
		part{"ruda", "두 군데를 고쳐야", a2atest.Say("@세움 도 확인해봐")},
		part{"seum", "확인해봐", a2atest.Say("저도 봤습니다.")})})
	call := team.message(thread.ID, "루다", "확인해봐")
	same(t, "the text as Discord has it", call.Content, team.at("seum")+" 도 확인해봐")
	same(t, "verdicts", team.verdicts(call.ID),
		[]string{"dajim observer not_participant", "eden handler participant", "seum handler mentioned primary"})
	same(t, "who hears seum", team.handlers(team.message(thread.ID, "세움", "저도 봤습니다.").ID), "eden ruda")
	if got := team.participants(thread.ID); !slices.Contains(got, "seum mentioned") {
		t.Errorf("participants are %v, want seum among them, because it was mentioned", got)
	}
	later := team.says(thread.ID, "다들 고마워요")
	team.quiet()
	same(t, "who hears thanks to all", team.handlers(later.ID), "eden ruda seum")
}

// An agent that does not take part never runs in the thread, but remembers it.
func TestT5_WhoDoesNotTakePartIsSilent(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{})
	team.says(thread.ID, "다들 어때요?")
	team.quiet()
	for _, m := range team.written(thread.ID) {
		if who := team.handlers(m.ID); strings.Contains(who, "dajim") || strings.Contains(who, "seum") {
			t.Errorf("%q is handled by %s", m.Content, who)
		}
	}
	same(t, "runs of dajim", len(team.asked("dajim")), 0)
	same(t, "dajim has observed", team.observed("dajim", thread.ID),
		[]string{"루다: @이든 코드 리뷰 해줘", "이든: 리뷰했습니다. 두 군데를 고쳐야 합니다.", "병욱: 다들 어때요?"})
}

// A restart forgets no participant.
func TestT6_RestartsForgetNoOne(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{})
	before := team.participants(thread.ID)
	team.again()
	same(t, "participants", team.participants(thread.ID), before)
	m := team.says(thread.ID, "다들 어때요?")
	team.quiet()
	same(t, "who hears it", team.handlers(m.ID), "eden ruda")
}

// Without the log the participants are unknown: agents answer where they are mentioned, and a warning says so. A mention lets in again,
// and later requests work at once.
func TestT7_WithoutTheLogMentionsCount(t *testing.T) {
	t.Parallel()
	answer := asksEden()
	team, thread := collaborating(t, discordSetting{answer: func(team *discordTeam, a a2atest.Asked) a2atest.Answer { return answer(team, a) }})
	team.again(func(o *Options) {
		o.StateDir = t.TempDir()
		o.DB = filepath.Join(o.StateDir, "openclawd.db")
		if err := os.WriteFile(filepath.Join(o.StateDir, settings.FileName), []byte(team.text), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	for _, m := range team.messages() {
		team.lost[m.ID] = true
	}
	first := team.says(thread.ID, "다들 어때요?")
	team.log.until(t, "participants of a thread are unknown")
	team.quiet()
	same(t, "without a mention", team.verdicts(first.ID),
		[]string{"dajim observer mention_only", "eden observer mention_only", "ruda observer mention_only", "seum observer mention_only"})

	mention := team.says(thread.ID, "%s 는 어때요?", team.at("eden"))
	team.quiet()
	same(t, "who was mentioned", team.handlers(mention.ID), "eden")
	again := team.says(thread.ID, "그래요?")
	team.quiet()
	same(t, "who was mentioned before", team.handlers(again.ID), "eden")

	answer = asksEden()
	team.says(team.dev.ID, "%s 이든한테 물어봐줘", team.at("ruda"))
	team.quiet()
	threads := team.discord.Threads(team.dev.ID)
	if len(threads) != 2 {
		t.Fatalf("%d threads, want another one", len(threads))
	}
	same(t, "who hears the answer", team.handlers(team.message(threads[1].ID, "이든", "리뷰했습니다").ID), "ruda")
}

// A participant stays until a day without messages; any message starts the day again.
func TestT8_ADayOfSilenceEndsIt(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{})
	for range 2 {
		team.advance(24*time.Hour - time.Minute)
		m := team.says(thread.ID, "다들 어때요?")
		team.quiet()
		same(t, "who hears it within a day", team.handlers(m.ID), "eden ruda")
	}
	team.advance(24 * time.Hour)
	late := team.says(thread.ID, "아직 있나요?")
	team.quiet()
	same(t, "after a day", team.verdicts(late.ID),
		[]string{"dajim observer not_participant", "eden observer not_participant", "ruda observer not_participant", "seum observer not_participant"})
	same(t, "participants", team.participants(thread.ID), nil)
	m := team.says(thread.ID, "%s 있나요?", team.at("eden"))
	team.quiet()
	same(t, "participants, after a mention", team.participants(thread.ID), []string{"eden mentioned"})
	same(t, "who was mentioned", team.handlers(m.ID), "eden")
}
