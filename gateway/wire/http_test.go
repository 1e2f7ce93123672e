package wire_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

func TestHTTPSaysWhatThisIs(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	for _, c := range []struct {
		method, path string
		status       int
		kind, holds  string
	}{
		{"GET", "/health", 200, "application/json; charset=utf-8", `{"ok":true,"status":"live"}`},
		{"GET", "/healthz", 200, "application/json; charset=utf-8", `{"ok":true,"status":"live"}`},
		{"HEAD", "/health", 200, "application/json; charset=utf-8", ""},
		{"POST", "/health", 405, "application/json; charset=utf-8", `"type":"method_not_allowed"`},
		{"GET", "/", 200, "text/plain; charset=utf-8", "openclaw gateway call health --url ws://" + g.addr},
		{"DELETE", "/", 405, "application/json; charset=utf-8", "GET and HEAD"},
		{"GET", "/nothing", 404, "application/json; charset=utf-8", `"type":"not_found"`},
		{"POST", "/v1/nothing", 404, "application/json; charset=utf-8", `"type":"not_found"`},
	} {
		r, body := g.do(t, c.method, c.path, "", nil)
		if r.StatusCode != c.status || r.Header.Get("Content-Type") != c.kind || !strings.Contains(body, c.holds) {
			t.Errorf("%s %s: %d %q %s", c.method, c.path, r.StatusCode, r.Header.Get("Content-Type"), body)
		}
		if r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s %s: %v", c.method, c.path, r.Header)
		}
		if allow := r.Header.Get("Allow"); (allow == "GET, HEAD") != (c.status == 405) {
			t.Errorf("%s %s: Allow %q", c.method, c.path, allow)
		}
		if strings.HasPrefix(c.kind, "application/json") && c.method != "HEAD" && !json.Valid([]byte(body)) {
			t.Errorf("%s %s: %s", c.method, c.path, body)
		}
	}
}

// A page elsewhere can make its own name resolve to this machine, and would then count as local.
func TestOtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.Access.Hosts = []string{"gateway.lan"} }})
	upgrade := upgradeHeader()
	for host, ours := range map[string]bool{
		"127.0.0.1:18789": true, "localhost": true, "LocalHost.:80": true, "[::1]:18789": true, "127.8.9.1": true, "x.localhost": true,
		"gateway.lan:18789": true, "Gateway.LAN": true,
		"evil.example": false, "localhost.evil.example": false, "192.0.2.7": false, "gateway.lan.evil.example": false, "0x7f000001": false,
	} {
		r, body := g.do(t, "GET", "/health", host, nil)
		if want := map[bool]int{true: 200, false: 421}[ours]; r.StatusCode != want {
			t.Errorf("%s: %d %s", host, r.StatusCode, body)
		}
		if !ours {
			if r, body := g.do(t, "GET", "/", host, upgrade.Clone()); r.StatusCode != 421 || !strings.Contains(body, "unknown_host") {
				t.Errorf("upgrade for %s: %d %s", host, r.StatusCode, body)
			}
		}
	}
	if n := g.Stats().Refused[wire.RefusedHost]; n != 10 {
		t.Errorf("%d were refused", n)
	}
}

func TestBadUpgradesAreRefused(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	right := upgradeHeader()
	for name, change := range map[string]func(h http.Header) (method string){
		"version": func(h http.Header) string { h.Set("Sec-WebSocket-Version", "8"); return "GET" },
		"key":     func(h http.Header) string { h.Set("Sec-WebSocket-Key", "short"); return "GET" },
		"method":  func(http.Header) string { return "POST" },
	} {
		header := right.Clone()
		r, body := g.do(t, change(header), "/ws", "", header)
		if r.StatusCode/100 != 4 || !strings.Contains(body, `"type":"invalid_request_error"`) || r.Header.Get("Sec-WebSocket-Version") != "13" {
			t.Errorf("%s: %d %s", name, r.StatusCode, body)
		}
	}
	g.until(t, "all have left", func(s wire.Stats) bool { return s.Clients == 0 && s.Refused[wire.RefusedUpgrade] == 3 })
}

func upgradeHeader() http.Header {
	return http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"MDEyMzQ1Njc4OWFiY2RlZg=="}}
}
