package upgrade_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/maintenance/upgrade"
)

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func now() time.Time { return start }

// opened returns a database with that many events more.
func opened(t *testing.T, path string, events int) *sqlite.DB {
	t.Helper()
	log, err := database.OpenToWrite(t.Context(), path, "test", now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	for range events {
		add(t, log)
	}
	return log
}

func add(t *testing.T, log *sqlite.DB) {
	t.Helper()
	event := eventstore.NewEvent{Type: "test.made", Data: []byte(`{}`)}
	if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "test/one", Events: []eventstore.NewEvent{event}}); err != nil {
		t.Fatal(err)
	}
}

func codeOf(err error) string {
	if coded := eventstore.Coded(nil); errors.As(err, &coded) {
		return coded.Code()
	}
	return ""
}

func TestBackupMustBringThePresentStateBack(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	path, copied := filepath.Join(in, database.Name), filepath.Join(in, "copied.db")
	dir := database.BackupsDir(path)
	more := opened(t, path, 1)
	if _, err := backup.Create(t.Context(), backup.CreateOptions{Log: more, Dir: dir, Now: now}); err != nil {
		t.Fatal(err)
	}
	if err := more.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	same := opened(t, copied, 0)
	add(t, more)
	empty, other := opened(t, filepath.Join(in, "empty.db"), 0), opened(t, filepath.Join(in, "other.db"), 2)
	for name, c := range map[string]struct {
		log     upgrade.Log
		dir     string
		age     time.Duration
		missing int64
		want    string
	}{
		"nothing since":                   {same, dir, 0, 0, ""},
		"old, and nothing since":          {same, dir, 100 * time.Hour, 0, ""},
		"an event since":                  {more, dir, time.Hour, 1, ""},
		"old, and an event":               {more, dir, 100 * time.Hour, 0, "backup_old"},
		"of a later time":                 {empty, dir, time.Hour, 0, "backup_foreign"},
		"of another log with more events": {other, dir, time.Hour, 0, "backup_foreign"},
		"none":                            {more, filepath.Join(in, "none"), time.Hour, 0, "no_backup"},
	} {
		ready, err := upgrade.Check(t.Context(), upgrade.Options{DB: path, Dir: c.dir, Log: c.log, MaxAge: 48 * time.Hour, Now: func() time.Time { return start.Add(c.age) }})
		switch {
		case c.want != "":
			if codeOf(err) != c.want {
				t.Errorf("%s: the error is %v, want %s", name, err, c.want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case ready.Missing != c.missing || ready.Proof.Seq != 1 || len(ready.Back) != 4 || len(ready.Newer) != 2:
			t.Errorf("%s: got %+v", name, ready)
		}
	}
}

// writeProgram writes a program that says a version.
func writeProgram(t *testing.T, path, version string) {
	t.Helper()
	script := "#!/bin/sh\necho '{\"version\": \"" + version + "\", \"go\": \"go1.26\"}'\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestReplaceKeepsTheOldProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, with := filepath.Join(dir, "openclawd"), filepath.Join(dir, "new")
	writeProgram(t, program, "v1")
	writeProgram(t, program+upgrade.Previous, "v0")
	writeProgram(t, with, "v2")
	done, err := upgrade.Replace(t.Context(), program, with)
	if err != nil || done.Versions[1] != "v2" {
		t.Fatalf("%+v, %v", done, err)
	}
	for file, want := range map[string]string{program: "v2", done.Previous: "v1", with: "v2"} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s holds %q, %v, want %s", file, text, err, want)
		}
	}
	if info, err := os.Stat(program); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program has mode %v, %v", info.Mode(), err)
	}
}

// However often the same version is installed, the kept program is the older one, and going back leads to it and keeps the newer one.
func TestReplaceAgainKeepsTheOlderProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, with := filepath.Join(dir, "openclawd"), filepath.Join(dir, "new")
	replace := func() *upgrade.Replaced {
		t.Helper()
		done, err := upgrade.Replace(t.Context(), program, with)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	holds := func(file, want string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s holds %q, %v, want %s", file, text, err, want)
		}
	}
	writeProgram(t, program, "v2")
	writeProgram(t, with, "v2")
	if done := replace(); !done.Unchanged || done.Previous != "" || done.Back() != nil {
		t.Errorf("the program that is there: %+v", done)
	}
	writeProgram(t, program, "v1")
	if done := replace(); done.Unchanged {
		t.Errorf("another program: %+v", done)
	}
	done := replace()
	if !done.Unchanged || done.Previous != program+upgrade.Previous {
		t.Errorf("the same again: %+v", done)
	}
	holds(done.Previous, `"v1"`)
	writeProgram(t, with, `v2", "platform": "built again`)
	done = replace()
	holds(done.Previous, `"v1"`)
	holds(program, "again")
	if out, err := exec.Command("sh", "-c", strings.Join(done.Back(), " && ")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	holds(program, `"v1"`)
	holds(program+upgrade.Newer, "again")
}

func TestOtherFilesReplaceNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "openclawd")
	writeProgram(t, program, "v1")
	for name, script := range map[string]string{"silent": "#!/bin/sh\n", "fails": "#!/bin/sh\nexit 3\n", "talks": "#!/bin/sh\nyes\n", "no program": "text"} {
		with := filepath.Join(dir, name)
		if err := os.WriteFile(with, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := upgrade.Replace(t.Context(), program, with); codeOf(err) != "not_openclawd" {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := os.Stat(program + upgrade.Previous); err == nil {
		t.Error("something was replaced")
	}
}
