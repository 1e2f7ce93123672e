package server

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/server/settings"
)

type configGot struct {
	Hash  string
	Raw   string
	Valid bool
}

type agentList struct {
	Agents []struct{ ID, Name string }
}

func (l *agentList) name(id string) string {
	for _, a := range l.Agents {
		if a.ID == id {
			return a.Name
		}
	}
	return ""
}

func TestConfigPatchTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	r, url := startGateway(t)
	c := connect(t, url)
	got := calls[configGot](t, c, "config.get", nil)
	if strings.Contains(got.Raw, "secret") || !got.Valid {
		t.Errorf("config.get %+v", got)
	}
	_, err := c.Call(t.Context(), "config.patch", map[string]any{"raw": "{}", "baseHash": "of another file"})
	var refused *protocol.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "changed since last load") {
		t.Errorf("a base that is not there: %v", err)
	}

	patch := `{ agents: { list: [ { id: "eden", name: "Eden the second" } ] } }`
	if done := calls[struct{ OK bool }](t, c, "config.patch", map[string]any{"raw": patch, "baseHash": got.Hash, "note": "a better name"}); !done.OK {
		t.Error("not done")
	}
	if list := calls[agentList](t, c, "agents.list", nil); list.name("eden") != "Eden the second" || list.name("seum") != "Seum" {
		t.Errorf("agents in force: %+v", list)
	}
	text, err := os.ReadFile(filepath.Join(r.opts.StateDir, settings.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{"// the team", "// only this machine knows it", "// the first one", `token: "secret"`, "Eden the second"} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("the file has no %s:\n%s", kept, text)
		}
	}
	if n := r.count(t, coordination.TypeConfigPatched); n != 1 {
		t.Errorf("%d events say that the configuration was patched", n)
	}
	if calls[configGot](t, c, "config.get", nil).Hash == got.Hash {
		t.Error("the hash is that of the old file")
	}
}

// count is how many events of a type the log holds.
func (r *reloading) count(t *testing.T, eventType string) (n int) {
	t.Helper()
	err := r.Program.log.View(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "SELECT count(*) FROM events WHERE type = ?", eventType).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A file that becomes invalid is ignored: the configuration in force stays, and readiness reports it.
func TestGatewayGoesOnWithAnInvalidFile(t *testing.T) {
	t.Parallel()
	r, url := startGateway(t)
	c := connect(t, url)
	r.write(t, settings.FileName, "{ agents: { list: [")
	r.rereads(t)
	if list := calls[agentList](t, c, "agents.list", nil); list.name("eden") != "Eden" {
		t.Errorf("agents in force: %+v", list)
	}
	got := calls[struct {
		Valid  bool
		Hash   string
		Issues []json.RawMessage
	}](t, c, "config.get", nil)
	if got.Valid || len(got.Issues) == 0 {
		t.Errorf("config.get %+v", got)
	}
	_, err := c.Call(t.Context(), "config.patch", map[string]any{"raw": "{}", "baseHash": got.Hash})
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.CodeInvalidRequest {
		t.Errorf("a patch of the broken file: %v", err)
	}
	later := connect(t, url, func(o *client.Options) { o.MinProtocol = 4 })
	calls[patched](t, later, "sessions.patch", map[string]any{"key": "agent:eden:still", "label": "still there"})
}
