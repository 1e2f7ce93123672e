package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	pure "github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/command"
	"github.com/pronto-lab/openclawd/discord/inbound"
	"github.com/pronto-lab/openclawd/discord/outbound"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/access"
	"github.com/pronto-lab/openclawd/tools/approval"
	"github.com/pronto-lab/openclawd/tools/collaborate"
	"github.com/pronto-lab/openclawd/tools/notify"
)

// How much is posted, followed and told at a time.
const (
	deliverySlots = 16
	trackerSlots  = 4
	webhookSlots  = 4
)

// discordSide is everything that is between agents and Discord. It is there wherever agents are, also without any bot: those may come by a change
// of the configuration.
type discordSide struct {
	bots     *discord.Bots
	hears    *inbound.Monitor
	posts    *outbound.Handler
	replies  *outbound.Replies
	sends    *outbound.Sends
	typing   *outbound.Typing
	requests *collaborate.Desk
	commands *command.Desk
	tells    *notify.Follower
	webhook  worker.Handler
	figures  *discordFigures

	transport *http.Transport // of webhooks
	statuses  chan discord.Status
	table     []string // who speaks for whom, as it was logged last

	mu  sync.Mutex
	ctx context.Context // of the program, while it runs
}

// openDiscord makes the bots, which connect when the program runs.
func (p *Program) openDiscord(ctx context.Context, a *agents) error {
	logger := p.opts.Logger.With("component", "discord")
	inForce := p.newConfiguration().InForce
	d := &discordSide{transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute},
		statuses: make(chan discord.Status, 256), figures: p.discordFigures, ctx: context.WithoutCancel(ctx)}
	marks, err := p.discordMarks(ctx)
	if err != nil {
		return err
	}
	var transport http.RoundTripper
	if p.opts.DiscordAPI != "" {
		if transport, err = discord.Redirect(p.opts.DiscordAPI); err != nil {
			return &settings.Error{Setting: "--discord-api", Value: p.opts.DiscordAPI, Err: err, Mend: "name a server such as http://127.0.0.1:8080"}
		}
	}
	d.bots = discord.New(discord.Options{
		OnMessage: func(in discord.Inbound) { d.hears.Hear(d.context(), in) }, OnInteraction: func(i discord.Interaction) { d.commands.Take(d.context(), i) },
		OnStatus: d.noteStatus, Commands: command.Commands(inForce().Language()), Marks: marks, Log: logger, UserAgent: "openclawd/" + buildinfo.Read().Version,
		Transport: transport, Now: p.opts.Now,
	})
	d.requests = collaborate.New(collaborate.Options{Log: p.log, Discord: places{d.bots}, Config: inForce, Now: p.opts.Now, NewID: uuid.NewString, Logger: logger})
	d.hears = inbound.New(inbound.Options{Log: p.log, Runs: laterRuns{a}, Bots: d.bots, Config: inForce, Now: p.opts.Now, Logger: logger, Stop: laterRuns{a}.Stop, Heard: d.figures.heard,
		Allowed: func(c *config.Config, from, to string) bool {
			return access.PolicyOf(c.Tools.AgentToAgent).Judge(from, to).Allowed
		},
		Answered: func(tx eventstore.Tx, r *response.Request, m *discord.Message, now time.Time) ([]eventstore.StreamAppend, error) {
			return d.requests.Answered(tx, r, m.ID, m.Content, now)
		}, Exchanges: func(tx eventstore.Tx, e *inbound.Exchange, now time.Time) (string, error, []eventstore.StreamAppend, error) {
			return a.exchange(tx, e, inForce().Session.MaxPingPongTurns, now)
		}})
	d.sends = &outbound.Sends{Log: p.log, Accounts: d.bots.Registry, Config: inForce, Now: p.opts.Now, NewID: uuid.NewString}
	d.posts = outbound.New(outbound.Options{Log: p.log, Bots: d.bots, Now: p.opts.Now, Logger: logger, Ended: d.figures.ended,
		Then: map[string]outbound.Then{delivery.Request: d.requests.Delivered, delivery.Reminder: d.requests.Told, delivery.Escalate: d.requests.Told,
			delivery.Send: d.sends.Delivered}})
	d.replies = &outbound.Replies{Accounts: d.bots.Registry, Config: inForce}
	d.typing = &outbound.Typing{Bots: d.bots, Accounts: d.bots.Registry, AfterFunc: func(wait time.Duration, f func()) discord.Timer { return time.AfterFunc(wait, f) }, Logger: logger}
	d.commands = command.New(command.Options{Bots: d.bots, Sessions: discordSessions{p}, Office: discordOffice{a}, Config: inForce, Now: p.opts.Now, Logger: logger})
	d.tells = notify.New(notify.Options{Log: p.log, Config: inForce, Bots: func() []pure.Bot { return d.bots.Registry().ForCollaborate() },
		Buttons: func(id string) []byte { return command.Buttons(inForce().Language(), id) }, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "notify")})
	d.webhook = notify.Webhook(&http.Client{Transport: d.transport}, inForce, p.opts.Now)
	a.discord = d
	return nil
}

