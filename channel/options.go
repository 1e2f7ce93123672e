package channel

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/backoff"
)

// Options of a channel. Zero means the default, if there is one.
type Options struct {
	// OnMessage receives every fact, one at a time. It blocks all others: it should store the fact and leave the rest
	// to other goroutines. It may call the channel's methods except Configure. A message counts as received when it has
	// returned before the context of Run has ended; any other is delivered again by the next Run, or found by its marks.
	OnMessage func(Inbound)

	// OnInteraction receives a use of a command, button or form, each once. It runs on its own goroutine and has three
	// seconds for Answer. At most MaxInteractions run concurrently; further ones are answered with an excuse. Run
	// returns after it has returned.
	OnInteraction func(Interaction)

	// Commands are the slash commands of every bot, registered globally. A connecting bot replaces the service's list if
	// it differs. None leaves that list as it is.
	Commands []Command

	// OnStatus is called when a bot's state changes. It must not block or call Configure.
	OnStatus func(health.Bot)

	// Marks are the last known messages at the end of the last run: what was written after them is fetched when a bot
	// connects. Without any for its account or for all, a bot starts with new messages. A service that keeps what was
	// not received needs none.
	Marks []Mark

	// IsThread reports whether the log knows that a thread of this id was opened, however long ago. nil: only Marks name threads.
	IsThread func(id string) bool

	// FirstSeen is when an account first spoke for an agent according to the log, ms since 1970; 0 if it never has: what people wrote to it
	// before is not made up for. nil: all accounts have been there as long as the log.
	FirstSeen func(account, agent string) int64

	// Posted reports whether the log records how a message of one of the bots was posted: then its fact needs no nonce.
	// nil: it never does.
	Posted func(messageID string) bool

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

// Retries are the delays between attempts to connect.
func (o *Options) Retries() backoff.Backoff { return backoff.Backoff{First: o.Least, Most: o.Most} }

// WithDefaults returns the options with the defaults filled in.
func (o Options) WithDefaults() Options {
	if o.OnMessage == nil {
		o.OnMessage = func(Inbound) {}
	}
	if o.OnInteraction == nil {
		o.OnInteraction = func(Interaction) {}
	}
	if o.OnStatus == nil {
		o.OnStatus = func(health.Bot) {}
	}
	if o.Posted == nil {
		o.Posted = func(string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
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

// NewTransport returns an HTTP transport for all bots of a channel.
func NewTransport() *http.Transport {
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
