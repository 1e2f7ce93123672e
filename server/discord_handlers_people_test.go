package server

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// conversation is the one of the person with an agent's bot.
func (team *discordTeam) conversation(agent string) discordtest.Channel {
	team.t.Helper()
	talk, err := team.person.Conversation(team.bots[agent].ID)
	if err != nil {
		team.t.Fatal(err)
	}
	if !slices.Contains(team.watch, talk.ID) {
		team.watch = append(team.watch, talk.ID)
	}
	return talk
}

// sessions are those in which agents have run because of Discord, in the order in which they were asked.
func (team *discordTeam) sessions() (keys []string) {
	team.t.Helper()
	for _, q := range said[coordination.RunQueued](team, coordination.TypeRunQueued) {
		if q.Cause == "discord" {
			keys = append(keys, q.SessionKey)
		}
	}
	return keys
}

// ends are how runs ended: "ruda ok".
func (team *discordTeam) ends() (lines []string) {
	team.t.Helper()
	for _, e := range team.events("run.") {
		switch e.Type {
		case coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut:
			lines = append(lines, e.AgentID+" "+strings.TrimPrefix(e.Type, "run."))
		}
	}
	return lines
}

// A direct message is answered by the bot's agent, in the conversation and in no channel, in the session that session.dmScope names.
func TestDirectMessagesAreAnsweredWhereTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ scope, key string }{{"", "agent:eden:main"}, {"per-channel-peer", "agent:eden:discord:direct:%s"}} {
		t.Run("scope "+tt.scope, func(t *testing.T) {
			t.Parallel()
			team := startDiscordTeam(t, discordSetting{config: func(text string) string {
				if tt.scope == "" {
					return text
				}
				return strings.Replace(text, "bindings:", fmt.Sprintf("session: { dmScope: %q }, bindings:", tt.scope), 1)
			}})
			talk := team.conversation("eden")
			m := team.says(talk.ID, "안녕")
			team.quiet()
			same(t, "verdicts", team.verdicts(m.ID), []string{"eden handler binding"})
			same(t, "conversation", team.texts(talk.ID), []string{"병욱: 안녕", "이든: eden has heard"})
			same(t, "channel", team.texts(team.dev.ID), nil)
			key := tt.key
			if strings.Contains(key, "%s") {
				key = fmt.Sprintf(key, team.person.ID)
			}
			same(t, "sessions", team.sessions(), []string{key})
			same(t, "what eden is told", team.asked("eden")[0].Message(), "[병욱] 안녕")
		})
	}
}

// An author whose direct messages are ignored gets no answer, and the log says why.
func TestDirectMessagesFollowThePolicy(t *testing.T) {
	t.Parallel()
	for policy, verdict := range map[string]string{"allowlist": "eden dropped dm_not_allowed", "disabled": "eden dropped dm_disabled"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			team := startDiscordTeam(t, discordSetting{config: func(text string) string {
				return strings.Replace(text, `dmPolicy: "open"`, fmt.Sprintf("dmPolicy: %q", policy), 1)
			}})
			talk := team.conversation("eden")
			m := team.says(talk.ID, "안녕")
			team.quiet()
			same(t, "verdicts", team.verdicts(m.ID), []string{verdict})
			same(t, "conversation", team.texts(talk.ID), []string{"병욱: 안녕"})
			same(t, "runs", team.runs(), "")
		})
	}
}

// A person whom no one knows is given a code, and is answered once an operator has approved it; also by commands.
func TestUnknownPeopleArePaired(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: func(text string) string {
		return strings.Replace(text, `dmPolicy: "open"`, `dmPolicy: "pairing"`, 1)
	}})
	talk := team.conversation("eden")
	m := team.says(talk.ID, "안녕")
	code := regexp.MustCompile(`pairing approve discord ([A-Z2-9]{8})$`)
	team.await("the person is told the code", func() bool { return len(team.texts(talk.ID)) == 2 })
	same(t, "verdicts", team.verdicts(m.ID), []string{"eden dropped dm_not_paired"})
	told := code.FindStringSubmatch(team.texts(talk.ID)[1])
	if told == nil {
		t.Fatalf("the person is told %q", team.texts(talk.ID))
	}
	if got := team.slash(talk.ID, "eden", "status"); !strings.Contains(got, "allowFrom") {
		t.Errorf("before the approval /status says %q", got)
	}
	answer, err := http.Post(team.url+"/api/pairings/approve", "application/json", strings.NewReader(`{"channel":"discord","code":"`+told[1]+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the approval is answered %s", answer.Status)
	}
	team.says(talk.ID, "이제는?")
	team.await("the person is answered", func() bool { return len(team.texts(talk.ID)) == 4 })
	same(t, "what eden is told", team.asked("eden")[0].Message(), "[병욱] 이제는?")
	if got := team.slash(talk.ID, "eden", "status"); strings.Contains(got, "allowFrom") {
		t.Errorf("after the approval /status says %q", got)
	}
}

