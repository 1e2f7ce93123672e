package monitor_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/monitor"
)

func TestLiveRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Hosts = []string{"hub.example"} })
	b.importing(t, event("task.started", "eden", 1, `"taskId":"t1"`))
	b.running(t)
	for name, c := range map[string]struct {
		path         string
		header       []string
		status       int
		code, field  string
		mentionsText string
	}{
		"a trailing slash":       {"/ws/", nil, 400, "bad_handshake", "", ""},
		"another path":           {"/api/health", nil, 400, "bad_handshake", "", ""},
		"an escaped path":        {"/%77s", nil, 400, "bad_handshake", "", ""},
		"a longer path":          {"/ws/more", nil, 400, "bad_handshake", "", ""},
		"another host":           {"/ws", []string{"Host", "evil.example"}, 421, "unknown_host", "Host", ""},
		"a page elsewhere":       {"/ws", []string{"Origin", "https://evil.example"}, 403, "origin_refused", "Origin", "evil.example"},
		"a page without a place": {"/ws", []string{"Origin", "null"}, 403, "origin_refused", "Origin", ""},
		"a page that pretends":   {"/ws", []string{"Origin", "https://127.0.0.1.evil.example"}, 403, "origin_refused", "Origin", ""},
		"no number":              {"/ws?since=yesterday", nil, 400, "invalid_parameter", "since", "yesterday"},
		"a number below zero":    {"/ws?since=-1", nil, 400, "invalid_parameter", "since", "-1"},
		"a number beyond":        {"/ws?since=2", nil, 400, "invalid_parameter", "since", "ends at 1"},
		"a time":                 {"/ws?since=1771588800000", nil, 400, "invalid_parameter", "since", "ends at 1"},
		"another scope":          {"/ws?scope=mine", nil, 400, "invalid_parameter", "scope", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, response, err := b.handshake(t, c.path, c.header...)
			status, r := refusalOf(t, response, err)
			if status != c.status || r.Code != c.code || r.Field != c.field || !strings.Contains(r.Error+r.Hint, c.mentionsText) || r.Hint == "" {
				t.Errorf("%d %+v", status, r)
			}
		})
	}
	for name, header := range map[string][]string{
		"no page":           nil,
		"our own page":      {"Origin", b.url},
		"a page here":       {"Origin", "http://localhost:3102"},
		"an allowed page":   {"Origin", "https://hub.example"},
		"a page's own host": {"Host", "hub.example", "Origin", "http://hub.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := b.handshake(t, "/ws", header...); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLiveIsNothingWithoutAnUpgrade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if r := get[refusal](t, b, "/ws", 404); r.Error != "Not found" {
		t.Errorf("%+v", r)
	}
}

// A malformed WebSocket handshake is refused in our own error form.
func TestLiveRefusesBadHandshakes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "8"} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if status, r := refusalOf(t, response, http.ErrNotSupported); status != 400 || r.Code != "bad_handshake" || !strings.Contains(r.Error, "version") {
		t.Errorf("%d %+v", status, r)
	}
}

// A client that breaks the protocol is disconnected; others are not affected.
func TestLiveSurvivesGarbage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	polite := b.listen(t, "/ws")
	for name, garbage := range map[string]string{
		"no mask":               "\x81\x05hello",
		"an endless frame":      "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xffmaskxxxx",
		"a negative length":     "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xffmaskxxxx",
		"reserved bits":         "\xf1\x80mask",
		"an unheard-of kind":    "\x8b\x80mask",
		"a long ping":           "\x89\xfe\x10\x00mask" + strings.Repeat("x", 4_096),
		"a part inside a part":  "\x01\x81maskx\x01\x81maskx",
		"a goodbye of one byte": "\x88\x81maskx",
		"another protocol":      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"many parts, too much":  "\x01\x80mask" + strings.Repeat("\x00\xfe\x04\x00mask"+strings.Repeat("x", 1_024), 5),
	} {
		l := b.listen(t, "/ws")
		if _, err := l.NetConn().Write([]byte(garbage)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if f, err := l.read(); err == nil {
			t.Errorf("%s is answered with %+v", name, f)
		}
	}
	polite.events(t, b.appending(t, "task.started", `{"taskId":"t1"}`))
}

func TestLiveBoundsItsClients(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Push.MaxClients = 2 })
	b.running(t)
	first := b.listen(t, "/ws")
	b.listen(t, "/ws")
	_, response, err := b.handshake(t, "/ws")
	if status, r := refusalOf(t, response, err); status != 503 || r.Code != "busy" || response.Header.Get("Retry-After") == "" {
		t.Errorf("%d %+v %v", status, r, response.Header)
	}
	if err := first.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, status, _, _ := first.farewell(t); status != websocket.CloseNormalClosure {
		t.Errorf("status %d", status)
	}
	// The place is free as soon as the connection is down on both sides.
	_ = first.Close()
	for tries := 0; ; tries++ {
		if _, _, err := b.handshake(t, "/ws"); err == nil {
			break
		} else if tries == 20_000 {
			t.Fatal(err)
		}
	}
}

// A client that connects before Run waits a little for it; one that connects after its end is refused.
func TestLiveLastsAsLongAsRun(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Push.StartWait = time.Millisecond })
	_, response, err := b.handshake(t, "/ws")
	if status, r := refusalOf(t, response, err); status != 503 || r.Code != "busy" || response.Header.Get("Retry-After") == "" {
		t.Errorf("before: %d %+v", status, r)
	}
	b.running(t)()
	_, response, err = b.handshake(t, "/ws")
	if status, r := refusalOf(t, response, err); status != 503 || r.Code != "closed" {
		t.Errorf("after: %d %+v", status, r)
	}
}

func TestLiveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.monitor.Run(ctx); err != nil {
		t.Error(err)
	}
}