// discordMarks are the messages up to which Discord has been heard.
func (p *Program) discordMarks(ctx context.Context) (marks []discord.Mark, err error) {
	err = p.log.View(ctx, func(tx *sql.Tx) error {
		known, err := routing.Marks(ctx, tx)
		for _, m := range known {
			marks = append(marks, discord.Mark{AccountID: m.AccountID, GuildID: m.GuildID, ChannelID: m.PlaceID, MessageID: m.LastMessageID})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what was heard of Discord: %w", err)
	}
	return marks, nil
}

// context is that of the program, while it runs.
func (d *discordSide) context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ctx
}

// then is what follows from the end of a run: of the flows between agents, and of what goes to Discord.
func (a *agents) then(tx eventstore.Tx, e *runner.Ending) ([]eventstore.StreamAppend, error) {
	flows, err := a.coordinator.Then(tx, e)
	if err != nil {
		return nil, err
	}
	posts, err := a.discord.replies.Then(tx, e.Asked, &e.Result, e.Now)
	if err != nil { // the end of the run, and its flow, do not depend on it
		a.logger.Error("what a run has said cannot be posted", "run", e.Result.RunID, "err", err)
	}
	return append(flows, posts...), nil
}

// maxRouted is how many characters of a message a2a.auto_route has.
const maxRouted = 200

// exchange begins an exchange between two agents of which one has mentioned the other one in a channel. What comes of it is posted there.
func (a *agents) exchange(tx eventstore.Tx, e *inbound.Exchange, maxTurns int, now time.Time,
) (runID string, refused error, appends []eventstore.StreamAppend, err error) {
	result, appends, err := a.coordinator.Ask(tx, a2a.Request{
		From: tool.Caller{AgentID: e.From, SessionKey: e.Session.String(), RunID: e.RunID, Hop: max(*e.Context.Hop-1, 0), Channel: discord.Channel,
			To: "channel:" + e.ChannelID, AccountID: e.AccountID},
		Origin: discord.Channel, Key: inbound.RunID(e.MessageID, e.To), Target: e.Target, Message: e.Text,
		TaskID: e.Context.TaskID, WorkSessionID: e.Context.WorkSessionID,
	}, now)
	if err != nil {
		return "", nil, nil, err
	}
	if result.Error != "" {
		return "", fmt.Errorf("the exchange with %s is refused (%s): %s; %s", e.To, result.Code, result.Error, result.Mend), appends, nil
	}
	routed := coordination.A2AAutoRoute{Context: coordination.Context{WorkSessionID: result.WorkSessionID, TaskID: result.TaskID,
		ConversationID: result.ConversationID, Hop: e.Context.Hop, EventRole: coordination.RoleConversation}, SenderAgentID: e.From, TargetAgentID: e.To,
		ChannelID: e.ChannelID, MaxTurns: maxTurns, Message: coordination.Head(coordination.Mask(e.Text), maxRouted)}
	data, err := json.Marshal(routed)
	if err != nil {
		return "", nil, nil, fmt.Errorf("write %s: %w", coordination.TypeA2AAutoRoute, err)
	}
	typ := coordination.TypeA2AAutoRoute
	return result.RunID, nil, append([]eventstore.StreamAppend{{
		Stream: coordination.StreamOf(&coordination.Record{Type: typ, AgentID: e.From, Facts: coordination.Facts{ConversationID: result.ConversationID}}),
		Events: []eventstore.NewEvent{eventstore.NewEvent{Type: typ, AgentID: e.From, Actor: eventstore.ActorSystem, Data: data}.WithTS(now.UnixMilli())},
	}}, appends...), nil
}

// runDiscord keeps the bots connected, as the configuration has them, until ctx ends.
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
	watch.Go(func() { p.noteBots(ctx) })
	defer watch.Wait()
	return d.bots.Run(ctx)
}

