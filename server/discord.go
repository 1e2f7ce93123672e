package server

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/command"
	"github.com/pronto-lab/openclawd/discord/inbound"
	"github.com/pronto-lab/openclawd/discord/outbound"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/services/notifier"
	"github.com/pronto-lab/openclawd/tools/collabtools"
)

// Maximum numbers of concurrent posts, follow-ups and notifications.
const (
	deliverySlots = 16
	trackerSlots  = 4
	webhookSlots  = 4
)

// discordSide is everything between agents and Discord. It exists wherever agents do, even without bots: those may be
// configured later.
type discordSide struct {
	bots     *discord.Bots
	inbound  *inbound.Service
	posts    *outbound.Handler
	replies  *outbound.Replies
	sends    *outbound.Sends
	typing   *outbound.Typing
	requests *collabtools.Service
	commands *command.Handler
	notifier *notifier.Follower
	webhook  worker.Handler
	metrics  *discordMetrics

	transport *http.Transport // of webhooks
	statuses  chan health.Bot
	table     []string // which bot speaks for which agent, as logged last

	mu  sync.Mutex
	ctx context.Context // context of the program, while it runs
}

// openBots creates the bots, which connect when the program runs, and what posts through them.
func (p *Program) openBots(ctx context.Context, a *agents) error {
	logger := p.opts.Logger.With("component", "discord")
	inForce := p.newConfiguration().InForce
	d := &discordSide{transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute},
		statuses: make(chan health.Bot, 256), metrics: p.discordMetrics, ctx: context.WithoutCancel(ctx)}
	marks, err := p.discordMarks(ctx)
	if err != nil {
		return err
	}
	var transport http.RoundTripper
	if p.opts.DiscordAPI != "" {
		if transport, err = discord.Redirect(p.opts.DiscordAPI); err != nil {
			return &config.SettingError{Setting: "--discord-api", Value: p.opts.DiscordAPI, Err: err, HintText: "name a server such as http://127.0.0.1:8080"}
		}
	}
	d.bots = discord.New(discord.Options{
		OnMessage: func(in discord.Inbound) { d.inbound.Handle(d.context(), in) }, OnInteraction: func(i discord.Interaction) { d.commands.Handle(d.context(), i) },
		OnStatus: d.receiveStatus, Commands: command.Commands(inForce().Language()), Marks: marks, Log: logger, UserAgent: "openclawd/" + buildinfo.Read().Version,
		Transport: transport, Now: p.opts.Now,
	})
	d.replies = &outbound.Replies{Accounts: d.bots.Registry, Config: inForce}
	a.discord = d
	return nil
}

// openDiscord makes what hears the bots, and what asks for posts. runs are those that people stop.
func (p *Program) openDiscord(a *agents, runs *runner.Runs) {
	logger := p.opts.Logger.With("component", "discord")
	inForce := p.newConfiguration().InForce
	d := a.discord
	d.requests = collabtools.New(collabtools.Options{Log: p.log, Discord: places{d.bots}, Config: inForce, Now: p.opts.Now, NewID: uuid.NewString, Logger: logger})
	d.inbound = inbound.New(inbound.Options{Log: p.log, Queue: a.queue, Bots: d.bots, Config: inForce, Now: p.opts.Now, Logger: logger, Stop: runs.Stop, Heard: d.metrics.countDecision,
		Allowed: func(c *config.Config, from, to string) bool {
			return access.PolicyOf(c.Tools.AgentToAgent).Judge(from, to).Allowed
		},
		Answered: func(tx eventstore.Tx, r *response.Request, m *discord.Message, now time.Time) ([]eventstore.StreamAppend, error) {
			return d.requests.Answered(tx, r, m.ID, m.Content, now)
		}, Exchanges: func(tx eventstore.Tx, e *inbound.Exchange, now time.Time) (string, error, []eventstore.StreamAppend, error) {
			return a.exchange(tx, e, inForce().Session.MaxPingPongTurns, now)
		}})
	d.sends = &outbound.Sends{Log: p.log, Accounts: d.bots.Registry, Config: inForce, Now: p.opts.Now, NewID: uuid.NewString}
	d.posts = outbound.New(outbound.Options{Log: p.log, Bots: d.bots, Now: p.opts.Now, Logger: logger, Ended: d.metrics.countEnd,
		Then: map[string]outbound.Then{delivery.Request: d.requests.Delivered, delivery.Reminder: d.requests.Reported, delivery.Escalate: d.requests.Reported,
			delivery.Send: d.sends.Delivered}})
	d.typing = &outbound.Typing{Bots: d.bots, Accounts: d.bots.Registry, AfterFunc: func(wait time.Duration, f func()) discord.Timer { return time.AfterFunc(wait, f) }, Logger: logger}
	language := func() coordination.Language { return inForce().Language() }
	d.commands = command.New(command.Options{Bots: d.bots, Sessions: discordSessions{p}, Approvals: command.Decisions{Decider: a.approvals, Language: language}, Config: inForce, Now: p.opts.Now, Logger: logger})
	d.notifier = notifier.New(notifier.Options{Log: p.log, Config: inForce, Bots: func() []collaborate.Bot { return d.bots.Registry().ForCollaborate() },
		Buttons: func(id string) []byte { return command.Buttons(inForce().Language(), id) }, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "notify")})
	d.webhook = notifier.Webhook(&http.Client{Transport: d.transport}, inForce, p.opts.Now)
}

