package monitor_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pronto-lab/openclawd/monitor"
)

// DB-19: the original lets every page on the web read what agents say.
func TestOnlyPagesOfThisMachineMayRead(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Hosts = []string{"hub.example"} })
	for origin, shared := range map[string]bool{
		"http://localhost:3102": true, "http://127.0.0.1:3102": true, "https://hub.example": true, "http://[::1]:5173": true,
		"https://evil.example": false, "http://localhost.evil.example": false, "null": false, "": false, "http://10.0.0.1": false,
	} {
		request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/health", nil)
		request.Header.Set("Origin", origin)
		response := httptest.NewRecorder()
		b.monitor.Handler().ServeHTTP(response, request)
		want := ""
		if shared {
			want = origin
		}
		if got := response.Header().Get("Access-Control-Allow-Origin"); got != want || response.Code != http.StatusOK {
			t.Errorf("origin %q: %d, may read %q, want %q", origin, response.Code, got, want)
		}
	}
}

// A foreign name that resolves to this machine must not open it to that name's pages.
func TestForeignHostsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Hosts = []string{"hub.example"} })
	for host, status := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:1": 200, "127.9.9.9": 200, "localhost:3847": 200, "LOCALHOST.": 200, "hub.localhost": 200, "[::1]:3847": 200,
		"::1": 200, "hub.example": 200, "HUB.example:80": 200, "": 200,
		"evil.example": 421, "evil.example:3847": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "10.0.0.1": 421, "0.0.0.0": 421,
	} {
		response := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/api/health", nil)
		request.Host = host
		b.monitor.Handler().ServeHTTP(response, request)
		if response.Code != status {
			t.Errorf("Host %q: %d, want %d: %s", host, response.Code, status, response.Body)
		}
	}
	// The address on which a request arrived is ours.
	request := httptest.NewRequest(http.MethodGet, "/api/health", nil)
	request.Host = "10.0.0.1:3847"
	arrived := context.WithValue(request.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 3847}))
	response := httptest.NewRecorder()
	b.monitor.Handler().ServeHTTP(response, request.WithContext(arrived))
	if response.Code != http.StatusOK {
		t.Errorf("own address: %d", response.Code)
	}
}
