package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/slack/slacktest"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// wantsApproval has ruda start a task that people have to approve, when a person asks for it.
func wantsApproval(a a2atest.Asked) a2atest.Answer {
	if strings.Contains(a.Message(), "paint the wall") && !a.AfterTool() {
		return a2atest.Use(a2atest.Call{Name: "task_start", Args: map[string]any{"description": "paint", "requires_approval": true, "simple": true}})
	}
	return a2atest.Say("NO_REPLY")
}

// withNotices adds a place for notices, and a person for them, to the settings of a channel.
func withNotices(text, before, place, person string) string {
	return strings.Replace(text, before, fmt.Sprintf("collaboration: { language: \"en\", escalation: { channelId: %q, mentionUserId: %q } }, %s", place, person, before), 1)
}

// untilLogged waits until the log has events of a type.
func untilLogged(t *testing.T, r *reloading, eventType string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), a2atest.Patience)
	defer cancel()
	for {
		head, err := r.Program.log.Head(ctx) // before it is counted, or what comes in between would not end the wait
		if r.count(t, eventType) >= n {
			return
		}
		if err == nil {
			_, err = r.Program.log.Wait(ctx, head.Seq+1)
		}
		if err != nil {
			t.Fatalf("wait for %d of %s in the log: %v", n, eventType, err)
		}
	}
}

// In Telegram what waits for approval is posted with buttons. Two listed people who press at the same time make one decision, which the
// message shows; another person is told alone that they may not decide.
func TestPeopleDecideByButtonsInTelegram(t *testing.T) {
	t.Parallel()
	team := newTelegramTeam(t, wantsApproval)
	dan := team.telegram.AddPerson("Dan")
	dan.Join(team.forum)
	text := withNotices(team.text, "groups: {", fmt.Sprint(team.forum.ID), fmt.Sprint(team.bora.ID))
	text = strings.Replace(text, "allowFrom: [", fmt.Sprintf("allowFrom: [%q, ", fmt.Sprint(dan.ID)), 1)
	team.reloading = startReloading(t, map[string]string{settings.FileName: text}, withGateway, team.options)
	untilLogged(t, team.reloading, coordination.TypeSinkAdvanced, 2)
	team.write(team.bora.Private(team.ruda), telegramtest.Draft{Text: "paint the wall"})
	ask := func() (m telegramtest.Message) {
		team.await("the request", func() bool {
			for _, m = range team.forum.Messages() {
				if m.ReplyMarkup != nil || strings.Contains(m.Text, "Approval of a task") {
					return true
				}
			}
			return false
		})
		return m
	}
	asked := ask()
	data := asked.ReplyMarkup.Rows[0][0].Data
	press := func(who *telegramtest.Person) *telegramtest.Press {
		pressed, err := who.Press(asked, data)
		if err != nil {
			t.Error(err)
		}
		return pressed
	}
	answer := func(p *telegramtest.Press) (a telegramtest.CallbackAnswer) {
		team.await("the answer to a press", func() (is bool) { a, is = p.Answer(); return is })
		return a
	}
	if got := answer(press(team.stranger)); !got.Alert || !strings.Contains(got.Text, "You may not decide this") {
		t.Errorf("the stranger is told %+v", got)
	}
	first, second := press(team.bora), press(dan)
	answer(first)
	answer(second)
	team.await("the message to show the decision", func() bool { return strings.Contains(ask().Text, "is approved by") })
	if m := ask(); m.ReplyMarkup != nil || strings.Count(m.Text, "is approved by") != 1 {
		t.Errorf("%+v, want who has decided, and no button", m)
	}
	if n := team.count(t, coordination.TypeTaskApproved); n != 1 {
		t.Errorf("it was approved %d times, want once", n)
	}
}

// In Slack, too.
func TestPeopleDecideByButtonsInSlack(t *testing.T) {
	t.Parallel()
	var dan *slacktest.Person
	team := startSlackTeam(t, wantsApproval, func(team *slackTeam, text string) string {
		dan = team.slack.AddPerson("dan")
		if err := dan.Join(team.channel.ID); err != nil {
			t.Fatal(err)
		}
		return withNotices(strings.Replace(text, "allowFrom: [", fmt.Sprintf("allowFrom: [%q, ", dan.ID), 1), "channels: { \"", team.channel.ID, team.bora.ID)
	})
	untilLogged(t, team.reloading, coordination.TypeSinkAdvanced, 2)
	team.write(team.bora.Post(team.bora.Conversation(team.ruda.UserID).ID, "paint the wall"))
	ctx, cancel := context.WithTimeout(t.Context(), a2atest.Patience)
	defer cancel()
	shows := func(word string) slacktest.Message {
		m, err := team.slack.WaitMessage(ctx, team.channel.ID, func(m slacktest.Message) bool { return strings.Contains(m.Text, word) })
		if err != nil {
			t.Fatalf("wait for %q: %v", word, err)
		}
		return m
	}
	asked := shows("Approval of a task")
	var task string
	if err := team.Program.log.View(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT data ->> '$.taskId' FROM events WHERE type = ?", coordination.TypeTaskStarted).Scan(&task)
	}); err != nil {
		t.Fatal(err)
	}
	action := "approve:" + task
	refused, err := team.stranger.Press(team.channel.ID, asked.TS, action)
	if err != nil {
		t.Fatal(err)
	}
	if err := team.slack.Until(ctx, func() bool { return len(refused.State().Shown) > 0 }); err != nil {
		t.Fatalf("wait for the answer to the stranger: %v", err)
	}
	if text := refused.State().Shown[0]; !strings.Contains(text, "You may not decide this") {
		t.Errorf("the stranger is told %q", text)
	}
	var both sync.WaitGroup
	for _, who := range []*slacktest.Person{team.bora, dan} {
		both.Go(func() {
			if _, err := who.Press(team.channel.ID, asked.TS, action); err != nil && !errors.Is(err, slacktest.ErrNoButton) {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if m := shows("is approved by "); m.TS != asked.TS || strings.Contains(fmt.Sprintf("%s", m.Blocks), action) {
		t.Errorf("%+v, want who has decided in the same message, and no button", m)
	}
	if n := team.count(t, coordination.TypeTaskApproved); n != 1 {
		t.Errorf("it was approved %d times, want once", n)
	}
}
