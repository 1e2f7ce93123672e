package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
)

// What the commands tell about a configuration, the API tells too: findings with their places, and settings with their sources. No secret is
// in either.
func TestConfigurationIsToldWithoutSecrets(t *testing.T) {
	t.Parallel()
	const secret = "horse-battery-staple"
	p, ready := testProgram(t)
	file := settings.File(p.opts.StateDir)
	text := "{\n  taskMonitor: { writeToken: '" + secret + "', allowedOrigins: ['https://hub.example'] },\n  gateway: { port: 'x' },\n" +
		"  agents: { list: [{ id: 'eden' }] },\n  bindingz: [],\n  models: { providers: { openai: { apiKey: '" + secret + "' } } },\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address, _ := starts(t, p, ready)
	status, _, body := asking(t, "http://"+address.String())("/api/config/check")
	var report config.Report
	if err := json.Unmarshal(body, &report); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	place := slices.IndexFunc(report.Findings, func(f config.Finding) bool { return f.Path == "gateway.port" })
	if report.Usable || report.File != file || place < 0 || report.Findings[place].Line != 3 || report.Findings[place].Column == 0 || report.Findings[place].Hint == "" {
		t.Errorf("the report is %+v", report)
	}
	if !slices.ContainsFunc(report.Findings, func(f config.Finding) bool {
		return strings.Contains(f.Hint, `"bindings"`) || strings.Contains(f.Hint, "bindings")
	}) {
		t.Errorf("no finding says what was meant: %s", body)
	}
	status, _, shown := asking(t, "http://"+address.String())("/api/config/effective")
	var effective config.Effective
	if err := json.Unmarshal(shown, &effective); err != nil || status != http.StatusOK || len(effective.Settings) < 10 {
		t.Fatalf("%d %s: %v", status, shown, err)
	}
	for _, s := range effective.Settings {
		if s.Name == "" || s.Source == "" {
			t.Errorf("setting %+v", s)
		}
	}
	if all := string(body) + string(shown); strings.Contains(all, secret) {
		t.Errorf("a secret is shown: %s", all)
	}
}

// Backups are listed, made and verified by name, and nothing outside of their directory is.
func TestBackupsByName(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	address, _ := starts(t, p, ready)
	api := "http://" + address.String()
	list := func() (answer struct {
		Backups []monitor.BackupFile
		Job     *monitor.BackupJob
	}) {
		t.Helper()
		_, _, body := asking(t, api)("/api/backups")
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return answer
	}
	post := func(path string) int {
		t.Helper()
		response, err := http.Post(api+path, "application/json", http.NoBody) //nolint:noctx // ends with the server
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	done := func() monitor.BackupJob {
		t.Helper()
		for {
			if job := list().Job; job.State != "running" {
				return *job
			}
		}
	}
	if got := list(); len(got.Backups) != 0 || got.Job != nil {
		t.Errorf("at first: %+v", got)
	}
	if status := post("/api/backups?wait=false"); status != http.StatusAccepted {
		t.Fatalf("making one: %d", status)
	}
	if job := done(); job.State != "done" || job.Name == "" {
		t.Fatalf("made: %+v", job)
	}
	made := list().Backups
	if len(made) != 1 || made[0].VerifiedMS == nil || made[0].Bytes == 0 {
		t.Fatalf("the list is %+v", made)
	}
	path := "/api/backups/" + made[0].Name + "/verify"
	if status := post(path); status != http.StatusAccepted {
		t.Fatalf("verifying it: %d", status)
	}
	if job := done(); job.State != "done" || job.Kind != "verify" {
		t.Errorf("verified: %+v", job)
	}
	file := filepath.Join(p.backups.Dir, made[0].Name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2]++
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	post(path)
	if job := done(); job.State != "failed" || job.Code == "internal" || strings.Contains(job.Error, p.opts.StateDir) {
		t.Errorf("a changed one: %+v", job)
	}
	// A link of the right name, and names that lead out, are no backups.
	const link = "openclawd-20260220T120000Z-1.db"
	if err := os.Symlink(p.log.Path(), filepath.Join(p.backups.Dir, link)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, "..%2fopenclawd.db", "openclawd.db", "%2e%2e"} {
		if status := post("/api/backups/" + name + "/verify"); status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", name, status)
		}
	}
}

// What the page keeps is in the state directory, readable by its owner alone, and still there after a restart.
func TestPageKeepsSomethingInTheStateDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := uiStore{filepath.Join(dir, uiStoreName)}
	if text, err := store.Read(); err != nil || text != nil {
		t.Errorf("at first: %q, %v", text, err)
	}
	if err := os.WriteFile(store.path+".1.part", []byte("{half"), 0o600); err != nil { // as a killed process leaves it
		t.Fatal(err)
	}
	for _, text := range []string{`{"queries":1}`, `{"queries":2}`} {
		if err := store.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := (uiStore{store.path}).Read(); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
	if info, err := os.Stat(store.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(store.path, make([]byte, 300<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Read(); err == nil {
		t.Error("a file of 300 KiB is read")
	}
}

// A token for reading closes the API and the page on loopback too; a session reads with it and changes nothing.
func TestReadTokenClosesThePage(t *testing.T) {
	t.Parallel()
	const token16 = "a-token-for-reading"
	log := &lockedBuffer{}
	p, ready := testProgram(t)
	p.opts.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.opts.Getenv = func(name string) string {
		if name == "TASK_MONITOR_READ_TOKEN" {
			return token16
		}
		return ""
	}
	address, _ := starts(t, p, ready)
	s := newSurfer(t, "http://"+address.String())
	for path, want := range map[string]int{"/api/events": 401, "/ui/api/events": 401, "/ui/store/views": 401, "/healthz": 200, "/ui/healthz": 200, "/readyz": 200} {
		if response, body := s.ask(t, http.MethodGet, path, ""); response.StatusCode != want {
			t.Errorf("%s without a token: %d %.200s, want %d", path, response.StatusCode, body, want)
		}
	}
	if response, _ := s.ask(t, http.MethodGet, "/api/events", "", "X-Task-Monitor-Token", token16); response.StatusCode != 200 {
		t.Errorf("with the token: %d", response.StatusCode)
	}
	if a := asSurfer(t, s.base, token16).session(t); a.Role != "read" {
		t.Errorf("a session with it: %+v", a)
	}
	if strings.Contains(log.String(), token16) {
		t.Error("the token is logged")
	}
}