// slash uses a command, and waits for what is answered.
func (team *discordTeam) slash(place, agent, command string) string {
	team.t.Helper()
	ctx, cancel := context.WithTimeout(team.t.Context(), a2atest.Patience)
	defer cancel()
	bot := team.bots[agent].ID
	registered := func() bool {
		return slices.ContainsFunc(team.discord.Commands(bot, ""), func(c discordtest.Command) bool { return c.Name == command })
	}
	if err := team.discord.Until(ctx, registered); err != nil {
		team.t.Fatalf("the bot of %s has no command %s: %v", agent, command, err)
	}
	i, err := team.person.Slash(place, bot, command)
	if err != nil {
		team.t.Fatal(err)
	}
	text := ""
	err = team.discord.Until(ctx, func() bool {
		is, _ := team.discord.Interaction(i.ID)
		if is.Original != nil && is.Original.Flags&discordtest.FlagLoading == 0 {
			text = is.Original.Content
		}
		return text != ""
	})
	if err != nil {
		team.t.Fatalf("/%s was not answered: %v\n%s", command, err, team.story())
	}
	return text
}

// /new and /reset start a new session, /status shows its state, each only for the session of the place and the agent of the bot.
func TestSlashCommands(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	talk := team.conversation("ruda")
	for _, place := range []string{team.dev.ID, talk.ID} {
		team.says(place, "%s 첫째 말", team.at("ruda"))
	}
	team.says(team.dev.ID, "%s 첫째 말", team.at("eden"))
	team.quiet()
	key := coordination.ChannelKey("ruda", "discord", team.dev.ID).String()
	if got := team.slash(team.dev.ID, "ruda", "status"); !strings.Contains(got, key) {
		t.Errorf("/status in the channel says %q, want %s", got, key)
	}
	if got := team.slash(talk.ID, "ruda", "status"); !strings.Contains(got, "agent:ruda:main") {
		t.Errorf("/status in the conversation says %q, want the main session", got)
	}
	for n, command := range []string{"new", "reset"} {
		team.slash(team.dev.ID, "ruda", command)
		team.says(team.dev.ID, "%s 말 %d", team.at("ruda"), n)
		team.quiet()
		asked := team.asked("ruda")
		if last := asked[len(asked)-1]; len(last.Messages) != 1 {
			t.Errorf("after /%s ruda still knows %+v", command, last.Messages)
		}
	}
	for agent, place := range map[string]string{"ruda": talk.ID, "eden": team.dev.ID} {
		team.says(place, "%s 둘째 말", team.at(agent))
		team.quiet()
		asked := team.asked(agent)
		if last := asked[len(asked)-1]; len(last.Messages) != 3 {
			t.Errorf("%s was not reset there, and knows %+v, want what was said before too", agent, last.Messages)
		}
	}
}

// A later edit or deletion changes nothing that was decided and starts no run.
func TestEditsAndDeletionsChangeNothing(t *testing.T) {
	t.Parallel()
	var once sync.Once
	started, release := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		once.Do(func() { close(started); <-release })
		return a2atest.Say("네")
	}})
	m := team.says(team.dev.ID, "%s 안녕", team.at("ruda"))
	<-started
	before := team.verdicts(m.ID)
	waits := team.says(team.dev.ID, "%s 그리고", team.at("ruda")) // its run has not started when it is deleted
	team.await("the second message to be decided about", func() bool { return len(team.verdicts(waits.ID)) > 0 })
	if err := team.person.Edit(m, team.at("eden")+" 안녕"); err != nil {
		t.Fatal(err)
	}
	if err := team.person.Delete(waits); err != nil {
		t.Fatal(err)
	}
	free()
	team.says(team.dev.ID, "%s 끝", team.at("seum")) // whatever came before is told before
	team.quiet()
	same(t, "verdicts", team.verdicts(m.ID), before)
	same(t, "runs", team.runs(), "ruda 2, seum 1")
	same(t, "ends", slices.Contains(team.ends(), "ruda failed"), false)
}

