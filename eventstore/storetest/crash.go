package storetest

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Environment of the crash harness. The first two are for people, the others configure a child.
const (
	EnvCrashRounds   = "OPENCLAWD_CRASH_ROUNDS"    // rounds of every Crash, overriding the argument
	EnvCrashSeedBase = "OPENCLAWD_CRASH_SEED_BASE" // seed of the first round, to repeat a run; it increases by one per round

	envCrashScenario = "OPENCLAWD_CRASH_SCENARIO"
	envCrashDir      = "OPENCLAWD_CRASH_DIR"
	envCrashSeed     = "OPENCLAWD_CRASH_SEED"
)

// tellingRounds is the number of rounds after which it is a failure, not chance, if nothing was acknowledged.
const tellingRounds = 20

// Bounds of one round.
const (
	crashTime  = 1500 * time.Millisecond
	crashAcks  = 2000
	crashStart = 10 * time.Second // for a first acknowledgement, if acknowledgements are counted: a busy machine starts processes slowly
)

// Scenario is work that is killed, and the check of what the kill left behind.
type Scenario struct {
	Name string

	// Prepare, if not nil, creates in dir what the children need, before the first one starts. It runs in the test.
	Prepare func(t testing.TB, dir string)

	// Work runs in the child process until it is killed; it must continue from whatever earlier rounds left in c.Dir.
	// It may return nil when there is nothing more to do. An error fails the test. Standard output is reserved for
	// c.Ack.
	Work func(c *Child) error

	// Check runs in the test after each kill. acked lists what all rounds so far have acknowledged, in order. It must
	// close what it opens in dir, because the next round uses it.
	Check func(t testing.TB, dir string, acked []string)
}

// Crash runs a scenario repeatedly in the same directory, each time in a process of its own, which it kills with
// SIGKILL at a random moment, and checks what each kill has left. The test binary's TestMain must call CrashMain with
// s among the scenarios.
//
// The moments are drawn from a seed that is printed; how far a process has come at that moment still depends on the
// machine. No child outlives the call or the test binary, even if that is killed.
func Crash(t *testing.T, s Scenario, rounds int) {
	t.Helper()
	rounds = int(max(envUint(t, EnvCrashRounds, uint64(rounds)), 1))
	base := envUint(t, EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds of %q; repeat with %s=%d", rounds, s.Name, EnvCrashSeedBase, base)

	dir := t.TempDir()
	if s.Prepare != nil {
		s.Prepare(t, dir)
	}
	var acked []string
	for i := range rounds {
		seed := base + uint64(i)
		kill := drawMoment(seed)
		round, err := crashOnce(s.Name, dir, seed, kill)
		if err != nil {
			t.Fatalf("round %d, seed %d: %v", i+1, seed, err)
		}
		t.Logf("round %d: %d acknowledged; kill was due %s", i+1, len(round), kill)
		acked = append(acked, round...)
		s.Check(t, dir, slices.Clone(acked))
		if t.Failed() {
			t.FailNow()
		}
	}
	if len(acked) == 0 && rounds >= tellingRounds {
		t.Errorf("none of %d rounds acknowledged anything", rounds)
	}
}

func envUint(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// moment says when to kill: then after this many acknowledgements, but within a time after the start, and within another after the first
// acknowledgement.
type moment struct {
	within time.Duration
	going  time.Duration // 0 is without bound
	acks   int
	then   time.Duration
}

func (m moment) String() string {
	return fmt.Sprintf("after %s, or %s after acknowledgement %d", cmp.Or(m.going, m.within), m.then, m.acks)
}

// drawMoment chooses by time, which also covers the start and the recovery, or by acknowledgements, which covers the
// work even on a slow machine.
func drawMoment(seed uint64) moment {
	r := rand.New(rand.NewPCG(seed, 0))
	if r.IntN(2) == 0 {
		return moment{within: upTo(r, crashTime), acks: crashAcks}
	}
	return moment{within: crashStart, going: crashTime, acks: 1 + r.IntN(1<<r.IntN(11)), then: upTo(r, 3*time.Millisecond)}
}

func upTo(r *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(limit)))
}

// crashOnce runs one child, kills it, and returns what it had acknowledged by then.
func crashOnce(scenario, dir string, seed uint64, kill moment) (acked []string, err error) {
	child, err := startChild(scenario, dir, seed)
	if err != nil {
		return nil, fmt.Errorf("start the child: %w", err)
	}
	killed := false
	timer := time.NewTimer(kill.within)
	defer timer.Stop()
	for open := true; open; {
		var line string
		select {
		case line, open = <-child.lines:
			if open {
				acked = append(acked, line)
			}
			switch {
			case len(acked) == kill.acks:
				timer.Reset(kill.then)
			case len(acked) == 1 && kill.going > 0:
				timer.Reset(kill.going)
			}
		case <-timer.C:
			killed = true
			_ = child.cmd.Process.Kill() // fails only if the child has ended, which wait reports
		}
	}
	err = child.cmd.Wait()
	if killed && !child.cmd.ProcessState.Exited() {
		return acked, nil
	}
	if err != nil {
		return acked, fmt.Errorf("the child ended by itself: %w\n%s", err, child.stderr.Bytes())
	}
	return acked, nil
}

// process is a running child. Its lines must be read to their end before waiting for it.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer     // the child ends when this is closed, also by the end of this process
	lines  <-chan string // its acknowledgements
	stderr *bytes.Buffer
}

func startChild(scenario, dir string, seed uint64) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self), stderr: new(bytes.Buffer)}
	p.cmd.Stderr = p.stderr
	p.cmd.Env = append(os.Environ(),
		envCrashScenario+"="+scenario, envCrashDir+"="+dir, envCrashSeed+"="+strconv.FormatUint(seed, 10))
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.lines = readLines(stdout)
	return p, nil
}

// readLines sends the complete lines of r and closes the channel at its end. A line truncated by the kill was not
// acknowledged.
func readLines(r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		buffered := bufio.NewReader(r)
		for {
			line, err := buffered.ReadString('\n')
			if err != nil {
				return
			}
			lines <- line[:len(line)-1]
		}
	}()
	return lines
}
