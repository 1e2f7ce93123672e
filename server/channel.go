package server

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/command"
	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// channelSide is everything between agents and one channel. It exists wherever agents do, even without bots: those may be
// configured later.
type channelSide struct {
	name     string
	bots     channel.Channel
	inbound  *inbound.Service
	posts    *outbound.Handler
	replies  *outbound.Replies
	sends    *outbound.Sends
	typing   *outbound.Typing
	acks     *outbound.Acks
	commands *command.Handler
	metrics  *channelMetrics
	logger   *slog.Logger

	statuses chan health.Bot
	table    []string // which bot speaks for which agent, as logged last

	mu  sync.Mutex
	ctx context.Context // context of the program, while it runs
}

// newChannelSide returns the side of a channel without its bots, and the options for these.
func (p *Program) newChannelSide(ctx context.Context, name string) (*channelSide, channel.Options, error) {
	inForce := p.newConfiguration().InForce
	c := &channelSide{name: name, logger: p.opts.Logger.With("component", name), statuses: make(chan health.Bot, 256), metrics: p.channelMetrics,
		ctx: context.WithoutCancel(ctx)}
	marks, err := p.channelMarks(ctx, name)
	return c, channel.Options{
		OnMessage:     func(in channel.Inbound) { c.inbound.Handle(c.context(), in) },
		OnInteraction: func(i channel.Interaction) { c.commands.Handle(c.context(), i) },
		OnStatus:      c.receiveStatus, Commands: command.Commands(inForce().Language()), Marks: marks, Log: c.logger,
		UserAgent: "openclawd/" + buildinfo.Read().Version, Now: p.opts.Now,
		Posted:    func(id string) bool { return p.isPosted(c.context(), id) },
		IsThread:  func(id string) bool { return p.isThread(c.context(), id) },
		FirstSeen: func(account, agent string) int64 { return p.firstSeen(c.context(), name, account, agent) },
	}, err
}

// isPosted reports whether the log records how a message of one of our bots was posted; false if it cannot be read.
func (p *Program) isPosted(ctx context.Context, id string) (is bool) {
	err := p.log.View(ctx, func(tx *sql.Tx) error {
		posts, err := routing.Posts(ctx, tx, routing.PostQuery{MessageID: id, Limit: 1})
		is = len(posts) > 0
		return err
	})
	return err == nil && is
}

