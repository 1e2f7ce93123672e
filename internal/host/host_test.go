package host_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pronto-lab/openclawd/internal/host"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{"": "", "a.example": "a.example", "a.example:80": "a.example", "[::1]:80": "::1", "[::1]": "::1", "::1": "::1"} {
		if got := host.Name(header); got != want {
			t.Errorf("%q has the name %q, want %q", header, got, want)
		}
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"localhost": true, "LocalHost.": true, "a.localhost": true, "127.0.0.1": true, "127.1.2.3": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example": false, "notlocalhost": false, "10.0.0.1": false, "::": false, "0.0.0.0": false,
	} {
		if got := host.IsLoopback(name); got != want {
			t.Errorf("%q is local: %v, want %v", name, got, want)
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if got := host.Local(r); got != "" {
		t.Errorf("without a connection it is %q", got)
	}
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv6loopback, Port: 80})))
	if got := host.Local(r); got != "::1" {
		t.Errorf("it is %q, want ::1", got)
	}
}
