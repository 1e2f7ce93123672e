//go:build full

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/client"
)

// A server that is told to end right after a task has started leaves files that verify finds as the log says.
func TestScenarioACleanStopLeavesFilesAsTheLogSays(t *testing.T) {
	t.Parallel()
	m := startTeam(t, 1)
	for round := range 8 {
		if round > 0 {
			m.start(t)
		}
		token := m.does(t, "token").stdout
		c, err := client.Dial(t.Context(), m.gateway, client.Options{Token: token[:len(token)-1]})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(t.Context(), "tools.invoke", map[string]any{"name": "task_start", "agentId": "eden",
			"args": map[string]any{"description": "stopped at once", "simple": true}})
		if err != nil {
			t.Fatal(err)
		}
		if code := m.end(syscall.SIGTERM); code != 0 {
			t.Fatalf("round %d: exit code %d\n%s", round, code, m.output)
		}
		_ = c.Close()
		if said := m.does(t, "verify", "--db", filepath.Join(m.dir, "openclawd.db")); said.code != 0 {
			t.Errorf("round %d: verify finds\n%s%s", round, said.stdout, said.stderr)
		}
	}
}