// channelMarks returns the last processed message of each place of a channel.
func (p *Program) channelMarks(ctx context.Context, name string) (marks []channel.Mark, err error) {
	err = p.log.View(ctx, func(tx *sql.Tx) error {
		known, err := routing.Marks(ctx, tx)
		for _, m := range known {
			if coordination.ChannelOf(m.PlaceID) == name {
				marks = append(marks, channel.Mark{AccountID: m.AccountID, GuildID: m.GuildID, ChannelID: m.PlaceID, MessageID: m.LastMessageID})
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the last processed messages of %s: %w", name, err)
	}
	return marks, nil
}

// connect sets the bots of a channel.
func (p *Program) connect(c *channelSide, bots channel.Channel) {
	c.bots = bots
	c.replies = &outbound.Replies{Channel: c.name, Accounts: bots.Registry, Config: p.newConfiguration().InForce}
}

// open makes what hears the bots of a channel, and what asks for posts. runs are those that people stop.
func (c *channelSide) open(p *Program, a *agents, runs *runner.Runs) {
	inForce := p.newConfiguration().InForce
	c.sends = &outbound.Sends{Channel: c.name, Log: p.log, Accounts: c.bots.Registry, People: c.bots, Config: inForce, Now: p.opts.Now, NewID: uuid.NewString}
	c.inbound = inbound.New(inbound.Options{Channel: c.name, Log: p.log, Queue: a.queue, Bots: c.bots, Config: inForce, Now: p.opts.Now, Logger: c.logger, Stop: runs.Stop,
		Heard: c.metrics.countDecision(c.name),
		Allowed: func(c *config.Config, from, to string) bool {
			return access.PolicyOf(c.Tools.AgentToAgent).Judge(from, to).Allowed
		},
		Answered: answersWhole(a.requests.Answered), Exchanges: func(tx eventstore.Tx, e *inbound.Exchange, now time.Time) (string, error, []eventstore.StreamAppend, error) {
			return a.exchange(tx, c.name, e, inForce().Session.MaxPingPongTurns, now)
		}})
	c.posts = outbound.New(outbound.Options{Log: p.log, Bots: c.bots, Now: p.opts.Now, Logger: c.logger, Ended: c.metrics.countEnd(c.name), File: p.postedFile, Then: map[string]outbound.Then{
		delivery.Request: a.requests.Delivered, delivery.Reminder: a.requests.Reported, delivery.Escalate: a.requests.Reported, delivery.Send: c.sends.Delivered,
		delivery.Reply: a.schedules.Delivered}})
	c.acks = &outbound.Acks{Bots: c.bots, Logger: c.logger}
	c.typing = &outbound.Typing{Channel: c.name, Bots: c.bots, Accounts: c.bots.Registry,
		AfterFunc: func(wait time.Duration, f func()) channel.Timer { return time.AfterFunc(wait, f) }, Logger: c.logger}
	c.commands = command.New(command.Options{Bots: c.bots, Paired: p.paired(c.name), Sessions: channelSessions{p}, Config: inForce, Now: p.opts.Now, Logger: c.logger,
		Approvals: command.Decisions{Decider: a.approvals, Language: func() coordination.Language { return inForce().Language() }}})
}

// answersWhole hands the text of an answer to the service that tracks requests.
func answersWhole(answered func(eventstore.Tx, *response.Request, string, string, time.Time) ([]eventstore.StreamAppend, error)) inbound.Answered {
	return func(tx eventstore.Tx, r *response.Request, m *channel.Message, now time.Time) ([]eventstore.StreamAppend, error) {
		return answered(tx, r, m.ID, m.Content, now)
	}
}

// context returns the program's context while it runs.
func (c *channelSide) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx
}

// run keeps the configured bots of a channel connected until ctx ends.
func (c *channelSide) run(ctx context.Context, p *Program) error {
	c.mu.Lock()
	c.ctx = ctx
	c.mu.Unlock()
	defer c.typing.Close()
	var watch sync.WaitGroup
	watch.Go(func() { c.recordBots(ctx, p) })
	defer watch.Wait()
	return c.bots.Run(ctx)
}

// configure applies a configuration to the bots, and records changed assignments of bots to agents. It must not be called
// concurrently.
func (c *channelSide) configure(conf *config.Config) {
	c.bots.Configure(conf)
	c.receiveStatus(health.Bot{}) // the assignment may change even if no bot's state does
	registry := c.bots.Registry()
	if table := registry.Table(); len(registry.Bots()) == 0 || slices.Equal(table, c.table) {
		return
	}
	c.table = registry.Table()
	for _, line := range c.table {
		c.logger.Info(c.title()+" bot configured", "agents", line)
	}
	for _, w := range registry.Warnings() {
		c.logger.Warn(w.Text, "code", w.Code, "subject", w.Subject, "hint", w.Hint)
	}
}

func (c *channelSide) title() string {
	traits, _ := coordination.ChannelNamed(c.name)
	return traits.Title
}

// receiveStatus receives a bot's state. It does not block: dropped reports are queried again where needed.
func (c *channelSide) receiveStatus(s health.Bot) {
	select {
	case c.statuses <- s:
	default:
	}
}

// recordBots records in the log which bot speaks for which agent, and when it no longer does.
func (c *channelSide) recordBots(ctx context.Context, p *Program) {
	told := map[string]botAssignment{} // by account
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.statuses:
		}
		now := map[string]botAssignment{}
		for _, b := range c.bots.Registry().Bots() {
			if b.UserID != "" && b.AgentID != "" && (b.Connected || told[b.AccountID].user != "") {
				now[b.AccountID] = botAssignment{b.AgentID, b.AccountID, b.UserID}
			}
		}
		for account, was := range told {
			if now[account] != was && c.recordBot(ctx, p, coordination.TypeIdentityBotUnregistered, was) {
				delete(told, account)
			}
		}
		for account, is := range now {
			if told[account] != is && c.recordBot(ctx, p, coordination.TypeIdentityBotRegistered, is) {
				told[account] = is
			}
		}
	}
}

