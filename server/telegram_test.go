package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// telegramConfig has two agents, each with a bot of its own.
const telegramConfig = `{
  gateway: { auth: { mode: "token", token: "secret" } },
  agents: { list: [{ id: "ruda", name: "루다", model: "test/ruda" }, { id: "eden", name: "이든", model: "test/eden" }],
    defaults: { taskContinuation: { enabled: false } } },
  tools: { agentToAgent: { enabled: true } },
  bindings: [{ agentId: "ruda", match: { channel: "telegram", accountId: "ruda" } }, { agentId: "eden", match: { channel: "telegram", accountId: "eden" } }],
  channels: { telegram: { accounts: { ruda: { botToken: %q }, eden: { botToken: %q } }, dmPolicy: "allowlist", allowFrom: [%q],
    groups: { "%d": {} } } },
  models: { providers: { test: { baseUrl: %q, apiKey: "none", models: [{ id: "ruda" }, { id: "eden" }] } } },
}
`

// telegramTeam is a whole program whose agents speak in a Telegram of the test.
type telegramTeam struct {
	*reloading
	t              *testing.T
	telegram       *telegramtest.Server
	ruda, eden     *telegramtest.Bot
	bora, stranger *telegramtest.Person
	forum          *telegramtest.Chat
	text           string
	options        func(*Options)
}

func newTelegramTeam(t *testing.T, answer func(a2atest.Asked) a2atest.Answer) *telegramTeam {
	t.Helper()
	s, err := telegramtest.New(telegramtest.Options{Limits: telegramtest.NoLimits()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	team := &telegramTeam{t: t, telegram: s, ruda: s.AddBot("ruda", telegramtest.BotOptions{}), eden: s.AddBot("eden", telegramtest.BotOptions{WithoutPrivacy: true}),
		bora: s.AddPerson("Bora"), stranger: s.AddPerson("Stranger")}
	team.forum = s.AddGroup("lab", telegramtest.GroupOptions{Topics: true}, team.bora, team.ruda.User, team.eden.User, team.stranger.User)
	models := a2atest.NewModel(t, answer)
	team.text = fmt.Sprintf(telegramConfig, team.ruda.Token, team.eden.Token, fmt.Sprint(team.bora.ID), team.forum.ID, models.URL)
	team.options = func(o *Options) { o.TelegramAPI = s.URL() }
	return team
}

func startTelegramTeam(t *testing.T, answer func(a2atest.Asked) a2atest.Answer) *telegramTeam {
	t.Helper()
	team := newTelegramTeam(t, answer)
	team.reloading = startReloading(t, map[string]string{settings.FileName: team.text}, withGateway, team.options)
	return team
}

func (team *telegramTeam) await(what string, so func() bool) {
	team.t.Helper()
	ctx, cancel := context.WithTimeout(team.t.Context(), a2atest.Patience)
	defer cancel()
	if err := team.telegram.Until(ctx, so); err != nil {
		team.t.Fatalf("wait for %s: %v", what, err)
	}
}

func hasHeard(a a2atest.Asked) a2atest.Answer {
	return a2atest.Say("**" + a.Agent + "** has heard")
}

// shows waits until a chat shows a text of a bot.
func (team *telegramTeam) shows(ch *telegramtest.Chat, text string) telegramtest.Message {
	team.t.Helper()
	var found telegramtest.Message
	team.await(fmt.Sprintf("%q in %q", text, ch.Texts()), func() bool {
		for _, m := range ch.Messages() {
			if m.Text == text {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func (team *telegramTeam) write(ch *telegramtest.Chat, d telegramtest.Draft) telegramtest.Message {
	team.t.Helper()
	m, err := team.bora.Send(ch, d)
	if err != nil {
		team.t.Fatal(err)
	}
	return m
}

func TestPeopleTalkToAgentsInTelegram(t *testing.T) {
	t.Parallel()
	team := startTelegramTeam(t, hasHeard)
	private := team.bora.Private(team.ruda)
	team.write(private, telegramtest.Draft{Text: "hello"})
	team.shows(private, "ruda has heard")

	topic := team.forum.OpenTopic("plans")
	team.write(team.forum, telegramtest.Draft{Text: "@eden_bot, what do you think?", Topic: topic})
	answer := team.shows(team.forum, "eden has heard")
	if answer.ThreadID != topic || answer.From.ID != team.eden.ID || len(answer.Entities) != 1 || answer.Entities[0].Type != "bold" {
		t.Errorf("%+v, want eden's answer in the topic, in bold", answer)
	}
	if n := team.count(t, coordination.TypeDiscordInboundHandled); n != 3 { // with /start
		t.Errorf("%d messages are handled, want each of the three once", n)
	}
	team.await("the updates to be confirmed", func() bool { return team.ruda.Pending()+team.eden.Pending() == 0 })
}

func TestTelegramListensToAllowedPeopleOnly(t *testing.T) {
	t.Parallel()
	team := startTelegramTeam(t, hasHeard)
	private := team.stranger.Private(team.ruda)
	if _, err := team.stranger.Write(private, "let me in"); err != nil {
		t.Fatal(err)
	}
	if _, err := team.stranger.Write(team.forum, "@eden_bot, let me in"); err != nil {
		t.Fatal(err)
	}
	team.write(team.forum, telegramtest.Draft{Text: "@eden_bot, hello"})
	team.shows(team.forum, "eden has heard")
	team.await("the updates to be confirmed", func() bool { return team.ruda.Pending()+team.eden.Pending() == 0 })
	for _, ch := range []*telegramtest.Chat{private, team.forum} {
		if n := len(slices.DeleteFunc(ch.Texts(), func(s string) bool { return !strings.Contains(s, "has heard") })); ch == private && n != 0 || n > 1 {
			t.Errorf("%q, want no answer to the stranger", ch.Texts())
		}
	}
}

// Telegram shows no bot what another one writes. The log does.
func TestAgentsHearEachOtherInTelegram(t *testing.T) {
	t.Parallel()
	team := startTelegramTeam(t, func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "ruda" && strings.Contains(a.Message(), "agree"):
			return a2atest.Say("NO_REPLY")
		case a.Agent == "ruda":
			return a2atest.Say("@이든 what do you think?")
		}
		return a2atest.Say("I agree")
	})
	topic := team.forum.OpenTopic("plans")
	team.write(team.forum, telegramtest.Draft{Text: "@ruda_bot, ask the others", Topic: topic})
	asked := team.shows(team.forum, "@eden_bot what do you think?")
	if asked.From.ID != team.ruda.ID || asked.ThreadID != topic {
		t.Errorf("%+v, want ruda's question in the topic", asked)
	}
	if answer := team.shows(team.forum, "I agree"); answer.From.ID != team.eden.ID || answer.ThreadID != topic {
		t.Errorf("%+v, want eden's answer in the topic", answer)
	}
}
