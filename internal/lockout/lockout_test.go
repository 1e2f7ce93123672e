package lockout

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// However many addresses guess, few are remembered, and those who guess now are among them.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000, 0)
	f := New(func() time.Time { return now }, MaxFailures)
	guesser := netip.MustParseAddr("203.0.113.9")
	for n := range maxSuspects + 500 {
		now = now.Add(time.Millisecond)
		f.Count(netip.MustParseAddr(fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255)))
		if n%500 == 0 {
			f.Count(guesser)
		}
	}
	if len(f.suspects) != maxSuspects || f.Locked(guesser) == 0 {
		t.Errorf("%d are remembered, the guesser is locked out for %v", len(f.suspects), f.Locked(guesser))
	}
	now = now.Add(Time)
	f.Count(netip.MustParseAddr("203.0.113.10"))
	if len(f.suspects) != 1 {
		t.Errorf("%d are remembered after all is forgiven", len(f.suspects))
	}
	for n := range MaxFailures {
		f.Count(netip.MustParseAddr(fmt.Sprintf("2001:db8:0:1::%x", n)))
	}
	if f.Locked(netip.MustParseAddr("2001:db8:0:1:ffff::1")) == 0 || f.Locked(netip.MustParseAddr("2001:db8:0:2::1")) != 0 {
		t.Error("a household of IPv6 is one")
	}
}