// followBots has the bots be what the configuration says, whenever another one is in force.
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

// configureBots has the bots be what the configuration in force says, and logs who speaks for whom, if that is not as it was. It is called by one
// at a time.
func (p *Program) configureBots() {
	d := p.agents.discord
	d.bots.Configure(p.newConfiguration().InForce())
	d.noteStatus(discord.Status{}) // who speaks for whom may be another, though no bot stands otherwise
	registry := d.bots.Registry()
	if table := registry.Table(); len(registry.Bots()) == 0 || slices.Equal(table, d.table) {
		return
	}
	d.table = registry.Table()
	logger := p.opts.Logger.With("component", "discord")
	for _, line := range d.table {
		logger.Info("discord bot", "maps", line)
	}
	for _, w := range registry.Warnings() {
		logger.Warn(w.Text, "code", w.Code, "subject", w.Subject, "mend", w.Mend)
	}
}

// noteStatus takes up how a bot stands. It does not wait: what is not noted here is asked for where it counts.
func (d *discordSide) noteStatus(s discord.Status) {
	select {
	case d.statuses <- s:
	default:
	}
}

// noteBots tells the log which bot speaks for which agent, when that is known, and when it is no more.
func (p *Program) noteBots(ctx context.Context) {
	told := map[string]speaker{} // by account
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.agents.discord.statuses:
		}
		now := map[string]speaker{}
		for _, b := range p.agents.discord.bots.Registry().Bots() {
			if b.UserID != "" && b.AgentID != "" && (b.Connected || told[b.AccountID].user != "") {
				now[b.AccountID] = speaker{b.AgentID, b.AccountID, b.UserID}
			}
		}
		for account, was := range told {
			if now[account] != was && p.noteBot(ctx, coordination.TypeIdentityBotUnregistered, was) {
				delete(told, account)
			}
		}
		for account, is := range now {
			if told[account] != is && p.noteBot(ctx, coordination.TypeIdentityBotRegistered, is) {
				told[account] = is
			}
		}
	}
}

// speaker is a bot that speaks for an agent.
type speaker struct{ agent, account, user string }

func (p *Program) noteBot(ctx context.Context, typ string, bot speaker) bool {
	data, err := json.Marshal(coordination.IdentityBot{Context: coordination.Context{EventRole: coordination.RoleObservability},
		AgentID: bot.agent, AccountID: bot.account, BotUserID: bot.user})
	if err == nil {
		_, err = p.log.Append(ctx, eventstore.StreamAppend{
			Stream: coordination.StreamOf(&coordination.Record{Type: typ, AgentID: bot.agent}),
			Events: []eventstore.NewEvent{eventstore.NewEvent{Type: typ, AgentID: bot.agent, Actor: eventstore.ActorSystem, Data: data}.WithTS(p.opts.Now().UnixMilli())},
		})
	}
	if err != nil && ctx.Err() == nil {
		p.opts.Logger.Warn("which bot speaks for an agent is not in the log", "component", "discord", "account", bot.account, "err", err)
	}
	return err == nil
}

// tellPeople asks for posts about what happens, until ctx ends.
func (p *Program) tellPeople(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	select {
	case <-p.caughtUp:
	case <-ctx.Done():
		return nil
	}
	return p.agents.discord.tells.Run(ctx)
}

// releasePlaces tells of suspensions in Discord that are over, until ctx ends.
func (p *Program) releasePlaces(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	return p.agents.discord.hears.Run(ctx)
}

// discordNames writes the names of what a text mentions in Discord; nil where no bots run.
func (a *agents) discordNames() func(string) string {
	if a == nil {
		return nil
	}
	return a.discord.bots.Resolve
}

// discordBots is how the bots stand; nil where none run.
func (a *agents) discordBots() func() []monitor.BotStatus {
	if a == nil {
		return nil
	}
	return func() (list []monitor.BotStatus) {
		for _, s := range a.discord.bots.Status() {
			list = append(list, monitor.BotStatus{
				AccountID: s.AccountID, AgentID: s.AgentID, UserID: s.UserID, UserName: s.UserName, State: string(s.State), Since: s.Since, Class: string(s.Class),
				Text: s.Text, Mend: s.Mend, NextTry: s.NextTry, Missing: s.Missing, MissingMend: s.MissingMend, Connections: s.Connections,
				Resumes: s.Resumes, Fetched: s.Fetched, Unread: s.Unread,
			})
		}
		return list
	}
}

