//go:build unix

package scheduler_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const beating = `{"agents": {"defaults": {"heartbeat": {"every": "30m"}}, "list": [{"id": "main", "default": true, "model": "fake/echo"}]}}`

func (p *plan) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// A pipe at HEARTBEAT.md is not waited for, and a link there is not followed.
func TestHeartbeatFileOfAnotherKind(t *testing.T) {
	t.Parallel()
	p := newPlan(t, beating)
	file := filepath.Join(p.dir, "HEARTBEAT.md")
	p.write("secrets", "- look")
	p.look()
	for kind, place := range map[string]func() error{
		"pipe": func() error { return syscall.Mkfifo(file, 0o600) },
		"link": func() error { return os.Symlink("secrets", file) },
	} {
		if err := place(); err != nil {
			t.Fatal(err)
		}
		p.now = p.now.Add(30 * time.Minute)
		p.look()
		list := p.history("heartbeat-main")
		if last := list[len(list)-1]; last.Status != schedule.Skipped {
			t.Errorf("%s: %s", kind, last.Status)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// A heartbeat that becomes due after its file was looked for is decided with the file.
func TestHeartbeatThatIsDueInBetween(t *testing.T) {
	t.Parallel()
	p := newPlan(t, beating)
	p.write("HEARTBEAT.md", "- look")
	p.look()
	p.now = begin.Add(30*time.Minute - time.Second)
	p.add(in(30*time.Minute - time.Second)) // which is looked for
	reads := 0
	p.tick = func() {
		if reads++; reads == 3 { // by the transaction
			p.now = begin.Add(30 * time.Minute)
		}
	}
	p.look()
	if row, _ := p.job("heartbeat-main"); row.RunID == "" {
		t.Errorf("it was skipped: %+v", row.State)
	}
}

// A heartbeat that the configuration no longer has ends its run.
func TestAHeartbeatIsRemovedDuringItsRun(t *testing.T) {
	t.Parallel()
	p := newPlan(t, beating)
	p.write("HEARTBEAT.md", "- look")
	p.look()
	p.now = begin.Add(30 * time.Minute)
	p.look()
	p.settings = settings
	p.restart()
	p.look()
	if list := p.history("heartbeat-main"); len(list) != 1 || list[0].Status != schedule.Error {
		t.Errorf("its runs are %+v", list)
	}
}

// A check gets few variables, and nothing that it has started outlives its time.
func TestChecksAreKeptIn(t *testing.T) {
	t.Setenv("SOME_TOKEN", "secret")
	p := newPlan(t, checking)
	if err := syscall.Mkfifo(filepath.Join(p.dir, "held"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := p.add(in(time.Minute), func(j *coordination.CronJob) {
		j.Check = &coordination.CronCheck{Command: []string{"sh", "-c", `test -z "$SOME_TOKEN" || exit 9; sleep 3600 <>held & wait`}, TimeoutSeconds: 1}
	})
	p.now = begin.Add(time.Minute)
	p.look()
	p.checked(func() bool { return len(p.history(j.Job.ID)) > 0 })
	if why := p.history(j.Job.ID)[0].End.Error; !strings.Contains(why, "deadline exceeded") {
		t.Errorf("it ended with %s", why)
	}
	held, err := os.OpenFile(filepath.Join(p.dir, "held"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := held.SetReadDeadline(time.Now().Add(testscale.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(held); err != nil {
		t.Errorf("a process of the check holds the pipe: %v", err)
	}
}

// Checks that were queued before they were switched off are not run.
func TestChecksAreSwitchedOff(t *testing.T) {
	t.Parallel()
	p := newPlan(t, checking)
	j := p.add(in(time.Minute), func(j *coordination.CronJob) { j.Check = &coordination.CronCheck{Command: []string{"touch", "ran"}} })
	p.now = begin.Add(time.Minute)
	p.look()
	p.conf.Cron.Checks = false
	p.checked(func() bool { return len(p.history(j.Job.ID)) > 0 })
	if _, err := os.Stat(filepath.Join(p.dir, "ran")); err == nil {
		t.Error("it was run")
	}
}
