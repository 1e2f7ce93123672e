//go:build clients

package discordtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/clienttest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// An unmodified client of others logs in, receives, sends, opens a thread and handles a pressed button: see make clients.
func TestDiscordJS(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testscale.Patience)
	defer cancel()
	s, err := discordtest.New(discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100_000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	guild, bora, bot := s.AddGuild("lab"), s.AddHuman("bora"), s.AddBot("ruda", discordtest.BotOptions{})
	guild.Join(bora.ID)
	guild.Join(bot.ID)
	channel := guild.AddChannel("general", discordtest.ChannelOptions{})
	c := clienttest.Start(ctx, t, "testdata/discordjs.mjs", s.URL(), bot.Token)
	c.Wants("ready ruda lab")
	shows := func(text string) (found discordtest.Message) {
		t.Helper()
		err := s.Until(ctx, func() bool {
			for _, m := range s.Messages(channel.ID) {
				if m.Content == text {
					found = m
					return true
				}
			}
			return false
		})
		if err != nil {
			t.Fatalf("%q: %v, the channel shows %+v", text, err, s.Messages(channel.ID))
		}
		return found
	}
	asked, err := bora.Post(channel.ID, bot.Mention()+" hi")
	if err != nil {
		t.Fatal(err)
	}
	c.Wants("message @ruda hi ruda channel")
	if m := shows("a reply"); m.Reference == nil || m.Reference.MessageID != asked.ID {
		t.Errorf("%+v, want a reply to %s", m, asked.ID)
	}
	if _, err := bora.Post(channel.ID, "buttons"); err != nil {
		t.Fatal(err)
	}
	c.Wants("message buttons - channel")
	if _, err := bora.Click(shows("approve?"), "yes"); err != nil {
		t.Fatal(err)
	}
	c.Wants("pressed yes bora")
	if m := shows("approved"); len(m.Components) != 0 {
		t.Errorf("%+v, want no buttons any more", m)
	}
	c.Say(channel.ID)
	c.Wants("thread plans general in the thread")
	c.Wants("edited y")
	c.Wants("refused 50035 400")
	c.Wants("refused 50006 400")
	if threads := s.Threads(channel.ID); len(threads) != 1 || threads[0].Name != "plans" {
		t.Errorf("threads %+v", threads)
	}
	if _, err := bora.Post(s.Threads(channel.ID)[0].ID, "and here"); err != nil {
		t.Fatal(err)
	}
	c.Wants("message and here - thread")
	c.Say("")
	c.Wants("stopped")
	c.Ends()
}
