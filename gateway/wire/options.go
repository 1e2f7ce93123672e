package wire

import (
	"cmp"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Options of New. Access, Now, NewID and Logger are required; zero means the default for the others.
type Options struct {
	Access  Access
	Now     func() time.Time // timestamps for clients. Deadlines use the system's clock.
	NewID   func() string    // a new UUID
	Logger  *slog.Logger
	Version string // program version, sent to clients
	Host    string // this machine's name in system-presence; default: the host name

	// Posts returns the handler of a POST to a path, nil if there is none. It is looked up for each request. The
	// handler runs only for authorized requests; its context ends with the connection, or with cause ErrStopping when
	// the gateway stops waiting. May be nil.
	Posts func(path string) http.Handler
	// Gets is the same for GET and HEAD.
	Gets func(path string) http.Handler

	// Page returns the handler of an unauthenticated GET of a path: a page for browsers. nil if there is none. May be
	// nil.
	Page func(path string) http.Handler

	StartWait     time.Duration // how long a client waits for Run to start
	HandshakeTime time.Duration // for a client's handshake
	TickInterval  time.Duration // between ticks; a client silent for two of them is cut off
	HealthEvery   time.Duration // between health events
	PresenceEvery time.Duration // minimum between presence events
	GreetingAge   time.Duration // maximum age of the state in hello-ok
	WriteTime     time.Duration // per started MiB of one write
	CloseTime     time.Duration // for a client to answer a close frame
	ReadTime      time.Duration // for a client to show that it has read something
	DrainTime     time.Duration // for active requests when Run ends

	MaxClients   int // connections, handshakes included
	MaxPosts     int // concurrent HTTP requests
	MaxAtDoor    int // concurrent handshakes; beyond that the oldest is dropped
	MaxInFlight  int // active or unsent requests per client; beyond that it is not read
	QueueFrames  int // queued events per client
	QueueBytes   int // bytes of queued events, and of answers, per client, beyond which it is not read; a larger frame may wait alone
	AnswerBytes  int // bytes of queued answers per client; one beyond that closes it
	RequestBytes int // bytes of active requests per client; a larger one runs alone
	AskedBytes   int // bytes of active requests and queued answers of all clients; beyond that each has one request at a time,
	// and beyond twice that a client whose second answer would have to wait is closed

	Slow func() // called when a client is closed as too slow; must not block; may be nil
}

// Defaults of Options.
const (
	DefaultStartWait     = 5 * time.Second
	DefaultHealthEvery   = time.Minute
	DefaultPresenceEvery = 250 * time.Millisecond
	DefaultGreetingAge   = 250 * time.Millisecond
	DefaultWriteTime     = 10 * time.Second
	DefaultCloseTime     = time.Second
	DefaultReadTime      = 5 * time.Second
	DefaultDrainTime     = 2 * time.Second
	DefaultMaxClients    = 5_000
	DefaultMaxPosts      = 256
	DefaultMaxAtDoor     = 2_500
	DefaultMaxInFlight   = 64
	DefaultQueueFrames   = 1_024
	DefaultQueueBytes    = 4 << 20
	DefaultAskedBytes    = 128 << 20
)

// writeTime is the timeout of a write. It grows with the size, so that a slow client can receive a large answer.
func (o *Options) writeTime(bytes int) time.Duration { return o.WriteTime * time.Duration(1+bytes>>20) }

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host, _ = os.Hostname()
	}
	if o.Posts == nil {
		o.Posts = func(string) http.Handler { return nil }
	}
	if o.Gets == nil {
		o.Gets = func(string) http.Handler { return nil }
	}
	if o.Access.ownPage = o.Page != nil; o.Page == nil {
		o.Page = func(string) http.Handler { return nil }
	}
	if o.Slow == nil {
		o.Slow = func() {}
	}
	o.StartWait = cmp.Or(o.StartWait, DefaultStartWait)
	o.HandshakeTime = cmp.Or(o.HandshakeTime, protocol.HandshakeTime)
	o.TickInterval = cmp.Or(o.TickInterval, protocol.TickInterval)
	o.HealthEvery = cmp.Or(o.HealthEvery, DefaultHealthEvery)
	o.PresenceEvery = cmp.Or(o.PresenceEvery, DefaultPresenceEvery)
	o.GreetingAge = cmp.Or(o.GreetingAge, DefaultGreetingAge)
	o.WriteTime = cmp.Or(o.WriteTime, DefaultWriteTime)
	o.CloseTime = cmp.Or(o.CloseTime, DefaultCloseTime)
	o.ReadTime = cmp.Or(o.ReadTime, DefaultReadTime)
	o.DrainTime = cmp.Or(o.DrainTime, DefaultDrainTime)
	o.MaxClients = cmp.Or(o.MaxClients, DefaultMaxClients)
	o.MaxPosts = cmp.Or(o.MaxPosts, DefaultMaxPosts)
	o.MaxAtDoor = cmp.Or(o.MaxAtDoor, DefaultMaxAtDoor)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, DefaultMaxInFlight)
	o.QueueFrames = cmp.Or(o.QueueFrames, DefaultQueueFrames)
	o.QueueBytes = cmp.Or(o.QueueBytes, DefaultQueueBytes)
	o.AnswerBytes = cmp.Or(o.AnswerBytes, protocol.MaxBuffered)
	o.RequestBytes = cmp.Or(o.RequestBytes, protocol.MaxPayload)
	o.AskedBytes = cmp.Or(o.AskedBytes, DefaultAskedBytes)
	return o
}
