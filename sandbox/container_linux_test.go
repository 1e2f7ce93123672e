package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/sandbox"
)

// standIn is no container engine: it notes its arguments, and runs the stage of this program beside it, with no container around. So commands run,
// and a probe must find that nothing keeps them in.
const standIn = `#!/bin/sh
for a in "$@"; do printf '%s\n' "$a"; done >> NOTES
[ "$1" = run ] || exit 0
env | cut -d= -f1 | sort | sed 's/^/env /' >> NOTES
OPENCLAWD_SANDBOX_PLAN=$(printf '%s' "$OPENCLAWD_SANDBOX_PLAN" | sed 's#/run/openclawd-sandbox/program#EXE#g')
export OPENCLAWD_SANDBOX_PLAN
exec EXE sandbox
`

// apart is a stand-in with process numbers and mounts of its own, which goes on when its caller is gone, as containers of docker do.
const apart = `#!/bin/sh
[ "$1" = run ] || exit 0
ALIVE=$(printf '%s\n' "$@" | sed -n 's/^type=bind,source=\(.*\),target=.*alive,readonly$/\1/p')
OPENCLAWD_SANDBOX_PLAN=$(printf '%s' "$OPENCLAWD_SANDBOX_PLAN" | sed 's#/run/openclawd-sandbox/program#EXE#g')
export ALIVE OPENCLAWD_SANDBOX_PLAN
exec unshare -m -p -f sh -c 'mount -t tmpfs x /run && mkdir /run/openclawd-sandbox && touch /run/openclawd-sandbox/alive && mount --bind "$ALIVE" /run/openclawd-sandbox/alive && exec EXE sandbox'
`

// withStandIn puts a stand-in in PATH under a name.
func withStandIn(t *testing.T, script, name string) (notes func() []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "notes")
	script = strings.NewReplacer("NOTES", file, "EXE", exe).Replace(script)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return func() []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

// pipePath is the pipe among the mounts: in the supervisor's directory for temporary files, which need not be that of the test.
var pipePath = regexp.MustCompile(`source=([^ ,]*/openclawd-container-[^ ,]+),`)

// The command line of an engine gives a container no network, a root that cannot be written, the workspace and limits, and shows neither the command
// nor its environment.
func TestContainersAreKeptIn(t *testing.T) {
	y := newYard(t)
	for _, engine := range []string{"podman", "docker"} {
		notes := withStandIn(t, standIn, engine)
		c, out := y.command(sandbox.Container, `echo "here: $HIDDEN"; exit 7`)
		c.Image, c.Env = "registry.example/tools:1", append(c.Env, "HIDDEN=sesame")
		r, err := sandbox.Run(t.Context(), c)
		if err != nil || r.Exit != 7 || r.Reason != "" || out.String() != "here: sesame\n" {
			t.Fatalf("%s: %+v, %v, %q", engine, r, err, out)
		}
		args := notes()
		line := strings.Join(args, " ")
		for _, want := range []string{"run --rm --interactive --pull never --name openclawd-", " --read-only ", " --cap-drop all ", " --security-opt no-new-privileges ",
			" --pids-limit 256 ", " --memory 2147483648 ", " --network none", " --mount type=bind,source=" + y.home + ",target=" + y.home + " ",
			" --workdir " + y.home + " ", fmt.Sprintf(" --user %d:%d ", os.Geteuid(), os.Getegid()), " registry.example/tools:1 sandbox"} {
			if !strings.Contains(line, want) {
				t.Errorf("%s: the arguments lack %q: %s", engine, want, line)
			}
		}
		for _, own := range []string{"--read-only-tmpfs=false", "--image-volume=tmpfs"} {
			if podman := slices.Contains(args, own); podman != (engine == "podman") {
				t.Errorf("%s: %s: %s", engine, own, line)
			}
		}
		if strings.Contains(line, "sesame") || strings.Contains(line, "echo") || slices.Contains(args, "env HIDDEN") {
			t.Errorf("%s: the command is shown: %s", engine, line)
		}
		if strings.Count(line, "source=") != 3 {
			t.Errorf("%s: it has more mounts than the workspace, this program and the pipe: %s", engine, line)
		}
		pipe := pipePath.FindStringSubmatch(line)
		if pipe == nil {
			t.Fatalf("%s: it has no pipe: %s", engine, line)
		}
		if _, err := os.Stat(filepath.Dir(pipe[1])); !os.IsNotExist(err) {
			t.Errorf("%s: it has left its pipe: %v", engine, err)
		}
	}
}

