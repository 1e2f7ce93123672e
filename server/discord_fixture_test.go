package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// discordConfig has four agents, each with a bot of its own, who may ask each other. The first one is the default.
const discordConfig = `{
  gateway: { auth: { mode: "token", token: "secret" } },
  agents: { list: [%s], defaults: { taskContinuation: { enabled: false } } },
  tools: { agentToAgent: { enabled: true } },
  bindings: [%s],
  channels: { discord: { enabled: true, accounts: { %s }, dmPolicy: "open",
    collaboration: { defaultChannel: %q, escalation: { mentionUserId: %q } } } },
  models: { providers: { test: { baseUrl: %q, apiKey: "none", models: [%s] } } },
}
`

// discordAgent is an agent as people call it.
type discordAgent struct{ id, name string }

// discordAgents are those of each discordTeam.
var discordAgents = []discordAgent{{"ruda", "루다"}, {"eden", "이든"}, {"seum", "세움"}, {"dajim", "다짐"}}

// discordTeam is a whole program whose agents speak in a Discord of the test, through real clients over real sockets.
type discordTeam struct {
	*reloading
	t       *testing.T
	models  *a2atest.Model
	clock   *a2atest.Clock
	discord *discordtest.Server
	guild   *discordtest.Guild
	dev     discordtest.Channel // the default channel
	ops     discordtest.Channel // another one
	person  *discordtest.Human  // 병욱
	bots    map[string]*discordtest.Bot
	crew    []discordAgent
	watch   []string        // further places in which messages are looked at: conversations, channels of the test
	lost    map[string]bool // messages of which the log need not know
	text    string          // of the configuration
}

// discordSetting is what a test has of its own.
type discordSetting struct {
	answer func(*discordTeam, a2atest.Asked) a2atest.Answer // nil: "<agent> has heard"
	config func(text string) string                         // changes the usual configuration; OPS is the id of that channel
	before func(*discordTeam)                               // the program begins
	more   []discordAgent                                   // agents besides the usual ones
}

func startDiscordTeam(t *testing.T, set discordSetting) *discordTeam {
	t.Helper()
	team := newDiscordTeam(t, set)
	team.reloading = startReloading(t, map[string]string{settings.FileName: team.text}, withGateway,
		func(o *Options) { o.Now, o.DiscordAPI = team.clock.Now, team.discord.URL() })
	team.connected()
	return team
}

// newDiscordTeam is one whose program does not run yet.
func newDiscordTeam(t *testing.T, set discordSetting) *discordTeam {
	t.Helper()
	team := &discordTeam{t: t, clock: &a2atest.Clock{}, bots: map[string]*discordtest.Bot{}, lost: map[string]bool{},
		crew: slices.Concat(discordAgents, set.more)}
	if set.answer == nil {
		set.answer = func(_ *discordTeam, a a2atest.Asked) a2atest.Answer { return a2atest.Say(a.Agent + " has heard") }
	}
	var err error
	team.discord, err = discordtest.New(discordtest.Options{Now: team.clock.Now, Limits: discordtest.NoLimits()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = team.discord.Close() })
	team.models = a2atest.NewModel(t, func(a a2atest.Asked) a2atest.Answer { return set.answer(team, a) })
	team.guild, team.person = team.discord.AddGuild("pronto"), team.discord.AddHuman("병욱")
	team.dev, team.ops = team.guild.AddChannel("dev", discordtest.ChannelOptions{}), team.guild.AddChannel("ops", discordtest.ChannelOptions{})
	team.guild.Join(team.person.ID)
	var agents, bindings, accounts, models []string
	for _, a := range team.crew {
		bot := team.discord.AddBot(a.name, discordtest.BotOptions{})
		team.bots[a.id] = bot
		team.guild.Join(bot.ID)
		agents = append(agents, fmt.Sprintf(`{ id: %q, name: %q, model: "test/%s" }`, a.id, a.name, a.id))
		bindings = append(bindings, fmt.Sprintf(`{ agentId: %q, match: { channel: "discord", accountId: %q } }`, a.id, a.id))
		accounts = append(accounts, fmt.Sprintf(`%s: { token: %q, botUserId: %q }`, a.id, bot.Token, bot.ID))
		models = append(models, fmt.Sprintf(`{ id: %q }`, a.id))
	}
	team.text = fmt.Sprintf(discordConfig, strings.Join(agents, ", "), strings.Join(bindings, ", "), strings.Join(accounts, ", "), team.dev.ID, team.person.ID,
		team.models.URL, strings.Join(models, ", "))
	if set.config != nil {
		team.text = strings.ReplaceAll(set.config(team.text), "OPS", team.ops.ID)
	}
	if set.before != nil {
		set.before(team)
	}
	return team
}

