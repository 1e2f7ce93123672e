//go:build (amd64 || arm64) && !race

// Each command is started by this program again, in which the race detector needs seconds and more memory than these commands may use.

package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pronto-lab/openclawd/sandbox"
)

func TestNothingEscapes(t *testing.T) {
	t.Setenv("CANARY_OF_PARENT", secretText)
	for _, kind := range working(t) {
		y := newYard(t)
		before := len(processesOf("sleep\x00997"))
		for _, script := range escapes {
			_, out := y.run(kind, script, sandbox.Limits{})
			if strings.Contains(out, "ESCAPED") || strings.Contains(out, secretText) {
				t.Errorf("%s: %s: %q", kind, script, out)
			}
		}
		for _, path := range []string{y.secret, y.db, filepath.Join(y.to, "file")} {
			if text, err := os.ReadFile(path); err != nil || string(text) != secretText {
				t.Errorf("%s: %s: %q, %v", kind, path, text, err)
			}
		}
		if entries, err := os.ReadDir(y.to); err != nil || len(entries) != 1 {
			t.Errorf("%s: outside: %v, %v", kind, entries, err)
		}
		if y.victim.Process.Signal(syscall.Signal(0)) != nil || stateOf(y.victim.Process.Pid) == "Z" {
			t.Errorf("%s: a process outside was ended", kind)
		}
		if left := processesOf("sleep\x00997"); len(left) > before {
			t.Errorf("%s: processes outlive their command: %v", kind, left)
		}
		t.Logf("%s: %d commands", kind, len(escapes))
	}
}

func TestCommandsAreBounded(t *testing.T) {
	for _, kind := range working(t) {
		y := newYard(t)
		for _, c := range []struct{ name, script, reason string }{
			{"fork bomb", `f() { f | f & }; f; sleep 100`, sandbox.EndedByProcesses},
			{"many processes", `for i in $(seq 300); do sleep 99 & done 2>/dev/null; sleep 99`, sandbox.EndedByProcesses},
			{"memory", `for i in 1 2 3 4; do (x=$(head -c 60000000 /dev/zero | tr '\0' x); sleep 99) & done; sleep 99`, sandbox.EndedByMemory},
		} {
			r, out := y.run(kind, c.script, sandbox.Limits{Processes: 64, Memory: 160 << 20})
			if r.Reason != c.reason {
				t.Errorf("%s: %s: %+v, %.200q", kind, c.name, r, out)
			}
		}
		r, _ := y.run(kind, `head -c 3000000 /dev/zero > big; stat -c %s big`, sandbox.Limits{FileSize: 1 << 20})
		if info, err := os.Stat(filepath.Join(y.home, "big")); err != nil || info.Size() > 1<<20 {
			t.Errorf("%s: a file of %v bytes, %v, %+v", kind, info, err, r)
		}
	}
}