// With the network, and where a command is ended, the engine is told so.
func TestContainersEnd(t *testing.T) {
	y := newYard(t)
	notes := withStandIn(t, standIn, "docker")
	c, _ := y.command(sandbox.Container, `sleep 600`)
	c.Image, c.Network = "x", true
	p, err := sandbox.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill(sandbox.EndedByCaller)
	<-p.Done()
	if r, err := p.Result(); err != nil || r.Reason != sandbox.EndedByCaller {
		t.Errorf("%+v, %v", r, err)
	}
	line := strings.Join(notes(), " ")
	_, name, _ := strings.Cut(line, "--name ")
	name, _, _ = strings.Cut(name, " ")
	if name != "" && !strings.HasSuffix(line, " rm --force "+name) && !strings.HasPrefix(line, "rm --force ") || strings.Contains(line, "--network") {
		t.Errorf("%q: %s", name, line)
	}
}

// What runs in a container ends when its supervisor does, however that happens.
func TestContainersEndWithTheirSupervisor(t *testing.T) {
	if os.Geteuid() != 0 || !hasMounts(t) {
		t.Log("this user cannot make the namespaces of the stand-in")
		return
	}
	y := newYard(t)
	withStandIn(t, apart, "docker")
	held := filepath.Join(y.home, "held")
	if err := unix.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	before := supervisors(t)
	c, out := y.command(sandbox.Container, `echo up > held; sleep 600 <> held & wait`)
	c.Image = "x"
	p, err := sandbox.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	b := make([]byte, 3)
	if _, err := io.ReadFull(pipe, b); err != nil || string(b) != "up\n" {
		t.Fatalf("%q, %v, %s", b, err, out)
	}
	for _, pid := range supervisors(t) {
		if !slices.Contains(before, pid) {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	<-p.Done()
	if _, err := p.Result(); err == nil || errors.Is(err, sandbox.ErrNotRun) {
		t.Errorf("the supervisor is gone: %v", err)
	}
	if rest, err := io.ReadAll(pipe); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// A container whose supervisor is gone before its first process has looked for it ends at once.
func TestContainersEndWithoutASupervisor(t *testing.T) {
	if os.Geteuid() != 0 || !hasMounts(t) {
		t.Log("this user cannot make the namespaces of the stand-in")
		return
	}
	y := newYard(t)
	const bound = `touch /run/openclawd-sandbox/alive && mount --bind "$ALIVE" /run/openclawd-sandbox/alive`
	withStandIn(t, strings.Replace(apart, bound, `mkfifo /run/openclawd-sandbox/alive`, 1), "docker") // nothing writes to this one
	c, out := y.command(sandbox.Container, `echo here`)
	c.Image = "x"
	p, err := sandbox.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(testscale.Patience):
		p.Kill(sandbox.EndedByCaller)
		t.Fatal("it waits for a supervisor")
	}
	if r, err := p.Result(); err != nil || r.Exit != 128+int(unix.SIGKILL) {
		t.Errorf("%+v, %v, %s, want it ended", r, err, out)
	}
}

// supervisors are the children of this process that are supervisors.
func supervisors(t *testing.T) (pids []int) {
	t.Helper()
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, one := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + one + "/cmdline")
			if pid, err := strconv.Atoi(one); err == nil && string(line) == "openclawd\x00sandbox\x00" {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// A container is believed only if the probe inside finds that it holds; one that does not, or cannot be started, is none.
func TestContainersAreProbed(t *testing.T) {
	y := newYard(t)
	probe := func(image string) sandbox.Report {
		c, _ := y.command(sandbox.Container, "")
		c.Image = image
		ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
		defer stop()
		return sandbox.Probe(ctx, c, y.state, []string{y.state, y.secret, y.db, y.to})
	}
	withStandIn(t, standIn, "podman")
	if r := probe("x"); r.Sandboxed || r.Error != "" || !slices.Contains(r.Open(), sandbox.CheckReadOutside) || !slices.Contains(r.Open(), sandbox.CheckNetwork) {
		t.Errorf("the stand-in keeps nothing in: %+v", r)
	}
	if r := probe(""); r.Sandboxed || !strings.Contains(r.Error, "needs an image") {
		t.Errorf("%+v", r)
	}
	t.Setenv("PATH", "/nowhere")
	if r := probe("x"); r.Sandboxed || !strings.Contains(r.Error, "neither podman nor docker") {
		t.Errorf("%+v", r)
	}
}
