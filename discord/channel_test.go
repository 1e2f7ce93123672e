package discord_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/channeltest"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// Discord passes what every channel has to pass.
//
// Promise: one-decision
// Promise: posted-once
func TestDiscordIsAChannel(t *testing.T) {
	t.Parallel()
	amounts := channeltest.Amounts{Messages: testscale.Of(18, 120), Posts: testscale.Of(12, 80), Kills: testscale.Of(4, 40*testscale.Times), Patience: testscale.Patience}
	channeltest.Run(t, amounts, func(t *testing.T, agents []string, now func() time.Time) channeltest.Stage {
		return newStage(t, agents, now)
	})
}

// stage is a Discord with the team of the suite.
type stage struct {
	*discordtest.Server
	t      *testing.T
	guild  *discordtest.Guild
	bora   *discordtest.Human
	bots   map[string]*discordtest.Bot
	agents map[string]string // by the bot's user id

	mu     sync.Mutex
	places int
	twice  *discordtest.InjectedDispatch
	blind  *discordtest.Injected
}

func newStage(t *testing.T, agents []string, now func() time.Time) *stage {
	t.Helper()
	s, err := discordtest.New(discordtest.Options{Now: now, Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100_000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &stage{Server: s, t: t, guild: s.AddGuild("lab"), bora: s.AddHuman("bora"), bots: map[string]*discordtest.Bot{}, agents: map[string]string{}}
	d.guild.Join(d.bora.ID)
	for _, agent := range agents {
		bot := s.AddBot(agent, discordtest.BotOptions{})
		d.bots[agent], d.agents[bot.ID] = bot, agent
		d.guild.Join(bot.ID)
	}
	return d
}

func (d *stage) Name() string { return "discord" }

func (d *stage) Person() string { return d.bora.ID }

func (d *stage) Settings() string {
	var accounts []string
	for agent, bot := range d.bots {
		accounts = append(accounts, fmt.Sprintf("%q: {\"token\": %q, \"botUserId\": %q}", agent, bot.Token, bot.ID))
	}
	return fmt.Sprintf(`{"accounts": {%s}, "dmPolicy": "open", "collaboration": {"rateLimit": {"threadCreationPerMinute": 1000, "messagePerChannelPerSecond": 1000}}}`,
		strings.Join(accounts, ", "))
}

func (d *stage) Open(o channel.Options) channel.Channel {
	o.Transport = d.Transport()
	return discord.New(o)
}

func (d *stage) Place() (guild, place string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places++
	return d.guild.ID, d.guild.AddChannel(fmt.Sprint("place-", d.places), discordtest.ChannelOptions{}).ID
}

func (d *stage) Direct(agent string) string {
	c, err := d.bora.Conversation(d.bots[agent].ID)
	if err != nil {
		d.t.Error(err)
	}
	return c.ID
}

func (d *stage) Say(place, agent, text string) string {
	if agent != "" {
		text = d.bots[agent].Mention() + " " + text
	}
	m, err := d.bora.Post(place, text)
	if err != nil {
		d.t.Error(err)
	}
	return m.ID
}

func (d *stage) Upload(place, agent, text, name string, content []byte) string {
	m, err := d.bora.Attach(place, d.bots[agent].Mention()+" "+text, discordtest.Attachment{Filename: name, Content: content})
	if err != nil {
		d.t.Error(err)
	}
	return m.ID
}

func (d *stage) FileTrouble(what channeltest.Trouble) {
	d.trouble(what, "GET /attachments/{channel}/{file}/*", 0)
}

func (d *stage) Posts(place string) (posts []channeltest.Post) {
	for _, m := range d.Messages(place) {
		if agent := d.agents[m.Author.ID]; agent != "" {
			post := channeltest.Post{ID: m.ID, Agent: agent, Text: m.Content}
			for _, f := range m.Attachments {
				post.Text += channeltest.FileText(d.FileOf(f))
			}
			posts = append(posts, post)
		}
	}
	return posts
}

func (d *stage) Requests() int {
	return len(d.RequestsTo(discordtest.Match{Test: func(r discordtest.Request) bool { return !strings.HasPrefix(r.Route, http.MethodGet) }}))
}

func (d *stage) Cut(agent string) { d.bots[agent].Drop() }

func (d *stage) Forget(agent string) {
	d.bots[agent].Drop()
	d.bots[agent].ForgetSessions()
}

func (d *stage) Twice(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.twice != nil {
		d.twice.Remove()
		d.twice = nil
	}
	if on {
		d.twice = d.InjectDispatch(discordtest.DispatchFault{Times: -1, Effect: discordtest.Duplicate})
	}
}

func (d *stage) Trouble(what channeltest.Trouble, after int) {
	d.trouble(what, "POST /channels/{channel}/messages", after)
}

func (d *stage) trouble(what channeltest.Trouble, route string, after int) {
	effects := map[channeltest.Trouble]discordtest.Effect{channeltest.Refused: discordtest.Unavailable(http.StatusInternalServerError),
		channeltest.Lost: discordtest.LoseAnswer(), channeltest.Limited: discordtest.TooManyRequests(time.Millisecond, false), channeltest.NeverOut: discordtest.Cut()}
	d.Inject(discordtest.Fault{Match: discordtest.Match{Route: route}, After: after, Effect: effects[what]})
}

func (d *stage) Blind(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.blind != nil {
		d.blind.Remove()
		d.blind = nil
	}
	if on {
		d.blind = d.Inject(discordtest.Fault{Match: discordtest.Match{Route: "GET /channels/{channel}/messages"}, Times: -1, Effect: discordtest.Forbidden()})
	}
}
