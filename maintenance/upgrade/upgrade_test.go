package upgrade_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/maintenance/upgrade"
)

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// backedUp returns a database with an event, and the directory of its backup.
func backedUp(t *testing.T) (db, dir string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), database.Name)
	now := func() time.Time { return start }
	log, err := database.OpenToWrite(t.Context(), db, "test", now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	event := eventstore.NewEvent{Type: "test.made", Data: []byte(`{}`)}
	if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "test/one", Events: []eventstore.NewEvent{event}}); err != nil {
		t.Fatal(err)
	}
	dir = database.BackupsDir(db)
	if _, err := backup.Create(t.Context(), backup.CreateOptions{Log: log, Dir: dir, Now: now}); err != nil {
		t.Fatal(err)
	}
	return db, dir
}

func codeOf(err error) string {
	if coded := eventstore.Coded(nil); errors.As(err, &coded) {
		return coded.Code()
	}
	return ""
}

func TestBackupMustBringThePresentStateBack(t *testing.T) {
	t.Parallel()
	db, dir := backedUp(t)
	for name, c := range map[string]struct {
		dir  string
		head int64
		age  time.Duration
		want string
	}{
		"nothing since":          {dir, 1, 0, ""},
		"old, and nothing since": {dir, 1, 100 * time.Hour, ""},
		"an event since":         {dir, 2, time.Hour, ""},
		"old, and an event":      {dir, 2, 100 * time.Hour, "backup_old"},
		"of a later time":        {dir, 0, time.Hour, "backup_foreign"},
		"none":                   {t.TempDir(), 1, time.Hour, "no_backup"},
	} {
		ready, err := upgrade.Check(t.Context(), upgrade.Options{DB: db, Dir: c.dir, Head: c.head, MaxAge: 48 * time.Hour,
			Now: func() time.Time { return start.Add(c.age) }})
		switch {
		case c.want != "":
			if codeOf(err) != c.want {
				t.Errorf("%s: the error is %v, want %s", name, err, c.want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case ready.Missing != c.head-1 || ready.Proof.Seq != 1 || len(ready.Back) != 4:
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
