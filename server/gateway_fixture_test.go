package server

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/server/settings"
)

// gatewayConfig is an openclaw.json as people write them, with comments.
const gatewayConfig = `// the team
{
  gateway: { auth: { mode: "token", token: "secret" } }, // only this machine knows it
  agents: {
    defaults: { model: { primary: "fake/echo-1" } },
    list: [
      { id: "main", default: true }, // the first one
      { id: "eden", name: "Eden" },
      { id: "seum", name: "Seum" },
    ],
  },
  models: { providers: { fake: { baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "echo-1", name: "Echo One" }] } } },
}
`

// withGateway has a program open a gateway at a free port.
func withGateway(o *Options) { o.Gateway = "127.0.0.1:0" }

// gatewayHome is a state directory with a team.
func gatewayHome(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, settings.FileName), []byte(gatewayConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startGateway serves a team with a gateway, and says at which URL.
func startGateway(t *testing.T, change ...func(*Options)) (r *reloading, url string) {
	t.Helper()
	r = startReloading(t, map[string]string{settings.FileName: gatewayConfig}, append([]func(*Options){withGateway}, change...)...)
	return r, gatewayURL(r.gatewayAddress())
}

func gatewayURL(at net.Addr) string { return "ws://" + at.String() }

// connect is a client that the gateway of the team lets in.
func connect(t testing.TB, url string, change ...func(*client.Options)) *client.Client {
	t.Helper()
	opts := client.Options{Token: "secret"}
	for _, c := range change {
		c(&opts)
	}
	c, err := client.Dial(context.Background(), url, opts)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// calls asks and decodes the answer, which must be a good one.
func calls[T any](t testing.TB, c *client.Client, method string, params any) (answer T) {
	t.Helper()
	payload, err := c.Call(context.Background(), method, params)
	if err == nil {
		err = json.Unmarshal(payload, &answer)
	}
	if err != nil {
		t.Fatalf("%s %v: %v", method, params, errors.Join(err, c.Err()))
	}
	return answer
}

// The parts of answers that the tests look at.
type (
	sessionRow  struct{ Key, Label, SessionID string }
	sessionList struct {
		Count    int
		Sessions []sessionRow
	}
	patched struct {
		OK    bool
		Key   string
		Entry struct{ SessionID, Label string }
	}
	injected struct {
		OK        bool
		MessageID string
	}
	history struct {
		SessionKey, SessionID string
		Messages              []struct {
			Role    string
			Content []struct{ Text string }
		}
	}
)

func (h *history) texts() (texts []string) {
	for _, m := range h.Messages {
		for _, c := range m.Content {
			texts = append(texts, c.Text)
		}
	}
	return texts
}

func (l *sessionList) find(key string) *sessionRow {
	for i := range l.Sessions {
		if l.Sessions[i].Key == key {
			return &l.Sessions[i]
		}
	}
	return nil
}
