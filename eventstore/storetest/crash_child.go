package storetest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// CrashMain is the TestMain of a package with crash scenarios. In a process started by Crash it acts as the child;
// otherwise it runs the tests and fails when they leak goroutines. It does not return.
func CrashMain(m *testing.M, scenarios ...Scenario) {
	name, ok := os.LookupEnv(envCrashScenario)
	if !ok {
		goleak.VerifyTestMain(m)
		return
	}
	if err := playChild(name, scenarios); err != nil {
		fmt.Fprintf(os.Stderr, "scenario %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Child is the child's view of the process that will be killed.
type Child struct {
	Dir  string     // the same in every round
	Rand *rand.Rand // from the round's seed; for one goroutine

	mu   sync.Mutex
	acks io.Writer
}

// Ack reports that id, a text of one line, is acknowledged: from now on the store must not lose it. When Ack returns,
// the report survives a kill. It is safe for concurrent use.
func (c *Child) Ack(id string) {
	if strings.Contains(id, "\n") {
		panic(fmt.Sprintf("storetest: acknowledged id %q has more than one line", id))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.acks, id+"\n"); err != nil {
		os.Exit(1) // the parent has ended
	}
}

func playChild(name string, scenarios []Scenario) error {
	i := slices.IndexFunc(scenarios, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return fmt.Errorf("it was not given to CrashMain")
	}
	seed, err := strconv.ParseUint(os.Getenv(envCrashSeed), 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", envCrashSeed, err)
	}
	go dieWithParent()
	return scenarios[i].Work(&Child{
		Dir:  os.Getenv(envCrashDir),
		Rand: rand.New(rand.NewPCG(seed, 1)),
		acks: os.Stdout,
	})
}

// dieWithParent ends this process when the other end of its standard input is closed, which also happens when the
// parent is killed.
func dieWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}
