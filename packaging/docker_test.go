package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func text(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Containers have no more rights than they need, and nothing is reachable from other machines.
func TestContainersAreClosed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("docker/compose*.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("found %v, %v", files, err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "compose.build.yaml") }) // starts nothing of its own
	published := regexp.MustCompile(`(?m)^ +- "?([^"\n]*\d+:\d+)"?$`)
	for _, file := range files {
		said := text(t, file)
		for _, setting := range []string{"    read_only: true\n", "    cap_drop: [ALL]\n", `    security_opt: ["no-new-privileges:true"]` + "\n", "    restart: unless-stopped\n"} {
			if !strings.Contains(said, setting) {
				t.Errorf("%s does not say %q", file, setting)
			}
		}
		for _, m := range published.FindAllStringSubmatch(said, -1) {
			if !strings.HasPrefix(m[1], "127.0.0.1:") {
				t.Errorf("%s publishes %s to other machines", file, m[1])
			}
		}
	}
}

func TestComposeTakesTheTestedLitestream(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`litestream/litestream:(\S+)`).FindStringSubmatch(text(t, "docker", "compose.litestream.yaml"))
	if version == nil || !strings.Contains(text(t, "..", "docs", "litestream.md"), "Tested with Litestream "+version[1]+"\n") {
		t.Errorf("compose.litestream.yaml takes %v, which docs/litestream.md does not say is tested", version)
	}
}

// The NATS servers sync what they acknowledge, and have the version that is tested.
func TestComposeTakesTheTestedNATS(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`image: nats:(\S+)`).FindStringSubmatch(text(t, "docker", "compose.cluster.yaml"))
	if version == nil || !strings.Contains(text(t, "..", "go.mod"), "github.com/nats-io/nats-server/v2 v"+version[1]+"\n") {
		t.Errorf("compose.cluster.yaml takes %v, go.mod another one", version)
	}
	for _, file := range []string{text(t, "docker", "nats.conf"), text(t, "..", "docs", "cluster.md")} {
		if !strings.Contains(file, "sync_interval: always") {
			t.Error("a configuration of NATS does not sync")
		}
	}
}

// The directories of the NATS servers belong to the user that they run as: a fresh volume belongs to root.
func TestVolumesOfNATSGetTheirOwner(t *testing.T) {
	t.Parallel()
	said := text(t, "docker", "compose.cluster.yaml")
	for _, part := range []string{
		`entrypoint: [chown, "${OPENCLAWD_UID:-10001}:${OPENCLAWD_GID:-10001}", /nats1, /nats2, /nats3]`, `volumes: ["nats1:/nats1", "nats2:/nats2", "nats3:/nats3"]`,
		`user: "${OPENCLAWD_UID:-10001}:${OPENCLAWD_GID:-10001}"`, "depends_on: { volumes: { condition: service_completed_successfully } }",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("compose.cluster.yaml does not say %s", part)
		}
	}
}

// What the compose files mount from beside them is part of a release, as they are.
func TestReleaseHasWhatComposeMounts(t *testing.T) {
	t.Parallel()
	r := someRelease(t)
	if err := r.composeFiles(); err != nil {
		t.Fatal(err)
	}
	for _, name := range composeNames {
		shipped, own := text(t, r.dist, name), text(t, "docker", name)
		if shipped != own {
			t.Errorf("%s of the release differs", name)
		}
		for _, m := range regexp.MustCompile(`[" ]\./([^:"]+):`).FindAllStringSubmatch(own, -1) {
			if !slices.Contains(composeNames, m[1]) {
				t.Errorf("%s mounts %s, which is not in the release", name, m[1])
			}
		}
	}
}

// The image runs the program that make release builds for Linux, as a user without rights, and says whether it is healthy.
func TestImage(t *testing.T) {
	t.Parallel()
	said := text(t, "docker", "Dockerfile")
	for _, line := range []string{`bin/openclawd-linux-${TARGETARCH} /usr/local/bin/openclawd`, "USER 10001:10001", `CMD ["openclawd", "healthcheck"]`, "OPENCLAW_STATE_DIR=/data", "install -d -m 0777 /data"} {
		if !strings.Contains(said, line) {
			t.Errorf("the Dockerfile does not say %s", line)
		}
	}
}
