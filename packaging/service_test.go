package main

import (
	"os"
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
