package main

import (
	"regexp"
	"strings"
	"testing"
)

// Every lock file of npm and the image are looked after.
func TestDependenciesAreLookedAfter(t *testing.T) {
	t.Parallel()
	said := text(t, "..", ".github", "dependabot.yml")
	for _, dir := range []string{"/", "/web", "/docs/site", "/packaging/docker"} {
		if !strings.Contains(said, "    directory: "+dir+"\n") {
			t.Errorf("dependabot.yml does not look after %s", dir)
		}
	}
}

// A release consists of bytes that came out twice and packages that were installed; what CI calls exists.
func TestReleaseIsTriedBeforeItIsDrafted(t *testing.T) {
	t.Parallel()
	said := text(t, "..", ".github", "workflows", "release.yml")
	at := 0
	for _, step := range []string{"run: make release-check", "run: make old-packages", `packaging/try.sh dist "$RUNNER_TEMP/old"`, "subject-checksums: dist/" + checksumFile, "gh release create", "needs: packages",
		"run: packaging/docker/try.sh", "--push dist", "imagetools create"} {
		next := strings.Index(said, step)
		if next <= at {
			t.Errorf("release.yml does not say %q, or not in this order", step)
		}
		at = next
	}
	makefile := text(t, "..", "Makefile")
	for _, workflow := range []string{"ci.yml", "release.yml", "weekly.yml"} {
		for _, m := range regexp.MustCompile(`run: make ([a-z-]+)`).FindAllStringSubmatch(text(t, "..", ".github", "workflows", workflow), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s runs make %s, which the Makefile does not know", workflow, m[1])
			}
		}
	}
}
