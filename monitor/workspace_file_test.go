package monitor_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWorkspaceFileIsWritten(t *testing.T) {
	t.Parallel()
	b, dir := withFiles(t, map[string]string{"workspace-eden/tasks/task_a.md": "old", "openclaw.json": "config"})
	if err := os.Symlink(filepath.Join(dir, "openclaw.json"), filepath.Join(dir, "workspace-eden", "link.json")); err != nil {
		t.Fatal(err)
	}
	contract := newContract(t, b)
	const path = "/api/workspace-file"
	for _, tt := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"path":"workspace-eden/notes/가.md","content":"한글 🦞"}`, 200, `{"ok":true,"path":"workspace-eden/notes/가.md","bytes":11}`},
		{`{"path":"workspace-eden\\tasks\\task_a.md","content":""}`, 200, `{"ok":true,"path":"workspace-eden/tasks/task_a.md","bytes":0}`},
		{`{"path":"workspace-eden/x"}`, 400, "path and content are required"},
		{`{"content":"x"}`, 400, "path and content are required"},
		{`{"path":"","content":"x"}`, 400, "path and content are required"},
		{`{"path":1,"content":"x"}`, 400, "path and content are required"},
		{`{"path":"workspace-eden/x","content":null}`, 400, "path and content are required"},
		{`{}`, 400, "path and content are required"},
		{`{`, 400, "Invalid JSON body"},
		{``, 400, "Invalid JSON body"},
		{`{"path":"openclaw.json","content":"x"}`, 403, "Path traversal not allowed"},
		{`{"path":"workspace-eden/../openclaw.json","content":"x"}`, 403, "Path traversal not allowed"},
		{`{"path":"workspace-eden/link.json","content":"x"}`, 403, "Path traversal not allowed"},
		{`{"path":"/etc/passwd","content":"x"}`, 403, "Path traversal not allowed"},
		{`{"path":"..hidden.md","content":"x"}`, 403, "Path traversal not allowed"},
		{`{"path":".","content":"x"}`, 403, "Path traversal not allowed"},
		{`{"path":"workspace-eden/tasks","content":"x"}`, 409, "Failed to write file"},
		{`{"path":"workspace-eden/x","content":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too large"},
	} {
		response, body := b.send(t, http.MethodPost, path, tt.body)
		contract.hold(t, http.MethodPost, path, tt.status, response, body)
		if !strings.Contains(string(body), tt.want) {
			t.Errorf("%.80s: %s, want %s", tt.body, body, tt.want)
		}
	}
	for name, want := range map[string]string{"workspace-eden/notes/가.md": "한글 🦞", "workspace-eden/tasks/task_a.md": "", "openclaw.json": "config"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if response := b.from("192.0.2.7:1", http.MethodPost, path, `{"path":"workspace-eden/far.md","content":"x"}`); response.Code != http.StatusUnauthorized {
		t.Errorf("another machine: %d %s", response.Code, response.Body)
	}
}
