package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/server"
)

// discord is a Discord for the play.
type discord struct {
	*discordtest.Server
	channel discordtest.Channel
	person  *discordtest.Human
	bots    []*discordtest.Bot // in cast order
	names   *strings.Replacer  // mentions to display names
	calls   *strings.Replacer  // display names to mentions
}

func newDiscord(now func() time.Time) (service, error) {
	s, err := discordtest.New(discordtest.Options{Now: now})
	if err != nil {
		return nil, err
	}
	d := &discord{Server: s}
	guild := s.AddGuild("pronto")
	d.channel, d.person = guild.AddChannel(strings.TrimPrefix(inChannel, "#"), discordtest.ChannelOptions{}), s.AddHuman(human)
	guild.Join(d.person.ID)
	names, calls := []string{"<@" + d.person.ID + ">", "@" + human}, []string(nil)
	for _, a := range cast {
		bot := s.AddBot(a.name, discordtest.BotOptions{})
		guild.Join(bot.ID)
		d.bots, names, calls = append(d.bots, bot), append(names, bot.Mention(), "@"+a.name), append(calls, "@"+a.name, bot.Mention())
	}
	d.names, d.calls = strings.NewReplacer(names...), strings.NewReplacer(calls...)
	return d, nil
}

func (d *discord) settings() string {
	var accounts []string
	for i, a := range cast {
		accounts = append(accounts, fmt.Sprintf(`%s: { token: %q }`, a.id, d.bots[i].Token))
	}
	return fmt.Sprintf(`enabled: true, accounts: { %s }, collaboration: { defaultChannel: %q, escalation: { mentionUserId: %q } }`,
		strings.Join(accounts, ", "), d.channel.ID, d.person.ID)
}

func (d *discord) serve(o *server.Options) { o.DiscordAPI = d.URL() }

func (d *discord) connected(ctx context.Context) error {
	var bots []string
	for _, b := range d.bots {
		bots = append(bots, b.ID)
	}
	return d.WaitConnected(ctx, bots...)
}

func (d *discord) say(in, text string) error {
	_, err := d.person.Post(d.place(in), d.calls.Replace(text))
	return err
}

func (d *discord) show(text string, f file) error {
	_, err := d.person.Attach(d.channel.ID, d.calls.Replace(text), discordtest.Attachment{Filename: f.name, ContentType: f.kind, Content: f.content})
	return err
}

// place is the id of a place of the script, "" for a thread that does not exist yet.
func (d *discord) place(in string) string {
	n := threadIndex(in)
	if n < 0 {
		return d.channel.ID
	}
	if all := d.Threads(d.channel.ID); n < len(all) {
		return all[n].ID
	}
	return ""
}

func (d *discord) written(in string) (all []message) {
	place := d.place(in)
	if place == "" {
		return nil
	}
	for _, m := range d.Messages(place) {
		if m.Type == discordtest.PlainMessage || m.Type == discordtest.ReplyMessage {
			all = append(all, message{m.ID, m.Author.Username, d.names.Replace(m.Content)})
		}
	}
	return all
}

func (d *discord) threads() (names []string) {
	for _, t := range d.Threads(d.channel.ID) {
		names = append(names, t.Name)
	}
	return names
}

func (d *discord) link(id string) string {
	return "https://discord.com/channels/" + d.channel.GuildID + "/" + d.place(inThread) + "/" + id
}

func (d *discord) until(ctx context.Context, so func() bool) error { return d.Until(ctx, so) }

func (d *discord) close() error { return d.Close() }
