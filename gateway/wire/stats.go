package wire

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Stats are statistics of the connections.
type Stats struct {
	Clients  int   // connected now, handshakes included
	Peers    int   // accepted
	Accepted int64 // connections so far
	Greeted  int64 // accepted so far

	Refused map[string]int64 // by reason, one of the Refused constants

	Requests  int64            // valid request frames
	Failures  map[string]int64 // failed ones, by error code
	Malformed int64            // invalid frames
	InFlight  int64            // active requests

	Events  int64 // events broadcast
	Told    int64 // frames queued for events
	Skipped int64 // frames dropped for slow clients
	Slow    int64 // clients closed as too slow
	Silent  int64 // clients cut off as silent

	QueuedBytes   int64 // queued for all clients; broadcasts count once per client
	MostQueued    int64 // maximum bytes ever queued for one client
	MostQueuedFor int64 // maximum frames ever queued for one client
}

// Reasons for rejecting clients.
const (
	RefusedHost     = "host"      // wrong host
	RefusedFull     = "full"      // too many connections
	RefusedStopping = "stopping"  // the gateway is stopping, or has not started
	RefusedUpgrade  = "upgrade"   // invalid WebSocket handshake
	RefusedSilent   = "silent"    // no request in time
	RefusedFrame    = "frame"     // the first frame is no valid connect request
	RefusedProtocol = "protocol"  // no common protocol version
	RefusedRole     = "role"      // unsupported role
	RefusedOrigin   = "origin"    // page of a foreign origin
	RefusedAuth     = "auth"      // missing or wrong secret
	RefusedDevice   = "device"    // missing or unproven device
	RefusedTooOften = "too often" // too many wrong secrets
	RefusedGone     = "gone"      // closed by the client
	RefusedFailure  = "failure"   // hello-ok could not be built
)

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

const maxCodes = 16

// Stats are statistics of the connections.
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
