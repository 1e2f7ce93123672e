package wire

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Stats says how the clients are doing.
type Stats struct {
	Clients  int   // connected now, those who are shaking hands included
	Peers    int   // let in
	Accepted int64 // connections so far
	Greeted  int64 // let in so far

	Refused map[string]int64 // by reason, one of the Refused constants

	Requests  int64            // that were frames of a request
	Failures  map[string]int64 // of them, by the code of the error
	Malformed int64            // frames that were none
	InFlight  int64            // requests that run

	Events  int64 // told to everybody
	Told    int64 // frames that events have become
	Skipped int64 // frames left out for clients that have not kept up
	Slow    int64 // clients closed because they have not kept up
	Silent  int64 // clients cut off because nothing was heard of them

	QueuedBytes   int64 // waiting in all queues; what many are told is counted for each
	MostQueued    int64 // bytes that have ever waited for one client
	MostQueuedFor int64 // frames that have ever waited for one client
}

// Why clients are not let in.
const (
	RefusedHost     = "host"      // asked for another host
	RefusedFull     = "full"      // there are as many as may be
	RefusedStopping = "stopping"  // the gateway ends, or has not begun
	RefusedUpgrade  = "upgrade"   // no WebSocket handshake
	RefusedSilent   = "silent"    // no request in time
	RefusedFrame    = "frame"     // what came first is no right connect request
	RefusedProtocol = "protocol"  // no common version
	RefusedRole     = "role"      // no role that is served
	RefusedOrigin   = "origin"    // a page of elsewhere
	RefusedAuth     = "auth"      // no secret, or a wrong one
	RefusedDevice   = "device"    // no device, or one that has not shown who it is
	RefusedTooOften = "too often" // too many wrong secrets
	RefusedGone     = "gone"      // the client has hung up
	RefusedFailure  = "failure"   // the gateway could not greet it
)

// counters are what Stats tells of.
type counters struct {
	accepted, greeted, requests, malformed, inFlight, events, told, skipped, slow, silent atomic.Int64

	mu       sync.Mutex
	refused  map[string]int64
	failures map[string]int64
}

func (c *counters) refuse(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[string]int64{}
	}
	c.refused[reason]++
}

func (c *counters) fail(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures == nil {
		c.failures = map[string]int64{}
	}
	if _, known := c.failures[code]; !known && len(c.failures) >= maxCodes {
		code = "other"
	}
	c.failures[code]++
}

// maxCodes is how many codes of errors are counted apart.
const maxCodes = 16

// Stats says how the clients are doing.
func (h *Hub) Stats() Stats {
	c := &h.stats
	s := Stats{Accepted: c.accepted.Load(), Greeted: c.greeted.Load(), Requests: c.requests.Load(), Malformed: c.malformed.Load(),
		InFlight: c.inFlight.Load(), Events: c.events.Load(), Told: c.told.Load(), Skipped: c.skipped.Load(), Slow: c.slow.Load(),
		Silent: c.silent.Load(), QueuedBytes: h.load.bytes.Load(), MostQueued: h.load.mostBytes.Load(), MostQueuedFor: h.load.mostFrames.Load()}
	c.mu.Lock()
	s.Refused, s.Failures = maps.Clone(c.refused), maps.Clone(c.failures)
	c.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Clients, s.Peers = h.places, len(h.peers)
	return s
}
