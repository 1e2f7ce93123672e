package apiclient_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
)

// A secret goes where the server says, on this machine, and where serve would listen; no one who answers in its place has it sent away.
func TestSecretsAreSentToLoopbackOnly(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"OPENCLAW_GATEWAY_TOKEN": "word", "OPENCLAW_GATEWAY_PORT": "4000"}
	getenv := func(name string) string { return environment[name] }
	dir := t.TempDir()
	db := filepath.Join(dir, database.Name)
	for says, want := range map[string]string{
		"127.0.0.1:5000": "ws://127.0.0.1:5000", "[::]:5000": "ws://127.0.0.1:5000", "[::1]:5000": "ws://[::1]:5000",
		"192.0.2.1:5000": "ws://127.0.0.1:4000", "evil.example:5000": "ws://127.0.0.1:4000", "nowhere": "ws://127.0.0.1:4000", "": "ws://127.0.0.1:4000",
	} {
		api := answers(t, dir, db, "127.0.0.1:6666") // which counts for nothing
		serves(t, db, database.Server(api, says))
		door, err := apiclient.PlaceOf(dir, "", api, true, getenv).GatewayEndpoint(t.Context(), apiclient.Secrets{})
		if err != nil || door.URL != want || door.Token.Reveal() != "word" {
			t.Errorf("%s: %s, %v", says, door.URL, err)
		}
	}
	place := apiclient.PlaceOf(dir, "", "127.0.0.1:0", true, getenv)
	if door, err := place.GatewayEndpoint(t.Context(), apiclient.Secrets{Token: "mine"}); err != nil || door.Token.Reveal() != "mine" {
		t.Errorf("the token that is to be shown is not: %v", err)
	}
	for at, token := range map[string]string{"ws://127.0.0.1:1": "word", "ws://LOCALHOST:1": "word", "wss://gateway.example": "", "ws://127.0.0.1.evil.example": ""} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if door, err := place.EndpointAt(u, apiclient.Secrets{}); err != nil || door.Token.Reveal() != token {
			t.Errorf("%s is shown %q, %v", at, door.Token.Reveal(), err)
		}
		if door, err := place.EndpointAt(u, apiclient.Secrets{Password: "mine"}); err != nil || door.Token != "" || door.Password.Reveal() != "mine" {
			t.Errorf("%s is shown something else than what it is to be shown: %v", at, err)
		}
	}
}

// answers has someone answer as the server of a database, and returns where.
func answers(t *testing.T, stateDir, db, gateway string) (api string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(monitor.Status{Running: health.Running{StateDir: stateDir, Gateway: &health.GatewayState{Address: gateway},
			Database: &health.DatabaseState{File: db}}})
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// serves writes the lock file of a database.
func serves(t *testing.T, db, owner string) {
	t.Helper()
	if err := os.WriteFile(db+".lock", []byte("pid 1, "+owner+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Another program that has taken the address of the API learns no token of ours: its answer names no gateway, and no place but one that is ours alone.
func TestUnverifiedServerGetsNoSecrets(t *testing.T) {
	t.Parallel()
	home := func(t *testing.T, mode os.FileMode) (dir, db string) {
		t.Helper()
		dir = t.TempDir()
		if err := os.WriteFile(settings.TokenFile(dir), []byte("ours\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(settings.TokenFile(dir), mode); err != nil {
			t.Fatal(err)
		}
		return dir, filepath.Join(dir, database.Name)
	}
	const elsewhere = "ws://127.0.0.1:4000"
	getenv := func(name string) string { return map[string]string{"OPENCLAW_GATEWAY_PORT": "4000"}[name] }
	for name, c := range map[string]struct {
		mode       os.FileMode
		locked     bool // by a server of ours
		url, token string
	}{
		"ours":                       {0o600, true, "ws://127.0.0.1:5000", "ours"},
		"a token that others read":   {0o644, true, elsewhere, ""},
		"no server of ours was here": {0o600, false, elsewhere, ""},
	} {
		dir, db := home(t, c.mode)
		api := answers(t, dir, db, "127.0.0.1:6666")
		if c.locked {
			serves(t, db, database.Server(api, "127.0.0.1:5000"))
		}
		door, err := apiclient.PlaceOf(t.TempDir(), "", api, false, getenv).GatewayEndpoint(t.Context(), apiclient.Secrets{})
		if err != nil || door.URL != c.url || door.Token.Reveal() != c.token {
			t.Errorf("%s: %s is shown %q, %v", name, door.URL, door.Token.Reveal(), err)
		}
	}
	// Our own place, of which someone else says that it is served elsewhere.
	dir, db := home(t, 0o600)
	other := t.TempDir()
	for _, told := range []string{db, filepath.Join(other, database.Name)} {
		door, err := apiclient.PlaceOf(dir, "", answers(t, dir, told, "127.0.0.1:6666"), false, getenv).GatewayEndpoint(t.Context(), apiclient.Secrets{})
		if err != nil || door.URL != elsewhere {
			t.Errorf("%s: %s, %v", told, door.URL, err)
		}
	}
}

// The write token is shown to a server of ours, and to an API that someone names; never to another program that happens to answer.
func TestUnverifiedServerGetsNoWriteToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, database.Name)
	shown := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			shown = r.Header.Get("X-Task-Monitor-Token")
			return
		}
		_ = json.NewEncoder(w).Encode(monitor.Status{Running: health.Running{StateDir: dir, Database: &health.DatabaseState{File: db}}})
	}))
	t.Cleanup(s.Close)
	api := strings.TrimPrefix(s.URL, "http://")
	_, port, _ := strings.Cut(api, ":")
	getenv := func(name string) string {
		return map[string]string{"TASK_MONITOR_PORT": port, "TASK_MONITOR_WRITE_TOKEN": "word"}[name]
	}
	change := func(flag, want string) {
		t.Helper()
		shown = ""
		if err := apiclient.PlaceOf(t.TempDir(), "", flag, false, getenv).ChangeWork(t.Context(), "mail/42", "cancel"); err != nil || shown != want {
			t.Errorf("--api %q: shown %q, want %q, %v", flag, shown, want, err)
		}
	}
	change("", "")
	change(api, "word")
	serves(t, db, database.Server(api, ""))
	change("", "word")
}
