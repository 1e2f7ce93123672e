package apiclient_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/monitor"
)

// A user who names a place is told of the server of that place, and of no other one that happens to answer.
func TestStatusIsOfThePlaceThatWasNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	served := filepath.Join(dir, "openclawd.db")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(monitor.Status{Running: health.Running{Database: &health.DatabaseState{File: served}}})
	}))
	t.Cleanup(s.Close)
	api := strings.TrimPrefix(s.URL, "http://")
	for name, c := range map[string]struct {
		stateDir, db string
		named        bool
		believed     bool
	}{
		"nothing named":           {t.TempDir(), "", false, true},
		"its state directory":     {dir, "", true, true},
		"its database":            {t.TempDir(), served, false, true},
		"another state directory": {t.TempDir(), "", true, false},
		"another database":        {dir, filepath.Join(dir, "other.db"), false, false},
	} {
		p := apiclient.PlaceOf(c.stateDir, c.db, api, c.named, func(string) string { return "" })
		status, why := p.Status(t.Context())
		if (status != nil) != c.believed || (why == "") != c.believed {
			t.Errorf("%s: %v, %q", name, status != nil, why)
		}
		if c.believed && p.DB != served {
			t.Errorf("%s: database %s", name, p.DB)
		}
	}
}

// An address may be given as serve prints it.
func TestAddressMayBeAURL(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"127.0.0.1:1234", "http://127.0.0.1:1234", "http://127.0.0.1:1234/"} {
		if p := apiclient.PlaceOf(t.TempDir(), "", api, false, func(string) string { return "" }); p.API != "127.0.0.1:1234" {
			t.Errorf("%s is %s, want 127.0.0.1:1234", api, p.API)
		}
	}
}

// A server is found by what its database says of it, unless another address is named or another server has that address now.
func TestServerIsFoundByItsDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, database.Name)
	served := db
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(monitor.Status{Running: health.Running{Database: &health.DatabaseState{File: served}}})
	}))
	t.Cleanup(s.Close)
	const absent = "127.0.0.1:1"
	api := strings.TrimPrefix(s.URL, "http://")
	getenv := func(name string) string { return map[string]string{"TASK_MONITOR_PORT": "1"}[name] }
	for _, c := range []struct {
		owner, flag, served string
		found               bool
	}{
		{database.Server(api, ""), "", db, true},
		{database.Server(api, "127.0.0.1:4"), "", db, true},
		{database.Server(api, ""), absent, db, false},
		{database.Server(api, ""), "", filepath.Join(dir, "other.db"), false},
		{database.Server("127.0.0.1:0", ""), "", db, false},
		{"import", "", db, false},
	} {
		if err := os.WriteFile(db+".lock", []byte("pid 1, "+c.owner+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		served = c.served
		p := apiclient.PlaceOf(dir, "", c.flag, false, getenv)
		status, why := p.Status(t.Context())
		if want := map[bool]string{true: api, false: absent}[c.found]; (status != nil) != c.found || p.API != want {
			t.Errorf("%+v: found %v at %s, %s", c, status != nil, p.API, why)
		}
	}
}
