package discord

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/backoff"
)

// Options of New. Zero means the default, if there is one.
type Options struct {
	// OnMessage receives every fact, one at a time. It blocks all others: it should store the fact and leave the rest
	// to other goroutines. It may call the methods of Bots except Configure.
	OnMessage func(Inbound)

	// OnInteraction receives a use of a command, button or form, each once. It runs on its own goroutine and has three
	// seconds for Bots.Answer. At most MaxInteractions run concurrently; further ones are answered with an excuse. Run
	// returns after it has returned.
	OnInteraction func(Interaction)

	// Commands are the slash commands of every bot, registered globally. A connecting bot replaces Discord's list if
	// it differs. None leaves Discord's list as it is.
	Commands []Command

	// OnStatus is called when a bot's state changes. It must not block or call Configure.
	OnStatus func(health.Bot)

	// Marks are the last known messages at the end of the last run: what was written after them is fetched when a bot
	// connects. Without any for its account or for all, a bot starts with new messages.
	Marks []Mark

	Log       *slog.Logger
	UserAgent string                            // of the program; default: openclawd
	Transport http.RoundTripper                 // for requests; default: its own
	Now       func() time.Time                  // default: time.Now
	AfterFunc func(time.Duration, func()) Timer // default: time.AfterFunc
	Jitter    func(time.Duration) time.Duration // replaces a delay before a reconnect; default: up to a quarter more
	TimeLimit time.Duration                     // for one answer; default: collaborate.TimeLimit
	Silence   time.Duration                     // after which a socket is considered dead; default: DefaultSilence
	Least     time.Duration                     // first reconnect delay, doubled with each failure; default: DefaultLeast
	Most      time.Duration                     // maximum reconnect delay; default: DefaultMost
	Queue     int                               // how many posts may wait per channel; default: DefaultQueue
}

// Mark is the last message an account knows of a channel, thread or conversation.
type Mark struct {
	AccountID string // "": for all accounts that see it; not for conversations
	GuildID   string // "" for conversations
	ChannelID string
	MessageID string
}

// Defaults of Options.
const (
	DefaultSilence = 100 * time.Second // Discord expects a heartbeat about every 41 s, and answers each
	DefaultLeast   = time.Second
	DefaultMost    = 5 * time.Minute
	DefaultQueue   = 100
)

// Timer is returned by AfterFunc, like *time.Timer.
type Timer interface{ Stop() bool }

func (o *Options) retries() backoff.Backoff { return backoff.Backoff{First: o.Least, Most: o.Most} }

func (o Options) withDefaults() Options {
	if o.OnMessage == nil {
		o.OnMessage = func(Inbound) {}
	}
	if o.OnInteraction == nil {
		o.OnInteraction = func(Interaction) {}
	}
	if o.OnStatus == nil {
		o.OnStatus = func(health.Bot) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AfterFunc == nil {
		o.AfterFunc = func(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
	}
	if o.Jitter == nil {
		o.Jitter = func(d time.Duration) time.Duration { return d + rand.N(d/4+1) }
	}
	o.UserAgent = cmp.Or(o.UserAgent, "openclawd")
	o.TimeLimit = cmp.Or(o.TimeLimit, collaborate.TimeLimit)
	o.Silence = cmp.Or(o.Silence, DefaultSilence)
	o.Least = cmp.Or(o.Least, DefaultLeast)
	o.Most = cmp.Or(o.Most, DefaultMost)
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	return o
}

// newTransport returns the HTTP transport that all bots share.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Bots manages the bots of all accounts. Its methods are safe for concurrent use.
type Bots struct {
	o         Options
	directory *directory
	lanes     *lanes
	inbound   chan Inbound
	asked     *interactionTracker
	registry  atomic.Pointer[Registry]
	paces     atomic.Pointer[paces]

	changing sync.Mutex // held by Configure, and by Run while starting and stopping

	mu       sync.Mutex
	running  context.Context // nil while Run does not run
	config   *config.Config
	bots     map[string]*bot    // by account id: connected or connecting
	memories map[string]*memory // by account id
	common   *memory            // initial marks of all accounts; nil if there are none
}

// paces are the configured rate limits.
type paces struct{ messages, threads pace }

// New returns Bots without accounts. It does nothing before Configure and Run.
func New(o Options) *Bots {
	o = o.withDefaults()
	b := &Bots{o: o, directory: newDirectory(), lanes: newLanes(o), inbound: make(chan Inbound), asked: newInteractionTracker(), config: config.Default(),
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
	b.paces.Store(&paces{messages: pace{rate.MessagesPerSecond, time.Second}, threads: pace{rate.ThreadsPerMinute, time.Minute}})
	b.mu.Lock()
	b.config = c
	b.mu.Unlock()
	b.refresh()
}

// apply starts and ends bots as configured. changing is held.
func (b *Bots) apply() {
	b.mu.Lock()
	wanted := map[string]config.DiscordAccount{}
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
	b.asked.open()
	b.apply()
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
	b.asked.close()
	return nil
}

// Registry returns the current mapping of bots to agents.
func (b *Bots) Registry() *Registry { return b.registry.Load() }

// refresh rebuilds the registry.
func (b *Bots) refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	users, coming := map[string]string{}, map[string]bool{}
	for id, own := range b.bots {
		switch s := own.current(); s.State {
		case health.BotReady:
			users[id] = s.UserID
		case health.BotConnecting, health.BotResuming:
			coming[id] = true
		}
	}
	b.registry.Store(newRegistry(b.config, users, coming))
}

// Status returns the status of all configured accounts, by account id.
func (b *Bots) Status() []health.Bot {
	b.mu.Lock()
	var all []health.Bot
	for _, a := range b.config.Discord.Accounts {
		if own := b.bots[a.ID]; own != nil {
			all = append(all, own.current())
		} else {
			all = append(all, health.Bot{AccountID: a.ID, State: health.BotOff, UserID: a.BotUserID})
		}
	}
	b.mu.Unlock()
	r := b.Registry()
	for i := range all {
		who, _ := r.Account(all[i].AccountID)
		all[i].AgentID = who.AgentID
	}
	slices.SortFunc(all, func(a, b health.Bot) int { return cmp.Compare(a.AccountID, b.AccountID) })
	return all
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
