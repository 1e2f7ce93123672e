package server

import (
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/internal/testscale"
)

// A program told to end does, though HTTP servers neither wait for WebSockets nor close them.
func TestProgramEndsWhileClientsFollow(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	api, stop := starts(t, p, ready)
	conn, answer, err := websocket.DefaultDialer.Dial("ws://"+api.String()+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer answer.Body.Close()
	if err := conn.SetReadDeadline(time.Now().Add(testscale.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, first, err := conn.ReadMessage(); err != nil || !strings.Contains(string(first), `"type":"connected"`) {
		t.Fatalf("%s %v", first, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.CloseServiceRestart) {
		t.Errorf("closed with %v", err)
	}
	if err := waitFor(t, "Run", ended); err != nil {
		t.Error(err)
	}
}