// connected waits until all bots are connected.
func (team *discordTeam) connected(except ...string) {
	team.t.Helper()
	var ids []string
	for agent, bot := range team.bots {
		if !slices.Contains(except, agent) {
			ids = append(ids, bot.ID)
		}
	}
	ctx, cancel := context.WithTimeout(team.t.Context(), a2atest.Patience)
	defer cancel()
	if err := team.discord.WaitConnected(ctx, ids...); err != nil {
		team.t.Fatalf("the bots are not connected: %v", err)
	}
	team.await("the program to know that they are", func() bool {
		seeing := 0
		for _, b := range team.agents.discord.bots.Sight(team.guild.ID, team.dev.ID, "") {
			if !b.Blind && slices.Contains(ids, b.UserID) {
				seeing++
			}
		}
		_, known := team.agents.discord.bots.Known(team.dev.ID)
		return known && seeing == len(ids)
	})
}

// again ends the program, and runs another one on what it has left.
func (team *discordTeam) again(change ...func(*Options)) {
	team.t.Helper()
	for _, c := range change {
		c(&team.opts)
	}
	team.restart(team.t, nil)
	team.connected()
}

// at is the mention of an agent's bot.
func (team *discordTeam) at(agent string) string { return team.bots[agent].Mention() }

// says has the person write in a place, and returns the message's id.
func (team *discordTeam) says(place, format string, args ...any) discordtest.Message {
	team.t.Helper()
	m, err := team.person.Post(place, fmt.Sprintf(format, args...))
	if err != nil {
		team.t.Fatal(err)
	}
	return m
}

// advance sets the clock forward and wakes all that wait for a time.
func (team *discordTeam) advance(d time.Duration) {
	team.t.Helper()
	team.clock.Forward(d)
	_, err := team.Program.log.Append(team.t.Context(), eventstore.StreamAppend{Stream: coordination.LogStream,
		Events: []eventstore.NewEvent{{Type: "test.clock", Data: json.RawMessage(`{"eventRole":"system.observability"}`)}}})
	if err != nil {
		team.t.Fatal(err)
	}
}

// await waits until something is so. It looks whenever the log has moved, and every so often; it gives up when the log has not moved for long, or
// something is not so for very long.
func (team *discordTeam) await(what string, so func() bool) {
	team.t.Helper()
	const endless = 5 * a2atest.Patience
	ctx, cancel := context.WithTimeout(team.t.Context(), endless)
	defer cancel()
	head, err := team.Program.log.Head(ctx)
	for last := time.Now(); err == nil && !so(); {
		moved, stop := context.WithTimeout(ctx, 20*time.Millisecond)
		if seq, gone := team.Program.log.Wait(moved, head.Seq+1); gone == nil {
			head.Seq, last = seq, time.Now()
		}
		stop()
		if err = ctx.Err(); err == nil && time.Since(last) > a2atest.Patience {
			err = context.DeadlineExceeded
		}
	}
	if err != nil {
		team.t.Fatalf("waited for %s: %v\n%s", what, err, team.story())
	}
}

// quiet waits until every message that bots could see is decided about, and nothing is left to do now.
func (team *discordTeam) quiet() {
	team.t.Helper()
	team.await("quiet", func() bool {
		decided, busy := map[string]bool{}, false
		err := team.Program.log.View(team.t.Context(), func(tx *sql.Tx) error {
			leased, err := workqueue.List(team.t.Context(), tx, workqueue.Query{State: workqueue.Leased})
			if err != nil || len(leased) > 0 {
				busy = len(leased) > 0
				return err
			}
			waiting, err := workqueue.List(team.t.Context(), tx, workqueue.Query{State: workqueue.Waiting})
			for _, i := range waiting {
				busy = busy || i.DueAt <= team.clock.Now().UnixMilli()
			}
			if err != nil || busy {
				return err
			}
			rows, err := tx.QueryContext(team.t.Context(), "SELECT message_id FROM discord_messages")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var id string
				if err := rows.Scan(&id); err != nil {
					return err
				}
				decided[id] = true
			}
			return rows.Err()
		})
		if err != nil {
			team.t.Fatal(err)
		}
		return !busy && !slices.ContainsFunc(team.messages(), func(m discordtest.Message) bool { return !decided[m.ID] && !team.lost[m.ID] })
	})
}

// messages are all that people and bots have written in the guild, thread by thread.
func (team *discordTeam) messages() (list []discordtest.Message) {
	for _, c := range []discordtest.Channel{team.dev, team.ops} {
		places := []string{c.ID}
		for _, t := range team.discord.Threads(c.ID) {
			places = append(places, t.ID)
		}
		for _, p := range places {
			list = append(list, team.written(p)...)
		}
	}
	for _, p := range team.watch {
		list = append(list, team.written(p)...)
	}
	return list
}