// botAssignment is the assignment of a bot to an agent.
type botAssignment struct{ agent, account, user string }

func (c *channelSide) recordBot(ctx context.Context, p *Program, typ string, bot botAssignment) bool {
	data := coordination.IdentityBot{Context: coordination.Context{EventRole: coordination.RoleObservability},
		AgentID: bot.agent, AccountID: bot.account, BotUserID: bot.user}
	if c.name != coordination.Discord {
		data.Channel = c.name
	}
	appends, err := eventstore.One(coordination.StreamOf(&coordination.Record{Type: typ, AgentID: bot.agent}),
		eventstore.NewEvent{Type: typ, AgentID: bot.agent, Actor: eventstore.ActorSystem}, data, p.opts.Now().UnixMilli())
	if err == nil {
		_, err = p.log.Append(ctx, appends...)
	}
	if err != nil && ctx.Err() == nil {
		c.logger.Warn("cannot record which bot speaks for an agent", "account", bot.account, "err", err)
	}
	return err == nil
}

// sees reports whether an account's bot can see a place that is not a conversation, or a thread in it.
func (c *channelSide) sees(account, place, thread string) bool {
	known, is := c.bots.Known(place)
	return is && known.GuildID != "" && slices.ContainsFunc(c.bots.Sight(known.GuildID, place, thread), func(b route.Bot) bool {
		return b.AccountID == account && !b.Blind
	})
}

// maxRouted is the maximum number of characters of a message in a2a.auto_route.
const maxRouted = 200

// exchange starts an exchange between two agents after one mentioned the other in a place of a channel. Its result is posted
// there.
func (a *agents) exchange(tx eventstore.Tx, channel string, e *inbound.Exchange, maxTurns int, now time.Time,
) (runID string, refused error, appends []eventstore.StreamAppend, err error) {
	result, appends, err := a.messenger.Ask(tx, messenger.Request{
		From: tool.Caller{AgentID: e.From, SessionKey: e.Session.String(), RunID: e.RunID, Hop: max(*e.Context.Hop-1, 0), Channel: channel,
			To: "channel:" + e.ChannelID, AccountID: e.AccountID},
		Origin: channel, Key: inbound.RunID(e.MessageID, e.To), Target: e.Target, Message: e.Text,
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

// announcements adapts posting in a channel to flows between agents.
type announcements struct {
	p    *Program
	side *channelSide
}

func (c announcements) out() *outbound.Announcements {
	return &outbound.Announcements{Channel: c.side.name, Log: c.p.log, Accounts: c.side.bots.Registry, Config: c.p.newConfiguration().InForce, Now: c.p.opts.Now,
		Sees: c.side.sees}
}

// Reaches implements messenger.Channels.
func (c announcements) Reaches(channel string) bool { return c.out().Reaches(channel) }

// Account implements messenger.Channels.
func (c announcements) Account(post messenger.Post) string {
	return c.out().Account(post.Agent, post.To, post.AccountID, post.ThreadID)
}

// Post implements messenger.Channels.
func (c announcements) Post(ctx context.Context, post messenger.Post) error {
	return c.out().Post(ctx, post.Key, post.Agent, post.To, post.AccountID, post.ThreadID, post.Text)
}
