package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/monitor"
)

// Whoever names a place is told of the server of that place, and of no other one that happens to answer.
func TestStatusIsOfThePlaceThatWasNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	served := filepath.Join(dir, "openclawd.db")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(monitor.Status{Running: monitor.Running{Database: &monitor.DatabaseState{File: served}}})
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
		p := client.PlaceOf(c.stateDir, c.db, api, c.named, func(string) string { return "" })
		status, why := p.Status(t.Context())
		if (status != nil) != c.believed || (why == "") != c.believed {
			t.Errorf("%s: %v, %q", name, status != nil, why)
		}
		if c.believed && p.DB != served {
			t.Errorf("%s: database %s", name, p.DB)
		}
	}
}
