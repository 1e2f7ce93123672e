package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/slack/slacktest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// slackConfig has two agents, each with an app of its own: ruda's events come over a socket, eden's by HTTP.
const slackConfig = `{
  gateway: { auth: { mode: "token", token: "secret" } },
  agents: { list: [{ id: "ruda", name: "루다", model: "test/ruda" }, { id: "eden", name: "이든", model: "test/eden" }],
    defaults: { taskContinuation: { enabled: false } } },
  tools: { agentToAgent: { enabled: true } },
  bindings: [{ agentId: "ruda", match: { channel: "slack", accountId: "ruda" } }, { agentId: "eden", match: { channel: "slack", accountId: "eden" } }],
  channels: { slack: { accounts: { ruda: { botToken: %q, appToken: %q }, eden: { botToken: %q, mode: "http", signingSecret: %q } },
    dmPolicy: "allowlist", allowFrom: [%q], channels: { %q: {} } } },
  models: { providers: { test: { baseUrl: %q, apiKey: "none", models: [{ id: "ruda" }, { id: "eden" }] } } },
}
`

// slackTeam is a whole program whose agents speak in a Slack of the test.
type slackTeam struct {
	*reloading
	t              *testing.T
	slack          *slacktest.Server
	ruda, eden     *slacktest.App
	bora, stranger *slacktest.Person
	channel        slacktest.Channel
}

// startSlackTeam starts a team. changes are made to its configuration.
func startSlackTeam(t *testing.T, answer func(a2atest.Asked) a2atest.Answer, changes ...func(team *slackTeam, text string) string) *slackTeam {
	t.Helper()
	s, err := slacktest.New(slacktest.Options{Limits: slacktest.NoLimits()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	team := &slackTeam{t: t, slack: s, ruda: s.AddApp("ruda", slacktest.AppOptions{}), eden: s.AddApp("eden", slacktest.AppOptions{}),
		bora: s.AddPerson("bora"), stranger: s.AddPerson("stranger")}
	team.channel = s.AddChannel("general", team.bora.ID, team.stranger.ID, team.ruda.UserID, team.eden.UserID)
	models := a2atest.NewModel(t, answer)
	text := fmt.Sprintf(slackConfig, team.ruda.Token, team.ruda.AppToken, team.eden.Token, team.eden.SigningSecret, team.bora.ID, team.channel.ID, models.URL)
	for _, change := range changes {
		text = change(team, text)
	}
	team.reloading = startReloading(t, map[string]string{settings.FileName: text}, withGateway, func(o *Options) { o.SlackAPI = s.URL() })
	ctx, cancel := context.WithTimeout(t.Context(), a2atest.Patience)
	defer cancel()
	if err := s.WaitConnected(ctx, team.ruda); err != nil {
		t.Fatal(err)
	}
	team.connect(ctx)
	return team
}

// connect sends eden's events to the gateway, once that answers the challenge.
func (team *slackTeam) connect(ctx context.Context) {
	team.t.Helper()
	for {
		err := team.eden.SetRequestURL(ctx, "http://"+team.gateway.listener.Addr().String()+"/slack/events")
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			team.t.Fatal(err)
		}
	}
}

// shows waits until the channel or a conversation shows a text of a bot.
func (team *slackTeam) shows(channelID, text string) slacktest.Message {
	team.t.Helper()
	ctx, cancel := context.WithTimeout(team.t.Context(), a2atest.Patience)
	defer cancel()
	m, err := team.slack.WaitMessage(ctx, channelID, func(m slacktest.Message) bool { return m.Text == text && m.BotID != "" })
	if err != nil {
		team.t.Fatalf("%q: %v, in %+v", text, err, team.slack.Messages(channelID))
	}
	return m
}

func (team *slackTeam) write(m slacktest.Message, err error) slacktest.Message {
	team.t.Helper()
	if err != nil {
		team.t.Fatal(err)
	}
	return m
}

func TestPeopleTalkToAgentsInSlack(t *testing.T) {
	t.Parallel()
	team := startSlackTeam(t, hasHeard)
	direct := team.bora.Conversation(team.ruda.UserID)
	team.write(team.bora.Post(direct.ID, "hello"))
	team.shows(direct.ID, "*ruda* has heard")

	root := team.write(team.bora.Post(team.channel.ID, team.eden.Mention()+" what do you think?"))
	if answer := team.shows(team.channel.ID, "*eden* has heard"); answer.User != team.eden.UserID {
		t.Errorf("%+v, want eden's answer", answer)
	}
	team.write(team.bora.Reply(team.channel.ID, root.TS, team.ruda.Mention()+" and you?"))
	if answer := team.shows(team.channel.ID, "*ruda* has heard"); answer.ThreadTS != root.TS {
		t.Errorf("%+v, want ruda's answer in the thread", answer)
	}
	if n := team.count(t, coordination.TypeDiscordInboundHandled); n != 3 {
		t.Errorf("%d messages are handled, want each of the three once", n)
	}
}

func TestSlackListensToAllowedPeopleAndChannelsOnly(t *testing.T) {
	t.Parallel()
	team := startSlackTeam(t, hasHeard)
	direct := team.stranger.Conversation(team.ruda.UserID)
	other := team.slack.AddChannel("other", team.bora.ID, team.ruda.UserID)
	team.write(team.stranger.Post(direct.ID, "let me in"))
	team.write(team.bora.Post(other.ID, team.ruda.Mention()+" here?"))
	team.write(team.bora.Post(team.channel.ID, team.ruda.Mention()+" hello"))
	team.shows(team.channel.ID, "*ruda* has heard")
	for _, id := range []string{direct.ID, other.ID} {
		if slices.ContainsFunc(team.slack.Messages(id), func(m slacktest.Message) bool { return m.Text == "*ruda* has heard" }) {
			t.Errorf("%+v, want no answer", team.slack.Messages(id))
		}
	}
}

// What one app posts another one receives: a team works in Slack as in Discord.
func TestAgentsHearEachOtherInSlack(t *testing.T) {
	t.Parallel()
	team := startSlackTeam(t, func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "ruda" && strings.Contains(a.Message(), "agree"):
			return a2atest.Say("NO_REPLY")
		case a.Agent == "ruda":
			return a2atest.Say("@이든 what do you think?")
		}
		return a2atest.Say("I agree")
	})
	team.write(team.bora.Post(team.channel.ID, team.ruda.Mention()+" ask the others"))
	asked := team.shows(team.channel.ID, team.eden.Mention()+" what do you think?")
	if asked.User != team.ruda.UserID {
		t.Errorf("%+v, want ruda's question", asked)
	}
	if answer := team.shows(team.channel.ID, "I agree"); answer.User != team.eden.UserID {
		t.Errorf("%+v, want eden's answer", answer)
	}
}
