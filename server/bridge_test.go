package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
)

// chatFrame is a frame of the gateway.
type chatFrame struct {
	Type, ID, Event string
	OK              bool
	Payload         json.RawMessage
	Error           struct{ Code, Message string }
}

// chatConn is the chat of a page.
type chatConn struct {
	*websocket.Conn
	next int
	said strings.Builder // everything that was received
}

// dialChat opens the chat of a page, as browsers do.
func dialChat(r *reloading, s *surfer, origin string) (*websocket.Conn, *http.Response, error) {
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	dialer := websocket.Dialer{Jar: s.client.Jar}
	return dialer.Dial(strings.Replace(r.url, "http", "ws", 1)+"/ui/gateway", header)
}

func openChat(t *testing.T, r *reloading, s *surfer) *chatConn {
	t.Helper()
	conn, answer, err := dialChat(r, s, r.url)
	if err != nil {
		t.Fatalf("%v %v", answer, err)
	}
	answer.Body.Close()
	t.Cleanup(func() { conn.Close() })
	c := &chatConn{Conn: conn}
	if hello := c.read(t); hello.Event != "hello-ok" {
		t.Fatalf("the first frame is %+v", hello)
	}
	return c
}

func (c *chatConn) read(t *testing.T) (f chatFrame) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(testscale.Patience)); err != nil {
		t.Fatal(err)
	}
	_, text, err := c.ReadMessage()
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.said.Write(text)
	return f
}

