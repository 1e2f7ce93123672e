package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// edenReviews has ruda ask eden for a review when a person wants one, and eden do it.
func edenReviews(a a2atest.Asked) a2atest.Answer {
	switch {
	case a.Agent == "ruda" && a.AfterTool():
		return a2atest.Say("asked: " + a.Last().Text)
	case a.Agent == "ruda" && strings.Contains(a.Message(), "ask eden"):
		return ask("eden", "review it, please")
	case a.Agent == "eden" && strings.Contains(a.Message(), "review it"):
		return a2atest.Say("it is fine")
	}
	return a2atest.Say("NO_REPLY")
}

// withMeeting adds a place for requests between agents to the settings of a channel.
func withMeeting(text, before, place string) string {
	return strings.Replace(text, before, fmt.Sprintf("collaboration: { defaultChannel: %q, language: \"en\" }, %s", place, before), 1)
}

// answeredOnce waits until the log says that the only request was answered.
func answeredOnce(t *testing.T, r *reloading) {
	t.Helper()
	untilLogged(t, r, coordination.TypeA2ACollaborateResponded, 1)
	if n := r.count(t, coordination.TypeA2ACollaborateSent); n != 1 {
		t.Errorf("%d requests were posted, want one", n)
	}
}

// In a group with topics a request opens a topic, in another supergroup a chain of replies. The answer there is recognised, without a
// mention.
func TestAgentsAskEachOtherInTelegram(t *testing.T) {
	t.Parallel()
	for name, topics := range map[string]bool{"in a topic": true, "in a chain of replies": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			team := newTelegramTeam(t, edenReviews)
			group := team.forum
			if topics {
				group.Promote(team.ruda.User, telegramtest.Rights{ManageTopics: true})
			} else {
				group = team.telegram.AddGroup("team", telegramtest.GroupOptions{}, team.bora, team.ruda.User, team.eden.User)
			}
			text := withMeeting(team.text, "groups: {", fmt.Sprint(group.ID))
			text = strings.Replace(text, fmt.Sprintf("%q: {}", fmt.Sprint(team.forum.ID)), fmt.Sprintf("%q: {}", fmt.Sprint(group.ID)), 1)
			team.reloading = startReloading(t, map[string]string{settings.FileName: text}, withGateway, team.options)
			team.write(group, telegramtest.Draft{Text: "@ruda_bot, ask eden"})
			asked := team.shows(group, "@eden_bot\n\nreview it, please")
			answer := team.shows(group, "it is fine")
			if topics && (!asked.IsTopicMessage || answer.ThreadID != asked.ThreadID || !answer.IsTopicMessage) {
				t.Errorf("asked %+v and answered %+v, want both in one topic", asked, answer)
			}
			if !topics && (asked.ReplyTo == nil || asked.ReplyTo.Text != "[협업] 루다 → 이든 · review it, please" || answer.ThreadID != asked.ReplyTo.MessageID) {
				t.Errorf("asked %+v and answered %+v, want both in a chain of replies", asked, answer)
			}
			answeredOnce(t, team.reloading)
		})
	}
}

// In Slack a request opens a thread.
func TestAgentsAskEachOtherInSlack(t *testing.T) {
	t.Parallel()
	team := startSlackTeam(t, edenReviews, func(team *slackTeam, text string) string {
		return withMeeting(text, "channels: { \"", team.channel.ID)
	})
	team.write(team.bora.Post(team.channel.ID, team.ruda.Mention()+" ask eden"))
	root := team.shows(team.channel.ID, "*[협업] 루다 → 이든 · review it, please*")
	asked := team.shows(team.channel.ID, team.eden.Mention()+"\n\nreview it, please")
	answer := team.shows(team.channel.ID, "it is fine")
	if asked.ThreadTS != root.TS || answer.ThreadTS != root.TS || answer.User != team.eden.UserID {
		t.Errorf("asked %+v and answered %+v, want both in the thread %s", asked, answer, root.TS)
	}
	answeredOnce(t, team.reloading)
}