// written is what people and bots have written in a place.
func (team *discordTeam) written(place string) (list []discordtest.Message) {
	for _, m := range team.discord.Messages(place) {
		if m.Type == discordtest.PlainMessage || m.Type == discordtest.ReplyMessage {
			list = append(list, m)
		}
	}
	return list
}

// texts are what was written in a place, each with its author: "루다: hello".
func (team *discordTeam) texts(place string) (lines []string) {
	for _, m := range team.written(place) {
		lines = append(lines, m.Author.Username+": "+m.Content)
	}
	return lines
}

// events are those whose types begin with one of some texts, in the order of the log; all without any.
func (team *discordTeam) events(types ...string) (list []eventstore.Event) {
	team.t.Helper()
	for after := int64(0); ; {
		page, err := team.Program.log.Read(team.t.Context(), after, 5_000)
		if err != nil {
			team.t.Fatal(err)
		}
		for _, e := range page {
			if after = e.Seq; len(types) == 0 || slices.ContainsFunc(types, func(typ string) bool { return strings.HasPrefix(e.Type, typ) }) {
				list = append(list, e)
			}
		}
		if len(page) == 0 {
			return list
		}
	}
}

// read reads what an event says.
func (team *discordTeam) read(e *eventstore.Event, into any) {
	team.t.Helper()
	if err := json.Unmarshal(e.Data, into); err != nil {
		team.t.Fatalf("%s: %v in %s", e.Type, err, e.Data)
	}
}

// said are the events of a type, as what they say.
func said[D any](team *discordTeam, typ string) (list []D) {
	team.t.Helper()
	for _, e := range team.events(typ) {
		if e.Type == typ {
			var d D
			team.read(&e, &d)
			list = append(list, d)
		}
	}
	return list
}

// runs is how many runs each agent had because of Discord: "ruda 1, eden 2".
func (team *discordTeam) runs() string {
	team.t.Helper()
	count := map[string]int{}
	for _, q := range said[coordination.RunQueued](team, coordination.TypeRunQueued) {
		if key, err := coordination.ParseSessionKey(q.SessionKey); err == nil && q.Cause == "discord" && q.RetryOf == "" {
			count[key.Agent]++
		}
	}
	var list []string
	for _, a := range team.crew {
		if count[a.id] > 0 {
			list = append(list, fmt.Sprintf("%s %d", a.id, count[a.id]))
		}
	}
	return strings.Join(list, ", ")
}

// verdicts are what a message was to each agent: "ruda handler mentioned".
func (team *discordTeam) verdicts(messageID string) (lines []string) {
	team.t.Helper()
	for _, e := range team.events("discord.inbound.") {
		var d coordination.DiscordInbound
		team.read(&e, &d)
		if d.MessageID != messageID || d.Decision == "" { // edits and deletions decide nothing
			continue
		}
		agents := d.Agents
		if len(agents) == 0 {
			agents = []string{e.AgentID}
		}
		for _, a := range agents {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", a, d.Decision, d.Reason, d.Order)))
		}
	}
	slices.Sort(lines)
	return lines
}

// asked are the prompts that the model of an agent got, the first one first.
func (team *discordTeam) asked(agent string) (list []a2atest.Asked) {
	for _, a := range team.models.Asked() {
		if a.Agent == agent {
			list = append(list, a)
		}
	}
	return list
}

// thread is the only thread of a channel.
func (team *discordTeam) thread(channel string) discordtest.Channel {
	team.t.Helper()
	threads := team.discord.Threads(channel)
	if len(threads) != 1 {
		team.t.Fatalf("there are %d threads in the channel, want one", len(threads))
	}
	return threads[0]
}

// ask is a call of the tool collaborate.
func ask(target, message string, more ...string) a2atest.Answer {
	args := map[string]string{"targetAgent": target, "message": message}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i]] = more[i+1]
	}
	return a2atest.Use(a2atest.Call{Name: "collaborate", Args: args})
}

// stuck is how deliveries stand that are not done.
func (team *discordTeam) stuck() (lines []string) {
	team.t.Helper()
	err := team.Program.log.View(team.t.Context(), func(tx *sql.Tx) error {
		items, err := workqueue.List(team.t.Context(), tx, workqueue.Query{Kind: delivery.Kind})
		for _, i := range items {
			lines = append(lines, fmt.Sprintf("%s %s", i.EffectID, i.State))
		}
		return err
	})
	if err != nil {
		team.t.Fatal(err)
	}
	return lines
}

// story is what has happened, to explain a failure of the test.
func (team *discordTeam) story() string {
	var b strings.Builder
	for _, e := range team.events() {
		fmt.Fprintf(&b, "%d %s %s %s %.300s\n", e.Seq, e.Stream, e.Type, e.AgentID, e.Data)
	}
	return b.String()
}