// ask sends a request and returns its answer.
func (c *chatConn) ask(t *testing.T, method, params string) chatFrame {
	t.Helper()
	c.next++
	id := fmt.Sprint(c.next)
	if err := c.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"type":"req","id":%q,"method":%q,"params":%s}`, id, method, params)); err != nil {
		t.Fatal(err)
	}
	for {
		if f := c.read(t); f.Type == "res" && f.ID == id {
			return f
		}
	}
}

// closed reads until the connection is closed, and returns with what code.
func (c *chatConn) closed(t *testing.T) int {
	t.Helper()
	err := c.SetReadDeadline(time.Now().Add(testscale.Patience))
	for err == nil {
		_, _, err = c.ReadMessage()
	}
	e, is := errors.AsType[*websocket.CloseError](err)
	if !is {
		t.Fatalf("not closed but %v", err)
	}
	return e.Code
}

// A page chats with what its session permits: operators send, viewers read, and no one does more than chat. The gateway's token is in no
// frame and no line of the log.
func TestChatByRole(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded)
	operator, viewer, admin := asSurfer(t, r.url, uiWriteToken), asSurfer(t, r.url, uiViewerToken), asSurfer(t, r.url, sqlToken)
	for name, c := range map[string]struct {
		who    *surfer
		writes bool
	}{"operator": {operator, true}, "viewer": {viewer, false}, "admin": {admin, true}} {
		chat := openChat(t, r, c.who)
		for _, read := range []string{"sessions.list", "commands.list"} {
			if f := chat.ask(t, read, `{}`); !f.OK {
				t.Errorf("%s %s: %+v", name, read, f.Error)
			}
		}
		key := "agent:main:of-" + name
		f := chat.ask(t, "chat.send", `{"sessionKey":"`+key+`","message":"/status","idempotencyKey":"`+name+`"}`)
		if f.OK != c.writes || !c.writes && f.Error.Code != "FORBIDDEN" {
			t.Errorf("%s sends: %+v", name, f)
		}
		if f := chat.ask(t, "chat.abort", `{"sessionKey":"`+key+`"}`); f.OK != c.writes {
			t.Errorf("%s aborts: %+v", name, f)
		}
		if f := chat.ask(t, "chat.history", `{"sessionKey":"`+key+`"}`); !f.OK || strings.Contains(string(f.Payload), `"role":"assistant"`) != c.writes {
			t.Errorf("%s reads: %s %+v", name, f.Payload, f.Error)
		}
		for _, more := range []string{"config.get", "config.patch", "tools.invoke", "agent", "logs.tail", "sessions.delete", "sessions.patch", "node.event"} {
			if f := chat.ask(t, more, `{}`); f.OK || f.Error.Code == "" {
				t.Errorf("%s %s: %s", name, more, f.Payload)
			}
		}
		for what, secret := range map[string]string{"gateway": uiGatewayToken, "write": uiWriteToken, "viewer": uiViewerToken, "admin": sqlToken} {
			if strings.Contains(chat.said.String(), secret) {
				t.Errorf("%s is told the %s token", name, what)
			}
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for len(r.log.lines) > 0 {
		if line := <-r.log.lines; strings.Contains(line, uiGatewayToken) {
			t.Errorf("the log has the token: %s", line)
		}
	}
}

// Only the page itself may connect, with a session, and where a gateway runs.
func TestChatIsRefused(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded)
	open, follows := startReloading(t, nil), startReloading(t, nil, func(o *Options) { o.Follow, o.Gateway = true, "127.0.0.1:0" })
	operator := asSurfer(t, r.url, uiWriteToken)
	for _, c := range []struct {
		what   string
		at     *reloading
		who    *surfer
		origin string
		status int
		code   string
	}{
		{"another site", r, operator, "http://evil.example", 403, "origin_refused"},
		{"another port", r, operator, "http://127.0.0.1:1", 403, "origin_refused"},
		{"a program", r, operator, "", 403, "origin_refused"},
		{"no session", r, newSurfer(t, r.url), r.url, 401, "unauthorized"},
		{"no gateway", open, newSurfer(t, open.url), open.url, 404, "not_here"},
		{"another gateway", follows, newSurfer(t, follows.url), follows.url, 404, "not_here"},
	} {
		conn, answer, err := dialChat(c.at, c.who, c.origin)
		if err == nil {
			conn.Close()
		}
		var refused struct{ Code string }
		if answer == nil || answer.StatusCode != c.status || json.NewDecoder(answer.Body).Decode(&refused) != nil || refused.Code != c.code {
			t.Errorf("%s: %v %+v %v", c.what, answer, refused, err)
		}
	}
	if response, text := operator.ask(t, http.MethodGet, "/ui/gateway", "", "Origin", r.url); response.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("no WebSocket: %s %s", response.Status, text)
	}
	if response, _ := operator.post(t, "/ui/gateway", `{}`); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST: %s", response.Status)
	}
}

// The chat ends with its session or its session's role, with the server, and with a frame that is too large; a new one goes on where it was.
func TestChatEnds(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded)
	r.opts.API = strings.TrimPrefix(r.url, "http://")
	leaving, staying := asSurfer(t, r.url, uiGatewayToken), asSurfer(t, r.url, uiWriteToken)
	left, stays := openChat(t, r, leaving), openChat(t, r, staying)
	if response, _ := leaving.ask(t, http.MethodDelete, "/ui/session", "", pageWrite...); response.StatusCode != http.StatusNoContent {
		t.Fatalf("logout: %s", response.Status)
	}
	left.closed(t)

	// Who becomes a viewer may no longer send, and so has to connect again.
	at, err := url.Parse(r.url + "/ui/session")
	if err != nil {
		t.Fatal(err)
	}
	both := asSurfer(t, r.url, uiWriteToken)
	lesser := openChat(t, r, both)
	if response, a := both.login(t, token(uiViewerToken)); response.StatusCode != http.StatusOK || a.Role != "read" || len(both.client.Jar.Cookies(at)) != 1 {
		t.Fatalf("%+v", a)
	}
	r.write(t, settings.FileName, strings.Replace(guardedFiles[settings.FileName], uiWriteToken, "another-write-token", 1))
	r.rereads(t)
	lesser.closed(t)
	again := openChat(t, r, both)
	if f := again.ask(t, "chat.send", `{"sessionKey":"agent:main:x","message":"/status","idempotencyKey":"x"}`); f.OK || f.Error.Code != "FORBIDDEN" {
		t.Errorf("a viewer sends: %+v", f)
	}
	stays.closed(t)
	staying = asSurfer(t, r.url, "another-write-token")
	stays = openChat(t, r, staying)

	large := openChat(t, r, staying)
	if err := large.WriteMessage(websocket.TextMessage, slices.Repeat([]byte("x"), maxChatFrame+1)); err != nil {
		t.Fatal(err)
	}
	if code := large.closed(t); code != websocket.CloseMessageTooBig {
		t.Errorf("too large a frame: %d", code)
	}
	if f := stays.ask(t, "chat.send", `{"sessionKey":"agent:main:y","message":"/status","idempotencyKey":"y"}`); !f.OK {
		t.Fatalf("%+v", f.Error)
	}
	r.restart(t, nil)
	if code := stays.closed(t); code != websocket.CloseServiceRestart {
		t.Errorf("the server stops: %d", code)
	}
	back := openChat(t, r, staying)
	if f := back.ask(t, "chat.send", `{"sessionKey":"agent:main:y","message":"/status","idempotencyKey":"y"}`); !f.OK || !strings.Contains(string(f.Payload), `"ok"`) {
		t.Errorf("sent again: %s %+v", f.Payload, f.Error)
	}
	var told struct{ Messages []json.RawMessage }
	if f := back.ask(t, "chat.history", `{"sessionKey":"agent:main:y"}`); json.Unmarshal(f.Payload, &told) != nil || len(told.Messages) != 1 {
		t.Errorf("%s", f.Payload)
	}
}
