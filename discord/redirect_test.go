package discord_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func TestRedirectRefusesForeignPlainHTTP(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://127.0.0.1:8080":         "",
		"http://[::1]:8080/api/":        "",
		"http://localhost/api":          "",
		"https://discord.example":       "",
		"http://discord.example":        "no TLS",
		"http://10.0.0.1:8080":          "no TLS",
		"http://127.0.0.1.example.com":  "no TLS",
		"ws://127.0.0.1:8080":           "not a server address",
		"127.0.0.1:8080":                "not a server address",
		"":                              "not a server address",
		"http://a:geheim@127.0.0.1":     "has more than",
		"http://127.0.0.1?token=geheim": "has more than",
		"http://%zzgeheim":              "not a server address",
	} {
		_, err := discord.Redirect(base)
		switch {
		case want == "" && err != nil:
			t.Errorf("Redirect(%q): %v, want none", base, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("Redirect(%q): %v, want that it %s", base, err, want)
		case err != nil && strings.Contains(err.Error(), "geheim"):
			t.Errorf("Redirect(%q) shows a secret: %v", base, err)
		}
	}
}

func TestRedirectSendsNothingElsewhere(t *testing.T) {
	t.Parallel()
	s, err := discordtest.New(discordtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	there, err := discord.Redirect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"https://example.com/api/v9/gateway", "https://discord.com.example/api/v9/gateway", "http://" + strings.TrimPrefix(s.GatewayURL(), "ws://")} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := there.RoundTrip(r); err == nil {
			_ = answer.Body.Close()
			t.Errorf("a request for %s is answered, want it to be refused", url)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("the server was asked %d times, want none", n)
	}
}

func TestBotsRunOnAServerByItsURLAlone(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	for n, base := range []string{m.URL(), strings.TrimSuffix(m.URL(), "/api"), m.URL() + "/"} {
		there, err := discord.Redirect(base)
		if err != nil {
			t.Fatal(err)
		}
		next := &team{t: t, ctx: m.ctx, settings: m.settings, log: m.log, changed: make(chan struct{}), stopped: make(chan struct{})}
		next.Bots = discord.New(channel.Options{Transport: there, OnMessage: next.heard, OnStatus: func(health.Bot) { next.wake() }})
		next.start()
		if _, err := next.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.channel.ID, Content: "by " + base, Nonce: fmt.Sprint(n + 1)}); err != nil {
			t.Fatalf("post through %s: %v", base, err)
		}
		next.untilTold("eden", "created by "+base)
		next.halt()
		there.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	}
}
