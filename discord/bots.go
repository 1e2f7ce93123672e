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
)

// Options of New. Zero means the default, where there is one.
type Options struct {
	// OnMessage is told every fact, one at a time. While it runs nothing else is told: it stores the fact, and leaves the rest to others. It may
	// call the methods of Bots, except Configure.
	OnMessage func(Inbound)

	// OnInteraction is told what somebody has asked of a bot by a command, a button or a form, each interaction once. It has a goroutine of its own,
	// and three seconds for Bots.Answer. At most MaxInteractions are told at a time; what comes beyond is answered with a word of excuse. Run
	// returns when it has returned.
	OnInteraction func(Interaction)

	// Commands are the slash commands of every bot, everywhere. A bot that connects puts them in the place of those that Discord has of it, if these
	// are others. None leaves Discord as it is.
	Commands []Command

	// OnStatus is told whenever a bot changes its state. It must not wait, and not call Configure.
	OnStatus func(Status)

	// Marks are the last messages that are known of, as of the end of the last run: what was written after them is read from the channels when a
	// bot connects. Without any, of its account or of all, a bot begins with what is written from then on.
	Marks []Mark

	Log       *slog.Logger
	UserAgent string                            // of the program; default: openclawd
	Transport http.RoundTripper                 // of requests; default: one of its own
	Now       func() time.Time                  // default: time.Now
	AfterFunc func(time.Duration, func()) Timer // default: time.AfterFunc
	Jitter    func(time.Duration) time.Duration // what is waited instead of a time before connecting again; default: up to a quarter more
	TimeLimit time.Duration                     // for one answer; default: collaborate.TimeLimit
	Silence   time.Duration                     // until a socket counts as dead; default: DefaultSilence
	Least     time.Duration                     // before connecting again, doubled with each failure; default: DefaultLeast
	Most      time.Duration                     // and this at most; default: DefaultMost
	Queue     int                               // how many may wait to post in one channel; default: DefaultQueue
}

// Mark is the last message of a channel, thread or conversation that is known to an account.
type Mark struct {
	AccountID string // "": to all accounts that see it; of conversations there is no such mark
	GuildID   string // "" of conversations
	ChannelID string
	MessageID string
}

// Defaults of Options.
const (
	DefaultSilence = 100 * time.Second // Discord wants a heartbeat about every 41 s, and answers each
	DefaultLeast   = time.Second
	DefaultMost    = 5 * time.Minute
	DefaultQueue   = 100
)

// Timer is what AfterFunc gives: time.Timer is one.
type Timer interface{ Stop() bool }

func (o Options) withDefaults() Options {
	if o.OnMessage == nil {
		o.OnMessage = func(Inbound) {}
	}
	if o.OnInteraction == nil {
		o.OnInteraction = func(Interaction) {}
	}
	if o.OnStatus == nil {
		o.OnStatus = func(Status) {}
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

// newTransport makes the connections that all bots share.
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

// Bots are the bots of all accounts. Its methods may be called at any time from anywhere.
type Bots struct {
	o         Options
	directory *directory
	lanes     *lanes
	inbound   chan Inbound
	asked     *asked
	registry  atomic.Pointer[Registry]
	paces     atomic.Pointer[paces]

	changing sync.Mutex // held by Configure, and by Run where it starts and stops

	mu       sync.Mutex
	running  context.Context // nil while Run does not run
	config   *config.Config
	bots     map[string]*bot    // by account id: those that are connected, or try to be
	memories map[string]*memory // by account id
	common   *memory            // what all accounts know of to begin with; nil without such marks
}

// paces are the limits that are configured.
type paces struct{ messages, threads pace }

// New makes bots of no accounts, which do nothing before Configure and Run.
func New(o Options) *Bots {
	o = o.withDefaults()
	b := &Bots{o: o, directory: newDirectory(), lanes: newLanes(o), inbound: make(chan Inbound), asked: newAsked(), config: config.Default(),
		bots: map[string]*bot{}, memories: map[string]*memory{}}
	for _, m := range o.Marks {
		if m.AccountID == "" && m.GuildID != "" {
			if b.common == nil {
				b.common = newMemory()
			}
			b.common.note(m.GuildID, m.ChannelID, snowflake(m.MessageID))
		}
	}
	for _, m := range o.Marks {
		if m.AccountID != "" {
			b.memoryOf(m.AccountID).note(m.GuildID, m.ChannelID, snowflake(m.MessageID))
		}
	}
	b.take(b.config)
	return b
}

// Configure lets the bots be what a configuration says. Bots of accounts that are gone, switched off, or have another token, are disconnected,
// which takes a second; new ones, and those that have failed, begin to connect. The others stay as they are. It returns when the bots that are to
// go have gone. It may be called before Run.
func (b *Bots) Configure(c *config.Config) {
	b.changing.Lock()
	defer b.changing.Unlock()
	b.take(c)
	b.apply()
}

// take makes a configuration the one that counts.
func (b *Bots) take(c *config.Config) {
	rate := c.Discord.Collaboration.RateLimit
	b.paces.Store(&paces{messages: pace{rate.MessagesPerSecond, time.Second}, threads: pace{rate.ThreadsPerMinute, time.Minute}})
	b.mu.Lock()
	b.config = c
	b.mu.Unlock()
	b.refresh()
}

// apply starts and ends bots, so that they are as configured. changing is held.
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
		if a, is := wanted[id]; is && a.Token == own.token && own.state() != StateFailed {
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

// memoryOf is what an account remembers. The lock is held, or nobody else is there yet.
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

// note takes up a message that was told, for accounts that come later.
func (b *Bots) note(guild, channel string, id uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.common != nil && guild != "" {
		b.common.note(guild, channel, id)
	}
}

// Run connects the bots, and tells what they are told, until the context ends; then it says goodbye to Discord, which takes a second,
// and returns nil.
// It must not be called twice at a time.
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

// Registry says which bot speaks for which agent, as of now.
func (b *Bots) Registry() *Registry { return b.registry.Load() }

// refresh makes the registry anew.
func (b *Bots) refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	users, coming := map[string]string{}, map[string]bool{}
	for id, own := range b.bots {
		switch s := own.current(); s.State {
		case StateReady:
			users[id] = s.UserID
		case StateConnecting, StateResuming:
			coming[id] = true
		}
	}
	b.registry.Store(newRegistry(b.config, users, coming))
}

// Status is how the bots of all accounts that are configured stand, by account id.
func (b *Bots) Status() []Status {
	b.mu.Lock()
	var all []Status
	for _, a := range b.config.Discord.Accounts {
		if own := b.bots[a.ID]; own != nil {
			all = append(all, own.current())
		} else {
			all = append(all, Status{AccountID: a.ID, State: StateOff, UserID: a.BotUserID})
		}
	}
	b.mu.Unlock()
	r := b.Registry()
	for i := range all {
		who, _ := r.Account(all[i].AccountID)
		all[i].AgentID = who.AgentID
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.AccountID, b.AccountID) })
	return all
}

// bot is the one of an account, nil if it is not there.
func (b *Bots) bot(account string) *bot {
	who, known := b.Registry().Account(account)
	if !known {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bots[who.AccountID]
}
