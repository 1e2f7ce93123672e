package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/server/settings"
)

// between is a gateway's URL that passes everything on, both ways. before is called with each message of a client before that goes on,
// and after with each message of the gateway after the client has been sent it.
func between(t *testing.T, gateway string, before, after func(message string)) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		near, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer near.Close()
		far, _, err := websocket.DefaultDialer.DialContext(r.Context(), gateway, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer far.Close()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			defer near.Close()
			pass(far, near, func(string) {}, after)
		}()
		pass(near, far, before, func(string) {})
		_ = far.Close()
		<-gone
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

func pass(from, to *websocket.Conn, before, after func(string)) {
	for {
		kind, message, err := from.ReadMessage()
		if err != nil {
			return
		}
		before(string(message))
		if to.WriteMessage(kind, message) != nil {
			return
		}
		after(string(message))
	}
}

// A message whose turn comes in the very moment in which it is taken back was not busy: it was stopped, or is answered.
func TestGivingUpTooLateIsNotBusy(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 4)
	for message, c := range map[string]struct {
		state          string // of the run when the gateway hears that it is to be stopped
		code           int
		stdout, stderr string
	}{
		"please hang": {"running", exitFailed, "I begin \n", "error: the run was stopped: its turn came just when --queue-wait was over\n"},
		"hello":       {"ok", exitOK, "one hears hello\n", ""},
	} {
		first := strings.TrimSpace(m.does(t, "agent", "please hang", "--agent", "eden", "--detach").stdout)
		m.runsIn(t, "running", 1)
		done := len(m.runs(t, c.state))
		begins, begin := context.WithCancel(t.Context()) // until the client has been sent the beginning of its answer
		url := between(t, m.gateway, func(request string) {
			if !strings.Contains(request, `"chat.abort"`) {
				return
			}
			m.does(t, "runs", "stop", first)
			if c.state == "running" {
				m.runsIn(t, c.state, done)
				<-begins.Done()
			} else {
				m.runsIn(t, c.state, done+1)
			}
		}, func(answer string) {
			if strings.Contains(answer, "I begin") {
				begin()
			}
		})
		token, err := os.ReadFile(settings.TokenFile(m.dir))
		if err != nil {
			t.Fatal(err)
		}
		said := m.does(t, "agent", message, "--agent", "eden", "--queue-wait", "300ms", "--url", url, "--token", strings.TrimSpace(string(token)))
		if said.code != c.code || said.stdout != c.stdout || !strings.HasPrefix(said.stderr, c.stderr) || c.stderr == "" && said.stderr != "" {
			t.Errorf("%s: %+v", message, said)
		}
	}
}

// Ctrl-C while the message is on its way stops it too: no one is told so of a run that goes on.
func TestInterruptWhileSending(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 4)
	token, err := os.ReadFile(settings.TokenFile(m.dir))
	if err != nil {
		t.Fatal(err)
	}
	process := make(chan *os.Process, 1)
	url := between(t, m.gateway, func(request string) {
		if strings.Contains(request, `"method":"agent"`) {
			if err := (<-process).Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			m.does(t, "runs") // gives it time to hear of that
		}
	}, func(string) {})
	cmd, wait := m.command(t, "agent", "please hang", "--agent", "eden", "--url", url, "--token", strings.TrimSpace(string(token)))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process <- cmd.Process
	if said := wait(); said.code != exitBroken {
		t.Errorf("it ended with %+v", said)
	}
	m.runsIn(t, "aborted", 1)
}
