package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/monitor"
)

// A secret goes where the server says, on this machine, and where serve would listen; nobody who answers in its place has it sent away.
func TestSecretsGoToThisMachineOnly(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"OPENCLAW_GATEWAY_TOKEN": "word", "OPENCLAW_GATEWAY_PORT": "4000"}
	getenv := func(name string) string { return environment[name] }
	dir := t.TempDir()
	for says, want := range map[string]string{
		"127.0.0.1:5000": "ws://127.0.0.1:5000", "[::]:5000": "ws://127.0.0.1:5000", "[::1]:5000": "ws://[::1]:5000",
		"192.0.2.1:5000": "ws://127.0.0.1:4000", "evil.example:5000": "ws://127.0.0.1:4000", "nowhere": "ws://127.0.0.1:4000",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(monitor.Status{Running: monitor.Running{Gateway: &monitor.GatewayState{Address: says},
				Database: &monitor.DatabaseState{File: filepath.Join(dir, "openclawd.db")}}})
		}))
		door, err := client.PlaceOf(dir, "", strings.TrimPrefix(s.URL, "http://"), true, getenv).GatewayDoor(t.Context(), client.Secrets{})
		s.Close()
		if err != nil || door.URL != want || door.Token.Reveal() != "word" {
			t.Errorf("%s: %s, %v", says, door.URL, err)
		}
	}
	place := client.PlaceOf(dir, "", "127.0.0.1:0", true, getenv)
	if door, err := place.GatewayDoor(t.Context(), client.Secrets{Token: "mine"}); err != nil || door.Token.Reveal() != "mine" {
		t.Errorf("the token that is to be shown is not: %v", err)
	}
	for at, token := range map[string]string{"ws://127.0.0.1:1": "word", "ws://LOCALHOST:1": "word", "wss://gateway.example": "", "ws://127.0.0.1.evil.example": ""} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if door, err := place.DoorAt(u, client.Secrets{}); err != nil || door.Token.Reveal() != token {
			t.Errorf("%s is shown %q, %v", at, door.Token.Reveal(), err)
		}
		if door, err := place.DoorAt(u, client.Secrets{Password: "mine"}); err != nil || door.Token != "" || door.Password.Reveal() != "mine" {
			t.Errorf("%s is shown something else than what it is to be shown: %v", at, err)
		}
	}
}