// discordMarks returns the last processed message of each channel.
func (p *Program) discordMarks(ctx context.Context) (marks []discord.Mark, err error) {
	err = p.log.View(ctx, func(tx *sql.Tx) error {
		known, err := routing.Marks(ctx, tx)
		for _, m := range known {
			marks = append(marks, discord.Mark{AccountID: m.AccountID, GuildID: m.GuildID, ChannelID: m.PlaceID, MessageID: m.LastMessageID})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the last processed Discord messages: %w", err)
	}
	return marks, nil
}

// context returns the program's context while it runs.
func (d *discordSide) context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ctx
}

// then handles the end of a run: for the flows between agents, and for Discord.
func (a *agents) then(tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
	flows, err := a.messenger.Then(tx, e)
	if err != nil {
		return nil, err
	}
	posts, err := a.discord.replies.Then(tx, e.Asked, &e.Result, e.Now)
	if err != nil { // the end of the run, and its flow, do not depend on it
		a.logger.Error("cannot post a run's answer", "run", e.Result.RunID, "err", err)
	}
	return append(flows, posts...), nil
}

// maxRouted is the maximum number of characters of a message in a2a.auto_route.
const maxRouted = 200

// exchange starts an exchange between two agents after one mentioned the other in a channel. Its result is posted
// there.
func (a *agents) exchange(tx eventstore.Tx, e *inbound.Exchange, maxTurns int, now time.Time,
) (runID string, refused error, appends []eventstore.StreamAppend, err error) {
	result, appends, err := a.messenger.Ask(tx, messenger.Request{
		From: tool.Caller{AgentID: e.From, SessionKey: e.Session.String(), RunID: e.RunID, Hop: max(*e.Context.Hop-1, 0), Channel: discord.Channel,
			To: "channel:" + e.ChannelID, AccountID: e.AccountID},
		Origin: discord.Channel, Key: inbound.RunID(e.MessageID, e.To), Target: e.Target, Message: e.Text,
		TaskID: e.Context.TaskID, WorkSessionID: e.Context.WorkSessionID,
	}, now)
	if err != nil {
		return "", nil, nil, err
	}
	if result.Error != "" {
		return "", fmt.Errorf("the exchange with %s is refused (%s): %s; %s", e.To, result.Code, result.Error, result.Hint), appends, nil
	}
	routed := coordination.A2AAutoRoute{Context: coordination.Context{WorkSessionID: result.WorkSessionID, TaskID: result.TaskID,
		ConversationID: result.ConversationID, Hop: e.Context.Hop, EventRole: coordination.RoleConversation}, SenderAgentID: e.From, TargetAgentID: e.To,
		ChannelID: e.ChannelID, MaxTurns: maxTurns, Message: coordination.Head(coordination.Mask(e.Text), maxRouted)}
	event := eventstore.NewEvent{Type: coordination.TypeA2AAutoRoute, AgentID: e.From, Actor: eventstore.ActorSystem}
	stream := coordination.StreamOf(&coordination.Record{Type: event.Type, AgentID: e.From, Facts: coordination.Facts{ConversationID: result.ConversationID}})
	first, err := eventstore.One(stream, event, routed, now.UnixMilli())
	return result.RunID, nil, append(first, appends...), err
}

// runDiscord keeps the configured bots connected until ctx ends.
func (p *Program) runDiscord(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	d := p.agents.discord
	d.mu.Lock()
	d.ctx = ctx
	d.mu.Unlock()
	defer d.transport.CloseIdleConnections()
	defer d.typing.Close()
	var watch sync.WaitGroup
	watch.Go(func() { p.followBots(ctx) })
	watch.Go(func() { p.recordBots(ctx) })
	defer watch.Wait()
	return d.bots.Run(ctx)
}

// followBots applies each new configuration to the bots.
func (p *Program) followBots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.config.changed:
			p.configureBots()
		}
	}
}

