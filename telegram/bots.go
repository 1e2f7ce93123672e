package telegram

import (
	"cmp"
	"context"
	"slices"
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
	inbound   chan delivery
	asked     *channel.InteractionTracker
	forms     *forms
	registry  atomic.Pointer[channel.Registry]
	pace      atomic.Pointer[channel.Pace]

	changing sync.Mutex // held by Configure, and by Run while starting and stopping

	mu      sync.Mutex
	running context.Context // nil while Run does not run
	config  *config.Config
	bots    map[string]*bot  // by account id: connected or connecting
	offsets map[string]int64 // by account id: the next update, of a bot that has ended
}

// Bots implements channel.Channel.
var _ channel.Channel = (*Bots)(nil)

// delivery is a fact on its way to Options.OnMessage.
type delivery struct {
	fact channel.Inbound
	done chan struct{} // closed when OnMessage has returned
}

// New returns Bots without accounts. It does nothing before Configure and Run.
func New(o channel.Options) *Bots {
	o = o.WithDefaults()
	b := &Bots{o: o, directory: newDirectory(), lanes: channel.NewLanes("Telegram", o), inbound: make(chan delivery),
		asked: channel.NewInteractionTracker(), forms: newForms(), config: config.Default(), bots: map[string]*bot{}, offsets: map[string]int64{}}
	b.directory.inLog = o.IsThread
	b.directory.remember(o.Marks)
	b.setConfig(b.config)
	return b
}

// Name implements channel.Connection.
func (b *Bots) Name() string { return coordination.Telegram }

// Configure implements channel.Connection.
func (b *Bots) Configure(c *config.Config) {
	b.changing.Lock()
	defer b.changing.Unlock()
	b.setConfig(c)
	b.apply()
}

func (b *Bots) setConfig(c *config.Config) {
	b.pace.Store(&channel.Pace{Most: c.Channel(coordination.Telegram).Collaboration.RateLimit.MessagesPerSecond, Within: time.Second})
	b.mu.Lock()
	b.config = c
	b.mu.Unlock()
	b.refresh()
}

// apply starts and ends bots as configured. changing is held.
func (b *Bots) apply() {
	b.mu.Lock()
	own := b.config.Channel(coordination.Telegram)
	wanted := map[string]config.Account{}
	if b.running != nil && own.Enabled {
		for _, a := range own.Accounts {
			if a.Enabled && a.Token != "" {
				wanted[a.ID] = a
			}
		}
	}
	var leaving []*bot
	for id, running := range b.bots {
		if a, is := wanted[id]; is && running.keeps(a) {
			delete(wanted, id)
			continue
		}
		leaving = append(leaving, running)
	}
	b.mu.Unlock()

	for _, l := range leaving {
		l.cancel()
	}
	for _, l := range leaving {
		<-l.done
	}

	b.mu.Lock()
	for _, l := range leaving {
		delete(b.bots, l.account)
		b.offsets[l.account+" "+idText(l.user.Load())] = l.offset
	}
	for id, a := range wanted {
		b.bots[id] = startBot(b.running, b, a)
	}
	b.mu.Unlock()
	b.refresh()
}

// offsetOf is the next update of a bot that was connected before, 0 if it was not.
func (b *Bots) offsetOf(account string, user int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.offsets[account+" "+idText(user)]
}

// Run implements channel.Connection.
func (b *Bots) Run(ctx context.Context) error {
	b.changing.Lock()
	b.mu.Lock()
	b.running = ctx
	b.mu.Unlock()
	b.asked.Open()
	b.apply()
	b.changing.Unlock()

	for ctx.Err() == nil {
		select {
		case d := <-b.inbound:
			b.o.OnMessage(d.fact)
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

// deliver returns true when a fact was delivered, and false if the context, or Run, has ended before OnMessage has
// returned: it may then have given up without storing the fact.
func (b *Bots) deliver(ctx context.Context, fact channel.Inbound) bool {
	b.mu.Lock()
	running := b.running
	b.mu.Unlock()
	if running == nil {
		return false
	}
	d := delivery{fact: fact, done: make(chan struct{})}
	select {
	case b.inbound <- d:
	case <-ctx.Done():
		return false
	case <-running.Done():
		return false
	}
	<-d.done
	return running.Err() == nil
}

// Registry implements channel.Connection.
func (b *Bots) Registry() *channel.Registry { return b.registry.Load() }

// refresh rebuilds the registry.
func (b *Bots) refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.registry.Store(channel.RegistryOf(b.config, coordination.Telegram, channel.LinksOf(b.current())))
}

// current returns the states of the running bots, by account id. The lock is held.
func (b *Bots) current() map[string]health.Bot {
	all := make(map[string]health.Bot, len(b.bots))
	for id, own := range b.bots {
		all[id] = own.current()
	}
	return all
}

// Status implements channel.Connection.
func (b *Bots) Status() []health.Bot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Registry().StatusOf(b.config.Channel(coordination.Telegram).Accounts, b.current())
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

// all returns the running bots, by account id.
func (b *Bots) all() (bots []*bot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, own := range b.bots {
		bots = append(bots, own)
	}
	slices.SortFunc(bots, func(x, y *bot) int { return cmp.Compare(x.account, y.account) })
	return bots
}
