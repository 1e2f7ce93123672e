package discord

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
)

// Bots manages the bots of all accounts. Its methods are safe for concurrent use.
type Bots struct {
	o         channel.Options
	directory *directory
	lanes     *channel.Lanes
	inbound   chan channel.Inbound
	asked     *channel.InteractionTracker
	registry  atomic.Pointer[channel.Registry]
	paces     atomic.Pointer[paces]

	changing sync.Mutex // held by Configure, and by Run while starting and stopping

	mu       sync.Mutex
	running  context.Context // nil while Run does not run
	started  bool            // Run has started those that are configured
	config   *config.Config
	bots     map[string]*bot    // by account id: connected or connecting
	memories map[string]*memory // by account id
	common   *memory            // initial marks of all accounts; nil if there are none
}

// paces are the configured rate limits.
type paces struct{ messages, threads channel.Pace }

var _ channel.Channel = (*Bots)(nil)

// Name implements channel.Connection.
func (b *Bots) Name() string { return coordination.Discord }

// New returns Bots without accounts. It does nothing before Configure and Run.
func New(o channel.Options) *Bots {
	o = o.WithDefaults()
	b := &Bots{o: o, directory: newDirectory(), lanes: channel.NewLanes(coordination.Discord, o), inbound: make(chan channel.Inbound), asked: channel.NewInteractionTracker(), config: config.Default(),
		bots: map[string]*bot{}, memories: map[string]*memory{}}
	for _, m := range o.Marks {
		if m.AccountID == "" && m.GuildID != "" {
			if b.common == nil {
				b.common = newMemory()
			}
			b.common.recordMessage(m.GuildID, m.ChannelID, snowflake(m.MessageID))
		}
	}
	for _, m := range o.Marks {
		if m.AccountID != "" {
			b.memoryOf(m.AccountID).recordMessage(m.GuildID, m.ChannelID, snowflake(m.MessageID))
		}
	}
	b.setConfig(b.config)
	return b
}

// Configure applies a configuration. Bots of accounts that were removed, disabled, or have another token are
// disconnected, which takes a second; new and failed ones start connecting. The others are not touched. It returns
// when removed bots have ended. It may be called before Run.
func (b *Bots) Configure(c *config.Config) {
	b.changing.Lock()
	defer b.changing.Unlock()
	b.setConfig(c)
	b.apply()
}

// setConfig stores a configuration.
func (b *Bots) setConfig(c *config.Config) {
	rate := c.Discord.Collaboration.RateLimit
	b.paces.Store(&paces{messages: channel.Pace{Most: rate.MessagesPerSecond, Within: time.Second}, threads: channel.Pace{Most: rate.ThreadsPerMinute, Within: time.Minute}})
	b.mu.Lock()
	b.config = c
	b.mu.Unlock()
	b.refresh()
}

// apply starts and ends bots as configured. changing is held.
func (b *Bots) apply() {
	b.mu.Lock()
	wanted := map[string]config.Account{}
	if b.running != nil && b.config.Discord.Enabled {
		for _, a := range b.config.Discord.Accounts {
			if a.Enabled && a.Token != "" {
				wanted[a.ID] = a
			}
		}
	}
	var leaving []*bot
	for id, own := range b.bots {
		if a, is := wanted[id]; is && a.Token == own.token && own.state() != health.BotFailed {
			delete(wanted, id)
			continue
		}
		leaving = append(leaving, own)
	}
	b.mu.Unlock()

	for _, own := range leaving {
		own.stop()
	}
	for _, own := range leaving {
		<-own.done
	}

	b.mu.Lock()
	for _, own := range leaving {
		delete(b.bots, own.account)
	}
	for id, a := range wanted {
		b.bots[id] = startBot(b.running, b, a, b.memoryOf(id))
	}
	b.mu.Unlock()
	b.refresh()
}

// memoryOf returns an account's memory. The lock is held, or there is no concurrency yet.
func (b *Bots) memoryOf(account string) *memory {
	m := b.memories[account]
	if m == nil {
		m = newMemory()
		if b.common != nil {
			m.marks, m.newest = maps.Clone(b.common.marks), b.common.newest
		}
		b.memories[account] = m
	}
	return m
}

// recordMessage records a received message for accounts added later.
func (b *Bots) recordMessage(guild, channel string, id uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.common != nil && guild != "" {
		b.common.recordMessage(guild, channel, id)
	}
}

// Run connects the bots and receives events until the context ends; then it disconnects, which takes a second, and
// returns nil. It must not run twice concurrently.
func (b *Bots) Run(ctx context.Context) error {
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
		case in := <-b.inbound:
			b.o.OnMessage(in)
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

// Registry returns the current mapping of bots to agents.
func (b *Bots) Registry() *channel.Registry { return b.registry.Load() }

// absent is why an account has no bot here: it is not configured, or Run has not come to it yet.
func (b *Bots) absent(deed, account, place string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started {
		return channel.NotReady(deed, account, place)
	}
	return channel.NoBot(coordination.Discord, deed, account, place)
}

// refresh rebuilds the registry.
func (b *Bots) refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.registry.Store(channel.RegistryOf(b.config, coordination.Discord, channel.LinksOf(b.current())))
}

// current returns the states of the running bots, by account id. The lock is held.
func (b *Bots) current() map[string]health.Bot {
	all := make(map[string]health.Bot, len(b.bots))
	for id, own := range b.bots {
		all[id] = own.current()
	}
	return all
}

// Status returns the status of all configured accounts, by account id.
func (b *Bots) Status() []health.Bot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Registry().StatusOf(b.config.Discord.Accounts, b.current())
}

// bot returns an account's bot, nil if it is not running.
func (b *Bots) bot(account string) *bot {
	who, known := b.Registry().Account(account)
	if !known {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bots[who.AccountID]
}
