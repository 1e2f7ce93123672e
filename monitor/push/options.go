package push

import (
	"cmp"
	"log/slog"
	"time"
)

// Options of New. Zero means the default.
type Options struct {
	Now     func() time.Time // stamps frames; default: time.Now. Deadlines go by the system's clock.
	Logger  *slog.Logger
	Version string // of the program, told to whoever connects

	StartWait   time.Duration // how long a client waits for Run to begin
	MaxClients  int           // connected at once
	QueueFrames int           // waiting for one client
	QueueBytes  int           // of the frames waiting for one client; a larger frame may wait alone
	PingEvery   time.Duration // how often a client is asked whether it is there
	PongWait    time.Duration // a client that has not answered for so long is gone
	WriteTime   time.Duration // for each MiB of a frame, the last one whole
	BurstWait   time.Duration // at most, before the next page of a burst, while queues are more than half full
	CloseTime   time.Duration // for a client to say goodbye, and for all of them when the hub ends
	Dropped     func()        // called when a client has not kept up; must not block; may be nil
}

// Defaults of Options. The bounds of a queue are those of the design: 256 frames or 1 MiB.
const (
	DefaultStartWait   = 5 * time.Second
	DefaultMaxClients  = 2_000
	DefaultQueueFrames = 256
	DefaultQueueBytes  = 1 << 20
	DefaultPingEvery   = 30 * time.Second
	DefaultWriteTime   = 10 * time.Second
	DefaultBurstWait   = 25 * time.Millisecond
	DefaultCloseTime   = time.Second
)

// maxMessageBytes bounds what a client may say at once. It is read and forgotten.
const maxMessageBytes = 4 << 10

// maxReplays is how many clients that catch up may read the log at the same time, so that others get to it too.
const maxReplays = 2

// writeTime is how long a frame may take. If that did not grow with it, a client too slow for one huge event would never get past it.
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
	o.PongWait = cmp.Or(o.PongWait, 2*o.PingEvery)
	o.WriteTime = cmp.Or(o.WriteTime, DefaultWriteTime)
	o.BurstWait = cmp.Or(o.BurstWait, DefaultBurstWait)
	o.CloseTime = cmp.Or(o.CloseTime, DefaultCloseTime)
	return o
}
