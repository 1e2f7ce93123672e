package monitor_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/monitor"
)

const readToken = "a-token-for-reading-alone"

// Where a token for reading is set, every operation of the API requires it, and only of the API.
//
// Promise: attacks
func TestReadTokenClosesTheAPI(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	b := withSQL(t, func(o *monitor.Options) {
		o.ReadToken, o.Token = readToken, writeToken
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	open := map[string]bool{"/": true, "/healthz": true, "/readyz": true, "/metrics": true}
	said := ""
	for _, o := range operations(t, setup(t)) {
		for what, header := range map[string][]string{
			"no token": nil, "a wrong one": {"X-Task-Monitor-Token", readToken + "x"}, "a cookie": {"Cookie", "X-Task-Monitor-Token=" + readToken},
			"the token elsewhere": {"Authorization", "Bearer " + readToken},
		} {
			response := b.from(nearPeer, o.method, o.with("x")+"?token="+readToken+"&readToken="+readToken, "{}", header...)
			if closed := response.Code == http.StatusUnauthorized; closed == open[o.path] {
				t.Errorf("%s %s with %s: %d %s", o.method, o.path, what, response.Code, response.Body)
			}
			said += response.Body.String()
		}
		if o.writes() {
			continue
		}
		for what, header := range map[string][]string{"the token": {"X-Task-Monitor-Token", readToken}, "the write token": {"X-Task-Monitor-Token", writeToken},
			"SQL's": {"Authorization", "Bearer " + adminToken}} {
			response := b.from(nearPeer, o.method, o.with("x"), "", header...)
			if response.Code == http.StatusUnauthorized && !strings.HasPrefix(o.path, "/api/sql") && !strings.HasPrefix(o.path, "/debug/pprof/") {
				t.Errorf("%s %s with %s: %d %s", o.method, o.path, what, response.Code, response.Body)
			}
		}
	}
	// It does not write, and a path that is written in another way is no way in.
	if response := b.from(nearPeer, http.MethodPatch, categoryPath, categoryBody, "X-Task-Monitor-Token", readToken); response.Code != http.StatusUnauthorized {
		t.Errorf("writing with the token for reading: %d %s", response.Code, response.Body)
	}
	for _, path := range []string{"/%61pi/events", "/api%2Fevents", "/api/../api/events", "/ws/"} {
		if response := b.from(nearPeer, http.MethodGet, path, ""); response.Code != http.StatusUnauthorized && response.Code != http.StatusNotFound {
			t.Errorf("%s: %d %.200s", path, response.Code, response.Body)
		}
	}
	if strings.Contains(log.String()+said, readToken) || strings.Contains(said, writeToken) {
		t.Errorf("a token is shown:\n%s\n%s", log.String(), said)
	}
	// Sessions of the page read without it.
	request := httptest.NewRequestWithContext(monitor.WithGrant(context.Background(), monitor.Grant{}), http.MethodGet, "http://127.0.0.1:3847/api/events", nil)
	response := httptest.NewRecorder()
	b.monitor.Handler().ServeHTTP(response, request)
	if response.Code != http.StatusOK {
		t.Errorf("a session: %d %s", response.Code, response.Body)
	}
}

// The live feed requires the token too, in its handshake. It changes while the server runs.
func TestReadTokenClosesTheLiveFeed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.runs(t)
	connect := func(header ...string) int {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		dialer := websocket.Dialer{HandshakeTimeout: patience}
		conn, response, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(b.url, "http")+"/ws?token="+readToken, h)
		if err != nil {
			if response == nil {
				t.Fatal(err)
			}
			return response.StatusCode
		}
		_ = conn.Close()
		return response.StatusCode
	}
	if got := connect(); got != http.StatusSwitchingProtocols {
		t.Errorf("without a token where there is none: %d", got)
	}
	before, response, err := (&websocket.Dialer{HandshakeTimeout: patience}).DialContext(t.Context(), "ws"+strings.TrimPrefix(b.url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	defer response.Body.Close()
	b.monitor.Configure(monitor.Settings{ReadToken: readToken + "\n"})
	_ = before.SetReadDeadline(time.Now().Add(patience))
	for err == nil {
		_, _, err = before.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.CloseServiceRestart) {
		t.Errorf("a feed that was opened before ends with %v, want it closed", err)
	}
	for what, c := range map[string]struct {
		header []string
		status int
	}{"none": {nil, 401}, "a wrong one": {[]string{"X-Task-Monitor-Token", "x"}, 401}, "the token": {[]string{"X-Task-Monitor-Token", readToken}, 101}} {
		if got := connect(c.header...); got != c.status {
			t.Errorf("%s: %d, want %d", what, got, c.status)
		}
	}
}
