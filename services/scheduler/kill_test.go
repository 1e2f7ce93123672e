package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// victim names, in a process that is to be killed, the directory of its log.
const victim = "OPENCLAWD_SCHEDULER_VICTIM"

// A server that is killed around due times loses none of them, and runs none twice: each has a run or is recorded as missed.
func TestKilledAroundDueTimes(t *testing.T) {
	seed, rounds := uint64(time.Now().UnixNano()), testscale.Of(4, 40)
	if given, err := strconv.ParseUint(os.Getenv(storetest.EnvCrashSeedBase), 10, 64); err == nil {
		seed = given
	}
	if given, err := strconv.Atoi(os.Getenv(storetest.EnvCrashRounds)); err == nil {
		rounds = given
	}
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, seed)
	random := rand.New(rand.NewPCG(seed, 2))
	p := newPlan(t, settings)
	p.now = time.Now()
	j := p.add(every(time.Second), func(j *coordination.CronJob) { j.Missed = schedule.MissedAll })
	p.close()
	for range rounds {
		killed := exec.Command(os.Args[0], "-test.run=^TestVictim$")
		killed.Env = append(os.Environ(), victim+"="+p.dir)
		out, err := killed.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		for ready := make([]byte, 1); ; { // it has looked at least once
			if n, err := out.Read(ready); n > 0 || err != nil {
				break
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(random.IntN(1_500))*time.Millisecond)
		<-ctx.Done()
		stop()
		_ = killed.Process.Kill()
		_ = killed.Wait()
	}
	p.now = time.Now()
	p.open()
	if err := p.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for p.look(); p.finish(false) > 0; {
		p.look()
	}
	row, _ := p.job(j.Job.ID)
	expected := j.NextAt
	for _, r := range p.history(j.Job.ID) {
		if r.DueAt < expected {
			t.Fatalf("%d has a second run", r.DueAt)
		}
		expected = r.DueAt + 1000
	}
	ran := len(p.history(j.Job.ID))
	t.Logf("%d runs, %d missed", ran, row.Missed)
	if int64(ran+row.Missed) != (row.NextAt-j.NextAt)/1000 || ran == 0 {
		t.Errorf("%d runs and %d missed of %d due times", ran, row.Missed, (row.NextAt-j.NextAt)/1000)
	}
}

// TestVictim is the process that is killed. It does nothing otherwise.
func TestVictim(t *testing.T) {
	dir := os.Getenv(victim)
	if dir == "" {
		return
	}
	p := &plan{t: t, dir: dir, path: dir + "/log.db", settings: settings, now: time.Now()}
	p.ids = int(time.Now().UnixNano() % 1e12) // no id twice
	p.open()
	if err := p.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		p.now = time.Now()
		p.look()
		p.finish(false)
		fmt.Println("looked")
	}
}
