package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// startsAfterTheOriginal starts a team in a directory in which the original has left files.
func startsAfterTheOriginal(t *testing.T, set discordSetting, files func(*discordTeam) map[string]string) *discordTeam {
	t.Helper()
	team := newDiscordTeam(t, set)
	left := files(team)
	team.reloading = startReloading(t, map[string]string{settings.FileName: team.text}, withGateway, func(o *Options) {
		o.Now, o.DiscordAPI = team.clock.Now, team.discord.URL()
		for name, text := range left {
			path := filepath.Join(o.StateDir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	team.connected()
	return team
}

// The state files of the original are read once: participants of a thread handle its messages without a mention, pending requests are
// reminded of, and agents continue their conversations.
func TestStateFilesOfTheOriginalAreReadOnce(t *testing.T) {
	t.Parallel()
	thread := ""
	team := startsAfterTheOriginal(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		if a.Agent == "ruda" && strings.Contains(a.Message(), "전에 하던") && !a.AfterTool() {
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": "eden", "message": "전에 하던 이야기", "workSessionId": "ws_old", "timeoutSeconds": 0,
				"replyBack": false, "announceStep": false}))
		}
		if a.AfterTool() {
			return a2atest.Say("네")
		}
		return a2atest.Say("NO_REPLY")
	}}, func(team *discordTeam) map[string]string {
		place, err := team.person.StartThread(team.dev.ID, "전부터 있던 스레드")
		if err != nil {
			t.Fatal(err)
		}
		thread = place.ID
		now := team.clock.Now()
		ago := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
		return map[string]string{
			"state/thread-participants.json": fmt.Sprintf(`{"version":1,"threads":{%q:{"threadId":%q,"participants":[%q,%q,"999999999999999999"],"createdAt":%d,
				"lastActivityAt":%d}}}`, thread, thread, team.bots["ruda"].ID, team.bots["eden"].ID, ago(2*time.Hour), ago(time.Hour)),
			"state/a2a-mention-tracking.json": fmt.Sprintf(`{"version":1,"entries":{
				"m1":{"id":"m1","messageId":"1","threadId":%q,"fromAgentId":"ruda","targetAgentId":"eden","targetBotId":%q,"originalText":"코드 리뷰 해줘",
					"status":"pending","sentAt":%d,"attempts":1,"lastAttemptAt":%d},
				"m2":{"id":"m2","messageId":"2","threadId":%q,"fromAgentId":"ruda","targetAgentId":"seum","status":"responded","sentAt":%d},
				"m3":{"id":"m3","messageId":"3","threadId":%q,"fromAgentId":"ghost","targetAgentId":"eden","status":"pending","sentAt":%d}}}`,
				thread, team.bots["eden"].ID, ago(4*time.Minute), ago(4*time.Minute), thread, ago(time.Hour), thread, ago(time.Hour)),
			"state/a2a-conversation-index.json": fmt.Sprintf(`{"version":1,"updatedAt":%d,"entries":{
				"ws_old::eden|ruda":{"conversationId":"c-old","timestamp":%d,"lastEventType":"a2a.complete","runId":"r-old"},"nonsense":{"conversationId":"x"}}}`,
				ago(time.Hour), ago(time.Hour)),
		}
	})
	m := team.says(thread, "다들 어때요?")
	team.quiet()
	same(t, "who handles it without a mention", team.handlers(m.ID), "eden ruda")
	same(t, "participants", team.participants(thread), []string{"eden original", "ruda original"})
	team.advance(2 * time.Minute)
	reminder := "루다: [리마인더] " + team.at("eden") + " 위 요청 확인 부탁해요."
	team.await("the reminder", func() bool { return slices.Contains(team.texts(thread), reminder) })
	team.quiet()
	team.tells("ruda", "전에 하던 이야기 계속하자")
	team.quiet()
	sends := said[coordination.A2ASend](team, coordination.TypeA2ASend)
	if len(sends) != 1 || sends[0].ConversationID != "c-old" || sends[0].WorkSessionID != "ws_old" {
		t.Errorf("ruda goes on with %+v, want conversation c-old", sends)
	}
	taken := func() (n int) {
		return len(team.events(coordination.TypeThreadParticipantRegistered)) + len(team.events(coordination.TypeA2ACollaborateSent)) +
			len(team.events(coordination.TypeA2AComplete))
	}
	same(t, "requests that are taken up", len(team.events(coordination.TypeA2ACollaborateSent)), 1)
	before := taken()
	team.again()
	team.quiet()
	same(t, "events after a second start", taken(), before)
}

// An invalid state file is ignored, and everything else goes on.
func TestMalformedStateFilesStopNothing(t *testing.T) {
	t.Parallel()
	team := startsAfterTheOriginal(t, discordSetting{}, func(*discordTeam) map[string]string {
		return map[string]string{
			"state/thread-participants.json":    `{"version":1,"threads":{"1":{"participants":`,
			"state/a2a-mention-tracking.json":   `"nothing"`,
			"state/a2a-conversation-index.json": `{"entries":{"ws::a|b":{"conversationId":7}}}`,
		}
	})
	team.says(team.dev.ID, "%s 안녕", team.at("eden"))
	team.quiet()
	same(t, "runs", team.runs(), "eden 1")
	same(t, "participants", len(team.events(coordination.TypeThreadParticipantRegistered)), 0)
}