// What was written while a bot had lost its session is read from the channels, and handled once.
func TestMissedMessagesAreHandledOnce(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{answer: asksEden()})
	runs := team.runs()
	lost := team.discord.InjectDispatch(discordtest.DispatchFault{Match: discordtest.DispatchMatch{Type: "MESSAGE_CREATE"}, Times: -1,
		Effect: discordtest.Drop})
	first := team.says(team.dev.ID, "%s 하나", team.at("seum"))
	second := team.says(thread.ID, "둘")
	third := team.says(team.ops.ID, "%s 셋", team.at("dajim"))
	same(t, "runs before the log is read", team.runs(), runs)
	lost.Remove()
	for _, b := range team.bots {
		b.Invalidate()
	}
	team.quiet()
	same(t, "who handles the first", team.handlers(first.ID), "seum")
	same(t, "who handles the second", team.handlers(second.ID), "eden ruda")
	same(t, "who handles the third", team.handlers(third.ID), "dajim")
	same(t, "runs", team.runs(), "ruda 3, eden 2, seum 1, dajim 1")
}

// What was written while the program did not run is handled after its next start: in channels, threads and conversations.
func TestMessagesOfTheTimeBetweenAreHandled(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{answer: asksEden()})
	talk := team.conversation("dajim")
	known := team.says(talk.ID, "안녕")
	team.quiet()
	same(t, "who handles the conversation", team.handlers(known.ID), "dajim")
	if err := team.stop(); err != nil {
		t.Fatal(err)
	}
	sent := map[string]string{
		team.says(team.dev.ID, "%s 하나", team.at("seum")).ID: "seum",
		team.says(thread.ID, "둘").ID:                        "eden ruda",
		team.says(talk.ID, "셋").ID:                          "dajim",
		team.says(team.ops.ID, "넷").ID:                      "ruda",
	}
	opened, err := team.person.StartThread(team.dev.ID, "새 스레드")
	if err != nil {
		t.Fatal(err)
	}
	sent[team.says(opened.ID, "%s 다섯", team.at("eden")).ID] = "eden"
	team.again()
	team.quiet()
	for id, want := range sent {
		same(t, "who handles it", team.handlers(id), want)
	}
	before := team.runs()
	team.again()
	team.quiet()
	same(t, "runs after yet another start", team.runs(), before)
}

// A stop word to an agent ends its run there, and starts none; other sessions go on.
func TestStopWordsEndWhatRuns(t *testing.T) {
	t.Parallel()
	started := make(chan string, 8)
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		started <- a.Agent
		select {
		case <-a.Context.Done():
		case <-release:
		}
		return a2atest.Say("끝났습니다")
	}})
	team.says(team.dev.ID, "%s 오래 걸리는 일", team.at("ruda"))
	team.says(team.ops.ID, "%s 다른 일", team.at("ruda"))
	for range 2 {
		<-started
	}
	stop := team.says(team.dev.ID, "%s stop", team.at("ruda"))
	team.await("the run to end", func() bool { return len(team.ends()) == 1 })
	free()
	team.quiet()
	same(t, "verdict", team.handlers(stop.ID), "ruda")
	same(t, "ends", team.ends(), []string{"ruda aborted", "ruda ended"})
	same(t, "runs", team.runs(), "ruda 2")
	same(t, "channel", team.texts(team.dev.ID), []string{"병욱: " + team.at("ruda") + " 오래 걸리는 일", "병욱: " + team.at("ruda") + " stop"})
	same(t, "the other channel", team.texts(team.ops.ID), []string{"병욱: " + team.at("ruda") + " 다른 일", "루다: 끝났습니다"})
}

// Foreign bots, and messages of Discord itself, start no run.
func TestForeignBotsAreNotAnswered(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	foreign := team.discord.AddBot("남의봇", discordtest.BotOptions{})
	team.guild.Join(foreign.ID)
	session, err := foreign.Session()
	if err != nil {
		t.Fatal(err)
	}
	m, err := session.ChannelMessageSend(team.dev.ID, team.at("ruda")+" 안녕")
	if err != nil {
		t.Fatal(err)
	}
	team.quiet()
	same(t, "verdicts", team.verdicts(m.ID),
		[]string{"dajim dropped foreign_bot", "eden dropped foreign_bot", "ruda dropped foreign_bot", "seum dropped foreign_bot"})
	same(t, "runs", team.runs(), "")
}
