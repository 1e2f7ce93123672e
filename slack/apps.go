package slack

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
)

// Apps are the apps of all accounts. They implement channel.Channel.
type Apps struct {
	o         channel.Options
	directory *directory
	lanes     *channel.Lanes
	inbound   chan delivery
	asked     *channel.InteractionTracker
	forms     *forms
	registry  atomic.Pointer[channel.Registry]
	reading   chan struct{} // requests by HTTP that are read

	unsignedAt, unsignedSince atomic.Int64 // when the log has told of unsigned requests, and how many have come since

	reasking sync.Mutex // held while questions from before the start are looked up

	changing sync.Mutex // held by Configure, and by Run while starting and stopping

	mu       sync.Mutex
	running  context.Context // nil while Run does not run
	started  bool            // Run has started those that are configured
	config   *config.Config
	apps     map[string]*app    // by account id: connected or connecting
	memories map[string]*memory // by account id
	users    map[string]string  // user ids by account id, of all that have ever connected: a token does not say them
	listed   map[string]bool    // conversations that any app has received in a list
	common   *memory            // initial marks of all accounts; nil if there are none
}

// delivery is a fact on its way to Options.OnMessage; done is closed when that has returned.
type delivery struct {
	in   channel.Inbound
	done chan struct{}
}

// New returns Apps without accounts. They do nothing before Configure and Run.
func New(o channel.Options) *Apps {
	o = o.WithDefaults()
	b := &Apps{o: o, directory: newDirectory(), lanes: channel.NewLanes(coordination.Slack, o), inbound: make(chan delivery),
		asked: channel.NewInteractionTracker(), forms: newForms(), config: config.Default(), apps: map[string]*app{}, memories: map[string]*memory{},
		users: map[string]string{}, listed: map[string]bool{}, reading: make(chan struct{}, mostReads)}
	for _, m := range o.Marks {
		if m.AccountID == "" && m.GuildID != "" {
			if b.common == nil {
				b.common = newMemory()
			}
			b.common.mark(m)
		}
	}
	for _, m := range o.Marks {
		if m.AccountID != "" {
			b.memoryOf(m.AccountID).mark(m)
		}
	}
	b.refresh()
	return b
}

// mark records a mark of the last run.
func (m *memory) mark(k channel.Mark) {
	if _, ts, ok := parseMessage(k.MessageID); ok {
		m.recordMessage(k.ChannelID, stamp(ts))
		if m.oldest == 0 || stamp(ts) < m.oldest {
			m.oldest = stamp(ts)
		}
	}
}

// Name is the channel's name.
func (b *Apps) Name() string { return coordination.Slack }

// Configure implements channel.Connection.
func (b *Apps) Configure(c *config.Config) {
	b.changing.Lock()
	defer b.changing.Unlock()
	b.mu.Lock()
	b.config = c
	b.mu.Unlock()
	b.refresh()
	b.apply()
}

// apply starts and ends apps as configured. changing is held.
func (b *Apps) apply() {
	b.mu.Lock()
	wanted := map[string]config.Account{}
	if b.running != nil && b.config.Slack.Enabled {
		for _, a := range b.config.Slack.Accounts {
			if a.Enabled && a.Token != "" {
				wanted[a.ID] = a
			}
		}
	}
	var leaving []*app
	for id, own := range b.apps {
		if a, is := wanted[id]; is && own.is(a) && own.state() != health.BotFailed {
			delete(wanted, id)
			continue
		}
		leaving = append(leaving, own)
	}
	b.mu.Unlock()

	for _, own := range leaving {
		own.cancel()
	}
	for _, own := range leaving {
		<-own.done
	}

	b.mu.Lock()
	for _, own := range leaving {
		delete(b.apps, own.own.ID)
	}
	for id, a := range wanted {
		b.apps[id] = startApp(b.running, b, a, b.memoryOf(id))
	}
	b.mu.Unlock()
	b.refresh()
}

// memoryOf returns an account's memory. The lock is held, or there is no concurrency yet.
func (b *Apps) memoryOf(account string) *memory {
	m := b.memories[account]
	if m == nil {
		m = newMemory()
		if b.common != nil {
			m.marks, m.newest, m.oldest = maps.Clone(b.common.marks), b.common.newest, b.common.oldest
		}
		b.memories[account] = m
	}
	return m
}

// Run implements channel.Connection. It must not run twice concurrently.
func (b *Apps) Run(ctx context.Context) error {
	b.changing.Lock()
	b.mu.Lock()
	b.running = ctx
	b.mu.Unlock()
	b.asked.Open()
	b.apply()
	b.mu.Lock()
	b.started = true
	b.mu.Unlock()
	b.changing.Unlock()

	for ctx.Err() == nil {
		select {
		case d := <-b.inbound:
			b.o.OnMessage(d.in)
			close(d.done)
		case <-ctx.Done():
		}
	}

	b.changing.Lock()
	defer b.changing.Unlock()
	b.mu.Lock()
	b.running = nil
	b.mu.Unlock()
	b.apply()
	b.asked.Close()
	return nil
}

// Registry implements channel.Connection.
func (b *Apps) Registry() *channel.Registry { return b.registry.Load() }

// absent is why an account has no bot here: it is not configured, or Run has not come to it yet.
func (b *Apps) absent(deed, account, place string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started {
		return channel.NotReady(deed, account, place)
	}
	return channel.NoBot(b.Name(), deed, account, place)
}

// refresh rebuilds the registry.
func (b *Apps) refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := *b.config
	known.Slack.Accounts = slices.Clone(known.Slack.Accounts)
	for i := range known.Slack.Accounts {
		known.Slack.Accounts[i].BotUserID = b.users[known.Slack.Accounts[i].ID]
	}
	b.registry.Store(channel.RegistryOf(&known, coordination.Slack, channel.LinksOf(b.current())))
}

// current returns the states of the running apps, by account id. The lock is held.
func (b *Apps) current() map[string]health.Bot {
	all := make(map[string]health.Bot, len(b.apps))
	for id, own := range b.apps {
		all[id] = own.current()
	}
	return all
}

// met records who an account's app is: it is called so while it is not connected too.
func (b *Apps) met(account, user string) {
	b.mu.Lock()
	b.users[account] = user
	b.mu.Unlock()
	b.refresh()
}

// allMet waits until each app has asked Slack who it is, with success or not: before, a mention of it is not recognised.
func (b *Apps) allMet(ctx context.Context) {
	b.mu.Lock()
	apps := slices.Collect(maps.Values(b.apps))
	b.mu.Unlock()
	for _, own := range apps {
		select {
		case <-own.asked:
		case <-own.done:
		case <-ctx.Done():
		}
	}
}

// Status implements channel.Connection.
func (b *Apps) Status() []health.Bot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Registry().StatusOf(b.config.Slack.Accounts, b.current())
}

// app returns an account's app, nil if it is not running.
func (b *Apps) app(account string) *app {
	who, known := b.Registry().Account(account)
	if !known {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.apps[who.AccountID]
}

// reacts reports whether messages are acknowledged with reactions.
func (b *Apps) reacts() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.config.Messages.Ack != ""
}

// settings are those of Slack in force.
func (b *Apps) settings() *config.Channel {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &b.config.Slack
}
