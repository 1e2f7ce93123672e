package discordtest_test

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), testscale.Patience)
	defer cancel()
	discord, err := discordtest.New(discordtest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = discord.Close() }()
	ruda, bora, guild := discord.AddBot("ruda", discordtest.BotOptions{}), discord.AddHuman("bora"), discord.AddGuild("lab")
	guild.Join(ruda.ID, bora.ID)
	channel := guild.AddChannel("general", discordtest.ChannelOptions{})

	session, err := ruda.Session() // or discord.Point(yours)
	if err != nil {
		fmt.Println(err)
		return
	}
	session.ShouldReconnectOnError = false // or it may while it is closed
	session.Identify.Intents = discordgo.IntentsAllWithoutPrivileged | discordgo.IntentMessageContent
	session.AddHandler(func(s *discordgo.Session, m *discordgo.MessageCreate) {
		if m.Author.ID != s.State.User.ID {
			_, _ = s.ChannelMessageSend(m.ChannelID, "I heard: "+m.Content)
		}
	})
	if err := session.Open(); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }()

	discord.Inject(discordtest.Fault{Match: discordtest.Match{Bot: ruda.ID}, Effect: discordtest.Unavailable(502)}) // the library asks again
	if _, err := bora.Post(channel.ID, "hello"); err != nil {
		fmt.Println(err)
		return
	}
	answer, err := discord.WaitMessage(ctx, channel.ID, func(m discordtest.Message) bool { return m.Author.ID == ruda.ID })
	fmt.Println(answer.Content, err, len(discord.RequestsTo(discordtest.Match{Route: "POST /channels/{channel}/messages"})))
	// Output: I heard: hello <nil> 2
}
