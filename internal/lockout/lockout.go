// Package lockout limits guessing of secrets: addresses that fail too often are locked out for a while.
package lockout

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

// Limits of failed attempts, as in OpenClaw: after so many within the window, the address is locked out for Time.
const (
	MaxFailures = 10
	window      = time.Minute
	Time        = 5 * time.Minute
)

// maxSuspects is how many addresses are tracked.
const maxSuspects = 4_096

// Failures counts failed attempts by address. It is safe for concurrent use.
type Failures struct {
	now  func() time.Time
	most int

	mu       sync.Mutex
	suspects map[netip.Addr]*suspect
	swept    time.Time
}

type suspect struct {
	failed []time.Time // fewer than most, oldest first
	until  time.Time   // locked out
}

// New returns a counter that locks an address out after most failures within a minute.
func New(now func() time.Time, most int) *Failures {
	return &Failures{now: now, most: most, suspects: map[netip.Addr]*suspect{}}
}

// Locked returns how long an address stays locked out; 0 if it is not.
func (f *Failures) Locked(ip netip.Addr) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.suspects[neighbourhood(ip)]
	if s == nil {
		return 0
	}
	return max(0, s.until.Sub(f.now()))
}

// Count counts a failed attempt.
func (f *Failures) Count(ip netip.Addr) {
	ip = neighbourhood(ip)
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.suspects[ip]
	if s == nil {
		f.makeRoom(now)
		s = &suspect{}
		f.suspects[ip] = s
	}
	s.forget(now)
	s.failed = append(s.failed, now)
	if len(s.failed) >= f.most {
		s.failed, s.until = nil, now.Add(Time)
	}
}

// Forgive clears an address's failures after a correct secret.
func (f *Failures) Forgive(ip netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.suspects, neighbourhood(ip))
}

// makeRoom evicts addresses without recent failures, and if that is not enough one with the oldest failures.
func (f *Failures) makeRoom(now time.Time) {
	if len(f.suspects) < maxSuspects {
		return
	}
	if now.Sub(f.swept) >= sweepEvery {
		f.swept = now
		maps.DeleteFunc(f.suspects, func(_ netip.Addr, s *suspect) bool {
			s.forget(now)
			return len(s.failed) == 0 && !s.until.After(now)
		})
	}
	if len(f.suspects) < maxSuspects {
		return
	}
	var oldest netip.Addr
	var last time.Time
	looked := 0
	for ip, s := range f.suspects {
		if at := s.last(); looked == 0 || at.Before(last) {
			oldest, last = ip, at
		}
		if looked++; looked == sample {
			break
		}
	}
	delete(f.suspects, oldest)
}

// Limits of the eviction's cost when many addresses guess at once.
const (
	sweepEvery = time.Second
	sample     = 32 // sample from which the oldest one is evicted
)

func (s *suspect) forget(now time.Time) {
	for len(s.failed) > 0 && now.Sub(s.failed[0]) >= window {
		s.failed = s.failed[1:]
	}
}

func (s *suspect) last() time.Time {
	if len(s.failed) == 0 {
		return s.until.Add(-Time)
	}
	return s.failed[len(s.failed)-1]
}

// neighbourhood is an IPv4 address, or an IPv6 /64 network, since a household controls all its addresses.
func neighbourhood(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return ip
}
