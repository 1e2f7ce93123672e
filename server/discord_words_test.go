package server

import (
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// Agents are recognised as people write their names, and the agent that handles the message is told to ask them; a name within another
// word does not count.
func TestNamesAreRecognisedAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(*discordTeam, a2atest.Asked) a2atest.Answer { return a2atest.Say("네") }})
	for _, c := range []struct{ text, target string }{
		{"이든아 봐줘", "eden"}, {"이든님", "eden"}, {"eden 한테", "eden"}, {"세움 생각은?", "seum"}, {"이든한테 물어봐줘", "eden"}, {"세움이랑 논의해봐", "seum"},
		{"무엇이든 해줘", ""}, {"세움터에서 만나자", ""}, {"이든보고서 작성해줘", ""}, {"gardeneden 이 뭐야", ""},
	} {
		before := len(team.asked("ruda"))
		team.says(team.dev.ID, "%s", c.text)
		team.quiet()
		asked := team.asked("ruda")
		if len(asked) != before+1 {
			t.Fatalf("%q: ruda was asked %d times, want once", c.text, len(asked)-before)
		}
		for _, agent := range []string{"eden", "seum", "dajim"} {
			hinted := strings.Contains(asked[before].System, `collaborate(targetAgent: "`+agent+`")`)
			if hinted != (agent == c.target) {
				t.Errorf("%q: ruda is told to ask %s: %t", c.text, agent, hinted)
			}
		}
	}
}

// However short the time to a reminder is, no agent is said to be silent for the 0th minute.
func TestNoAgentIsSilentForZeroMinutes(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{
		config: func(text string) string {
			return strings.Replace(text, "collaboration: {", "a2aRetry: { responseTimeoutMs: 10000 }, collaboration: {", 1)
		},
		answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
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
	said := team.texts(thread.ID)
	for !strings.Contains(said[len(said)-1], "⚠️") { // on a slow machine after fewer reminders, because real time counts too
		before := len(said)
		team.advance(10 * time.Second)
		team.await("what is said of it", func() bool {
			said = team.texts(thread.ID)
			return len(said) > before
		})
		team.quiet()
	}
	same(t, "the escalation", said[len(said)-1], "루다: ⚠️ "+team.person.Mention()+" 이든이 1분째 무응답입니다. 확인 필요.")
}

// A message in a channel outside of allowedChannels has no effect for a reason that names that setting, and so does a refused request
// there.
func TestAChannelThatIsNotAllowedNamesTheSetting(t *testing.T) {
	t.Parallel()
	const setting = "channels.discord.collaboration.allowedChannels"
	team := startDiscordTeam(t, discordSetting{
		before: func(team *discordTeam) {
			team.text = strings.Replace(team.text, "collaboration: {", `collaboration: { allowedChannels: ["`+team.dev.ID+`"],`, 1)
		},
		answer: func(team *discordTeam, a a2atest.Asked) a2atest.Answer {
			if a.Agent == "ruda" && !a.AfterTool() {
				return ask("eden", "여기서 봐줘", "channelId", team.ops.ID)
			}
			return a2atest.Say("네")
		}})
	m := team.says(team.ops.ID, "%s 봐줘", team.at("eden"))
	team.says(team.dev.ID, "%s ops에서 물어봐", team.at("ruda"))
	team.quiet()
	same(t, "runs", team.runs(), "ruda 1")
	if got := read[monitor.Routing](t, team.reloading, "/api/routing/"+m.ID); !strings.Contains(got.Explanation, setting) {
		t.Errorf("it is explained as %q, want the setting in it", got.Explanation)
	}
	if got := team.toolAnswers("ruda")[0]; got.Success || !strings.Contains(got.Error, setting) {
		t.Errorf("ruda is answered %+v, want the setting in the error", got)
	}
	team.await("the commands", func() bool { return len(team.discord.Commands(team.bots["ruda"].ID, "")) > 0 })
	answered, err := team.person.Slash(team.ops.ID, team.bots["ruda"].ID, "status")
	if err != nil {
		t.Fatal(err)
	}
	team.await("the answer", func() bool {
		answered, _ = team.discord.Interaction(answered.ID)
		return answered.Answer != 0
	})
	if !strings.Contains(string(answered.Data), setting) {
		t.Errorf("/status is answered %s, want the setting in it", answered.Data)
	}
}

// People are told in one language: with language en no text of openclawd is Korean, except what the seeds fix.
func TestPeopleAreToldInOneLanguage(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{"": "루다가 응답하지 못했습니다: ", `language: "en",`: "루다 could not answer: "} {
		team := startDiscordTeam(t, discordSetting{
			config: func(text string) string { return strings.Replace(text, "collaboration: {", "collaboration: { "+set, 1) },
			answer: func(*discordTeam, a2atest.Asked) a2atest.Answer { return a2atest.Fail(401) }})
		team.says(team.dev.ID, "%s 봐줘", team.at("ruda"))
		team.quiet()
		texts := team.texts(team.dev.ID)
		if len(texts) != 2 || !strings.HasPrefix(texts[1], "루다: "+want) {
			t.Errorf("people are told %q, want %q", texts, want)
		}
	}
}