// places gives the bots the shape that requests between agents need.
type places struct{ *discord.Bots }

// Connected implements collaborate.Discord.
func (p places) Connected() []pure.Bot { return p.Registry().ForCollaborate() }

// announcing gives what posts in Discord the shape that flows between agents need.
type announcing struct {
	p      *Program
	agents *agents
}

func (c announcing) out() *outbound.Announcements {
	d := c.agents.discord
	return &outbound.Announcements{Log: c.p.log, Accounts: d.bots.Registry, Config: c.p.newConfiguration().InForce, Now: c.p.opts.Now, Sees: d.sees}
}

// sees reports whether the bot of an account sees a channel of a server, or a thread in it.
func (d *discordSide) sees(account, channel, thread string) bool {
	place, known := d.bots.Known(channel)
	return known && place.GuildID != "" && slices.ContainsFunc(d.bots.Sight(place.GuildID, channel, thread), func(b route.Bot) bool {
		return b.AccountID == account && !b.Blind
	})
}

// Reaches implements a2a.Channels.
func (c announcing) Reaches(channel string) bool { return c.out().Reaches(channel) }

// Account implements a2a.Channels.
func (c announcing) Account(post a2a.Post) string {
	return c.out().Account(post.Agent, post.To, post.AccountID, post.ThreadID)
}

// Post implements a2a.Channels.
func (c announcing) Post(ctx context.Context, post a2a.Post) error {
	return c.out().Post(ctx, post.Key, post.Agent, post.To, post.AccountID, post.ThreadID, post.Text)
}

// discordOffice gives decisions of people the words that they read in Discord.
type discordOffice struct{ agents *agents }

// Approve implements command.Office.
func (o discordOffice) Approve(ctx context.Context, id, person string) (string, error) {
	d, err := o.agents.office.Approve(ctx, id, person)
	if err != nil {
		return o.refusalText(err), err
	}
	in := o.language()
	return fmt.Sprintf(in.Say("%[3]s의 %[1]s %[2]s: %[4]s 님이 승인했습니다.", "The %s %s of %s is approved by %s."), kindOf(in, d.Kind), d.ID, d.AgentID, d.DecidedBy), nil
}

// Reject implements command.Office.
func (o discordOffice) Reject(ctx context.Context, id, person, reason string) (string, error) {
	d, err := o.agents.office.Reject(ctx, id, person, reason)
	if err != nil {
		return o.refusalText(err), err
	}
	in := o.language()
	return fmt.Sprintf(in.Say("%[3]s의 %[1]s %[2]s: %[4]s 님이 거절했습니다: %[5]s", "The %s %s of %s is rejected by %s: %s"), kindOf(in, d.Kind), d.ID, d.AgentID,
		d.DecidedBy, reason), nil
}

func (o discordOffice) language() coordination.Language { return o.agents.office.Config().Language() }

// kindOf is what people call a kind of what is decided.
func kindOf(in coordination.Language, kind string) string {
	if kind == approval.KindPlan {
		return in.Say("계획", kind)
	}
	return in.Say("작업", kind)
}

// refusalText is why something was not decided, "" where that is not for people.
func (o discordOffice) refusalText(err error) string {
	r, is := errors.AsType[*approval.Refusal](err)
	if !is {
		return ""
	}
	why, mend := r.Text, r.Mend
	if o.language() == coordination.Korean {
		why, mend = koreanRefusal(r)
	}
	return why + "; " + mend
}

// koreanRefusal is a refusal in Korean, by its code.
func koreanRefusal(r *approval.Refusal) (why, mend string) {
	mend = "openclawd approvals 명령으로 결정을 기다리는 목록을 볼 수 있습니다"
	switch {
	case r.Unknown:
		return "해당하는 작업이나 계획이 없습니다", mend
	case r.Reason == approval.CodeState:
		return "이미 처리되어 더 이상 결정을 기다리지 않습니다 (" + r.Text + ")", mend
	case r.Field == "reason":
		return "이유가 없습니다", "이유를 적어 주세요: 에이전트에게 전달됩니다"
	case r.Field == "by":
		return "이 이름으로는 결정할 수 없습니다 (" + r.Text + ")", "자신의 이름으로 결정하세요"
	}
	return "결정할 수 없습니다 (" + r.Text + ")", mend
}
