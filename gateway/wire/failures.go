package wire

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

// Bounds of failures, those of the original: so many in so long, and nobody is let in from there for a while.
const (
	maxFailures   = 10
	failureWindow = time.Minute
	lockout       = 5 * time.Minute
)

// maxSuspects is of how many addresses failures are remembered.
const maxSuspects = 4_096

// failures counts those who show a wrong secret, by address.
type failures struct {
	now func() time.Time

	mu       sync.Mutex
	suspects map[netip.Addr]*suspect
	swept    time.Time
}

type suspect struct {
	failed []time.Time // at most maxFailures, the oldest first
	until  time.Time   // locked out
}

func newFailures(now func() time.Time) *failures {
	return &failures{now: now, suspects: map[netip.Addr]*suspect{}}
}

// locked returns how long nobody is let in from an address. 0 is not at all.
func (f *failures) locked(ip netip.Addr) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.suspects[neighbourhood(ip)]
	if s == nil {
		return 0
	}
	return max(0, s.until.Sub(f.now()))
}

// note counts a failure.
func (f *failures) note(ip netip.Addr) {
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
	if len(s.failed) >= maxFailures {
		s.failed, s.until = nil, now.Add(lockout)
	}
}

// forgive forgets what an address has failed at: it has shown the secret.
func (f *failures) forgive(ip netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.suspects, neighbourhood(ip))
}

// makeRoom forgets whom nothing is held against any more, and where that is not enough, one of those who have failed longest ago.
func (f *failures) makeRoom(now time.Time) {
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

// What it may cost to make room, when many addresses guess at the same time.
const (
	sweepEvery = time.Second
	sample     = 32 // of the suspects, from which the oldest one is forgotten
)

func (s *suspect) forget(now time.Time) {
	for len(s.failed) > 0 && now.Sub(s.failed[0]) >= failureWindow {
		s.failed = s.failed[1:]
	}
}

func (s *suspect) last() time.Time {
	if len(s.failed) == 0 {
		return s.until.Add(-lockout)
	}
	return s.failed[len(s.failed)-1]
}

// neighbourhood is an address, or the network of one household: whoever has one address of IPv6 has them all.
func neighbourhood(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return ip
}
