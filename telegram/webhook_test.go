package telegram_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/telegram"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// withWebhook lets Telegram call ruda on a free port, and returns the address.
func (m *team) withWebhook() string {
	m.t.Helper()
	port := freePort(m.t)
	address := fmt.Sprintf("http://127.0.0.1:%d/hook", port)
	for k, v := range map[string]any{"webhookUrl": address, "webhookSecret": "s3cret", "webhookPath": "/hook", "webhookPort": port} {
		m.accounts["ruda"][k] = v
	}
	return address
}

// ports counts from a start drawn by this process: a port is given to one bot, also while the bot does not listen on it.
var ports = func() *atomic.Int64 {
	next := &atomic.Int64{}
	next.Store(rand.Int64N(ofPorts))
	return next
}()

const ofPorts = 10_000

// freePort is a port of this machine on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20_000 + int(ports.Add(1)%ofPorts) // systems give out none of these for port 0, so no other test takes it before the bot does
		if listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func TestWebhookReceivesUpdates(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	address := m.withWebhook()
	m.start()
	m.write(m.private, "hello")
	m.fact("ruda", "created hello")

	for _, tt := range []struct {
		secret, body string
		want         int
	}{
		{"", `{"update_id":1}`, http.StatusForbidden},
		{"other", `{"update_id":1}`, http.StatusForbidden},
		{"s3cret", `{`, http.StatusBadRequest},
		{"s3cret", `{"update_id":1}`, http.StatusOK},
		{"s3cret", `{"update_id":2,"message":{"message_id":"seven"}}`, http.StatusOK},
	} {
		if got := call(t, address, tt.secret, tt.body); got != tt.want {
			t.Errorf("secret %q, body %s: %d, want %d", tt.secret, tt.body, got, tt.want)
		}
	}

	entered, release := make(chan struct{}, 10), make(chan struct{})
	m.mu.Lock()
	m.hold = func(channel.Inbound) {
		entered <- struct{}{}
		<-release
	}
	m.mu.Unlock()
	m.write(m.private, "while it is being stored")
	<-entered
	equal(t, "what Telegram still has", m.ruda.Pending(), 1)
	m.mu.Lock()
	m.hold = nil
	m.mu.Unlock()
	close(release)
	m.fact("ruda", "created while it is being stored")
	if err := m.ruda.WaitConfirmed(m.ctx); err != nil {
		t.Fatal(err)
	}

	// What comes while the program does not run is delivered afterwards.
	m.halt()
	m.write(m.private, "while it is off")
	m.run()
	m.fact("ruda", "created while it is off")
}

func TestAPortInUseIsReported(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.withWebhook()
	for k, v := range m.accounts["ruda"] {
		if k != "botToken" {
			m.accounts["eden"][k] = v
		}
	}
	m.run()
	m.until("one of the two to fail", func() bool {
		return m.status("ruda").State == health.BotReady && m.status("eden").Class == telegram.ClassListen ||
			m.status("eden").State == health.BotReady && m.status("ruda").Class == telegram.ClassListen
	})
}

func call(t *testing.T, address, secret, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// Of calls that Telegram makes at once, as it may if it has an older setting, the one with the lowest id is handled first. A
// repeated one is acknowledged and not handled again.
func TestWebhookHandlesUpdatesInOrderAndOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	address := m.withWebhook()
	m.start()
	if all := m.Requests(telegramtest.Match{Method: "setWebhook", Bot: m.ruda.ID}); len(all) == 0 || all[0].Params["max_connections"] != "1" {
		t.Errorf("the webhook was set with %+v, want one connection", all)
	}
	entered, release := make(chan struct{}, 10), make(chan struct{})
	m.mu.Lock()
	m.hold = func(channel.Inbound) {
		entered <- struct{}{}
		<-release
	}
	m.mu.Unlock()
	update := func(n int) string {
		return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1700000000,"from":{"id":%d,"first_name":"Bora"},"chat":{"id":%d,"type":"private"},"text":"n%d"}}`,
			900_000_000+n, 9000+n, m.bora.ID, m.bora.ID, n)
	}
	done := make(chan int, 10)
	post := func(n int) { go func() { done <- call(t, address, "s3cret", update(n)) }() }
	post(1)
	<-entered
	for _, n := range []int{4, 2, 3} {
		post(n)
	}
	m.until("the calls to wait", func() bool {
		m.wakeLater()
		return telegram.WaitingCalls(m.Bots, "ruda") == 3
	})
	close(release)
	for range 4 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("a call is answered with %d", status)
		}
	}
	if got := call(t, address, "s3cret", update(2)); got != http.StatusOK {
		t.Errorf("a repeated call is answered with %d, want it acknowledged", got)
	}
	if got := m.told("ruda"); !slices.Equal(got, []string{"created n1", "created n2", "created n3", "created n4"}) {
		t.Errorf("ruda was told %q, want each once, in order", got)
	}
}
