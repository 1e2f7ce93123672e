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
	Now     func() time.Time // stamps what clients are told. Deadlines go by the system's clock.
	NewID   func() string    // a UUID that nobody has had
	Logger  *slog.Logger
	Version string // of the program, told to whoever is let in
	Host    string // this machine, as system-presence names it; default: the host name

	// Posts gives what answers a POST to a path, nil where there is nothing. It is asked for each request. The answer is begun only for those
	// who are let in; its context ends with the connection, and with ErrStopping as cause when the gateway does not wait any more. May be nil.
	Posts func(path string) http.Handler
	// Gets is the same for what is only read, with GET or HEAD.
	Gets func(path string) http.Handler

	// Page gives what answers a GET of a path, before anybody is let in: a page for browsers. nil where there is nothing. May be nil.
	Page func(path string) http.Handler

	StartWait     time.Duration // how long a client waits for Run to begin
	HandshakeTime time.Duration // for a client to be let in
	TickInterval  time.Duration // between ticks. A client that has not been heard for two of them is cut off.
	HealthEvery   time.Duration // between events of the state of health
	PresenceEvery time.Duration // at least, between events of who is there
	GreetingAge   time.Duration // how old what a client is told of the state may be when it is let in
	WriteTime     time.Duration // for each MiB of what is written at once, the last one whole
	CloseTime     time.Duration // for a client to answer a goodbye
	ReadTime      time.Duration // for a client to show that it has read something
	DrainTime     time.Duration // for requests under way when Run ends

	MaxClients   int // connected at once, those who are shaking hands included
	MaxPosts     int // requests of HTTP that are answered at once
	MaxAtDoor    int // of them who are shaking hands; beyond that the one that has been longest is not waited for
	MaxInFlight  int // requests of one client that run, or whose answers wait. Beyond that nothing more is read.
	QueueFrames  int // events waiting for one client
	QueueBytes   int // of the events waiting for one client, and of the answers, beyond which it is not read; a larger frame may wait alone
	AnswerBytes  int // of the answers waiting for one client; one beyond that closes it
	RequestBytes int // of the requests of one client that run; a larger one runs alone
	AskedBytes   int // of the requests that run and the answers that wait, of all clients; beyond that each has one request at a time,
	// and beyond twice that a client is closed for which a second answer would have to wait

	Slow func() // called when a client is closed because it has not kept up; must not block; may be nil
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

// writeTime is how long a write may take. If that did not grow with it, a client too slow for one huge answer would never get past it.
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
