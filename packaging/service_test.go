package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The scripts of the packages, which cannot read Go, agree with the unit about user, directory and program.
func TestScriptsAgreeWithTheUnit(t *testing.T) {
	t.Parallel()
	text := unit()
	for _, line := range []string{"User=" + serviceUser, "ExecStart=" + installedBin + " serve --state-dir " + stateDir, "ReadWritePaths=" + stateDir, "EnvironmentFile=-" + environment} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the unit does not say %s", line)
		}
	}
	script, err := linuxFiles.ReadFile("linux/postinstall.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"state=" + stateDir + "\n", "passwd " + serviceUser + " ", installedBin + " init --yes --state-dir"} {
		if !strings.Contains(string(script), part) {
			t.Errorf("postinstall.sh does not contain %q", part)
		}
	}
}

func TestPackageIsDescribedToNfpm(t *testing.T) {
	t.Parallel()
	r, staged := someRelease(t), t.TempDir()
	if err := r.stageLinux(staged); err != nil {
		t.Fatal(err)
	}
	config, err := r.nfpmConfig(platforms[0], staged)
	if err != nil {
		t.Fatal(err)
	}
	sources := regexp.MustCompile(`(?m)(?:src|postinstall|preremove|postremove): (\S+)$`).FindAllStringSubmatch(string(config), -1)
	if len(sources) != 9 {
		t.Errorf("it names %d files, want 9:\n%s", len(sources), config)
	}
	for _, m := range sources {
		if _, err := os.Stat(m[1]); err != nil || !filepath.IsAbs(m[1]) {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}

// postinstall runs the script of the packages on a machine with systemd and an earlier installation, and returns what it says and what
// it asks of systemctl.
func postinstall(t *testing.T, enabled bool, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	systemctl := "#!/bin/sh\necho systemctl \"$@\"\n"
	if !enabled {
		systemctl += "case \"$*\" in *is-enabled*) exit 1 ;; esac\n"
	}
	for name, content := range map[string]string{"systemctl": systemctl, "getent": "#!/bin/sh\n", "openclaw.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), program); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer("state="+stateDir, "state="+dir, "/run/systemd/system", dir).Replace(text(t, "linux", "postinstall.sh"))
	cmd := exec.Command("sh", append([]string{"-c", script, "postinst"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// The first installation starts the service, an upgrade restarts it if it runs, and one that stays disabled is no surprise.
func TestInstallationStartsTheService(t *testing.T) {
	t.Parallel()
	const start, restart, hint = "--no-block start ", "--no-block try-restart ", "systemctl enable --now openclawd\n"
	for name, c := range map[string]struct {
		args           []string
		enabled        bool
		says, saysNone []string
	}{
		"dpkg, first":               {[]string{"configure", ""}, true, []string{" preset ", start}, []string{restart, hint}},
		"rpm, first":                {[]string{"1"}, true, []string{" preset ", start}, []string{restart, hint}},
		"presets do not enable it":  {[]string{"1"}, false, []string{" preset "}, []string{start, restart}},
		"dpkg, upgrade":             {[]string{"configure", "0.1.0"}, true, []string{restart}, []string{" preset ", start, hint}},
		"rpm, upgrade":              {[]string{"2"}, true, []string{restart}, []string{" preset ", start, hint}},
		"dpkg, again after removal": {[]string{"configure", "0.1.0"}, false, []string{restart, hint}, []string{" preset ", start}},
	} {
		said := postinstall(t, c.enabled, c.args...)
		for _, part := range c.says {
			if !strings.Contains(said, part) {
				t.Errorf("%s: it does not say %q:\n%s", name, part, said)
			}
		}
		for _, part := range c.saysNone {
			if strings.Contains(said, part) {
				t.Errorf("%s: it says %q:\n%s", name, part, said)
			}
		}
	}
}
