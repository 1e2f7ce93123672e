package push

import (
	"cmp"
	"log/slog"
	"time"
)

// Options of New. Zero means the default.
type Options struct {
	Now     func() time.Time // timestamps of frames; default: time.Now. Deadlines use the system's clock.
	Logger  *slog.Logger
	Version string // program version, sent to clients

	StartWait   time.Duration // how long a client waits for Run to start
	MaxClients  int           // connections
	QueueFrames int           // queued per client
	QueueBytes  int           // bytes queued per client; a larger frame may wait alone
	PingEvery   time.Duration // interval of pings
	TickEvery   time.Duration // interval of ticks for clients that asked for them
	PongWait    time.Duration // silence after which a client is cut off
	WriteTime   time.Duration // per started MiB of a frame
	BurstWait   time.Duration // maximum delay of a burst's next page while queues are more than half full
	CloseTime   time.Duration // for clients to answer a close frame
	Dropped     func()        // called when a client is closed as too slow; must not block; may be nil
}

// Defaults of Options. A queue holds 256 frames or 1 MiB, as designed.
const (
	DefaultStartWait   = 5 * time.Second
	DefaultMaxClients  = 2_000
	DefaultQueueFrames = 256
	DefaultQueueBytes  = 1 << 20
	DefaultPingEvery   = 30 * time.Second
	DefaultTickEvery   = 10 * time.Second
	DefaultWriteTime   = 10 * time.Second
	DefaultBurstWait   = 25 * time.Millisecond
	DefaultCloseTime   = time.Second
)

// maxMessageBytes is the size limit of a client's message, which is discarded.
const maxMessageBytes = 4 << 10

// maxReplays is how many clients may catch up from the log at the same time, so that others can read it too.
const maxReplays = 2

// writeTime is the timeout of a write. It grows with the size, so that a slow client can receive a huge event.
func (o *Options) writeTime(bytes int) time.Duration { return o.WriteTime * time.Duration(1+bytes>>20) }

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dropped == nil {
		o.Dropped = func() {}
	}
	o.StartWait = cmp.Or(o.StartWait, DefaultStartWait)
	o.MaxClients = cmp.Or(o.MaxClients, DefaultMaxClients)
	o.QueueFrames = cmp.Or(o.QueueFrames, DefaultQueueFrames)
	o.QueueBytes = cmp.Or(o.QueueBytes, DefaultQueueBytes)
	o.PingEvery = cmp.Or(o.PingEvery, DefaultPingEvery)
	o.TickEvery = cmp.Or(o.TickEvery, DefaultTickEvery)
	o.PongWait = cmp.Or(o.PongWait, 2*o.PingEvery)
	o.WriteTime = cmp.Or(o.WriteTime, DefaultWriteTime)
	o.BurstWait = cmp.Or(o.BurstWait, DefaultBurstWait)
	o.CloseTime = cmp.Or(o.CloseTime, DefaultCloseTime)
	return o
}
