package webtools

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Resolver looks up the addresses of a host.
type Resolver func(ctx context.Context, host string) ([]netip.Addr, error)

// AddressError says why an address is not fetched.
type AddressError struct{ Address, Why string }

func (e *AddressError) Error() string {
	return fmt.Sprintf("%.200q is not fetched: %s", e.Address, e.Why)
}

// checkURL checks the form of an address.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &AddressError{u.Scheme, "only http and https are"}
	case u.User != nil:
		return &AddressError{u.Host, "it holds a user name or a password"}
	case u.Hostname() == "" || strings.ContainsAny(u.Hostname(), "%\\ "):
		return &AddressError{u.Host, "it has no valid host"}
	}
	return nil
}

// client is an HTTP client that connects to public addresses, and to hosts that the configuration names. It uses no proxy, which would hide
// the address that is connected to.
func (w *Web) client(allowed []string) *http.Client {
	t := &http.Transport{ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return w.dial(ctx, network, address, allowed)
		}}
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return &AddressError{r.URL.Host, fmt.Sprintf("there were more than %d redirects", maxRedirects)}
		}
		return checkURL(r.URL)
	}}
}

// dial connects to a host. The address is judged once more when the connection is made, so that no answer of a name server comes between.
func (w *Web) dial(ctx context.Context, network, address string, allowed []string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	free := slices.ContainsFunc(allowed, func(name string) bool { return strings.EqualFold(name, host) || strings.EqualFold(name, address) })
	dialer := net.Dialer{Timeout: dialTimeout, ControlContext: func(_ context.Context, _, to string, _ syscall.RawConn) error {
		connected, err := netip.ParseAddrPort(to)
		if err != nil || free {
			return err
		}
		return w.judge(to, connected.Addr())
	}}
	all, err := w.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if free {
			break
		}
		if err := w.judge(host, one); err != nil {
			return nil, err
		}
	}
	for _, one := range all {
		var c net.Conn
		if c, err = dialer.DialContext(ctx, network, net.JoinHostPort(one.String(), port)); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// judge refuses an address that is not public, or is this machine's own, where more may listen than for the Internet.
func (w *Web) judge(name string, a netip.Addr) error {
	if !isPublic(a) {
		return &AddressError{name, "it has the address " + a.String() + ", which is not public"}
	}
	all, err := w.opts.Own()
	if err != nil {
		return fmt.Errorf("find the addresses of this machine: %w", err)
	}
	for _, one := range all {
		if own, err := netip.ParsePrefix(one.String()); err == nil && own.Addr().Unmap() == a.Unmap() {
			return &AddressError{name, "it has the address " + a.String() + ", which is this machine's own"}
		}
	}
	return nil
}

func (w *Web) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if one, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{one}, nil
	}
	if looksNumeric(host) {
		return nil, &AddressError{host, "this is an unusual way of writing an address"}
	}
	var all []netip.Addr
	var err error
	if w.opts.Resolve != nil {
		all, err = w.opts.Resolve(ctx, host)
	} else {
		all, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	if err == nil && len(all) == 0 {
		err = &AddressError{host, "it has no address"}
	}
	return all, err
}

// looksNumeric reports whether the last part of a host is a number, in any of the forms that some programs take for an address.
func looksNumeric(host string) bool {
	parts := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	last := parts[len(parts)-1]
	hex, isHex := strings.CutPrefix(last, "0x")
	digits := "0123456789"
	if isHex {
		last, digits = hex, digits+"abcdef"
	}
	return strings.Trim(last, digits) == ""
}

// reserved are blocks that are not public although they look so.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"), netip.MustParsePrefix("5f00::/16"), netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("::/96"),
}

// isPublic reports whether an address is one of the public Internet, and so is the IPv4 address in it, if it holds one.
func isPublic(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, block := range reserved {
		if block.Contains(a) {
			return false
		}
	}
	if !a.Is6() {
		return true
	}
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a): // NAT64
		return isPublic(netip.AddrFrom4([4]byte(b[12:])))
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		return isPublic(netip.AddrFrom4([4]byte(b[2:6])))
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return isPublic(netip.AddrFrom4([4]byte(b[12:])))
	}
	return true
}
