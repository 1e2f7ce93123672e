package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// installFrom runs install.sh against a server with the files of a release.
func installFrom(t *testing.T, r *release, dir string) (string, error) {
	t.Helper()
	return installWith(t, r, "install.sh", dir)
}

func installWith(t *testing.T, r *release, script, dir string, env ...string) (string, error) {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(r.dist)))
	defer server.Close()
	cmd := exec.Command("sh", script)
	cmd.Env = append(append(os.Environ(), "OPENCLAWD_URL="+server.URL, "OPENCLAWD_DIR="+dir, "OPENCLAWD_PUBLIC_KEY="), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestInstallScript(t *testing.T) {
	t.Parallel()
	r, dir := someRelease(t), filepath.Join(t.TempDir(), "bin")
	for range 2 { // the second one is an upgrade
		if out, err := installFrom(t, r, dir); err != nil || !strings.Contains(out, "installed "+dir+"/openclawd\n") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	said, err := exec.Command(filepath.Join(dir, "openclawd"), "version").CombinedOutput()
	if want := "openclawd " + runtime.GOOS + " " + runtime.GOARCH + " version\n"; err != nil || string(said) != want {
		t.Errorf("the installed program says %q, %v, want %q", said, err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the directory has %v, %v", left, err)
	}
}

func TestInstallScriptRefusesAChangedArchive(t *testing.T) {
	t.Parallel()
	r, dir := someRelease(t), filepath.Join(t.TempDir(), "bin")
	archive := platform{runtime.GOOS, runtime.GOARCH}.archive()
	if err := os.WriteFile(filepath.Join(r.dist, archive), []byte("changed"), document); err != nil {
		t.Fatal(err)
	}
	if out, err := installFrom(t, r, dir); err == nil || !strings.Contains(out, "error: "+archive+" has SHA-256 ") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("something was installed")
	}
}
