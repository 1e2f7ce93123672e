package server

import (
	"context"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/slack/slacktest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// acknowledging is a configuration in which all messages are acknowledged until they are answered.
func acknowledging(text string) string {
	return strings.Replace(text, "channels: {", `messages: { ackReaction: "👀", ackReactionScope: "all", removeAckAfterReply: true }, channels: {`, 1)
}

// waiter is the part of a test server that waits.
type waiter interface {
	Until(ctx context.Context, so func() bool) error
}

// waits fails the test if something does not happen in the service in time.
func waits(t *testing.T, s waiter, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), a2atest.Patience)
	defer cancel()
	if err := s.Until(ctx, so); err != nil {
		t.Errorf("wait until %s: %v", what, err)
	}
}

// logs waits until the log has so many events of a type.
func logs(t *testing.T, r *reloading, typ string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), a2atest.Patience)
	defer cancel()
	for r.count(t, typ) < n {
		head, err := r.Program.log.Head(ctx)
		if err == nil && r.count(t, typ) < n {
			_, err = r.Program.log.Wait(ctx, head.Seq+1)
		}
		if err != nil {
			t.Fatalf("wait for %d of %s: %v", n, typ, err)
		}
	}
}

// reacted waits for a reaction to the only post, done twice, and checks that it is noted once, for an agent.
func reacted(t *testing.T, r *reloading, react func() error) {
	t.Helper()
	logs(t, r, coordination.TypeDiscordSent, 1)
	for range 2 {
		if err := react(); err != nil && !strings.Contains(err.Error(), "already_reacted") {
			t.Fatal(err)
		}
	}
	logs(t, r, coordination.TypeDiscordReaction, 1)
	if n := r.count(t, coordination.TypeDiscordReaction); n != 1 {
		t.Errorf("the reaction is noted %d times, want once", n)
	}
}

// The bot reacts to a message that its agent handles, and takes that back after the answer.
func TestMessagesAreAcknowledgedInDiscord(t *testing.T) {
	t.Parallel()
	acks := func(team *discordTeam) (n int) {
		for _, m := range team.discord.Messages(team.dev.ID) {
			n += len(m.Reactions)
		}
		return n
	}
	team := startDiscordTeam(t, discordSetting{config: acknowledging, answer: func(team *discordTeam, a a2atest.Asked) a2atest.Answer {
		waits(t, team.discord, "the message is acknowledged", func() bool { return acks(team) == 1 })
		return a2atest.Say(a.Agent + " has heard")
	}})
	m := team.says(team.dev.ID, "%s 안녕", team.at("eden"))
	team.await("the answer", func() bool { return len(team.texts(team.dev.ID)) == 2 })
	waits(t, team.discord, "the acknowledgement is removed", func() bool { return acks(team) == 0 })
	reacted(t, team.reloading, func() error { return team.person.React(team.written(team.dev.ID)[1], "👍") })
	team.quiet()
	if n := len(team.events("work.completed")); n != 3 {
		t.Errorf("%d pieces of work are done, want the acknowledgement %s, the answer, and the removal", n, delivery.AckEffect(m.ID, "eden"))
	}
}

func TestMessagesAreAcknowledgedInTelegram(t *testing.T) {
	t.Parallel()
	var team *telegramTeam
	acks := func() (n int) {
		for _, m := range team.bora.Private(team.ruda).Messages() {
			n += len(m.Reactions)
		}
		return n
	}
	team = newTelegramTeam(t, func(a a2atest.Asked) a2atest.Answer {
		waits(t, team.telegram, "the message is acknowledged", func() bool { return acks() == 1 })
		return hasHeard(a)
	})
	team.text = acknowledging(team.text)
	team.reloading = startReloading(t, map[string]string{settings.FileName: team.text}, withGateway, team.options)
	private := team.bora.Private(team.ruda) // its /start is the only message, so that there is one acknowledgement
	answer := team.shows(private, "ruda has heard")
	waits(t, team.telegram, "the acknowledgement is removed", func() bool { return acks() == 0 })
	reacted(t, team.reloading, func() error { return team.bora.React(answer, "👍") })
}

func TestMessagesAreAcknowledgedInSlack(t *testing.T) {
	t.Parallel()
	var server *slacktest.Server
	var place string
	acks := func() (names string) {
		for _, m := range server.Messages(place) {
			for _, r := range m.Reactions {
				names += r.Name
			}
		}
		return names
	}
	team := startSlackTeam(t, func(a a2atest.Asked) a2atest.Answer {
		waits(t, server, "the message is acknowledged", func() bool { return acks() == "eyes" })
		return hasHeard(a)
	}, func(_ *slackTeam, text string) string { return acknowledging(text) })
	server, place = team.slack, team.channel.ID
	team.write(team.bora.Post(place, team.eden.Mention()+" what do you think?"))
	answer := team.shows(place, "*eden* has heard")
	waits(t, server, "the acknowledgement is removed", func() bool { return acks() == "" })
	reacted(t, team.reloading, func() error { return team.bora.React(place, answer.TS, "tada") })
}
