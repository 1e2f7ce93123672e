package ndjson_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

func TestLogs(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	dir := filepath.Join(state, "logs")
	oldestFirst := []string{
		"coordination-events-2025-12.ndjson",
		"coordination-events-2026-01-31T23-59-59-999Z.ndjson",
		"coordination-events-2026-01.ndjson",
		"coordination-events-2026-02-10T08-00-00-000Z.ndjson",
		"coordination-events-2026-02-10T08-00-00-001Z.ndjson",
		"coordination-events-2026-02.ndjson",
		"coordination-events-2026-03-01T00-00-00-001Z.ndjson",
		"coordination-events.ndjson",
	}
	ignored := []string{
		"coordination-events-2026-13.ndjson",
		"coordination-events-2026-02-30T08-00-00-000Z.ndjson",
		"coordination-events-2026-02-10T08-00-00Z.ndjson",
		"coordination-events-old.ndjson",
		"coordination-events-.ndjson",
		"coordination-events2026-01.ndjson",
		"coordination-events.ndjson.gz",
		"coordination-events.ndjson~",
		"gateway.log",
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(ignored, oldestFirst...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "coordination-events-2024-01.ndjson"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "gateway.log"), filepath.Join(dir, "coordination-events-2024-02.ndjson")); err != nil {
		t.Fatal(err)
	}

	paths, err := ndjson.Logs(state)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range paths {
		if filepath.Dir(path) != dir {
			t.Errorf("%s is not in %s", path, dir)
		}
		got = append(got, filepath.Base(path))
	}
	if diff := cmp.Diff(oldestFirst, got); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

func TestLogsWithoutDirectory(t *testing.T) {
	t.Parallel()
	if paths, err := ndjson.Logs(filepath.Join(t.TempDir(), "nowhere")); err != nil || len(paths) != 0 {
		t.Errorf("%v, %v", paths, err)
	}
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "logs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ndjson.Logs(state); err == nil {
		t.Error("a file in place of the directory is no error")
	}
}