// configureBots applies the configuration in force to the bots, and records changed assignments of bots to agents. It must not be called
// concurrently.
func (p *Program) configureBots() {
	d := p.agents.discord
	d.bots.Configure(p.newConfiguration().InForce())
	d.receiveStatus(health.Bot{}) // the assignment may change even if no bot's state does
	registry := d.bots.Registry()
	if table := registry.Table(); len(registry.Bots()) == 0 || slices.Equal(table, d.table) {
		return
	}
	d.table = registry.Table()
	logger := p.opts.Logger.With("component", "discord")
	for _, line := range d.table {
		logger.Info("Discord bot configured", "agents", line)
	}
	for _, w := range registry.Warnings() {
		logger.Warn(w.Text, "code", w.Code, "subject", w.Subject, "hint", w.Hint)
	}
}

// receiveStatus receives a bot's state. It does not block: dropped reports are queried again where needed.
func (d *discordSide) receiveStatus(s health.Bot) {
	select {
	case d.statuses <- s:
	default:
	}
}

// recordBots records in the log which bot speaks for which agent, and when it no longer does.
func (p *Program) recordBots(ctx context.Context) {
	told := map[string]botAssignment{} // by account
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.agents.discord.statuses:
		}
		now := map[string]botAssignment{}
		for _, b := range p.agents.discord.bots.Registry().Bots() {
			if b.UserID != "" && b.AgentID != "" && (b.Connected || told[b.AccountID].user != "") {
				now[b.AccountID] = botAssignment{b.AgentID, b.AccountID, b.UserID}
			}
		}
		for account, was := range told {
			if now[account] != was && p.recordBot(ctx, coordination.TypeIdentityBotUnregistered, was) {
				delete(told, account)
			}
		}
		for account, is := range now {
			if told[account] != is && p.recordBot(ctx, coordination.TypeIdentityBotRegistered, is) {
				told[account] = is
			}
		}
	}
}

// botAssignment is the assignment of a bot to an agent.
type botAssignment struct{ agent, account, user string }

func (p *Program) recordBot(ctx context.Context, typ string, bot botAssignment) bool {
	appends, err := eventstore.One(coordination.StreamOf(&coordination.Record{Type: typ, AgentID: bot.agent}),
		eventstore.NewEvent{Type: typ, AgentID: bot.agent, Actor: eventstore.ActorSystem},
		coordination.IdentityBot{Context: coordination.Context{EventRole: coordination.RoleObservability},
			AgentID: bot.agent, AccountID: bot.account, BotUserID: bot.user}, p.opts.Now().UnixMilli())
	if err == nil {
		_, err = p.log.Append(ctx, appends...)
	}
	if err != nil && ctx.Err() == nil {
		p.opts.Logger.Warn("cannot record which bot speaks for an agent", "component", "discord", "account", bot.account, "err", err)
	}
	return err == nil
}

// notifyPeople posts notifications about events until ctx ends.
func (p *Program) notifyPeople(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	select {
	case <-p.caughtUp:
	case <-ctx.Done():
		return nil
	}
	return p.agents.discord.notifier.Run(ctx)
}

// releasePlaces announces the end of suspensions in Discord until ctx ends.
func (p *Program) releasePlaces(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	return p.agents.discord.inbound.Run(ctx)
}

// discordNames resolves Discord mentions in texts to names; nil where no bots run.
func (a *agents) discordNames() func(string) string {
	if a == nil {
		return nil
	}
	return a.discord.bots.Resolve
}

// discordBots is the state of the bots; nil where none run.
func (a *agents) discordBots() func() []health.Bot {
	if a == nil {
		return nil
	}
	return a.discord.bots.Status
}

// places adapts the bots to requests between agents.
type places struct{ *discord.Bots }

// Connected implements collabtools.Discord.
func (p places) Connected() []collaborate.Bot { return p.Registry().ForCollaborate() }

// discordChannels adapts posting in Discord to flows between agents.
type discordChannels struct {
	p       *Program
	discord *discordSide
}

func (c discordChannels) out() *outbound.Announcements {
	return &outbound.Announcements{Log: c.p.log, Accounts: c.discord.bots.Registry, Config: c.p.newConfiguration().InForce, Now: c.p.opts.Now,
		Sees: c.discord.sees}
}

// sees reports whether an account's bot can see a channel of a server, or a thread in it.
func (d *discordSide) sees(account, channel, thread string) bool {
	place, known := d.bots.Known(channel)
	return known && place.GuildID != "" && slices.ContainsFunc(d.bots.Sight(place.GuildID, channel, thread), func(b route.Bot) bool {
		return b.AccountID == account && !b.Blind
	})
}

// Reaches implements messenger.Channels.
func (c discordChannels) Reaches(channel string) bool { return c.out().Reaches(channel) }

// Account implements messenger.Channels.
func (c discordChannels) Account(post messenger.Post) string {
	return c.out().Account(post.Agent, post.To, post.AccountID, post.ThreadID)
}

// Post implements messenger.Channels.
func (c discordChannels) Post(ctx context.Context, post messenger.Post) error {
	return c.out().Post(ctx, post.Key, post.Agent, post.To, post.AccountID, post.ThreadID, post.Text)
}
