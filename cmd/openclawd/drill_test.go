package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/testdata/sample"
)

// drillTime is shortly after the sample's newest event.
var drillTime = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

// command runs one command line in this process and returns what it prints. It must succeed.
func command(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := commandIn(t.Context(), args...)
	if code != exitOK {
		t.Fatalf("openclawd %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

func commandIn(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = execute(ctx, &process{args: args, stdout: &out, stderr: &err, getenv: func(string) string { return "" }, now: func() time.Time { return drillTime }})
	return code, out.String(), err.String()
}

// drillLog is a database of the sample, made by import.
func drillLog(t *testing.T) (db string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "state"), sample.Files); err != nil {
		t.Fatal(err)
	}
	db = filepath.Join(dir, "log.db")
	logs, err := filepath.Glob(filepath.Join(dir, "state", "logs", "*.ndjson"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("logs of the sample: %v, %v", logs, err)
	}
	command(t, append([]string{"import", "--db", db, "--config", filepath.Join(dir, "state", settings.FileName)}, logs...)...)
	return db
}

// answersOf is what the API says of a database.
func answersOf(t *testing.T, db string) map[string]string {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: db, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	api := monitor.New(monitor.Options{Store: log, Rules: coordination.RulesV2, Now: func() time.Time { return drillTime }}).Handler()
	answers := map[string]string{}
	for _, path := range []string{
		"/api/health", "/api/status", "/api/categories", "/api/events?limit=500&scope=all", "/api/events?role=conversation.main&limit=100",
		"/api/work-sessions?limit=200", "/api/work-sessions?include=summary&status=ACTIVE,QUIET", "/api/work-sessions?viewCategory=infra_ops",
	} {
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
		if answer.Code != http.StatusOK {
			t.Fatalf("GET %s: %d %s", path, answer.Code, answer.Body)
		}
		answers[path] = answer.Body.String()
	}
	return answers
}

// Promise: restore
func TestDrillRestoreFromABackup(t *testing.T) {
	t.Parallel()
	db := drillLog(t)
	want := answersOf(t, db)
	command(t, "backup", "create", "--db", db)
	made, err := filepath.Glob(filepath.Join(database.BackupsDir(db), "openclawd-*.db"))
	if err != nil || len(made) != 1 {
		t.Fatalf("backups: %v, %v", made, err)
	}
	restored := filepath.Join(t.TempDir(), "new")
	command(t, "backup", "restore", made[0], "--to", restored)
	command(t, "verify", "--db", filepath.Join(restored, database.Name))
	if diff := cmp.Diff(want, answersOf(t, filepath.Join(restored, database.Name))); diff != "" {
		t.Errorf("answers (-original +restored):\n%s", diff)
	}
}

func TestDrillRestoreFromAFullExportAlone(t *testing.T) {
	t.Parallel()
	db := drillLog(t)
	want := answersOf(t, db)
	export := filepath.Join(t.TempDir(), "export.ndjson")
	if err := os.WriteFile(export, []byte(command(t, "export", "--format", "full", "--db", db)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored.db")
	command(t, "import", "--db", restored, export)
	command(t, "verify", "--db", restored)
	if diff := cmp.Diff(want, answersOf(t, restored)); diff != "" {
		t.Errorf("answers (-original +restored):\n%s", diff)
	}
}

// A command that is told to end says so with a code of its own, and can simply be run again.
func TestInterruptedImportCanBeRunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, db := filepath.Join(dir, "log.ndjson"), filepath.Join(dir, "log.db")
	line := `{"type":"a2a.send","agentId":"main","ts":1771588800000,"data":{"message":"x"}}` + "\n"
	if err := os.WriteFile(log, []byte(strings.Repeat(line, 300)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	code, _, stderr := commandIn(ctx, "import", "--json", "--db", db, log)
	if code != exitAgain || !strings.Contains(stderr, `"interrupted"`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if out := command(t, "import", "--json", "--db", db, log); !strings.Contains(out, `"new": 300`) {
		t.Errorf("run again: %s", out)
	}
}
